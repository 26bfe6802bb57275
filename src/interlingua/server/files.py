"""Files: translated in memory, kept there for a while, and taken away once or twice."""

import re
import secrets
import time
from collections import OrderedDict
from pathlib import PurePosixPath
from urllib.parse import quote

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from interlingua.server.bodies import read_fields
from interlingua.server.documents import FORMATS, Translating, text_of, translate_document
from interlingua.server.passages import find_passage
from interlingua.server.refusals import Refusal
from interlingua.server.service import Service, answer_within

__all__ = ["routes"]

_KEPT_SECONDS = 600.0
_KEPT_FILES = 64
_KEPT_BYTES = 64_000_000
_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)


class _Shelf:
    """Translated files by name; the oldest go when there are too many."""

    def __init__(self) -> None:
        self._files: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    def put(self, name: str, content: bytes) -> None:
        self._files[name] = time.monotonic(), content
        while len(self._files) > _KEPT_FILES or self._size() > _KEPT_BYTES:
            if len(self._files) == 1:
                break
            self._files.popitem(last=False)

    def get(self, name: str) -> bytes:
        for old in [
            n for n, (at, _) in self._files.items() if at < time.monotonic() - _KEPT_SECONDS
        ]:
            del self._files[old]
        if name not in self._files:
            raise Refusal(404, "There is no such file, or no longer")
        return self._files[name][1]

    def _size(self) -> int:
        return sum(len(content) for _, content in self._files.values())


def routes(service: Service) -> list[Route]:
    """Return the routes of files."""
    shelf = _Shelf()

    async def translate_file(request: Request) -> JSONResponse:
        service.refuse_if_full()
        fields = await read_fields(request, service.settings.max_file)
        service.authorise(request, fields.get("api_key"))
        file = fields.get("file")
        if not isinstance(file, UploadFile):
            raise Refusal(400, "Invalid request: missing file parameter")
        name = PurePosixPath(file.filename or "")
        suffix = name.suffix.lower()
        if suffix not in FORMATS:
            raise Refusal(400, "Invalid request: file format not supported")
        source, target = (_code(fields, which) for which in ("source", "target"))
        content = await file.read()
        target = service.languages.known(target)
        if source == "auto":
            passage = find_passage(service, await text_of(content, suffix), None, target)
        else:
            passage = find_passage(service, "", service.languages.known(source), target)
        translating = translate_document(content, suffix, Translating(service.engine, passage.way))
        done = await answer_within(service, request, translating, service.settings.file_deadline)
        plain = _UNSAFE.sub("_", name.stem)[:60].strip(".") or "file"
        shelved = f"{secrets.token_urlsafe(16)}.{plain}_{_UNSAFE.sub('_', target)}{suffix}"
        shelf.put(shelved, done)
        address = f"{request.base_url}download_file/{quote(shelved)}"
        return JSONResponse({"translatedFileUrl": address} | passage.told())

    async def download_file(request: Request) -> Response:
        name = request.path_params["name"]
        shown = name.partition(".")[2]
        headers = {"Content-Disposition": f'attachment; filename="{shown}"'}
        return Response(shelf.get(name), media_type="application/octet-stream", headers=headers)

    return [
        Route("/translate_file", translate_file, methods=["POST"]),
        Route("/download_file/{name}", download_file),
    ]


def _code(fields: dict[str, object], which: str) -> str:
    code = fields.get(which)
    if not isinstance(code, str) or not code:
        raise Refusal(400, f"Invalid request: missing {which} parameter")
    return code
