"""What a server must bear: random requests, more of them than it can answer, clients that are slow, clients that leave.

Shared by ``test_server_under_attack.py`` and ``benchmarks/prove_server.py``.
"""

import asyncio
import gc
import json
import time
from collections import Counter
from dataclasses import dataclass, field

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from running_server import RunningServer
from schemathesis import GenerationMode

__all__ = ["Load", "attack_slowly", "fuzz", "head_of", "leave", "overload", "percentile"]

ALLOWED = {200, 400, 403, 404, 405, 413, 414, 415, 429, 503}


def fuzz(server: RunningServer, requests: int) -> Counter[int]:
    """Send at least so many requests that the OpenAPI document describes, or just does not; return what was answered.

    What has few forms, such as a GET without parameters, leaves its share to the others.

    Raises:
        AssertionError: an answer that is none of those, or one with a traceback.
    """
    schema = schemathesis.openapi.from_url(f"{server.address}/spec")
    strategies = [
        operation.as_strategy(generation_mode=mode)
        for operation in (result.ok() for result in schema.get_all_operations())
        for mode in GenerationMode
        if mode is GenerationMode.POSITIVE or operation.body
    ]
    answered = Counter[int]()
    while strategies and (left := requests - answered.total()) > 0:
        each = -(-left // len(strategies))
        strategies = [one for one in strategies if _send_random(server, one, each, answered)]
    return answered


def _send_random(server, strategy, number: int, answered: Counter[int]) -> bool:
    """Send so many requests of one kind; return whether there were as many."""
    before = answered.total()

    @settings(
        max_examples=number,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def send(case) -> None:
        answer = case.call(base_url=server.address, timeout=40)
        answered[answer.status_code] += 1
        told = f"{case.method} {case.path}: {answer.status_code}"
        assert answer.status_code in ALLOWED, told
        assert b"Traceback" not in answer.content, told
        if answer.status_code != 200:
            assert answer.json().keys() <= {"error", "message"}, told

    send()
    return answered.total() - before >= number


@dataclass
class Load:
    """What came of requests at a fixed rate."""

    seconds: float
    answered: list[float] = field(default_factory=list)
    """Seconds that each answer took from when its request was due."""
    refused: list[float] = field(default_factory=list)
    lost: int = 0
    """Requests without any answer."""

    @property
    def goodput(self) -> float:
        """Answers a second."""
        return len(self.answered) / self.seconds


def percentile(values: list[float], percent: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else 0.0


def overload(server: RunningServer, text: str, *, rate: float, seconds: float) -> Load:
    """Send requests at a fixed rate, whatever becomes of those before."""
    gc.collect()
    gc.freeze()  # what was imported here, or the time to look through it would be taken for the server's
    return asyncio.run(_overload(server, text, rate, seconds))


async def _overload(server: RunningServer, text: str, rate: float, seconds: float) -> Load:
    load = Load(seconds)
    body = json.dumps({"q": text, "source": "digits", "target": "reverse"}).encode()
    request = head_of("/translate", len(body), close=True) + body

    async def one(due: float) -> None:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(request)
            answer = await asyncio.wait_for(reader.read(), 60)
            writer.close()
            status = int(answer.split(b" ", 2)[1])
        except (OSError, TimeoutError, IndexError, ValueError):
            load.lost += 1
            return
        took = time.monotonic() - due
        (load.answered if status == 200 else load.refused).append(took)

    start = time.monotonic()
    tasks = []
    for number in range(int(rate * seconds)):
        due = start + number / rate
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        tasks.append(asyncio.create_task(one(due)))
    await asyncio.gather(*tasks)
    load.seconds = max(seconds, time.monotonic() - start)
    return load


def head_of(path: str, length: int, *, close: bool = False) -> bytes:
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        f"Content-Length: {length}",
        *(["Connection: close"] if close else []),
        "\r\n",
    ]
    return "\r\n".join(lines).encode()


def attack_slowly(server: RunningServer, sockets: int) -> list[float]:
    """Open so many connections that send a head or a body byte by byte, or nothing; return how long each was borne."""
    return asyncio.run(_attack_slowly(server, sockets))


async def _attack_slowly(server: RunningServer, sockets: int) -> list[float]:
    async def one(number: int) -> float:
        start = time.monotonic()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        slow = [b"GET / HTTP/1.1\r\nX: " + b"x" * 600, b"", b" " * 600][number % 3]
        if number % 3 == 2:
            writer.write(head_of("/translate", 100_000))
        closed = asyncio.create_task(reader.read())
        for at in range(600):
            if closed.done():
                break
            if at < len(slow):
                try:
                    writer.write(slow[at : at + 1])
                    await writer.drain()
                except OSError:
                    break
            await asyncio.wait([closed], timeout=1)
        took = time.monotonic() - start
        writer.close()
        await asyncio.gather(closed, return_exceptions=True)  # it may have been reset
        return took

    return list(await asyncio.gather(*(one(number) for number in range(sockets))))


def leave(server: RunningServer, clients: int) -> None:
    """Send so many long requests, half of them for a stream, and leave before the answer."""
    asyncio.run(_leave(server, clients))


async def _leave(server: RunningServer, clients: int) -> None:
    turns = asyncio.Semaphore(32)

    async def one(number: int) -> None:
        fields = {"q": "1 2 3. " * 700, "source": "digits", "target": "reverse"}
        body = json.dumps(fields | {"stream": bool(number % 2)}).encode()
        async with turns:
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(head_of("/translate", len(body)) + body)
            await writer.drain()
            await asyncio.sleep(0.01)
            writer.transport.abort()

    await asyncio.gather(*(one(number) for number in range(clients)))
