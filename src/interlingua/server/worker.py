"""The process that has the models: ``python -m interlingua.server.worker``, started by the engine.

Requests come on standard input, answers go to standard output. Batches of translations are searched in one lane; what
takes longer, or comes piece by piece, in another, so that neither waits for the other.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, BinaryIO

from interlingua.errors import InterlinguaError
from interlingua.server.frames import Message, pack, read_frame

if TYPE_CHECKING:
    from interlingua.inspection.looker import Looker
    from interlingua.requests.translation import Translation
    from interlingua.translator import Translator

__all__ = ["Worker", "main"]


def main() -> None:
    """Load the models that the first message names, say so, and serve until standard input ends."""
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
        worker.serve(requests)


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
        self._quick: SimpleQueue[Message | None] = SimpleQueue()
        self._slow: SimpleQueue[Message | None] = SimpleQueue()

    def load(self, start: Message) -> None:
        """Open the models and say which they are.

        Raises:
            InterlinguaError: a model cannot be opened.
        """
        from interlingua.translator import Translator

        self._translators = [
            Translator.load(
                Path(folder),
                device=start["device"],
                dtype=start["dtype"],
                threads=start["threads"],
            )
            for folder in start["models"]
        ]
        self._folders = [Path(folder) for folder in start["models"]]
        models = [
            {
                "source": each.source_lang,
                "target": each.target_lang,
                "beam_size": each.decoding.beam_size,
                "has_letters": _has_letters(each),
            }
            for each in self._translators
        ]
        self.say({"ready": models})

    @cached_property
    def _looker(self) -> "Looker":
        from interlingua.inspection.looker import Looker

        return Looker(self._translators, self._folders)

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
        lanes = [Thread(target=self._run, args=(lane,)) for lane in (self._quick, self._slow)]
        for lane in lanes:
            lane.start()
        while (message := read_frame(requests)) is not None:
            (self._quick if message["do"] == "translate" else self._slow).put(message)
        self._quick.put(None)
        self._slow.put(None)

    def _run(self, lane: "SimpleQueue[Message | None]") -> None:
        while (message := lane.get()) is not None:
            try:
                for answer in self._answer(message):
                    self.say({"id": message["id"]} | answer)
            except InterlinguaError as error:
                self.say({"id": message["id"], "refused": str(error)})
            except Exception as error:
                # Only its kind: what an error says may quote the text.
                self.say({"id": message["id"], "broken": type(error).__name__})

    def _answer(self, message: Message) -> Iterator[dict[str, Any]]:
        if message["do"] == "look":
            yield {"found": self._looker.answer(message["name"], message["content"])}
            return
        translator = self._translators[message["model"]]
        if message["do"] == "translate":
            found = translator.translate(message["texts"], **message["options"])
            yield {"found": [_as_message(each) for each in found]}
        elif message["do"] == "inspect":
            from interlingua.inspection.trace import trace_translation

            trace = trace_translation(translator, message["text"], message["target"])
            yield {"found": trace.to_dict()}


def _has_letters(translator: "Translator") -> bool:
    """Whether the model was trained on words, and not on digits or commands alone."""
    tokenizer = translator.tokenizers.source
    pieces = tokenizer.tokens(range(tokenizer.vocabulary_size))
    return any(map(str.isalpha, "".join(each for each in pieces if not each.startswith("<"))))


def _as_message(translation: "Translation") -> Message:
    return {
        "text": translation.text,
        "score": translation.score,
        "flags": translation.flags,
        "alternatives": [each.text for each in translation.alternatives],
    }


if __name__ == "__main__":
    main()
