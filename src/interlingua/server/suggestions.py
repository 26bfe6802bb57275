"""Better translations that people send, kept in a file of the operator's choice."""

import asyncio
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from interlingua.corpus.corrections import Correction, append_correction
from interlingua.server.bodies import read_as
from interlingua.server.passages import find_passage
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
        # Whoever writes the same file may hold it for seconds, and others are answered meanwhile.
        await asyncio.to_thread(_keep, path, _correction(service, form))
        return JSONResponse({"success": True})

    return [Route("/suggest", suggest, methods=["POST"])]


def _correction(service: Service, form: SuggestForm) -> Correction:
    """Return what was told, without white space around it, between the languages of one model.

    Raises:
        Refusal: a text is blank, or no model translates between these languages by itself and follows corrections.
    """
    texts = form.q.strip(), form.s.strip()
    for name, text in zip(("q", "s"), texts, strict=True):
        if not text:
            raise Refusal(400, f"Invalid request: {name} is blank")
    target = service.languages.known(form.target)
    source = None if form.source == "auto" else service.languages.known(form.source)
    passage = find_passage(service, form.q, source, target)
    if len(passage.way) != 1:
        raise Refusal(
            400,
            f"Invalid request: no model here translates from {passage.source} to {target} by itself; "
            "suggest between the languages of one model",
        )
    if not passage.way[0].takes_corrections:
        raise Refusal(
            400,
            f"Invalid request: the model from {passage.source} to {target} answers each word by itself, and follows no corrections",
        )
    return Correction(*texts, passage.source, target)


def _keep(path: Path, correction: Correction) -> None:
    try:
        if not append_correction(path, correction, most_bytes=_LARGEST):
            raise Refusal(403, "Suggestions are full on this server")
    except OSError:
        raise Refusal(503, "The suggestion could not be kept", 60) from None
