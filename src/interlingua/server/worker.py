"""The process that has the models: ``python -m interlingua.server.worker``, started by the engine.

Questions come on standard input, answers go to standard output. Batches of translations are searched in one lane; what
takes longer, or comes piece by piece, in another, so that neither waits for the other.
"""

import os
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, BinaryIO

from interlingua.errors import ConfigError, CorpusError, InterlinguaError
from interlingua.server.collector import spare_the_collector
from interlingua.server.frames import Message, pack, read_frame
from interlingua.server.log import hear_only_ourselves, tell_error, tell_event

if TYPE_CHECKING:
    from interlingua.inspection.looker import Looker
    from interlingua.requests.translation import Translation
    from interlingua.server.word_links import Mix
    from interlingua.translator import Translator

__all__ = ["Worker", "main"]

_NOT_READ = -1
_READ_AT_ONCE = 512
"""Tokens of new corrections that a model reads before it answers, so that nobody waits for thousands that came together."""


def main() -> None:
    """Load the models that the first message names, say so, and serve until standard input ends."""
    hear_only_ourselves()
    _let_others_go_first()
    requests = sys.stdin.buffer
    with open(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # whatever a library prints must not fall between the frames
        start = read_frame(requests)
        if start is None:
            return
        worker = Worker(answers)
        try:
            worker.load(start)
        except InterlinguaError as error:
            worker.say({"failed": str(error), "exit_status": error.exit_status})
            return
        spare_the_collector()
        worker.serve(requests)


def _let_others_go_first() -> None:
    """Step back behind the process that speaks with clients: whom it refuses is not to wait until a batch is done."""
    if hasattr(os, "nice"):
        os.nice(5)


class Worker:
    """The models, and who waits for them.

    Args:
        answers: where answers are written.
    """

    def __init__(self, answers: BinaryIO) -> None:
        self._answers = answers
        self._writing = Lock()
        self._translators: list[Translator] = []
        self._folders: list[Path] = []
        self._max_inspected = 0
        self._views: dict[int, Mix] = {}
        self._unused: dict[int, int] = {}
        """How many corrections each model cannot use, or that they cannot be read, as it was last told."""
        self._known: SimpleQueue[Message | None] = SimpleQueue()
        self._quick: SimpleQueue[Message | None] = SimpleQueue()
        self._slow: SimpleQueue[Message | None] = SimpleQueue()

    def load(self, start: Message) -> None:
        """Open the models and say which they are.

        Raises:
            InterlinguaError: a model cannot be opened.
        """
        from interlingua.translator import Translator

        self._max_inspected = start["max_inspected"]
        for folder in map(Path, start["models"]):
            opened = Translator.load_every(
                folder,
                device=start["device"],
                dtype=start["dtype"],
                threads=start["threads"],
            )
            self._translators += opened
            self._folders += [folder] * len(opened)
        if start["corrections"] is not None:
            self._remember(Path(start["corrections"]), is_restart=start["is_restart"])
        models = [
            {
                "source": each.source_lang,
                "target": each.target_lang,
                "beam_size": each.decoding.beam_size,
                "has_letters": _has_letters(each),
                "takes_sentences": each.takes_sentences,
                "takes_corrections": each.takes_corrections,
            }
            for each in self._translators
        ]
        samples = [
            _samples(folder, each)
            for folder, each in zip(self._folders, self._translators, strict=True)
        ]
        self.say({"ready": models, "samples": samples})

    def _remember(self, corrections: Path, *, is_restart: bool) -> None:
        """Have every model follow the corrections of its languages.

        A server that runs is not stopped by what became of its corrections since it was started: of a restart it is only logged.

        Raises:
            CorpusError: they cannot be read, or are of other languages than all models that follow any.
            ConfigError: no model follows any, or one cannot remember those of its languages; also ``ModelError``. Later on that stops
                no server.
        """
        from interlingua.checkpoints.adapter_folder import weights_sha256

        refused: list[CorpusError] = []
        numbers = range(len(self._translators))
        followers = [number for number in numbers if self._translators[number].takes_corrections]
        for number in followers or numbers:  # where none is one, the first says so
            translator = self._translators[number]
            followed = translator.remember(corrections, weights_sha256(self._folders[number]))
            if not is_restart:
                try:
                    followed.check_languages()
                    translator.refresh_corrections()
                except CorpusError as error:
                    refused.append(error)
            self._refreshed(number)
            if followed.memory.examples:
                # What is like a correction needs it, and by then another may lie where it was.
                translator.hold_model()
        if len(refused) == len(followers):
            raise refused[0]

    @cached_property
    def _looker(self) -> "Looker":
        from interlingua.inspection.looker import Looker

        return Looker(self._translators, self._folders, longest=self._max_inspected)

    def say(self, message: Message) -> None:
        """Write one answer; whole, whoever else writes."""
        with (
            self._writing,
            suppress(BrokenPipeError),
        ):  # the server is gone; standard input ends too
            self._answers.write(pack(message))
            self._answers.flush()

    def serve(self, requests: BinaryIO) -> None:
        """Answer until ``requests`` ends."""
        for lane in (self._serve_batches, self._serve_in_turn, self._serve_corrections):
            Thread(target=lane).start()
        queues = {"translate": self._quick, "find-corrections": self._known}
        while (message := read_frame(requests)) is not None:
            queues.get(message["do"], self._slow).put(message)
        for queue in (self._quick, self._slow, self._known):
            queue.put(None)

    def _serve_batches(self) -> None:
        while (message := self._quick.get()) is not None:
            self._step(message["id"], self._translate(message))

    def _serve_corrections(self) -> None:
        """Look texts up beside the batches: nobody waits for a search to be told what is known."""
        while (message := self._known.get()) is not None:
            self._step(message["id"], self._find_corrections(message))

    def _serve_in_turn(self) -> None:
        """Take one step of each request in turn, so that one that is long holds up none."""
        begun: deque[tuple[int, Iterator[Message]]] = deque()
        while True:
            while not begun or not self._slow.empty():
                message = self._slow.get()
                if message is None:
                    return
                if message["do"] == "cancel":
                    begun = deque(each for each in begun if each[0] != message["id"])
                else:
                    begun.append((message["id"], self._begin(message)))
            number, steps = begun.popleft()
            if self._step(number, steps):
                begun.append((number, steps))

    def _step(self, number: int, steps: Iterator[Message]) -> bool:
        """Say what comes next; return whether something may come after it."""
        try:
            answer = next(steps, None)
            if answer is not None:
                self.say({"id": number} | answer)
                return True
        except InterlinguaError as error:
            self.say({"id": number, "refused": str(error)})
        except Exception as error:
            # Only its kind: what an error says may quote the text.
            tell_error(error)
            self.say({"id": number, "broken": type(error).__name__})
        return False

    def _begin(self, message: Message) -> Iterator[Message]:
        begin = {
            "stream": self._stream,
            "inspect": self._inspect,
            "align": self._align,
            "look": self._look,
        }
        return begin[message["do"]](message)

    def _translate(self, message: Message) -> Iterator[Message]:
        found = self._refreshed(message["model"]).translate(message["texts"], **message["options"])
        yield {"found": [_plain(each) for each in found]}

    def _find_corrections(self, message: Message) -> Iterator[Message]:
        """Tell of each text what was told to be its translation, None if nothing was."""
        translator = self._refreshed(message["model"])
        yield {"found": [translator.corrected(text) for text in message["texts"]]}

    def _refreshed(self, number: int) -> "Translator":
        """Return a model that knows the latest corrections, or those of before where they cannot be had."""
        translator = self._translators[number]
        is_read = True
        try:
            translator.refresh_corrections(_READ_AT_ONCE)
        except CorpusError:  # the file is gone, or not to be read
            is_read = False
        except InterlinguaError as error:  # another model is where this one was opened; told once for each change of the file
            tell_event("corrections-not-followed", model=number, error=type(error).__name__)
        told = len(translator.corrections.unused) if translator.corrections else 0
        if not is_read:
            told = _NOT_READ
        if told != self._unused.get(number, 0):
            self._unused[number] = told
            if told == _NOT_READ:
                tell_event("corrections-not-read", model=number)
            else:
                tell_event("corrections-unused", model=number, corrections=told)
        return translator

    def _stream(self, message: Message) -> Iterator[Message]:
        translator = self._refreshed(message["model"])
        if (
            len(translator.tokenizers.source.encode(message["text"]).ids)
            >= translator.max_source_length
        ):
            raise ConfigError("a sentence is too long to be streamed; ask without stream")
        whole = ""
        for piece in translator.stream(message["text"]):
            whole += piece
            yield {"piece": piece}
        yield {"found": whole}

    def _look(self, message: Message) -> Iterator[Message]:
        yield {"found": self._looker.answer(message["name"], message["content"])}

    def _align(self, message: Message) -> Iterator[Message]:
        from interlingua.server.word_links import choose_views, link_words

        number = message["model"]
        translator = self._translators[number]
        if number not in self._views:
            sources, targets = _samples(self._folders[number], translator)
            self._views[number] = choose_views(translator, list(zip(sources, targets, strict=True)))
        links = link_words(translator, message["pairs"], self._views[number])
        yield {"found": links}

    def _inspect(self, message: Message) -> Iterator[Message]:
        from interlingua.inspection.trace import trace_translation

        translator = self._translators[message["model"]]
        trace = trace_translation(translator, message["text"], message["target"])
        yield {"found": trace.to_dict()}


def _samples(folder: Path, translator: "Translator") -> list[list[str]]:
    """Return sentences of the source and of the target that the model was trained with."""
    from interlingua.server.samples import sample_pairs

    pairs = sample_pairs(folder, translator.direction)
    return [[pair.source for pair in pairs], [pair.target for pair in pairs]]


def _has_letters(translator: "Translator") -> bool:
    """Whether the model was trained on words, and not on digits or commands alone."""
    tokenizer = translator.tokenizers.source
    pieces = tokenizer.all_tokens()
    return any(map(str.isalpha, "".join(each for each in pieces if not each.startswith("<"))))


def _plain(translation: "Translation") -> tuple[str, list[str], bool]:
    """Return the translation, the next best, and whether its source was cut off."""
    others = [each.text for each in translation.alternatives]
    return translation.text, others, "truncated-source" in translation.flags


if __name__ == "__main__":
    main()
