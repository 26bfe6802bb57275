"""What holds for every request before anything is read, and for every answer."""

import asyncio
import json
import re
import secrets
import socket
import sys
import time
from collections import Counter
from ipaddress import IPv4Address, IPv6Address

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from interlingua.server.batcher import begin_request
from interlingua.server.log import tell_error, timestamp
from interlingua.server.metrics import Metrics
from interlingua.server.settings import ServerSettings

__all__ = ["HEADERS", "Guard"]

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
        "connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""What goes with every answer."""

_SAID = [
    (name.lower().encode(), value.encode())
    for name, value in {**HEADERS, "Cache-Control": "no-store"}.items()
]
"""The same and what else holds where an answer does not say otherwise, as it is sent."""

_HOST = re.compile(r"(?:\[(?P<six>[^\[\]]*)\]|(?P<name>[^\[\]:]+))(?::\d*)?", re.ASCII)

_LONGEST_PATH, _LONGEST_HEADERS = 8_192, 16_384
"""Bytes; form fields in an address have to be within the first."""

_NOT_ANSWERED = 499


class Guard:
    """Lets a request in if its Host is ours, no other site's page sent it, and its client has not too many; looks after answers.

    A page of another site could otherwise reach a server on this machine by a name of its own that leads here (DNS
    rebinding); a plain address cannot be such a name. Every answer gets :data:`HEADERS` and a number, is counted, and
    written to the log if that is wanted: never what it says.

    Args:
        app: what answers.
        settings: limits.
        metrics: what counts.
    """

    def __init__(self, app: ASGIApp, settings: ServerSettings, metrics: Metrics) -> None:
        self.app = app
        self._settings = settings
        self._metrics = metrics
        names = map(str.lower, settings.allowed_hosts)
        self._hosts = {"localhost", socket.gethostname().lower(), *names}
        self._clients: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or hand it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin_request()
        client = (scope.get("client") or ("", 0))[0]
        answer = _Answer(scope, send)
        self._clients[client] += 1
        self._metrics.in_flight.inc()
        try:
            await (self._refusal(scope, client) or self.app)(scope, receive, answer.send)
        except asyncio.CancelledError:  # the server stops
            if answer.has_begun:
                raise
            await _refuse(503, "The server stops", {"Retry-After": "1"})(
                scope, receive, answer.send
            )
        except (
            Exception
        ) as error:  # a fault of ours, which is answered and counted like anything else
            if answer.has_begun:
                raise
            # Where it broke, without the words of the error, which may quote a text.
            tell_error(error)
            await _refuse(500, "Internal error")(scope, receive, answer.send)
        finally:
            self._metrics.in_flight.dec()
            self._clients[client] -= 1
            if not self._clients[client]:
                del self._clients[client]
            self._metrics.observe(scope["method"], scope["path"], answer.status, answer.seconds())
            if self._settings.log_requests:
                answer.log(self._metrics.route_of(scope["path"]))

    def _refusal(self, scope: Scope, client: str) -> ASGIApp | None:
        if len(scope["raw_path"]) + len(scope["query_string"]) > _LONGEST_PATH:
            return _refuse(414, "Invalid request: the address is too long")
        if sum(len(name) + len(value) for name, value in scope["headers"]) > _LONGEST_HEADERS:
            return _refuse(431, "Invalid request: the headers are too long")
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return _refuse(400, "This host is not served here")
        if scope["method"] != "GET" and _is_of_another_site(headers):
            return _refuse(403, "Requests of other sites are not answered")
        if self._clients[client] > self._settings.max_per_client:
            return _refuse(429, "Slowdown: too many requests at a time", {"Retry-After": "1"})
        return None

    def _is_ours(self, host: str) -> bool:
        named = _HOST.fullmatch(host)
        if named is None:
            return False
        if named["name"] and named["name"].lower() in self._hosts:
            return True
        try:
            (IPv4Address if named["name"] else IPv6Address)(named["name"] or named["six"])
        except ValueError:
            return False
        return True


def _is_of_another_site(headers: Headers) -> bool:
    """Tell whether a page that we did not serve makes the browser ask.

    Browsers say so themselves, but not to a server without TLS that is not this machine; there the origin of the page tells.
    """
    told = headers.get("sec-fetch-site")
    if told is not None:
        return told not in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is not None and origin.partition("://")[2] != headers.get("host", "")


def _refuse(status: int, message: str, headers: dict[str, str] | None = None) -> ASGIApp:
    return JSONResponse({"error": message, "message": message}, status, headers=headers)


class _Answer:
    """One answer on its way out."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._start = time.monotonic()
        self._size = 0
        self._number = secrets.token_hex(8)
        self.status = _NOT_ANSWERED

    async def send(self, message: Message) -> None:
        """Add what every answer has."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            said = list(message["headers"])
            names = {name for name, _ in said}
            said += [each for each in _SAID if each[0] not in names]
            message["headers"] = [*said, (b"x-trace-id", self._number.encode())]
        else:
            self._size += len(message.get("body", b""))
        await self._send(message)

    @property
    def has_begun(self) -> bool:
        """Whether some of it has been sent."""
        return self.status != _NOT_ANSWERED

    def seconds(self) -> float:
        """Return how long it has taken."""
        return time.monotonic() - self._start

    def log(self, route: str) -> None:
        """Write one line about it to standard error."""
        told = {
            "time": timestamp(),
            "trace": self._number,
            "method": self._scope["method"],
            "route": route,
            "status": self.status,
            "milliseconds": round(1000 * self.seconds(), 1),
            "bytes": self._size,
        }
        print(json.dumps(told), file=sys.stderr, flush=True)
