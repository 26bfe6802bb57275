"""Better translations that people send, kept in a file of the operator's choice."""

import json
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from interlingua.server.bodies import read_as
from interlingua.server.refusals import Refusal
from interlingua.server.schemas import SuggestForm
from interlingua.server.service import Service

__all__ = ["routes"]

_LARGEST = 100_000_000
"""Bytes of the file, from which nothing more is taken."""


def routes(service: Service) -> list[Route]:
    """Return the route of suggestions."""

    async def suggest(request: Request) -> JSONResponse:
        form = await read_as(request, SuggestForm, service.settings.max_body)
        service.authorise(request, form.api_key)
        path = service.settings.suggestions
        if path is None:
            raise Refusal(403, "Suggestions are disabled on this server")
        service.check_texts([form.q, form.s])
        kept = form.model_dump(include={"q", "s", "source", "target"})
        _append(path, json.dumps(kept, ensure_ascii=False) + "\n")
        return JSONResponse({"success": True})

    return [Route("/suggest", suggest, methods=["POST"])]


def _append(path: Path, line: str) -> None:
    try:
        with path.open("ab") as stream:
            if stream.tell() > _LARGEST:
                raise Refusal(403, "Suggestions are full on this server")
            stream.write(line.encode())
    except OSError:
        raise Refusal(503, "The suggestion could not be kept", 60) from None
