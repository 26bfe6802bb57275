"""A real HTTP server on this machine that serves files well, or badly in the way that a test asks for."""

import hashlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Fault = Callable[["Answer"], None]


@dataclass
class Site:
    """What is served, and what goes wrong: the first fault for the first request, and so on."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Path and Range of each request."""
    ranges: bool = True
    validators: bool = True
    kind: str = "application/zip"


class Answer(BaseHTTPRequestHandler):
    """One answer; ``site`` is set by ``serve``."""

    site: Site
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        site = self.site
        site.asked.append((self.path, self.headers.get("Range", "")))
        self.close_connection = True
        if site.faults:
            site.faults.pop(0)(self)
            return
        self.serve()

    def serve(self, *, limit: int | None = None, etag: str | None = None) -> None:
        """Answer as a server should, but for no more than ``limit`` bytes of the body."""
        site = self.site
        data = site.files.get(self.path.partition("?")[0])
        if data is None:
            self.send_error(404)
            return
        etag = etag or f'"{hashlib.sha256(data).hexdigest()[:16]}"'
        start = 0
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if site.ranges and wanted and self.headers.get("If-Range", etag) == etag:
            start = int(wanted[1])
            if start >= len(data):
                self.send_response(416)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            self.send_response(200)
        self.send_header("Content-Type", site.kind)
        self.send_header("Content-Length", str(len(data) - start))
        if site.validators:
            self.send_header("ETag", etag)
        self.end_headers()
        self.wfile.write(data[start:][:limit])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serve() -> Iterator[Site]:
    """Serve a site on 127.0.0.1 as long as the block lasts."""
    site = Site()
    handler = type("Handler", (Answer,), {"site": site})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    site.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def cut_off(size: int) -> Fault:
    """Close the connection after so many bytes of the body."""
    return lambda answer: answer.serve(limit=size)


def status(code: int, **headers: str) -> Fault:
    """Answer with an error."""

    def fail(answer: Answer) -> None:
        answer.send_response(code)
        for name, value in headers.items():
            answer.send_header(name.replace("_", "-"), value)
        answer.send_header("Content-Length", "0")
        answer.end_headers()

    return fail


def hang_up(answer: Answer) -> None:
    """Close the connection without a word."""
    answer.wfile.flush()


def slow(answer: Answer) -> None:
    """Send the head, and then nothing for a while."""
    answer.send_response(200)
    answer.send_header("Content-Length", "1000")
    answer.end_headers()
    answer.wfile.write(b"x" * 10)
    answer.wfile.flush()
    time.sleep(3.0)
