"""A translation while it grows, as server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from starlette.responses import StreamingResponse

from interlingua.server.engine import ServedModel
from interlingua.server.passages import Passage, find_passage
from interlingua.server.refusals import Refusal
from interlingua.server.schemas import TranslateForm
from interlingua.server.service import Service
from interlingua.server.translation import (
    cut_for,
    find_corrections,
    is_translatable,
    translate_texts,
)

__all__ = ["stream_translation"]


def stream_translation(service: Service, form: TranslateForm) -> StreamingResponse:
    """Return events: ``piece`` (``text`` to append), at the end ``done``, which says what a plain answer says, or ``error``.

    Raises:
        Refusal: something is asked for that only a finished translation can have.
    """
    if not isinstance(form.q, str) or form.alternatives or form.format != "text":
        raise Refusal(400, "Invalid request: stream is for one plain text without alternatives")
    service.check_texts([form.q])
    if service.engine.batcher.is_full:
        raise service.engine.batcher.refusal()
    target = service.languages.known(form.target)
    source = None if form.source == "auto" else service.languages.known(form.source)
    passage = find_passage(service, form.q, source, target)
    events = _events(service, passage, form.q)
    return StreamingResponse(events, media_type="text/event-stream")


async def _events(service: Service, passage: Passage, text: str) -> AsyncIterator[bytes]:
    whole = ""
    try:
        async with asyncio.timeout(service.settings.deadline):
            [before] = await translate_texts(service.engine, passage.way[:-1], [text])
            async for piece in _pieces(service, passage.way[-1:], before.text):
                whole += piece
                yield _event("piece", {"text": piece})
        yield _event("done", {"translatedText": whole} | passage.told())
    except Refusal as refusal:
        yield _event("error", {"error": refusal.message})
    except TimeoutError:
        yield _event("error", {"error": service.engine.batcher.refusal().message})


async def _pieces(service: Service, last: Sequence[ServedModel], text: str) -> AsyncIterator[str]:
    if not last:
        yield text
        return
    model = last[0]
    [told] = await find_corrections(service.engine, model, [text])
    if told is not None:
        yield told
        return
    for sentence in cut_for(model, text):
        if sentence.before:
            yield sentence.before
        if is_translatable(model, sentence.text):
            asked = {"do": "stream", "model": model.number, "text": sentence.text}
            async for answer in service.engine.stream(asked):
                if "piece" in answer:
                    yield answer["piece"]
        elif sentence.text:
            yield sentence.text
        if sentence.after:
            yield sentence.after


def _event(name: str, content: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(content, ensure_ascii=False)}\n\n".encode()
