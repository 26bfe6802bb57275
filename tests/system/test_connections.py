"""What comes over a socket, byte by byte: heads and bodies in pieces, several requests at once, and what is no HTTP."""

import json
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
import raw_sockets
from running_server import GOLDEN, RunningServer, serving

BODY = json.dumps({"q": "1 2 3", "source": "digits", "target": "reverse"}).encode()


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with serving(GOLDEN) as server:
        yield server


def request(*headers: str, body: bytes = BODY, version: str = "1.1") -> bytes:
    lines = (
        f"POST /translate HTTP/{version}",
        "Host: localhost",
        "Content-Type: application/json",
        *(headers or (f"Content-Length: {len(body)}",)),
    )
    return "\r\n".join([*lines, "", ""]).encode() + body


def converse(server: RunningServer, *pieces: bytes) -> bytes:
    return raw_sockets.converse(server.port, *pieces, patience=30)


def test_a_request_may_come_byte_by_byte(server: RunningServer) -> None:
    whole = request("Connection: close", f"Content-Length: {len(BODY)}")
    heard = converse(server, *(bytes([each]) for each in whole))
    assert heard.startswith(b"HTTP/1.1 200")
    assert b'"3 2 1"' in heard


def test_requests_that_come_at_once_are_answered_in_their_order(server: RunningServer) -> None:
    *others, last = [BODY.replace(b"1 2 3", f"{n} {n + 1}".encode()) for n in range(5)]
    closing = request("Connection: close", f"Content-Length: {len(last)}", body=last)
    heard = converse(server, b"".join(request(body=body) for body in others) + closing)
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
        request("Connection: close", f"Content-Length: {len(BODY)}"),
    )
    assert heard.startswith(b"HTTP/1.1 200")
    assert b'"3 2 1"' in heard
    assert heard.count(b"HTTP/1.1 200") == 2


def test_what_else_it_says_beside_that_holds(server: RunningServer) -> None:
    upgrade = ("Upgrade: h2c", f"Content-Length: {len(BODY)}")
    for whole in (
        request("Connection: upgrade, close", *upgrade),
        request("Connection: upgrade", *upgrade, version="1.0"),
    ):
        heard = converse(server, whole + request())
        assert heard.count(b"HTTP/1.1 200") == 1
    many = 1_000 * request(
        "Connection: upgrade", "Upgrade: websocket", "Content-Length: 0", body=b""
    )
    assert converse(server, many).count(b"HTTP/1.1 400") == 1_000


def test_a_head_in_two_parts_behind_a_long_body_is_not_too_long(server: RunningServer) -> None:
    long = json.dumps({"q": "1 " * 2_000, "source": "digits", "target": "reverse"}).encode()
    whole = request(body=long + b" " * 40_000)
    rest = b"lth HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    heard = converse(server, whole + b"GET /hea", rest)
    assert heard.count(b"HTTP/1.1 200") == 2


@pytest.mark.parametrize("hosts", [(), ("localhost", "localhost"), ("[localhost]",), ("[[::1]]",)])
def test_one_host_is_named_as_hosts_are(server: RunningServer, hosts: tuple[str, ...]) -> None:
    heads = "".join(f"Host: {host}\r\n" for host in hosts)
    heard = converse(server, f"GET /health HTTP/1.1\r\n{heads}\r\n".encode())
    assert heard.startswith(b"HTTP/1.1 400")


def test_whoever_is_refused_while_sending_can_read_why(server: RunningServer) -> None:
    """``urllib`` reads only when all is sent, and asks for the connection to be closed."""
    whole = json.dumps({"q": "1 " * 3_000_000}).encode()
    asked = urllib.request.Request(f"{server.address}/translate", whole)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(asked, timeout=30)
    with refused.value:
        assert refused.value.code == 413


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
    assert json.loads(heard.partition(b"\r\n\r\n")[2])["error"]
    assert b"content-security-policy" in heard.lower()
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


@pytest.mark.slow
def test_what_is_unfinished_when_the_server_stops_is_refused() -> None:
    half = request(f"Content-Length: {len(BODY)}", body=BODY[:9])
    with (
        serving(GOLDEN) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection,
    ):
        connection.sendall(half)
        assert server.get("/health").status == 200  # it is up, and has met the other connection
        server.process.send_signal(signal.SIGTERM)
        heard = connection.recv(65_536)
    assert heard.startswith(b"HTTP/1.1 503")
    assert b"retry-after: 1" in heard.lower()
    assert json.loads(heard.partition(b"\r\n\r\n")[2])["error"] == "The server stops"
