"""The queue: who is decoded together, in whose turn, and what happens to those who leave."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from interlingua.server import batcher as batcher_module
from interlingua.server.batcher import Batcher
from interlingua.server.refusals import Refusal
from interlingua.server.settings import ServerSettings


class Model:
    """Turns texts round, when it is let."""

    def __init__(self) -> None:
        self.batches: list[tuple[int, list[str]]] = []
        self.goes = asyncio.Event()
        self.refusal: Refusal | None = None

    async def ask(self, message: dict[str, Any]) -> list[list[Any]]:
        self.batches.append((message["model"], message["texts"]))
        await asyncio.sleep(0)
        await self.goes.wait()
        if self.refusal is not None:
            raise self.refusal
        return [[text[::-1], [], False] for text in message["texts"]]


def run(test: Callable[[Model, Batcher], Awaitable[None]], **limits: Any) -> None:
    async def within() -> None:
        model = Model()
        batcher = Batcher(model.ask, ServerSettings(**limits))
        serving = asyncio.create_task(batcher.run())
        try:
            await asyncio.wait_for(test(model, batcher), 10)
        finally:
            serving.cancel()

    asyncio.run(within())


def asking(batcher: Batcher, *texts: str, model: int = 0) -> "asyncio.Task[list[Any]]":
    return asyncio.create_task(batcher.translate(model, list(texts), {}))


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_what_waits_while_the_model_decodes_is_decoded_together() -> None:
    async def test(model: Model, batcher: Batcher) -> None:
        first = asking(batcher, "ab")
        await settle()
        others = [asking(batcher, f"{n}x") for n in range(5)]
        elsewhere = asking(batcher, "yz", model=1)
        await settle()
        model.goes.set()
        assert [text for text, *_ in await first] == ["ba"]
        assert [(await each)[0][0] for each in others] == [f"x{n}" for n in range(5)]
        await elsewhere
        assert model.batches == [(0, ["ab"]), (0, [f"{n}x" for n in range(5)]), (1, ["yz"])]

    run(test)


def test_a_long_document_does_not_hold_up_a_short_question() -> None:
    async def test(model: Model, batcher: Batcher) -> None:
        model.goes.set()
        document = asking(batcher, *["word" * 50] * 40)
        await settle()
        question = asking(batcher, "short")
        await question
        assert not document.done()
        assert len(await document) == 40

    run(test, batch_chars=400)


def test_documents_that_wait_together_end_one_after_another() -> None:
    async def test(model: Model, batcher: Batcher) -> None:
        documents = [asking(batcher, *["word" * 10] * 40) for _ in range(4)]
        await settle()
        model.goes.set()
        ended = []
        for number, each in enumerate(documents):
            each.add_done_callback(
                lambda _, number=number: ended.append((number, len(model.batches)))
            )
        await asyncio.gather(*documents)
        batches = [when for _, when in ended]
        assert [number for number, _ in ended] == [0, 1, 2, 3]
        assert batches[0] < 0.6 * batches[-1]
        assert batches[-1] == len(model.batches)

    run(test, batch_chars=400)


def test_each_model_has_its_turn() -> None:
    async def test(model: Model, batcher: Batcher) -> None:
        model.goes.set()
        document = asking(batcher, *["word" * 10] * 400)
        others = [asking(batcher, *["x" * 40] * 40, model=1) for _ in range(10)]
        await document
        assert any(other.done() for other in others)
        await asyncio.gather(*others)
        turns = [number for number, _ in model.batches[:20]]
        assert 4 <= sum(turns) <= 16

    run(test, batch_chars=400)


def test_a_full_queue_refuses_and_says_when_to_come_again() -> None:
    async def test(model: Model, batcher: Batcher) -> None:
        asked = [asking(batcher, "a")]
        await settle()
        asked += [asking(batcher, "a") for _ in range(3)]
        await settle()
        with pytest.raises(Refusal) as refused:
            await batcher.translate(0, ["b"], {})
        assert (refused.value.status, refused.value.retry_after) == (503, 1)
        model.goes.set()
        await asyncio.gather(*asked)
        assert (await batcher.translate(0, ["b"], {}))[0][0] == "b"

    run(test, max_waiting=3)


class Clock:
    """Stands still but while a batch is decoded: a part of the time for the batch, the other for each character of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(batcher_module, "time", self)

    def monotonic(self) -> float:
        return self.now

    def of(self, model: Model, rates: dict[int, float]) -> Callable[..., Awaitable[list[Any]]]:
        async def ask(message: dict[str, Any]) -> list[dict[str, Any]]:
            found = await model.ask(message)
            self.now += 0.05 + sum(map(len, message["texts"])) / rates[message["model"]]
            return found

        return ask


def test_a_refusal_names_the_time_that_half_of_the_queue_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)

    async def test(model: Model, batcher: Batcher) -> None:
        monkeypatch.setattr(batcher, "_ask", clock.of(model, {0: 10_000}))
        model.goes.set()
        for _ in range(100):
            await batcher.translate(0, ["short"], {})
        asked = [asking(batcher, "word" * 50) for _ in range(1_000)]
        await settle()
        while batcher.num_waiting > 800:
            await asyncio.sleep(0)
        told, start, left = batcher.refusal().retry_after, clock.now, batcher.num_waiting
        while batcher.num_waiting > left / 2:
            await asyncio.sleep(0)
        took = clock.now - start
        assert took > 5
        assert told == pytest.approx(took, rel=0.3)
        await asyncio.gather(*asked)
        for _ in range(100):  # alone again: what full batches take is still known
            await batcher.translate(0, ["short"], {})
        asked = [asking(batcher, "word" * 50) for _ in range(left)]
        await settle()
        assert batcher.refusal().retry_after == pytest.approx(took, rel=0.3)
        await asyncio.gather(*asked)

    run(test, max_waiting=2_000)


def test_a_queue_for_a_fast_model_is_not_told_by_a_slow_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)

    async def test(model: Model, batcher: Batcher) -> None:
        monkeypatch.setattr(batcher, "_ask", clock.of(model, {0: 10_000, 1: 50}))
        model.goes.set()
        await asyncio.gather(asking(batcher, "word" * 100), asking(batcher, "word", model=1))
        model.goes.clear()
        asked = [asking(batcher, "word" * 50) for _ in range(100)]
        await settle()
        assert batcher.refusal().retry_after == pytest.approx(2, abs=1)
        asked += [asking(batcher, "word" * 50, model=1) for _ in range(10)]
        await settle()
        assert batcher.refusal().retry_after == pytest.approx(30, abs=10)
        model.goes.set()
        await asyncio.gather(*asked)

    run(test)


def test_who_leaves_takes_what_was_not_begun_out_of_the_queue() -> None:
    async def test(model: Model, batcher: Batcher) -> None:
        first = asking(batcher, "a")
        await settle()
        leaving, staying = asking(batcher, "b"), asking(batcher, "c")
        await settle()
        leaving.cancel()
        await settle()
        assert batcher.num_waiting == 1
        model.goes.set()
        await asyncio.gather(first, staying)
        assert model.batches == [(0, ["a"]), (0, ["c"])]

    run(test)


def test_a_refusal_of_the_model_reaches_everyone_in_the_batch_and_the_next_goes_on() -> None:
    async def test(model: Model, batcher: Batcher) -> None:
        model.refusal = Refusal(500, "broken")
        model.goes.set()
        with pytest.raises(Refusal, match="broken"):
            await batcher.translate(0, ["a"], {})
        model.refusal = None
        assert await batcher.translate(0, ["ab"], {}) == [("ba", (), False)]

    run(test)


def test_a_request_of_more_than_may_wait_makes_the_queue_not_full() -> None:
    async def test(model: Model, batcher: Batcher) -> None:
        document = asking(batcher, *[f"{n:04}" for n in range(1_000)])
        await settle()
        assert not batcher.is_full
        model.goes.set()
        assert (await batcher.translate(0, ["ab"], {}))[0][0] == "ba"
        assert not document.done()
        assert [best for best, _, _ in await document] == [f"{n:04}"[::-1] for n in range(1_000)]

    run(test, max_waiting_chars=1_000, batch_chars=100)


def test_a_request_that_was_let_in_is_not_refused_in_the_middle() -> None:
    async def test(model: Model, batcher: Batcher) -> None:
        async def two() -> list[Any]:
            return [await batcher.translate(0, [text], {}) for text in ("ab", "cd")]

        first = asyncio.create_task(two())
        await settle()
        others = [asking(batcher, "x") for _ in range(3)]
        await settle()
        assert batcher.is_full
        model.goes.set()
        assert [found[0][0] for found in await first] == ["ba", "dc"]
        await asyncio.gather(*others)

    run(test, max_waiting=3)
