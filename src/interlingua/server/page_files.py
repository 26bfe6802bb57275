"""The page: plain files, read once, served as they are."""

from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from mimetypes import guess_type

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

__all__ = ["read_page", "routes"]

_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class PageFile:
    """One file: what it holds, what it is, and what tells that it changed."""

    content: bytes
    kind: str
    tag: str


def read_page(folder: str = "page", at: str = "/") -> dict[str, PageFile]:
    """Return the files of a folder of this package by their paths below ``at``, which itself is ``index.html``."""
    found: dict[str, PageFile] = {}
    _read(files("interlingua.server") / folder, at, found)
    found[at.rstrip("/") or "/"] = found[f"{at}index.html"]
    return found


def _read(folder: Traversable, path: str, found: dict[str, PageFile]) -> None:
    for each in folder.iterdir():
        if each.name.startswith((".", "__")):
            continue
        if each.is_dir():
            _read(each, f"{path}{each.name}/", found)
            continue
        content = each.read_bytes()
        suffix = "." + each.name.rpartition(".")[2]
        kind = _TYPES.get(suffix) or guess_type(each.name)[0] or "application/octet-stream"
        if kind.startswith("text/"):
            kind += "; charset=utf-8"
        found[path + each.name] = PageFile(content, kind, f'"{sha256(content).hexdigest()[:16]}"')


def routes() -> list[Route]:
    """Return a route for each file: no name in a request is ever made a path."""
    every = read_page() | read_page("reference", "/docs/")
    every["/favicon.ico"] = every["/icon.svg"]  # asked for beside what names no icon, as /spec
    return [Route(path, _serve(file)) for path, file in sorted(every.items())]


def _serve(file: PageFile):  # type: ignore[no-untyped-def]
    async def serve(request: Request) -> Response:
        headers = {"ETag": file.tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == file.tag:
            return Response(status_code=304, headers=headers)
        return Response(file.content, media_type=file.kind, headers=headers)

    return serve
