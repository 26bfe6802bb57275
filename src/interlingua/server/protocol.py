"""Time limits of a connection, below everything else: whoever sends or reads too slowly is cut off.

A head must be there within ten seconds of its first byte; a body may take ten seconds and one more for every ten
thousand bytes that have come; an answer must be read again within ten seconds of when it was not.
"""

import asyncio
from enum import Enum, auto
from typing import Any, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["PatientProtocol"]

_MAX_HEAD = 16_384
"""Bytes of a request line and its headers, as far as they are not whole yet."""

_SECONDS = 10.0
_BYTES_PER_SECOND = 10_000.0
_GATHERED = 65_536
_OF_UPGRADES = (b"connection", b"upgrade", b"http2-settings")


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
    _body_since: float | None = None
    _body_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(cast(asyncio.Transport, _Gathering(transport, self.loop)))
        self._cut_off_at(self.loop.time() + _SECONDS)

    def on_message_begin(self) -> None:
        """Begin with the head of a request."""
        super().on_message_begin()
        self._awaited, self._head_bytes, self._body_since = _Awaited.HEAD, 0, None

    def on_headers_complete(self) -> None:
        """Begin to answer: the head is whole."""
        if not self._asks_for_another_protocol:
            super().on_headers_complete()
            self._awaited = _Awaited.BODY

    def on_message_complete(self) -> None:
        """Take the request as whole."""
        if not self._asks_for_another_protocol:
            super().on_message_complete()
            self._awaited = _Awaited.NOTHING

    def data_received(self, data: bytes) -> None:
        """Take what has come, and set the time until which the rest must have come."""
        self._unset_keepalive_if_required()
        try:
            self._parse(data)
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")
        if not self.transport.is_closing():
            self._set_time(len(data))

    @property
    def _asks_for_another_protocol(self) -> bool:
        return self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"

    def _parse(self, data: bytes) -> None:
        """Have the parser take data; whoever would rather speak another protocol is read as if they had not said so.

        Java's client asks for HTTP/2 with each first request, and the parser would skip its body.
        """
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            head = [b"%s %s HTTP/1.1" % (self.parser.get_method(), self.url)]
            head += [b"%s: %s" % each for each in self.headers if each[0] not in _OF_UPGRADES]
            self.parser = httptools.HttpRequestParser(self)
            self._parse(b"\r\n".join([*head, b"", data[upgrade.args[0] :]]))

    def _set_time(self, size: int) -> None:
        if self._awaited is _Awaited.NOTHING:
            self._stop_watching()
        elif self._awaited is _Awaited.HEAD:
            self._head_bytes += size
            if self._head_bytes > _MAX_HEAD:
                self.send_400_response("The head of the request is too long.")
            elif self._watch is None:
                self._cut_off_at(self.loop.time() + _SECONDS)
        else:
            if self._body_since is None:
                self._body_since, self._body_bytes = self.loop.time(), 0
            self._body_bytes += size
            self._cut_off_at(self._body_since + _SECONDS + self._body_bytes / _BYTES_PER_SECOND)

    def pause_writing(self) -> None:
        """Begin to wait for the client to read."""
        super().pause_writing()
        if self._write_watch is None:
            self._write_watch = self.loop.call_later(_SECONDS, self._cut_off)

    def resume_writing(self) -> None:
        """Go on writing."""
        super().resume_writing()
        self._stop_watching_writes()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_watching()
        self._stop_watching_writes()
        super().connection_lost(exc)

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
        """Close at once: what has not been read will not be."""
        self.transport.abort()


class _Gathering:
    """A transport that sends in one piece what is written in one turn of the loop.

    Head and body of an answer come apart; a system call each would be a seventh of what a short answer costs, and wake the
    client twice.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send it soon, or at once if it is much: only then can a client who does not read be noticed."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size > _GATHERED:
            self._flush()

    def close(self) -> None:
        """Send what is left, and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        parts, self._parts, self._size = self._parts, [], 0
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts))
