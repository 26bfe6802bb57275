"""What comes over a socket, byte by byte: heads and bodies in pieces, several requests at once, and what is no HTTP."""

import json
import socket
from collections.abc import Iterator

import pytest
from running_server import GOLDEN, RunningServer, serving

BODY = json.dumps({"q": "1 2 3", "source": "digits", "target": "reverse"}).encode()


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with serving(GOLDEN) as server:
        yield server


def request(*headers: str, body: bytes = BODY) -> bytes:
    lines = (
        "POST /translate HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        *(headers or (f"Content-Length: {len(body)}",)),
    )
    return "\r\n".join([*lines, "", ""]).encode() + body


def converse(server: RunningServer, *pieces: bytes) -> bytes:
    """Send pieces, each in a packet of its own, and return all that comes until the server closes or is quiet."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=2) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        heard = b""
        try:
            for piece in pieces:
                connection.sendall(piece)
            while some := connection.recv(65_536):
                heard += some
        except (TimeoutError, ConnectionError):
            pass
    return heard


def test_a_request_may_come_byte_by_byte(server: RunningServer) -> None:
    whole = request("Connection: close", f"Content-Length: {len(BODY)}")
    heard = converse(server, *(bytes([each]) for each in whole))
    assert heard.startswith(b"HTTP/1.1 200")
    assert b'"3 2 1"' in heard


def test_requests_that_come_at_once_are_answered_in_their_order(server: RunningServer) -> None:
    others = [BODY.replace(b"1 2 3", f"{n} {n + 1}".encode()) for n in range(5)]
    heard = converse(server, b"".join(request(body=body) for body in others))
    answers = [f'"{n + 1} {n}"'.encode() for n in range(5)]
    places = [heard.index(answer) for answer in answers]
    assert places == sorted(places)


def test_a_body_may_come_in_chunks(server: RunningServer) -> None:
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (BODY[:9], BODY[9:]))
    heard = converse(
        server,
        request("Transfer-Encoding: chunked", "Connection: close", body=chunks + b"0\r\n\r\n"),
    )
    assert b'"3 2 1"' in heard


def test_a_client_that_would_rather_speak_another_protocol_is_answered_in_this_one(
    server: RunningServer,
) -> None:
    """Java's client asks so with each first request."""
    heard = converse(
        server,
        request(
            "Connection: Upgrade, HTTP2-Settings",
            "Upgrade: h2c",
            "HTTP2-Settings: AAMAAABkAAQAAP__",
            f"Content-Length: {len(BODY)}",
        ),
        request(),
    )
    assert heard.startswith(b"HTTP/1.1 200")
    assert b'"3 2 1"' in heard
    assert heard.count(b"HTTP/1.1 200") == 2


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET  HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CONNECT example.com:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        request("Content-Length: 5", "Content-Length: 6"),
        request("Content-Length: 5", "Transfer-Encoding: chunked"),
        request("Content-Length: -1"),
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n folded: 1\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nA : b\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nA: b\0c\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused_and_the_connection_closed(
    server: RunningServer, sent: bytes
) -> None:
    heard = converse(server, sent)
    assert heard.startswith(b"HTTP/1.1 4")
    assert server.ask("GET", "/health").status == 200


def test_a_head_that_does_not_end_is_refused(server: RunningServer) -> None:
    head = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
    heard = converse(server, head, *(b"X: " + b"y" * 1_000 + b"\r\n" for _ in range(40)))
    assert heard == b"" or heard.startswith(b"HTTP/1.1 4")  # what it had not read yet resets it
    assert server.ask("GET", "/health").status == 200


def test_head_and_body_of_an_answer_come_in_one_piece(server: RunningServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(request())
        assert b'"3 2 1"' in connection.recv(65_536)
