"""The queue before the models: what waits while they decode is decoded together next.

A sentence is translated as it would be alone (a translation does not depend on its neighbours), so that whoever asks at
the same time shares batches without knowing of each other. Half of a batch is taken one by one from each request in turn, so
that a long document does not hold up a short question; the other half belongs to who came first, so that documents that wait
together end one after another, and not all at the end.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from interlingua.server.frames import Message
from interlingua.server.refusals import Refusal
from interlingua.server.settings import ServerSettings

__all__ = ["Batcher"]

_FIRST_RATE = 4_000.0
"""Characters a second that a model is taken to decode until that has been measured."""

_LEAST = 200
"""Characters of the smallest batch, whatever the time that it takes."""

_WEIGHT = 0.2
"""Of the last batch in the mean of the rates."""


@dataclass(eq=False, slots=True)
class _Waiting:
    """The sentences of one request that have not been decoded yet, all for one model in one way.

    One future a request, not one a sentence: a full queue holds a hundred thousand sentences, and whatever the collector of
    garbage has to look at in it stops every answer.
    """

    model: int
    options: dict[str, Any]
    texts: deque[tuple[int, str]]
    """Each with its place in the request."""
    answer: asyncio.Future[list[Message]]
    number: int
    """Sentences in all."""
    turn: int
    """The batch in which its last turn was, or before which it came."""
    found: dict[int, Message] = field(default_factory=dict)
    """By place, what has been decoded."""

    @property
    def next_size(self) -> int:
        """Characters of the sentence that is taken next."""
        return len(self.texts[0][1])

    @property
    def is_done(self) -> bool:
        """Whether each sentence has been decoded."""
        return len(self.found) == self.number

    def finish(self) -> None:
        """End the waiting with what was found."""
        if not self.answer.done():
            self.answer.set_result([self.found[each] for each in range(self.number)])

    def refuse(self, refusal: Refusal) -> None:
        """End the waiting without an answer."""
        if not self.answer.done():
            self.answer.set_exception(refusal)


Batch = list[tuple[_Waiting, int, str]]
"""Sentences of several requests: whose, the place there, the text."""


class Batcher:
    """Collects sentences and has them decoded together.

    Args:
        ask: has a batch decoded: the message to a worker -> what it found for each text.
        settings: how much may wait, and how much is decoded together.
    """

    def __init__(
        self, ask: Callable[[Message], Awaitable[list[Message]]], settings: ServerSettings
    ) -> None:
        self._ask = ask
        self._settings = settings
        self._queue: deque[_Waiting] = deque()
        self._chars = 0
        self._taken = 0
        self._rates: dict[int, float] = {}
        self._wake = asyncio.Event()
        self._telling: set[asyncio.Task[None]] = set()
        self.batches = 0
        """Batches that were decoded."""
        self.sentences = 0
        """Sentences in them."""

    @property
    def num_waiting(self) -> int:
        """Requests in the queue."""
        return len(self._queue)

    @property
    def is_full(self) -> bool:
        """Whether the queue takes no more."""
        settings = self._settings
        return len(self._queue) >= settings.max_waiting or self._chars >= settings.max_waiting_chars

    def refusal(self) -> Refusal:
        """Return what a request is told that finds the queue full: come again when half of it is done."""
        rate = min(self._rates.values(), default=_FIRST_RATE)
        seconds = max(1, min(60, round(self._chars / rate / 2)))
        return Refusal(503, "The server is busy", seconds)

    async def translate(
        self, model: int, sentences: Sequence[str], options: dict[str, Any]
    ) -> list[Message]:
        """Translate sentences, in company with whatever else is asked for in the same way.

        Whoever stops waiting takes what has not been begun out of the queue.

        Raises:
            Refusal: too much waits already, or the worker cannot do it.
        """
        if self.is_full:
            raise self.refusal()
        if not sentences:
            return []
        answer = asyncio.get_running_loop().create_future()
        texts = deque(enumerate(sentences))
        waiting = _Waiting(model, options, texts, answer, len(sentences), self._taken)
        self._queue.append(waiting)
        self._chars += sum(map(len, sentences))
        self._wake.set()
        try:
            return await answer
        finally:
            self._forget(waiting)

    async def run(self) -> None:
        """Take what waits, have it decoded, and again, until cancelled."""
        while True:
            while not self._queue:
                self._wake.clear()
                await self._wake.wait()
            await self._decode(*self._take())

    def give_up(self, refusal: Refusal) -> None:
        """Refuse everyone who waits."""
        for waiting in list(self._queue):
            self._forget(waiting, refusal)

    def _forget(self, waiting: _Waiting, refusal: Refusal | None = None) -> None:
        with suppress(ValueError):
            self._queue.remove(waiting)
        self._chars -= sum(len(text) for _, text in waiting.texts)
        waiting.texts.clear()
        if refusal is not None:
            waiting.refuse(refusal)

    def _take(self) -> tuple[int, dict[str, Any], Batch]:
        """Take sentences for one batch: what asks for the same as whoever has waited longest for a turn."""
        self._taken += 1
        first = min(self._queue, key=_turn)
        rate = self._rates.get(first.model, _FIRST_RATE)
        room = min(self._settings.batch_chars, max(_LEAST, rate * self._settings.batch_seconds))
        alike = [
            each
            for each in self._queue
            if each.model == first.model and each.options == first.options
        ]
        batch: Batch = []
        size = 0
        in_turn = deque(sorted(alike, key=_turn))
        while in_turn and (not batch or size + in_turn[0].next_size <= room / 2):
            waiting = in_turn.popleft()
            waiting.turn = self._taken
            size += waiting.next_size
            batch.append((waiting, *waiting.texts.popleft()))
            if waiting.texts:
                in_turn.append(waiting)
        for waiting in alike:
            while waiting.texts and size + waiting.next_size <= room:
                size += waiting.next_size
                batch.append((waiting, *waiting.texts.popleft()))
        self._queue = deque(each for each in self._queue if each.texts)
        self._chars -= size
        return first.model, first.options, batch

    async def _decode(self, model: int, options: dict[str, Any], batch: Batch) -> None:
        texts = [text for _, _, text in batch]
        start = time.monotonic()
        try:
            found = await self._ask(
                {"do": "translate", "model": model, "options": options, "texts": texts}
            )
        except Refusal as refusal:
            for waiting, _, _ in batch:
                self._forget(waiting, refusal)
            return
        self.batches += 1
        self.sentences += len(batch)
        rate = sum(map(len, texts)) / max(1e-6, time.monotonic() - start)
        self._rates[model] = (1 - _WEIGHT) * self._rates.get(model, rate) + _WEIGHT * rate
        for (waiting, place, _), each in zip(batch, found, strict=True):
            waiting.found[place] = each
        telling = asyncio.create_task(_tell(batch))
        self._telling.add(telling)
        telling.add_done_callback(self._telling.discard)


def _turn(waiting: _Waiting) -> int:
    return waiting.turn


async def _tell(batch: Batch) -> None:
    """Wake those who have all by now, one after another: what others ask for meanwhile must not wait until all have been told.

    Requests take turns, so that under much load hundreds of pages may end with the same batch.
    """
    for waiting in dict.fromkeys(waiting for waiting, _, _ in batch):
        if waiting.is_done:
            waiting.finish()
            await asyncio.sleep(0)
