"""All that is served, as one ASGI application."""

import logging
import traceback

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from interlingua.server import inspection, libretranslate, looking, page_files
from interlingua.server.engine import Engine
from interlingua.server.languages import Languages
from interlingua.server.limits import Guard
from interlingua.server.refusals import Refusal
from interlingua.server.service import Service
from interlingua.server.settings import ServerSettings

__all__ = ["create_app"]

_LOG = logging.getLogger("interlingua.server")


def create_app(engine: Engine, settings: ServerSettings) -> Starlette:
    """Return the application before an engine that has started."""
    service = Service(engine, Languages(engine.models), settings)

    async def ready(request: Request) -> Response:
        if not engine.is_ready:
            raise Refusal(503, "The model is not ready", settings.retry_after)
        return JSONResponse({"status": "ready"})

    return Starlette(
        routes=[
            *libretranslate.routes(service),
            *inspection.routes(service),
            *looking.routes(service),
            Route("/ready", ready),
            *page_files.routes(),
        ],
        middleware=[Middleware(Guard, hosts=settings.allowed_hosts)],
        exception_handlers={
            Refusal: _refuse,
            HTTPException: _refuse_by_status,
            Exception: _fail,
        },
    )


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return JSONResponse({"error": error.message}, error.status, headers=error.headers)


async def _refuse_by_status(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)


async def _fail(request: Request, error: Exception) -> Response:
    """Tell the log where it broke, without the words of the error, which may quote a text."""
    places = [f"{each.name}:{each.lineno}" for each in traceback.extract_tb(error.__traceback__)]
    _LOG.error("%s at %s", type(error).__name__, " > ".join(places[-4:]))
    return JSONResponse({"error": "Internal error"}, 500)
