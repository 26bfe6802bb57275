"""What holds for every request before anything is read: the host that it names, where it comes from; and headers back."""

import socket
from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


class Guard:
    """Lets a request in if its Host is ours and no other site's page sent it, and adds :data:`HEADERS` to the answer.

    A page of another site could otherwise reach a server on this machine by a name of its own that leads here (DNS
    rebinding); a plain address cannot be such a name.

    Args:
        app: what answers.
        hosts: names that are ours, besides localhost and this machine's name.
    """

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...] = ()) -> None:
        self.app = app
        self._hosts = {"localhost", socket.gethostname().lower(), *map(str.lower, hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or hand it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        headers = Headers(scope=scope)
        refused = None
        if not self._is_ours(headers.get("host", "")):
            refused = JSONResponse({"error": "This host is not served here"}, 400)
        elif scope["method"] != "GET" and headers.get("sec-fetch-site") == "cross-site":
            refused = JSONResponse({"error": "Requests of other sites are not answered"}, 403)
        await (refused or self.app)(scope, receive, send_with_headers)

    def _is_ours(self, host: str) -> bool:
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        name = name.strip("[]").lower()
        if name in self._hosts:
            return True
        try:
            ip_address(name)
        except ValueError:
            return False
        return True
