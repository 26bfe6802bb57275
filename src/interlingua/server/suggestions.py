"""Better translations that people send, kept in a file of the operator's choice."""

from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from interlingua.corpus.corrections import Correction, append_correction
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
        _keep(path, Correction(form.q, form.s, form.source, form.target))
        return JSONResponse({"success": True})

    return [Route("/suggest", suggest, methods=["POST"])]


def _keep(path: Path, correction: Correction) -> None:
    try:
        if not append_correction(path, correction, most_bytes=_LARGEST):
            raise Refusal(403, "Suggestions are full on this server")
    except OSError:
        raise Refusal(503, "The suggestion could not be kept", 60) from None
