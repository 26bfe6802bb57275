"""All that is served, as one ASGI application."""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from interlingua.server import (
    deepl,
    files,
    inspection,
    libretranslate,
    looking,
    page_files,
    specification,
    suggestions,
)
from interlingua.server.detection import Detector
from interlingua.server.engine import Engine
from interlingua.server.keys import KeyRing
from interlingua.server.languages import Languages
from interlingua.server.limits import Guard
from interlingua.server.log import tell_error
from interlingua.server.metrics import Metrics
from interlingua.server.refusals import Refusal
from interlingua.server.service import Service
from interlingua.server.settings import ServerSettings
from interlingua.server.specification import describe

__all__ = ["create_app"]


def create_app(engine: Engine, settings: ServerSettings, keys: KeyRing | None = None) -> Starlette:
    """Return the application before an engine that has started.

    Args:
        engine: the models.
        settings: limits.
        keys: of those who may ask; None: everyone may.
    """
    languages = Languages(engine.models)
    service = Service(
        engine,
        languages,
        settings,
        keys or KeyRing(),
        Metrics(engine, [*describe(settings, languages)["paths"], "/", "/docs", "/spec"]),
        Detector(languages.every, engine.samples),
    )

    return Starlette(
        routes=[
            *libretranslate.routes(service),
            *deepl.routes(service),
            *files.routes(service),
            *suggestions.routes(service),
            *inspection.routes(service),
            *looking.routes(service),
            *specification.routes(settings, languages),
            *_operators_routes(service),
            *page_files.routes(),
        ],
        middleware=[Middleware(Guard, settings=settings, metrics=service.metrics)],
        exception_handlers={
            Refusal: _refuse,
            HTTPException: _refuse_by_status,
            Exception: _fail,
        },
    )


def _operators_routes(service: Service) -> list[Route]:
    async def ready(request: Request) -> Response:
        if not service.engine.is_ready:
            raise Refusal(503, "The model is not ready", 1)
        return JSONResponse({"status": "ready"})

    async def metrics(request: Request) -> Response:
        service.authorise(request)
        return Response(service.metrics.to_text(), media_type="text/plain; version=0.0.4")

    return [Route("/ready", ready), Route("/metrics", metrics)]


def _tell(request: Request, message: str) -> dict[str, str]:
    """Say it as the clients of that dialect expect it."""
    return {"message" if request.url.path.startswith("/v2/") else "error": message}


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return JSONResponse(_tell(request, error.message), error.status, headers=error.headers)


async def _refuse_by_status(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse(_tell(request, error.detail), error.status_code, headers=error.headers)


async def _fail(request: Request, error: Exception) -> Response:
    """Tell the log where it broke, without the words of the error, which may quote a text."""
    tell_error(error)
    return JSONResponse(_tell(request, "Internal error"), 500)
