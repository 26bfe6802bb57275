"""The queue before the models: what waits while they decode is decoded together next.

A sentence is translated as it would be alone (a translation does not depend on its neighbours), so that whoever asks at
the same time shares batches without knowing of each other. Half of a batch is taken one by one from each request in turn, so
that a long document does not hold up a short question; the other half belongs to who came first, so that documents that wait
together end one after another, and not all at the end.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from interlingua.server.frames import Message
from interlingua.server.refusals import Refusal
from interlingua.server.settings import ServerSettings

__all__ = ["Batcher", "Found", "begin_request"]

Found = tuple[str, tuple[str, ...], bool]
"""What a sentence became, the next best, and whether it was too long to be read whole.

Nothing but a plain tuple: the collector of garbage finds out that there is nothing in it to look at, and a full queue holds a hundred
thousand.
"""

_FIRST_RATE = 4_000.0
"""Characters a second that a model is taken to decode until that has been measured."""

_SLICES = 4
"""Of the queue one request takes one in so many at once: a document of more is not refused, and does not make it full."""

_is_admitted: ContextVar[bool] = ContextVar("is_admitted", default=False)
"""Whether the request that is being answered was let in: it is not refused in the middle."""

_LEAST = 200
"""Characters of the smallest batch, whatever the time that it takes."""

_WEIGHT = 0.2
"""Of the last batch in what is known of its model."""


@dataclass(slots=True)
class _Pace:
    """How fast a model decodes, by its last batches: their characters over their seconds.

    Once there were full batches, only these count: a short text alone takes its time with few characters, and would make a long
    queue look slow.
    """

    chars: float
    seconds: float
    is_of_full: bool

    @property
    def rate(self) -> float:
        """Characters a second."""
        return self.chars / max(1e-6, self.seconds)

    def observe(self, chars: float, seconds: float, is_full: bool) -> None:
        """Take in a batch."""
        if is_full and not self.is_of_full:
            self.chars, self.seconds, self.is_of_full = chars, seconds, True
        elif is_full == self.is_of_full:
            self.chars += _WEIGHT * (chars - self.chars)
            self.seconds += _WEIGHT * (seconds - self.seconds)


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
    answer: asyncio.Future[list[Found]]
    number: int
    """Sentences in all."""
    turn: int
    """The batch in which its last turn was, or before which it came."""
    found: dict[int, Found] = field(default_factory=dict)
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


@dataclass(frozen=True, slots=True)
class _Batch:
    """Sentences of several requests, for one model in one way.

    Attributes:
        model: its number.
        options: of the search.
        sentences: whose, the place there, the text.
        is_full: whether others like them had to stay behind.
    """

    model: int
    options: dict[str, Any]
    sentences: list[tuple[_Waiting, int, str]]
    is_full: bool


class Batcher:
    """Collects sentences and has them decoded together.

    Args:
        ask: has a batch decoded: the message to a worker -> for each text the fields of what was found.
        settings: how much may wait, and how much is decoded together.
    """

    def __init__(
        self, ask: Callable[[Message], Awaitable[list[Any]]], settings: ServerSettings
    ) -> None:
        self._ask = ask
        self._settings = settings
        self._queue: deque[_Waiting] = deque()
        self._chars: Counter[int] = Counter()
        self._taken = 0
        self._paces: dict[int, _Pace] = {}
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
        if len(self._queue) >= settings.max_waiting:
            return True
        return self._chars.total() >= settings.max_waiting_chars

    def refusal(self) -> Refusal:
        """Return what a request is told that finds the queue full: come again when half of it is done, by the pace of each model."""
        whole = sum(chars / self._rate(model) for model, chars in self._chars.items())
        return Refusal(503, "The server is busy", max(1, min(60, round(whole / 2))))

    def _rate(self, model: int) -> float:
        """Return how many characters a second a model decodes, by its last batches."""
        pace = self._paces.get(model)
        return _FIRST_RATE if pace is None else pace.rate

    async def translate(
        self, model: int, sentences: Sequence[str], options: dict[str, Any]
    ) -> list[Found]:
        """Translate sentences, in company with whatever else is asked for in the same way.

        Whoever stops waiting takes what has not been begun out of the queue.

        Raises:
            Refusal: too much waits already as a request first asks, or the worker cannot do it.
        """
        if not _is_admitted.get():
            if self.is_full:
                raise self.refusal()
            _is_admitted.set(True)
        found: list[Found] = []
        for some in _slices(sentences, self._settings.max_waiting_chars // _SLICES):
            found += await self._wait_for(model, some, options)
        return found

    async def _wait_for(
        self, model: int, sentences: Sequence[str], options: dict[str, Any]
    ) -> list[Found]:
        answer = asyncio.get_running_loop().create_future()
        texts = deque(enumerate(sentences))
        waiting = _Waiting(model, options, texts, answer, len(sentences), self._taken)
        self._queue.append(waiting)
        self._chars[model] += sum(map(len, sentences))
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
            await self._decode(self._take())

    def give_up(self, refusal: Refusal) -> None:
        """Refuse everyone who waits."""
        for waiting in list(self._queue):
            self._forget(waiting, refusal)

    def _forget(self, waiting: _Waiting, refusal: Refusal | None = None) -> None:
        if waiting.texts:  # else it has left the queue
            self._queue.remove(waiting)
            self._chars[waiting.model] -= sum(len(text) for _, text in waiting.texts)
            waiting.texts.clear()
        if refusal is not None:
            waiting.refuse(refusal)

    def _take(self) -> _Batch:
        """Take sentences for one batch: what asks for the same as whoever has waited longest for a turn."""
        self._taken += 1
        first = min(self._queue, key=_turn)
        wanted = self._rate(first.model) * self._settings.batch_seconds
        room = min(self._settings.batch_chars, max(_LEAST, wanted))
        alike = [
            each
            for each in self._queue
            if each.model == first.model and each.options == first.options
        ]
        batch: list[tuple[_Waiting, int, str]] = []
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
        self._chars[first.model] -= size
        return _Batch(first.model, first.options, batch, any(each.texts for each in alike))

    async def _decode(self, batch: _Batch) -> None:
        texts = [text for _, _, text in batch.sentences]
        asked = {"do": "translate", "model": batch.model, "options": batch.options, "texts": texts}
        start = time.monotonic()
        try:
            found = await self._ask(asked)
        except Refusal as refusal:
            for waiting, _, _ in batch.sentences:
                self._forget(waiting, refusal)
            return
        self.batches += 1
        self.sentences += len(texts)
        chars, seconds = float(sum(map(len, texts))), time.monotonic() - start
        pace = self._paces.setdefault(batch.model, _Pace(chars, seconds, batch.is_full))
        pace.observe(chars, seconds, batch.is_full)
        for (waiting, place, _), (best, others, is_cut_off) in zip(
            batch.sentences, found, strict=True
        ):
            waiting.found[place] = (best, tuple(others), is_cut_off)
        telling = asyncio.create_task(_tell(batch))
        self._telling.add(telling)
        telling.add_done_callback(self._telling.discard)


def _slices(sentences: Sequence[str], most_chars: int) -> Iterator[Sequence[str]]:
    """Cut a request into what waits at once: so many characters, or one sentence."""
    first = chars = 0
    for place, sentence in enumerate(sentences):
        if place > first and chars + len(sentence) > most_chars:
            yield sentences[first:place]
            first, chars = place, 0
        chars += len(sentence)
    if first < len(sentences):
        yield sentences[first:]


def _turn(waiting: _Waiting) -> int:
    return waiting.turn


def begin_request() -> None:
    """Have what is asked for from now on, in this context, be let in anew: a connection may bring several requests."""
    _is_admitted.set(False)


async def _tell(batch: _Batch) -> None:
    """Wake those who have all by now, one after another: what others ask for meanwhile must not wait until all have been told.

    Requests take turns, so that under much load hundreds of pages may end with the same batch.
    """
    for waiting in dict.fromkeys(waiting for waiting, _, _ in batch.sentences):
        if waiting.is_done:
            waiting.finish()
            await asyncio.sleep(0)
