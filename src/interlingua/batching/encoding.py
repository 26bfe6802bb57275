"""Text to ids, a chunk at a time: in this process, or in several that each have a core.

The tokenizer is Python and keeps its core busy, so that threads would wait for each other; processes do not. Each reads
the text of its chunk from the corpus itself and gives back bytes ready to be written, so that no more than a few
chunks are ever in memory, whatever the size of the corpus.
"""

import json
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, Literal, NoReturn

import numpy as np

from interlingua import errors
from interlingua.batching.shard_writer import EncodedChunk
from interlingua.batching.shards import id_dtype
from interlingua.batching.truncation import truncate
from interlingua.corpus.scan import Chunk
from interlingua.errors import CorpusError, InterlinguaError
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.words import word_of_each_token

__all__ = ["WORKER_COMMAND", "Encoder", "encode_chunks", "serve"]

WORKER_COMMAND = (
    "import sys; sys.path.insert(0, sys.argv[1]); import interlingua; "
    "sys.path.append(sys.path.pop(0)); from interlingua.batching.encoding import serve; serve()"
)
"""What a worker runs. It is started as a program and not forked: a fork would copy the locks of torch's threads, and
would start with the memory of its parent. The folder of this very package comes first, so that no other installed
version is taken, and then last, so that nothing else in it takes the place of a module of Python."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """How text becomes the rows of shards.

    Attributes:
        tokenizers: those of the two sides.
        max_length: tokens of the longest sentence that is kept whole, the end symbol included.
        prefixes: for each part of the corpus, ids that go before every source: the tag of that part.
        keep_text: store the text of the pairs as well.
        answers: what a target is, if it is no text. "tokens": a tag for each word of its source, and every token of a word gets the
            word's tag (Devlin et al. 2019 give it to the first token, and none to the others). "sequence": one word, a class. What is
            no token by itself becomes the unknown symbol.
    """

    tokenizers: TokenizerPair
    max_length: int
    prefixes: tuple[tuple[int, ...], ...] = ()
    keep_text: bool = False
    answers: Literal["tokens", "sequence"] | None = None

    @property
    def id_dtypes(self) -> dict[str, str]:
        """The kind of number that holds the ids of each side."""
        return {
            "source": id_dtype(self.tokenizers.source.vocabulary_size),
            "target": id_dtype(self.tokenizers.target.vocabulary_size),
        }

    def encode(self, chunk: Chunk) -> EncodedChunk:
        """Read the text of a chunk and turn it into ids.

        Raises:
            CorpusError: the text is not what it was when it was scanned, or has not as many tags as words.
            TokenizerError: it holds half a surrogate pair.
        """
        texts = chunk.read()
        if self.answers == "tokens":
            sources, targets = self._tagged(*texts, chunk.line_numbers().tolist())
        else:
            sources = self.tokenizers.source.encode_batch(texts[0])
            targets = self._classes(texts[1]) if self.answers else self._written(texts[1])
        prefix = list(self.prefixes[chunk.part]) if self.prefixes else []
        if prefix:
            sources = [prefix + ids for ids in sources]
        cut = [truncate(ids, self.max_length) for ids in (sources, targets)]
        encoded = EncodedChunk.of_ids(
            chunk.part, cut[0].ids, cut[1].ids, chunk.line_numbers(), self.id_dtypes
        )
        encoded.truncated.update(source=cut[0].num_truncated, target=cut[1].num_truncated)
        if self.keep_text:
            for side, lines in zip(("source", "target"), texts, strict=True):
                text = [line.encode("utf-8") for line in lines]
                encoded.rows[f"{side}_text"] = b"".join(text)
                lengths = np.fromiter(map(len, text), dtype="<i4", count=len(text))
                encoded.rows[f"{side}_text_lengths"] = lengths.tobytes()
        return encoded

    def _tagged(
        self, texts: Sequence[str], tags: Sequence[str], numbers: Sequence[int]
    ) -> tuple[list[list[int]], list[list[int]]]:
        """Return the ids of each text, and for each token the tag of its word."""
        id_of = self._ids_of_tags({tag for line in tags for tag in line.split()})
        sources, targets = [], []
        for text, line, number in zip(texts, tags, numbers, strict=True):
            given = line.split()
            ids, words = word_of_each_token(self.tokenizers.source, text)
            count = words[-1] + 1 if words else 0
            if count != len(given):
                raise CorpusError(
                    f"line {number:,}: {len(given):,} tags for {count:,} words; give each word its tag, with spaces between, "
                    "or take model.answers = sequence for a class of the whole text"
                )
            sources.append(ids)
            targets.append([id_of[given[word]] for word in words])
        return sources, targets

    def _written(self, texts: Sequence[str]) -> list[list[int]]:
        return self.tokenizers.target.encode_batch(list(texts))

    def _classes(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the id of each class; what is not one word is cut into tokens, so that it is noticed."""
        words = [line.split() for line in lines]
        id_of = self._ids_of_tags({each[0] for each in words if len(each) == 1})
        cut = self._written(lines)
        return [
            [id_of[each[0]]] if len(each) == 1 else ids
            for each, ids in zip(words, cut, strict=True)
        ]

    def _ids_of_tags(self, tags: Collection[str]) -> dict[str, int]:
        target = self.tokenizers.target
        cut = zip(tags, target.encode_batch(list(tags)), strict=True)
        return {tag: ids[0] if len(ids) == 1 else target.unknown_id for tag, ids in cut}


def encode_chunks(
    encoder: Encoder, chunks: Iterable[Chunk], *, tokenizers: Path, workers: int
) -> Iterator[EncodedChunk]:
    """Yield what ``encoder`` makes of each chunk, in their order.

    Args:
        encoder: how text becomes ids.
        chunks: what to read.
        tokenizers: folder where the tokenizers of ``encoder`` are saved, for other processes.
        workers: processes to use; with one, this process does all.

    Raises:
        CorpusError, TokenizerError: as ``Encoder.encode``.
        InterlinguaError: a process ended, or was ended by somebody else.
    """
    if workers < 2:
        yield from map(encoder.encode, chunks)
        return
    settings = {
        "tokenizers": str(tokenizers),
        "max_length": encoder.max_length,
        "prefixes": encoder.prefixes,
        "keep_text": encoder.keep_text,
        "answers": encoder.answers,
    }
    crew: list[_Worker] = []
    try:
        while len(crew) < workers:
            crew.append(_Worker(settings))
        yield from _in_order(crew, chunks)
    finally:
        for worker in crew:
            worker.end()


def _in_order(crew: Sequence["_Worker"], chunks: Iterable[Chunk]) -> Iterator[EncodedChunk]:
    """Give each chunk to whoever is free; at most two more than there are workers are under way or wait."""
    free: SimpleQueue[_Worker] = SimpleQueue()
    for worker in crew:
        free.put(worker)

    def ask(chunk: Chunk) -> EncodedChunk:
        worker = free.get()
        try:
            return worker.ask(chunk)
        finally:
            free.put(worker)

    waiting: deque[Future[EncodedChunk]] = deque()
    with ThreadPoolExecutor(len(crew)) as threads:
        try:
            for chunk in chunks:
                waiting.append(threads.submit(ask, chunk))
                if len(waiting) == len(crew) + 2:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            for worker in crew:
                worker.end()  # so that nobody waits for an answer that nobody wants
            raise


class _Worker:
    """A process that turns chunks into bytes."""

    def __init__(self, settings: dict[str, Any]) -> None:
        root = str(Path(errors.__file__).parents[1])
        # -P: a file of the current folder must not take the place of a module.
        command = [sys.executable, "-P", "-c", WORKER_COMMAND, root]
        with _without_interrupts():
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1 << 20
            )
        self._say(settings)

    def ask(self, chunk: Chunk) -> EncodedChunk:
        question = asdict(chunk)
        for side in ("source", "target"):
            question[f"{side}_path"] = str(question[f"{side}_path"])
        self._say(question)
        answer = self._process.stdout
        assert answer is not None
        heading = answer.readline()
        try:
            told = json.loads(heading)
        except ValueError:
            told = None
        if not isinstance(told, dict):
            if not heading.endswith(b"\n"):
                self._gone()
            self.end()  # something in it prints, and nobody knows where its answers begin
            self._give_up(f"answered {heading[:60]!r}")
        if "error" in told:
            raise getattr(errors, told["error"])(told["message"])
        rows = {name: answer.read(size) for name, size in told["sizes"].items()}
        if any(len(rows[name]) != size for name, size in told["sizes"].items()):
            self._gone()
        return EncodedChunk(told["part"], told["pairs"], told["truncated"], rows)

    def end(self) -> None:
        """End the process; it has nothing to lose."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue  # what it still held was for a process that is gone

    def _say(self, words: dict[str, Any]) -> None:
        question = self._process.stdin
        assert question is not None
        try:
            question.write(json.dumps(words).encode() + b"\n")
            question.flush()
        except OSError:
            self._gone()

    def _gone(self) -> NoReturn:
        status = self._process.wait()
        self.end()
        why = "perhaps for want of memory" if status < 0 else "and its own message stands above"
        self._give_up(f"was ended (status {status}), {why}")

    def _give_up(self, what: str) -> NoReturn:
        raise InterlinguaError(
            f"a process that cuts text into tokens {what}; the same command goes on from there, "
            "and with --training.threads 1 it takes less memory and no other process"
        )


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back for a moment. A process that is started in it never hears of Ctrl-C, from its first moment on.

    It is for the parent, which ends its workers.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def serve() -> None:
    """Be a worker: read settings and then chunks from standard input, and write what they became."""
    try:
        _answer(sys.stdin.buffer, sys.stdout.buffer)
    except BrokenPipeError:
        os._exit(
            1
        )  # the parent is gone; Python itself would complain once more when it closes the pipe


def _answer(questions: IO[bytes], answers: IO[bytes]) -> None:
    first = questions.readline()
    if not first:
        return
    settings = json.loads(first)
    try:
        encoder = Encoder(
            TokenizerPair.load(Path(settings["tokenizers"])),
            settings["max_length"],
            tuple(tuple(ids) for ids in settings["prefixes"]),
            settings["keep_text"],
            settings["answers"],
        )
    except InterlinguaError as error:
        _complain(answers, error)
        return
    for line in questions:
        asked = json.loads(line)
        for side in ("source", "target"):
            asked[f"{side}_path"] = Path(asked[f"{side}_path"])
            asked[f"{side}_span"] = tuple(asked[f"{side}_span"])
        asked["left_out"] = tuple(asked["left_out"])
        try:
            encoded = encoder.encode(Chunk(**asked))
        except InterlinguaError as error:
            _complain(answers, error)
            continue
        heading = {
            "part": encoded.part,
            "pairs": encoded.pairs,
            "truncated": encoded.truncated,
            "sizes": {name: len(row) for name, row in encoded.rows.items()},
        }
        answers.write(json.dumps(heading).encode() + b"\n")
        answers.writelines(encoded.rows.values())
        answers.flush()


def _complain(answers: IO[bytes], error: InterlinguaError) -> None:
    answers.write(json.dumps({"error": type(error).__name__, "message": str(error)}).encode())
    answers.write(b"\n")
    answers.flush()
