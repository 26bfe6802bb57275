"""When training ends: told to, out of time, nothing left to learn, or nothing learnt for a while."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from types import FrameType
from typing import Any

from interlingua.training.validation import Validation

__all__ = ["BestSoFar", "StopSignal", "listen_for_stop"]

PERFECT_VALIDATIONS = 3
FEWEST_SENTENCES = 50
"""So many validations in a row without a single wrong sentence, of no fewer sentences, end the training."""


class StopSignal:
    """Set by Ctrl-C or SIGTERM; every long loop looks at it."""

    def __init__(self) -> None:
        self.number: int | None = None

    def __call__(self) -> bool:
        """Tell whether the run should stop."""
        return self.number is not None

    def __str__(self) -> str:
        """Name the signal as its sender knows it."""
        return "Ctrl-C" if self.number == signal.SIGINT else "SIGTERM"


@contextmanager
def listen_for_stop() -> Iterator[StopSignal]:
    """Turn the first Ctrl-C or SIGTERM into a flag; a second Ctrl-C interrupts at once."""
    stop = StopSignal()

    def handle(number: int, _frame: FrameType | None) -> None:
        if stop.number is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.number = number

    try:
        old = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not in the main thread: whoever started the thread hears the signals
        yield stop
        return
    try:
        yield stop
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


@dataclass(slots=True)
class BestSoFar:
    """The best validation, and how long ago it was."""

    bleu: float = -1.0
    loss: float = float("inf")
    step: int = 0
    waited: int = 0
    perfect: int = 0

    def update(self, step: int, validation: Validation) -> bool:
        """Take in a validation; tell whether its translations are the best so far.

        Patience is used up only by validations that improve neither BLEU nor the loss.
        """
        better_bleu = (validation.bleu, -validation.loss) > (self.bleu, -self.loss)
        better_loss = validation.loss < self.loss
        self.waited = 0 if better_bleu or better_loss else self.waited + 1
        flawless = validation.exact == 100.0 and validation.sentences >= FEWEST_SENTENCES
        self.perfect = self.perfect + 1 if flawless else 0
        self.loss = min(self.loss, validation.loss)
        if better_bleu:
            self.bleu, self.step = validation.bleu, step
        return better_bleu

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
