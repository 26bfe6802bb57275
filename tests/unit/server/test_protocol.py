"""How long a connection is borne, on real sockets, with seconds made short."""

import asyncio
import gc
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Thread

import pytest
import uvicorn
from raw_sockets import converse
from starlette.types import Receive, Scope, Send

from interlingua.server import protocol
from interlingua.server.protocol import PatientProtocol

LARGE = bytes(8_000_000)
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\n"


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Read all, wait where that is asked for, and answer with its length, or at length."""
    length, more = 0, True
    while more:
        message = await receive()
        length, more = length + len(message.get("body", b"")), message.get("more_body", False)
    await asyncio.sleep(2.5 if scope["path"] == "/wait" else 0)
    body = LARGE if scope["path"] == "/large" else b"%d" % length
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(
            answer, http=PatientProtocol, lifespan="off", log_config=None, timeout_keep_alive=1
        )
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(protocol, "_SECONDS", 1.0)
    monkeypatch.setattr(protocol, "_BYTES_PER_SECOND", 100_000.0)
    with listening() as port:
        yield port


def seconds_open(port: int, *pieces: bytes, every: float) -> float:
    start = time.monotonic()
    converse(port, *pieces, every=every)
    return time.monotonic() - start


@contextmanager
def asking_for_much(port: int, receive_buffer: int) -> Iterator[socket.socket]:
    """A client that has sent its request and read nothing yet."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.settimeout(30)
        connection.connect(("127.0.0.1", port))
        connection.sendall(GET.replace(b"/", b"/large", 1))
        yield connection


def test_whoever_says_nothing_more_is_cut_off(port: int) -> None:
    chunked = POST + b"Transfer-Encoding: chunked\r\n\r\n"
    chunk = b"1;" + 30_000 * b"a" + b"\r\n \r\n"
    ways = [
        ((), 0.0),
        ((b"\r\n",) * 200, 0.1),
        ((GET, b"\r\n"), 0.1),
        ((GET, *((b"\r\n",) * 200)), 0.1),
        ((GET[:-1],), 0.0),
        (tuple(bytes([each]) for each in GET), 0.1),
        ((POST + b"Content-Length: 9\r\n\r\n12345678",), 0.0),
        ((chunked, *(chunk for _ in range(200))), 0.1),
    ]
    with ThreadPoolExecutor(len(ways)) as pool:
        found = list(pool.map(lambda way: seconds_open(port, *way[0], every=way[1]), ways))
    assert all(
        0.8 < seconds < 15 or number in (1, 3, 5, 7) for number, seconds in enumerate(found)
    ), found
    assert max(found) < 12, found


def test_a_body_may_take_as_long_as_it_is(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_BYTES_PER_SECOND", 20_000.0)
    head = POST + b"Connection: close\r\nContent-Length: 300000\r\n\r\n"
    start = time.monotonic()
    heard = converse(port, head, *(bytes(15_000) for _ in range(20)), every=0.1)
    assert heard.endswith(b"\r\n\r\n300000")
    assert time.monotonic() - start > 1.8


def test_whoever_reads_slowly_gets_everything(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_SECONDS", 2.0)  # the kernel lets it send in bursts
    with asking_for_much(port, 65_536) as connection:
        heard, start = 0, time.monotonic()
        while heard < len(LARGE):
            some = connection.recv(65_536)
            assert some, heard
            heard += len(some)
            time.sleep(max(0.0, start + heard / 2_000_000 - time.monotonic()))
    assert time.monotonic() - start > 3


def test_whoever_does_not_read_is_cut_off(port: int) -> None:
    with asking_for_much(port, 4_096) as connection:
        time.sleep(3)
        heard = 0
        try:
            while some := connection.recv(1 << 20):
                heard += len(some)
        except ConnectionError:
            pass
    assert heard < len(LARGE)


def test_whom_nobody_listens_to_is_not_late(port: int) -> None:
    """The second request is not read before the first, which takes longer than it may take, is answered."""
    wait, last = (
        GET.replace(b"/", b"/wait", 1),
        POST + b"Connection: close\r\nContent-Length: 3\r\n\r\n",
    )
    heard = converse(port, wait, last + b"12", b"3", every=0.3)
    assert heard.count(b"200 OK") == 2
    assert heard.endswith(b"\r\n\r\n3")


def test_a_stop_waits_for_nobody_who_has_said_nothing() -> None:
    with listening() as port:
        silent = socket.create_connection(("127.0.0.1", port), timeout=30)
        assert converse(port, GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        start = time.monotonic()
    with silent:
        assert silent.recv(1) == b""
    assert time.monotonic() - start < 8


def test_a_connection_that_is_over_leaves_no_garbage(port: int) -> None:
    def held() -> int:
        return sum(type(each) is PatientProtocol for each in gc.get_objects())

    gc.collect()
    before = held()
    gc.disable()
    try:
        for request in (
            GET,
            GET + GET,
            GET[:-1],
            b"nonsense\r\n\r\n",
            POST + b"Connection: close\r\n\r\n",
        ):
            converse(port, request)
        until = time.monotonic() + 5
        while held() > before and time.monotonic() < until:
            time.sleep(0.05)
        assert held() <= before
    finally:
        gc.enable()
