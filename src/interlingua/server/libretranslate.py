"""The API of LibreTranslate: what its clients send and expect, errors included."""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from interlingua.server.bodies import read_as
from interlingua.server.documents import FORMATS
from interlingua.server.languages import name_of
from interlingua.server.markup import HTML
from interlingua.server.passages import find_passage
from interlingua.server.refusals import Refusal
from interlingua.server.schemas import DetectForm, TranslateForm
from interlingua.server.service import Service, answer_within
from interlingua.server.several import translate_each
from interlingua.server.streaming import stream_translation

__all__ = ["routes"]


def routes(service: Service) -> list[Route]:
    """Return the routes of this API."""
    settings = service.settings

    async def languages(request: Request) -> JSONResponse:
        return JSONResponse(
            [
                {
                    "code": code,
                    "name": name_of(code),
                    "targets": list(service.languages.targets_of(code)),
                }
                for code in service.languages.every
            ]
        )

    async def translate(request: Request) -> Response:
        service.refuse_if_full()
        form = await read_as(request, TranslateForm, settings.max_body)
        service.authorise(request, form.api_key)
        if form.stream:
            return stream_translation(service, form)
        return JSONResponse(await answer_within(service, request, _translate(service, form)))

    async def detect_language(request: Request) -> JSONResponse:
        form = await read_as(request, DetectForm, settings.max_body)
        service.authorise(request, form.api_key)
        service.check_texts([form.q])
        return JSONResponse([each.to_dict() for each in service.detect(form.q)])

    async def frontend_settings(request: Request) -> JSONResponse:
        return JSONResponse(_frontend_settings(service))

    async def health(request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    return [
        Route("/languages", languages),
        Route("/translate", translate, methods=["POST"]),
        Route("/detect", detect_language, methods=["POST"]),
        Route("/frontend/settings", frontend_settings),
        Route("/health", health),
    ]


async def _translate(service: Service, form: TranslateForm) -> dict[str, Any]:
    texts = form.q if isinstance(form.q, list) else [form.q]
    service.check_texts(texts)
    if form.alternatives > service.settings.max_alternatives:
        raise Refusal(
            400,
            f"Invalid request: alternatives ({form.alternatives}) exceeds limit "
            f"({service.settings.max_alternatives})",
        )
    target = service.languages.known(form.target)
    source = None if form.source == "auto" else service.languages.known(form.source)
    passages = [find_passage(service, text, source, target) for text in texts]
    answers = await translate_each(
        service.engine,
        passages,
        texts,
        dialect=HTML if form.format == "html" else None,
        alternatives=form.alternatives,
    )
    told: list[dict[str, Any]] = []
    for text, passage, answer in zip(texts, passages, answers, strict=True):
        service.metrics.characters.labels(passage.source, target).inc(len(text))
        told.append({"translatedText": answer.text} | passage.told())
        if form.alternatives:
            told[-1]["alternatives"] = list(answer.alternatives)
    return _by_field(told) if isinstance(form.q, list) else told[0]


def _by_field(told: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return for each field the list of what the answers say in it, None where one says nothing."""
    names = dict.fromkeys(["translatedText", *(name for each in told for name in each)])
    return {name: [each.get(name) for each in told] for name in names}


def _frontend_settings(service: Service) -> dict[str, Any]:
    source = service.languages.sources[0]
    targets = service.languages.targets_of(source)
    target = next((code for code in targets if code != source), source)
    return {
        "apiKeys": service.keys.is_needed,
        "keyRequired": service.keys.is_needed,
        "charLimit": service.settings.max_chars,
        "frontendTimeout": 300,
        "suggestions": service.settings.suggestions is not None,
        "filesTranslation": True,
        "supportedFilesFormat": list(FORMATS),
        "language": {
            "source": {"code": source, "name": name_of(source)},
            "target": {"code": target, "name": name_of(target)},
        },
    }
