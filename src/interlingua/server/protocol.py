"""Time limits of a connection, below everything else: whoever sends or reads too slowly is cut off.

A head must be there within ten seconds of its first byte; a body may take ten seconds and one more for every ten
thousand bytes of it that have come; some of an answer must be read in every ten seconds.
"""

import asyncio
import json
from enum import Enum, auto
from typing import Any, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from interlingua.server.limits import HEADERS

__all__ = ["PatientProtocol"]

_MAX_HEAD = 16_384
"""Bytes of a request line and its headers, as far as they are not whole yet."""

_SECONDS = 10.0
_BYTES_PER_SECOND = 10_000.0
_LINGERING_SECONDS = 3.0
_GATHERED = 65_536
_OF_UPGRADES = (b"upgrade", b"http2-settings")
_HEADERS = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items()).encode()


class _Awaited(Enum):
    """What a client is to send next."""

    HEAD = auto()
    BODY = auto()
    NOTHING = auto()


class PatientProtocol(HttpToolsProtocol):
    """HTTP/1.1 that does not wait for ever."""

    _watch: asyncio.TimerHandle | None = None
    _write_watch: asyncio.TimerHandle | None = None
    _awaited = _Awaited.HEAD
    _head_bytes = 0
    _body_since = 0.0
    _body_bytes = 0
    _has_ended_one = False
    """Whether a request ended in what is being parsed, so that not all of it belongs to the next."""

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request; the transport is asyncio's, or uvloop's, which is none of asyncio's classes."""
        transport.set_write_buffer_limits(high=_GATHERED, low=0)
        super().connection_made(cast(asyncio.Transport, _Gathering(transport, self)))
        self._cut_off_at(self.loop.time() + _SECONDS)

    def on_message_begin(self) -> None:
        """Begin with the head of a request."""
        super().on_message_begin()
        self._awaited, self._head_bytes = _Awaited.HEAD, 0

    def on_headers_complete(self) -> None:
        """Begin to answer: the head is whole."""
        if not self._asks_for_another_protocol:
            super().on_headers_complete()
            self._awaited, self._body_since, self._body_bytes = _Awaited.BODY, self.loop.time(), 0

    def on_body(self, body: bytes) -> None:
        """Take some of the body; what is not read any more buys no time."""
        super().on_body(body)
        if not self.cycle.response_complete:
            self._body_bytes += len(body)

    def on_message_complete(self) -> None:
        """Take the request as whole."""
        if not self._asks_for_another_protocol:
            super().on_message_complete()
            self._awaited, self._has_ended_one = _Awaited.NOTHING, True

    def data_received(self, data: bytes) -> None:
        """Take what has come, and set the time until which the rest must have come."""
        if self.transport.is_closing():
            return
        self._unset_keepalive_if_required()
        self._has_ended_one = False
        try:
            self._parse(data)
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")
        if not self.transport.is_closing():
            self._set_time(len(data))

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, in the words of every other refusal, and close."""
        told = json.dumps({"error": msg, "message": msg}).encode()
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
            b"%scache-control: no-store\r\nconnection: close\r\n\r\n%s"
            % (len(told), _HEADERS, told)
        )
        self.transport.close()

    @property
    def may_hear_more(self) -> bool:
        """Whether the client may be sending: the rest of a request, or the next."""
        return self._awaited is not _Awaited.NOTHING

    @property
    def _asks_for_another_protocol(self) -> bool:
        return self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"

    def _parse(self, data: bytes) -> None:
        """Have the parser take data; whoever would rather speak another protocol is read as if they had not said so.

        Java's client asks for HTTP/2 with each first request, and the parser would skip its body.
        """
        rest = memoryview(data)
        while rest:
            try:
                self.parser.feed_data(rest)
                return
            except httptools.HttpParserUpgrade as upgrade:
                rest = rest[upgrade.args[0] :]
                head = self._head_without_upgrade()
                self.parser = httptools.HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
                self.parser.feed_data(head)

    def _head_without_upgrade(self) -> bytes:
        version = self.parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, version)]
        for name, value in self.headers:
            if name == b"connection":
                options = [option.strip() for option in value.split(b",")]
                value = b", ".join(each for each in options if each.lower() not in _OF_UPGRADES)
            if name not in _OF_UPGRADES:
                lines.append(b"%s: %s" % (name, value))
        return b"\r\n".join([*lines, b"", b""])

    def _set_time(self, size: int) -> None:
        if self._awaited is _Awaited.NOTHING and self.cycle.response_complete:
            self._awaited, self._head_bytes = _Awaited.HEAD, 0  # an empty line before the next head
        if self._awaited is _Awaited.NOTHING:
            self._stop_watching()
        elif self._awaited is _Awaited.HEAD:
            self._head_bytes += 0 if self._has_ended_one else size
            if self._head_bytes > _MAX_HEAD:
                self.send_400_response("The head of the request is too long.")
            elif self._watch is None:
                self._cut_off_at(self.loop.time() + _SECONDS)
        else:
            self._cut_off_at(self._body_since + _SECONDS + self._body_bytes / _BYTES_PER_SECOND)

    def pause_writing(self) -> None:
        """Begin to wait for the client to read."""
        super().pause_writing()
        if self._write_watch is None:
            self._see_whether_it_reads(self.transport.get_write_buffer_size() + 1)

    def resume_writing(self) -> None:
        """Go on writing."""
        super().resume_writing()
        self._stop_watching_writes()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_watching()
        self._stop_watching_writes()
        super().connection_lost(exc)
        cast(_Gathering, self.transport).forget()

    def _see_whether_it_reads(self, before: int) -> None:
        """Look every ten seconds how much is still to be sent, and cut off who has read nothing."""
        left = self.transport.get_write_buffer_size()
        if left >= before:
            self.transport.abort()
        else:
            self._write_watch = self.loop.call_later(_SECONDS, self._see_whether_it_reads, left)

    def _cut_off_at(self, time: float) -> None:
        self._stop_watching()
        self._watch = self.loop.call_at(time, self._cut_off)

    def _stop_watching(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _stop_watching_writes(self) -> None:
        if self._write_watch is not None:
            self._write_watch.cancel()
            self._write_watch = None

    def _cut_off(self) -> None:
        """Close at once: what has not been read will not be. Whom we do not listen to is not late."""
        if self.flow.read_paused:
            self._body_since = self.loop.time()
            self._cut_off_at(self._body_since + _SECONDS)
        else:
            self.transport.abort()


class _Gathering:
    """A transport that sends in one piece what is written in one turn of the loop.

    Head and body of an answer come apart; a system call each would be a seventh of what a short answer costs, and wake the
    client twice.

    It also lets a client that is still sending when it is refused read why: closed with bytes unread, a socket is reset, and what
    was sent on it lost.
    """

    def __init__(self, transport: Any, protocol: PatientProtocol) -> None:
        self._transport = transport
        self._protocol: PatientProtocol | None = protocol
        self._loop = protocol.loop
        self._parts: list[bytes] = []
        self._size = 0
        self._has_spoken = False
        self._is_lingering = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send it soon, or at once if it is much: only then can a client who does not read be noticed."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._has_spoken = True
        self._parts.append(data)
        self._size += len(data)
        if self._size > _GATHERED:
            self._flush()

    def is_closing(self) -> bool:
        """Whether nothing more is read or written."""
        return self._is_lingering or self._transport.is_closing()

    def close(self) -> None:
        """Send what is left, and close: after some seconds, if the client may still be sending and has something to read."""
        if self.is_closing():
            return
        self._flush()
        protocol = self._protocol
        if (
            self._has_spoken
            and protocol is not None
            and protocol.may_hear_more
            and not self._transport.is_closing()
        ):
            self._is_lingering = True
            self._transport.write_eof()
            protocol.flow.resume_reading()
            self._loop.call_later(_LINGERING_SECONDS, self._transport.abort)
        else:
            self._transport.close()

    def forget(self) -> None:
        """Let go of the connection that is lost: in a circle, thousands of them would wait for the collector, and then hold up all answers."""
        self._protocol = None

    def _flush(self) -> None:
        parts, self._parts, self._size = self._parts, [], 0
        if parts and not self.is_closing():
            self._transport.write(b"".join(parts))
