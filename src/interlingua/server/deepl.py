"""What DeepL's own client needs to translate here: version 2 of its API, as much of it as a model of ours can do."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from interlingua.server.bodies import read_as, read_fields
from interlingua.server.languages import name_of
from interlingua.server.markup import HTML, XML
from interlingua.server.passages import find_passage
from interlingua.server.refusals import Refusal
from interlingua.server.schemas import DeeplForm
from interlingua.server.service import Service, answer_within
from interlingua.server.several import translate_each

__all__ = ["routes"]

_NO_LIMIT = 1_000_000_000_000


def routes(service: Service) -> list[Route]:
    """Return the routes of this API."""
    used = {"characters": 0}

    async def translate(request: Request) -> JSONResponse:
        service.refuse_if_full()
        form = await read_as(request, DeeplForm, service.settings.max_body)
        service.authorise(request)
        answer = await answer_within(service, request, _translate(service, form))
        used["characters"] += sum(map(len, form.texts))
        return JSONResponse({"translations": answer})

    async def languages(request: Request) -> JSONResponse:
        service.authorise(request)
        # Its client sends fields in the body of a GET.
        asked = (await read_fields(request, service.settings.max_body)).get("type", "source")
        if asked not in ("source", "target"):
            raise Refusal(400, "Invalid request: type is source or target")
        known = service.languages
        codes = known.sources if asked == "source" else known.targets
        extra = {"supports_formality": False} if asked == "target" else {}
        return JSONResponse(
            [{"language": code.upper(), "name": name_of(code)} | extra for code in codes]
        )

    async def usage(request: Request) -> JSONResponse:
        service.authorise(request)
        return JSONResponse({"character_count": used["characters"], "character_limit": _NO_LIMIT})

    return [
        Route("/v2/translate", translate, methods=["POST"]),
        Route("/v2/languages", languages, methods=["GET", "POST"]),
        Route("/v2/usage", usage, methods=["GET", "POST"]),
    ]


async def _translate(service: Service, form: DeeplForm) -> list[dict[str, Any]]:
    texts = form.texts
    service.check_texts(texts)
    _refuse_what_no_model_does(form)
    target = _known(service, form.target_lang)
    told = _known(service, form.source_lang) if form.source_lang else None
    passages = [find_passage(service, text, told, target) for text in texts]
    dialect = {"html": HTML, "xml": XML}[form.tag_handling] if form.tag_handling else None
    done = await translate_each(service.engine, passages, texts, dialect=dialect)
    answers: list[dict[str, Any]] = []
    for text, passage, found in zip(texts, passages, done, strict=True):
        source = passage.source.upper()
        answer: dict[str, Any] = {"detected_source_language": source, "text": found.text}
        if form.show_billed_characters:
            answer["billed_characters"] = len(text)
        answers.append(answer)
    return answers


def _known(service: Service, code: str) -> str:
    """Return our code for one of DeepL's: EN-GB is en, unless a model is of just that."""
    try:
        return service.languages.known(code)
    except Refusal:
        return service.languages.known(code.partition("-")[0])


def _refuse_what_no_model_does(form: DeeplForm) -> None:
    if form.formality in ("more", "less"):
        raise Refusal(400, "formality is not supported for these languages")
    if form.glossary_id:
        raise Refusal(404, "There is no glossary here")
    if form.ignore_tags:
        raise Refusal(
            400, 'ignore_tags is not supported; write translate="no" into the tags instead'
        )
