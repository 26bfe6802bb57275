"""The models, which live in a process of their own: start it, ask it, and start another when it dies."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from interlingua.errors import InterlinguaError, ModelError
from interlingua.server.batcher import Batcher
from interlingua.server.frames import Message, pack, receive
from interlingua.server.log import tell_event
from interlingua.server.refusals import Refusal
from interlingua.server.settings import ServerSettings

__all__ = ["Engine", "ServedModel"]

_AGAIN = (0.1, 0.5, 2.0, 5.0)
"""Seconds before a worker is started again, after one, two, ... that did not get ready."""

_TRIES = 2
"""Workers that one question may be put to: what two of them died of is not tried again."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model that a worker has.

    Attributes:
        number: its place among the models that were named.
        source: language code that it reads.
        target: language code that it writes.
        beam_size: how it is searched, unless a request asks for more.
        has_letters: whether it was trained on words; only then a text without a letter is none that it can translate.
        takes_sentences: whether it translates; to another model a line is one whole: a prompt, a question, a text to summarise.
        takes_corrections: whether it follows any.
    """

    number: int
    source: str
    target: str
    beam_size: int
    has_letters: bool
    takes_sentences: bool
    takes_corrections: bool = True


@dataclass(eq=False, slots=True)
class _Asked:
    """A question to the worker, and what has come back so far."""

    message: Message
    answers: asyncio.Queue[Message | Refusal]
    tries: int = 0


class Engine:
    """A worker process with the models, and another one when it dies.

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
        self.samples: dict[str, list[str]] = {}
        """Sentences of each language, as far as the models have some."""
        # Who waits in its queue was let in there.
        self.batcher = Batcher(partial(self.ask, is_let_in=True), settings)
        self.restarts = 0
        """Workers that died and were replaced."""
        self._start: Message = {
            "models": [str(folder) for folder in folders],
            "device": device,
            "dtype": dtype,
            "threads": threads,
            "corrections": None if settings.corrections is None else str(settings.corrections),
            "max_inspected": settings.max_inspected,
        }
        self._process: Process | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._asked: dict[int, _Asked] = {}
        self._next_id = 0
        self._stopping = False

    @property
    def is_ready(self) -> bool:
        """Whether there is a worker that takes questions."""
        return self._process is not None and not self._stopping

    async def start(self) -> None:
        """Start the worker and wait until it has its models.

        Raises:
            InterlinguaError: a model cannot be opened.
        """
        process = await self._launch()
        for work in (self._keep_alive(process), self.batcher.run()):
            self._tasks.add(asyncio.create_task(work))

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
        refusal = Refusal(503, "The server is stopping", 1)
        self.batcher.give_up(refusal)
        for asked in self._asked.values():
            asked.answers.put_nowait(refusal)

    async def ask(self, message: Message, *, is_let_in: bool = False) -> Any:
        """Ask the worker for something that comes at once.

        Args:
            message: what is asked.
            is_let_in: it is part of a request that was let in, and not refused however much is asked.

        Raises:
            Refusal: the worker cannot do it, or too much is asked of it.
        """
        asked = self._open(message, is_let_in=is_let_in)
        try:
            return (await _next_answer(asked))["found"]
        finally:
            del self._asked[asked.message["id"]]

    async def stream(self, message: Message) -> AsyncIterator[Message]:
        """Ask the worker for something that comes piece by piece; the last piece has ``found``.

        Whoever leaves before the last piece tells the worker to let it be.

        Raises:
            Refusal: the worker cannot do it, or too much is asked of it.
        """
        asked = self._open(message)
        is_done = False
        try:
            while not is_done:
                answer = await _next_answer(asked)
                is_done = "found" in answer
                yield answer
        finally:
            del self._asked[asked.message["id"]]
            if not is_done:
                self._write({"do": "cancel", "id": asked.message["id"]})

    def _open(self, message: Message, *, is_let_in: bool = False) -> _Asked:
        if not is_let_in and len(self._asked) > self.settings.max_waiting:
            raise Refusal(503, "The server is busy", 1)
        self._next_id += 1
        asked = _Asked(message | {"id": self._next_id}, asyncio.Queue())
        self._asked[self._next_id] = asked
        self._tell(asked)
        return asked

    def _tell(self, asked: _Asked) -> None:
        """Give a question to the worker; one that is being replaced gets it when it is there."""
        if self._process is not None:
            asked.tries += 1
            self._write(asked.message)

    def _write(self, message: Message) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(ConnectionError, RuntimeError):
                self._process.stdin.write(pack(message))

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
            process.stdin.write(pack(self._start | {"is_restart": self.restarts > 0}))
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
            ServedModel(number=number, **each) for number, each in enumerate(first["ready"])
        )
        self.samples = {}
        for model, (sources, targets) in zip(self.models, first["samples"], strict=True):
            self.samples.setdefault(model.source, []).extend(sources)
            self.samples.setdefault(model.target, []).extend(targets)
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
            status = await process.wait()
            self.restarts += 1
            tell_event("worker-died", process=process.pid, status=status, restarts=self.restarts)
            while self._process is None:
                try:
                    process = await self._launch()
                except (InterlinguaError, OSError) as error:
                    seconds = _AGAIN[min(failures, len(_AGAIN) - 1)]
                    tell_event("worker-not-ready", error=type(error).__name__, again_in=seconds)
                    await asyncio.sleep(seconds)
                    failures += 1
            self._ask_again()

    def _ask_again(self) -> None:
        """Ask a new worker what the last one did not answer."""
        for asked in self._asked.values():
            if asked.tries >= _TRIES or asked.message["do"] == "stream":
                asked.answers.put_nowait(Refusal(503, "The model could not answer", 1))
            else:
                self._tell(asked)

    def _pass_on(self, message: Message) -> None:
        asked = self._asked.get(message["id"])
        if asked is None:
            return
        if "refused" in message:
            refusal = Refusal(400, f"Invalid request: {message['refused']}")
        elif "broken" in message:
            refusal = Refusal(500, f"Internal error: the model failed ({message['broken']})")
        else:
            asked.answers.put_nowait(message)
            return
        asked.answers.put_nowait(refusal)


async def _next_answer(asked: _Asked) -> Message:
    answer = await asked.answers.get()
    if isinstance(answer, Refusal):
        raise answer
    return answer
