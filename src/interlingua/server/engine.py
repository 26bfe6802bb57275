"""The queue before the models: what waits while they decode is decoded together next.

A sentence is translated as it would be alone (a translation does not depend on its neighbours), so that whoever asks at
the same time shares batches without knowing of each other. Sentences are taken one by one from each request in turn: a long
document does not hold up a short question.
"""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interlingua.errors import InterlinguaError, ModelError
from interlingua.server.frames import Message, pack, receive
from interlingua.server.refusals import Refusal
from interlingua.server.settings import ServerSettings

__all__ = ["Engine", "ServedModel"]

_AGAIN = (0.1, 0.5, 2.0, 5.0)
"""Seconds before a worker is started again, after one, two, ... that did not get ready."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model that a worker has.

    Attributes:
        number: its place among the models that were named.
        source: language code that it reads.
        target: language code that it writes.
        beam_size: how it is searched, unless a request asks for more.
        has_letters: whether it was trained on words; only then a text without a letter is none that it can translate.
    """

    number: int
    source: str
    target: str
    beam_size: int
    has_letters: bool


@dataclass(eq=False, slots=True)
class _Asked:
    """Something that a worker is asked for."""

    message: Message
    answer: asyncio.Future[Any]
    tries: int = 0


@dataclass(eq=False, slots=True)
class _Waiting:
    """The sentences of one request that have not been decoded yet, all for one model in one way."""

    model: int
    options: dict[str, Any]
    texts: deque[tuple[str, asyncio.Future[Message]]] = field(default_factory=deque)

    def next_text(self) -> tuple[str, asyncio.Future[Message]] | None:
        """Take the next sentence that somebody still waits for."""
        while self.texts:
            text, answer = self.texts.popleft()
            if not answer.done():
                return text, answer
        return None


class Engine:
    """A worker process with the models, the queue before it, and another worker when it dies.

    Args:
        folders: of the models.
        settings: limits.
        device: where to compute.
        dtype: of the matrix products.
        threads: of the worker; None: as many as torch takes.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        settings: ServerSettings,
        *,
        device: str = "auto",
        dtype: str = "auto",
        threads: int | None = None,
    ) -> None:
        self.settings = settings
        self.models: tuple[ServedModel, ...] = ()
        self._start: Message = {
            "models": [str(folder) for folder in folders],
            "device": device,
            "dtype": dtype,
            "threads": threads,
        }
        self._process: Process | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._queue: deque[_Waiting] = deque()
        self._num_waiting = 0
        self._wake = asyncio.Event()
        self._asked: dict[int, _Asked] = {}
        self._next_id = 0
        self._stopping = False

    @property
    def is_ready(self) -> bool:
        """Whether there is a worker that takes requests."""
        return self._process is not None and not self._stopping

    @property
    def num_waiting(self) -> int:
        """Sentences in the queue."""
        return self._num_waiting

    async def start(self) -> None:
        """Start the worker and wait until it has its models.

        Raises:
            InterlinguaError: a model cannot be opened.
        """
        process = await self._launch()
        for work in (self._keep_alive(process), self._batch()):
            task = asyncio.create_task(work)
            self._tasks.add(task)

    async def stop(self) -> None:
        """End the worker; whoever still waits is refused."""
        self._stopping = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            self._process = None
        refusal = Refusal(503, "The server is stopping", self.settings.retry_after)
        for asked in self._asked.values():
            _fail(asked.answer, refusal)
        for waiting in self._queue:
            for _, answer in waiting.texts:
                _fail(answer, refusal)

    async def translate(
        self, model: ServedModel, sentences: Sequence[str], options: dict[str, Any]
    ) -> list[Message]:
        """Translate sentences, in company with whatever else is asked for in the same way.

        Raises:
            Refusal: too much waits already, or the worker cannot do it.
        """
        if self._num_waiting + len(sentences) > self.settings.max_waiting and self._num_waiting:
            raise Refusal(503, "The server is busy", self.settings.retry_after)
        loop = asyncio.get_running_loop()
        waiting = _Waiting(model.number, options)
        answers = [loop.create_future() for _ in sentences]
        waiting.texts.extend(zip(sentences, answers, strict=True))
        self._queue.append(waiting)
        self._num_waiting += len(sentences)
        self._wake.set()
        try:
            return list(await asyncio.gather(*answers))
        finally:
            for answer in answers:
                answer.cancel()

    async def ask(self, message: Message) -> Any:
        """Ask the worker for what is no batch of translations.

        Raises:
            Refusal: the worker cannot do it.
        """
        if len(self._asked) >= self.settings.max_waiting:
            raise Refusal(503, "The server is busy", self.settings.retry_after)
        return await self._send(message)

    async def _send(self, message: Message) -> Any:
        number = self._next_id
        self._next_id += 1
        asked = _Asked(message | {"id": number}, asyncio.get_running_loop().create_future())
        self._asked[number] = asked
        try:
            self._write(asked)
            return await asked.answer
        finally:
            self._asked.pop(number, None)

    def _write(self, asked: _Asked) -> None:
        """Give a request to the worker; one that is being replaced gets it when it is there."""
        if self._process is not None and self._process.stdin is not None:
            asked.tries += 1
            with suppress(ConnectionError, RuntimeError):
                self._process.stdin.write(pack(asked.message))

    async def _batch(self) -> None:
        """Take what waits, have it decoded, and again."""
        while True:
            while not self._queue:
                self._wake.clear()
                await self._wake.wait()
            batch = self._take()
            if batch:
                await self._decode(*batch)

    async def _decode(
        self,
        model: int,
        options: dict[str, Any],
        texts: list[tuple[str, asyncio.Future[Message]]],
    ) -> None:
        message = {
            "do": "translate",
            "model": model,
            "options": options,
            "texts": [text for text, _ in texts],
        }
        try:
            found = await self._send(message)
        except Refusal as refusal:
            for _, answer in texts:
                _fail(answer, refusal)
            return
        for (_, answer), each in zip(texts, found, strict=True):
            if not answer.done():
                answer.set_result(each)

    def _take(
        self,
    ) -> tuple[int, dict[str, Any], list[tuple[str, asyncio.Future[Message]]]] | None:
        """Take sentences for one batch: what asks for the same as the first, one of each request in turn."""
        first = self._queue[0]
        batch: list[tuple[str, asyncio.Future[Message]]] = []
        others: deque[_Waiting] = deque()
        size = 0
        while self._queue and size < self.settings.batch_chars:
            waiting = self._queue.popleft()
            if waiting.model != first.model or waiting.options != first.options:
                others.append(waiting)
                continue
            taken = waiting.next_text()
            if taken is not None:
                batch.append(taken)
                size += len(taken[0])
                self._queue.append(waiting)
        self._queue.extendleft(reversed(others))
        self._num_waiting = sum(len(waiting.texts) for waiting in self._queue)
        return (first.model, first.options, batch) if batch else None

    async def _launch(self) -> Process:
        """Start a worker.

        Raises:
            InterlinguaError: it cannot open its models.
        """
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "interlingua.server.worker",
            stdin=PIPE,
            stdout=PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            start_new_session=True,  # Ctrl-C is for the server, which tells the worker when to end
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(pack(self._start))
            first = await receive(process.stdout)
        except BaseException:
            process.kill()
            raise
        if first is None:
            await process.wait()
            raise ModelError(
                f"the process that loads the models ended (status {process.returncode}); "
                "most likely there is too little memory"
            )
        if "failed" in first:
            await process.wait()
            error = InterlinguaError(first["failed"])
            error.exit_status = first["exit_status"]
            raise error
        self.models = tuple(
            ServedModel(
                number, each["source"], each["target"], each["beam_size"], each["has_letters"]
            )
            for number, each in enumerate(first["ready"])
        )
        self._process = process
        return process

    async def _keep_alive(self, process: Process) -> None:
        """Pass on the answers of the worker; when it dies, start another and ask that one again."""
        failures = 0
        while True:
            assert process.stdout is not None
            while (message := await receive(process.stdout)) is not None:
                failures = 0
                self._pass_on(message)
            self._process = None
            await process.wait()
            while self._process is None:
                try:
                    process = await self._launch()
                except (InterlinguaError, OSError):
                    await asyncio.sleep(_AGAIN[min(failures, len(_AGAIN) - 1)])
                    failures += 1
            self._ask_again()

    def _ask_again(self) -> None:
        """Ask a new worker what the last one did not answer; what two died of is not tried again."""
        for asked in list(self._asked.values()):
            if asked.tries >= 2:
                _fail(
                    asked.answer,
                    Refusal(503, "The model could not answer", self.settings.retry_after),
                )
            else:
                self._write(asked)

    def _pass_on(self, message: Message) -> None:
        asked = self._asked.get(message["id"])
        if asked is None or asked.answer.done():
            return
        if "refused" in message:
            asked.answer.set_exception(Refusal(400, f"Invalid request: {message['refused']}"))
        elif "broken" in message:
            asked.answer.set_exception(
                Refusal(500, f"Internal error: the model failed ({message['broken']})")
            )
        else:
            asked.answer.set_result(message["found"])


def _fail(answer: "asyncio.Future[Any]", refusal: Refusal) -> None:
    if not answer.done():
        answer.set_exception(refusal)
