"""Time limits of a connection, below everything else: whoever sends or reads too slowly is cut off.

A head must be there within ten seconds of its first byte; a body may take ten seconds and one more for every ten
thousand bytes that have come; an answer must be read again within ten seconds of when it was not.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["MAX_HEAD", "PatientProtocol"]

MAX_HEAD = 16_384
"""Bytes of a request line and its headers."""

_SECONDS = 10.0
_BYTES_PER_SECOND = 10_000.0


class PatientProtocol(H11Protocol):
    """HTTP/1.1 that does not wait for ever."""

    _watch: asyncio.TimerHandle | None = None
    _write_watch: asyncio.TimerHandle | None = None
    _body_since: float | None = None
    _body_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._cut_off_at(self.loop.time() + _SECONDS)

    def data_received(self, data: bytes) -> None:
        """Take what has come, and set the time until which the rest must have come."""
        super().data_received(data)
        state = self.conn.their_state
        if state is h11.IDLE:
            self._body_since = None
            if self._watch is None:
                self._cut_off_at(self.loop.time() + _SECONDS)
        elif state is h11.SEND_BODY:
            if self._body_since is None:
                self._body_since, self._body_bytes = self.loop.time(), 0
            self._body_bytes += len(data)
            self._cut_off_at(self._body_since + _SECONDS + self._body_bytes / _BYTES_PER_SECOND)
        else:
            self._body_since = None
            self._stop_watching()

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
