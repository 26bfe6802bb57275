"""When training ends: told to, out of time, nothing left to learn, or nothing learnt for a while."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass
from functools import partial
from types import FrameType
from typing import Any

from interlingua.errors import InterlinguaError
from interlingua.training.validation import Validation

__all__ = ["PERFECT_VALIDATIONS", "BestSoFar", "StopSignal", "listen_for_stop"]

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, what a system sends that shuts down, and what a terminal that is closed leaves."""
RESCUE_SECONDS = 4.0
"""A run that was told to stop and is still busy after so long is saved by another thread: what told it may not wait
more than ten seconds in all."""
SAFE_SECONDS = 8.0
"""By then all must be saved: where saving takes long, the other thread waits less."""
WORDS_SECONDS = 2.0
"""So long a run that was told to stop, and has nothing left to do, waits for somebody to read what it says."""
PERFECT_VALIDATIONS = 3
FEWEST_SENTENCES = 50
"""So many validations in a row without a single wrong sentence, of no fewer sentences, end the training."""


class StopSignal:
    """Set by Ctrl-C, SIGTERM or SIGHUP; every long loop looks at it."""

    def __init__(self) -> None:
        self.number: int | None = None
        self._pipe: tuple[int, int] | None = None
        """Where a signal can be read (and where it is written) even while the main thread cannot handle it."""

    def __call__(self) -> bool:
        """Tell whether the run should stop."""
        return self.number is not None

    def __str__(self) -> str:
        """Name the signal as its sender knows it."""
        return _name(self.number)

    @contextmanager
    def rescued_by(
        self,
        save: Callable[[], None],
        changing: AbstractContextManager[Any],
        *,
        takes: float = 0.0,
        follows: bool = False,
    ) -> Iterator[None]:
        """Save and leave even if the block, once told to stop, does not come to an end in time.

        One update of a large model, a compiler, or a slow disk can keep the main thread for minutes, and then it
        looks at no flag. Another thread hears the signal, waits ``RESCUE_SECONDS`` or less, calls ``save``, and ends the
        process with the status of a stop.

        Args:
            save: writes what must not be lost; it runs in another thread, while the block goes on.
            changing: a lock that the block holds whenever what ``save`` writes does not belong together.
            takes: seconds that ``save`` takes, about.
            follows: another process saves for this one, which gives it time to, and leaves without a word.
        """
        if self._pipe is None:
            yield
            return
        reading, writing = self._pipe
        over = threading.Event()
        told = self.number or 0
        patience = min(RESCUE_SECONDS, max(0.5, SAFE_SECONDS - takes))
        rescue = partial(_rescue, save, changing, over, reading, told, patience, follows=follows)
        watch = threading.Thread(target=rescue, daemon=True)
        watch.start()
        try:
            yield
        finally:
            over.set()
            os.write(writing, b"\0")
            watch.join()

    def last_words(self) -> AbstractContextManager[None]:
        """Leave, once told to stop, even if nobody reads what the block has to say; it has nothing else to do."""
        takes = SAFE_SECONDS - WORDS_SECONDS
        return self.rescued_by(lambda: None, nullcontext(), takes=takes)


def _rescue(
    save: Callable[[], None],
    changing: AbstractContextManager[Any],
    over: threading.Event,
    reading: int,
    number: int,
    patience: float,
    *,
    follows: bool,
) -> None:
    """Wait for a signal, unless ``number`` is one; if the block is not ``over`` some time after it, save and end the process."""
    while number not in STOPS and not over.is_set():
        number = os.read(reading, 1)[0]
    if over.wait(1.5 * RESCUE_SECONDS if follows else patience):
        return
    with changing:  # a save that is under way may be all that the block still has to do
        pass
    if over.wait(patience / 4):
        return
    with changing:
        if over.is_set():
            return
        status, words = 128 + number, f"stopped by {_name(number)} in the middle of its work; "
        words += "the same command again continues after the one before"
        try:
            try:
                save()
            except InterlinguaError as error:
                status, words = error.exit_status, f"error: {error}"
            except Exception as error:
                status, words = 70, f"error: {error!r} while the run was saved"
            if follows:
                return
            speaking = threading.Thread(target=_say, args=(words,), daemon=True)
            speaking.start()
            speaking.join(WORDS_SECONDS / 2)
        finally:
            os._exit(status)


def _say(words: str) -> None:
    """Say the last words, for which nobody may wait: a pipe may be full, or a terminal held."""
    with suppress(OSError, ValueError):  # nobody is left to read it
        if sys.stderr.isatty():
            sys.stderr.write("\x1b[?25h\n")  # the bar has hidden the cursor
        print(words, file=sys.stderr, flush=True)


def _name(number: int | None) -> str:
    return "Ctrl-C" if number == signal.SIGINT else signal.Signals(number or signal.SIGTERM).name


@contextmanager
def listen_for_stop() -> Iterator[StopSignal]:
    """Turn the first Ctrl-C, SIGTERM or SIGHUP into a flag; a second Ctrl-C interrupts at once.

    A signal that somebody ignores on purpose, as ``nohup`` does, stays ignored.
    """
    stop = StopSignal()

    def handle(number: int, _frame: FrameType | None) -> None:
        if stop.number is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.number = number

    try:
        heard = [each for each in STOPS if signal.getsignal(each) is not signal.SIG_IGN]
        old = {number: signal.signal(number, handle) for number in heard}
    except ValueError:  # not in the main thread: whoever started the thread hears the signals
        yield stop
        return
    with _hear_at_once() as stop._pipe:
        try:
            yield stop
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)


@contextmanager
def _hear_at_once() -> Iterator[tuple[int, int]]:
    """Yield the two ends of a pipe into which every signal is written the moment it arrives, one byte each."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield reading, writing
    finally:
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


@dataclass(slots=True)
class BestSoFar:
    """The best validation, and how long ago it was."""

    bleu: float = -1.0
    loss: float = float("inf")
    step: int = 0
    waited: int = 0
    perfect: int = 0
    by_loss: bool = False
    """What is written from half a text, or in gaps, can be right and yet another: there the loss alone tells models apart."""

    def update(self, step: int, validation: Validation) -> bool:
        """Take in a validation; tell whether its translations are the best so far.

        Patience is used up only by validations that improve neither BLEU nor the loss.
        """
        bleu = self._bleu_of(validation)
        better_bleu = (bleu, -validation.loss) > (self.bleu, -self.loss)
        better_loss = validation.loss < self.loss
        self.waited = 0 if better_bleu or better_loss else self.waited + 1
        flawless = validation.exact == 100.0 and validation.sentences >= FEWEST_SENTENCES
        self.perfect = self.perfect + 1 if flawless else 0
        self.loss = min(self.loss, validation.loss)
        if better_bleu:
            self.bleu, self.step = bleu, step
        return better_bleu

    def is_matched_by(self, validation: Validation) -> bool:
        """Tell whether a mean of checkpoints is next to the best in both measures; it then serves, as means are steadier.

        The best BLEU of many validations owes something to luck with the few sentences that are decoded, the loss of all
        pairs does not: where the mean has the lowest of all, BLEU may be further off.
        """
        allowed = 2.0 if validation.loss < self.loss else 0.5
        is_as_good = self._bleu_of(validation) >= self.bleu - allowed
        return is_as_good and validation.loss <= 1.01 * self.loss

    def _bleu_of(self, validation: Validation) -> float:
        return 0.0 if self.by_loss or validation.too_short_for_bleu else validation.bleu

    def reason_to_stop(self, patience: int) -> str | None:
        """Say why training should end now, if it should."""
        if self.perfect >= PERFECT_VALIDATIONS:
            return f"every validation sentence was exact {self.perfect} times in a row"
        if self.waited >= patience:
            return f"no better validation for {self.waited} times"
        return None

    def to_dict(self) -> dict[str, Any]:
        """Give every field by name, for a checkpoint."""
        return asdict(self)
