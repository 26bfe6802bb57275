"""The OpenAPI document of the server, made from the forms that requests are read by; and a page that shows it."""

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

import interlingua
from interlingua.inspection.questions import QUESTIONS, TraceQuestion, TreeQuestion
from interlingua.server import schemas
from interlingua.server.languages import Languages
from interlingua.server.settings import ServerSettings

__all__ = ["describe", "routes"]

_FOUND: dict[str, Any] = {"detectedLanguage": {}, "pivot": {}}
"""What an answer says besides the translation, where there is something to say."""

_POSTS: dict[str, tuple[str, type[BaseModel], dict[str, Any]]] = {
    "/translate": (
        "Translate a text, or several",
        schemas.TranslateForm,
        {"required": ["translatedText"], "properties": {"translatedText": {}} | _FOUND},
    ),
    "/detect": ("Tell which language a text is in", schemas.DetectForm, {}),
    "/inspect": (
        "Open a translation up",
        schemas.InspectForm,
        {"required": ["version", "attention"]},
    ),
    "/suggest": ("Send a better translation", schemas.SuggestForm, {"required": ["success"]}),
    "/v2/translate": (
        "Translate, as DeepL does",
        schemas.DeeplForm,
        {"required": ["translations"], "properties": {"translations": {"type": "array"}}},
    ),
}
_QUESTIONS = {f"/inspect/{name}": form for name, form in QUESTIONS.items()}
_GETS = {
    "/languages": "List the languages",
    "/frontend/settings": "Tell the limits",
    "/health": "Tell that the server is alive",
    "/ready": "Tell whether the models take requests",
    "/v2/languages": "List the languages, as DeepL does",
    "/v2/usage": "Tell what was used, as DeepL does",
    "/inspect/ways": "List which models lead from one language to another",
    "/inspect/page": "Fetch the page as one file without its answers",
    "/metrics": "Tell operators what was done, for Prometheus",
}
_KINDS = {"/inspect/page": "text/html", "/metrics": "text/plain"}
"""Answers that are no JSON."""

_ERROR = {
    "type": "object",
    "properties": {"error": {"type": "string"}, "message": {"type": "string"}},
}
_REFUSALS = {
    "400": "Something is missing or wrong",
    "403": "The key is wrong, or what is asked for is disabled",
    "404": "There is nothing here",
    "413": "The body is too long",
    "415": "The body is neither JSON nor a form",
    "429": "This client asks for too much at a time",
    "503": "The server is busy",
}


def routes(settings: ServerSettings, languages: Languages) -> list[Route]:
    """Return the route of the document."""
    document = describe(settings, languages)

    async def spec(request: Request) -> JSONResponse:
        return JSONResponse(document)

    return [Route("/spec", spec)]


def describe(settings: ServerSettings, languages: Languages) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document: with the limits and the languages of this server."""
    every = dict.fromkeys([*(form for _, form, _ in _POSTS.values()), *_QUESTIONS.values()])
    forms = [(form, "validation") for form in every]
    _, definitions = models_json_schema(forms, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    for _, form, _ in _POSTS.values():
        _limit(definitions["$defs"][form.__name__]["properties"], settings, languages)
    inspected = definitions["$defs"][schemas.InspectForm.__name__]["properties"]
    for name in ("q", "translation"):
        inspected[name]["maxLength"] = settings.max_inspected
    paths: dict[str, Any] = {
        path: {"post": _post(told, form.__name__, answer)}
        for path, (told, form, answer) in _POSTS.items()
    }
    paths |= {path: {"post": _question(path, form, settings)} for path, form in _QUESTIONS.items()}
    paths |= {
        path: {"get": _operation(told, {}, _KINDS.get(path, "application/json"))}
        for path, told in _GETS.items()
    }
    paths["/translate_file"] = {"post": _file()}
    paths["/download_file/{name}"] = {"get": _download()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Interlingua",
            "version": interlingua.__version__,
            "description": f"Up to {settings.max_texts} texts of {settings.max_chars} characters a request.",
        },
        "paths": paths,
        "components": {"schemas": definitions["$defs"] | {"Error": _ERROR}},
    }


def _limit(fields: dict[str, Any], settings: ServerSettings, languages: Languages) -> None:
    """Write into the fields of a form what this server takes."""
    for name in ("q", "s", "text"):
        if name in fields:
            fields[name] = _limit_text(fields[name], settings)
    sources = ["auto", *languages.sources] if "alternatives" in fields else [*languages.sources]
    for name, codes in {"source": sources, "target": languages.targets}.items():
        if name in fields:
            fields[name]["enum"] = list(codes)
    if "target_lang" in fields:
        fields["target_lang"]["enum"] = [code.upper() for code in languages.targets]
    if "alternatives" in fields:
        fields["alternatives"]["maximum"] = settings.max_alternatives


def _limit_text(field: dict[str, Any], settings: ServerSettings) -> dict[str, Any]:
    one = {"type": "string", "maxLength": settings.max_chars}
    if "anyOf" not in field:
        return field | one
    many = {"type": "array", "items": one, "maxItems": settings.max_texts}
    return field | {"anyOf": [one, many]}


def _operation(told: str, answer: dict[str, Any], kind: str = "application/json") -> dict[str, Any]:
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        "summary": told,
        "responses": {
            "200": {"description": "Done", "content": {kind: {"schema": answer}}},
            **{
                status: {"description": words, "content": error}
                for status, words in _REFUSALS.items()
            },
        },
    }


def _post(told: str, form: str, answer: dict[str, Any]) -> dict[str, Any]:
    schema = {"schema": {"$ref": f"#/components/schemas/{form}"}}
    operation = _operation(told, answer)
    operation["requestBody"] = {
        "required": True,
        "content": {"application/json": schema, "application/x-www-form-urlencoded": schema},
    }
    if form == "TranslateForm":
        operation["responses"]["200"]["content"]["text/event-stream"] = {}
    return operation


def _question(path: str, form: type[BaseModel], settings: ServerSettings) -> dict[str, Any]:
    told = f"Look inside: {path.rpartition('/')[2]}"
    operation = _operation(told, {"type": "object"} if path != "/inspect/best-view" else {})
    schema: dict[str, Any] = {"$ref": f"#/components/schemas/{form.__name__}"}
    if issubclass(form, TraceQuestion | TreeQuestion):
        opened = ["target"] if path == "/inspect/translation" else ["text", "target"]
        limit = {"maxLength": settings.max_inspected}
        schema["properties"] = {name: limit for name in opened if name in form.model_fields}
        if form is TreeQuestion:
            schema["properties"]["edits"] = {"properties": {"typed": limit}}
    content = {"application/json": {"schema": schema}}
    operation["requestBody"] = {"required": True, "content": content}
    return operation


def _download() -> dict[str, Any]:
    operation = _operation("Fetch a translated file", {}, "application/octet-stream")
    operation["parameters"] = [
        {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    ]
    return operation


def _file() -> dict[str, Any]:
    text = {"type": "string"}
    answer = {"required": ["translatedFileUrl"], "properties": {"translatedFileUrl": text} | _FOUND}
    operation = _operation("Translate a file", answer)
    schema = {
        "type": "object",
        "required": ["file", "source", "target"],
        "properties": {
            "file": {"type": "string", "contentMediaType": "application/octet-stream"},
            "source": text,
            "target": text,
            "api_key": text,
        },
    }
    operation["requestBody"] = {
        "required": True,
        "content": {"multipart/form-data": {"schema": schema}},
    }
    return operation
