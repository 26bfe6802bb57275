"""What a request says: JSON or a form, read within the limits, as one dictionary."""

import json
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from interlingua.errors import ConfigError
from interlingua.server.refusals import Refusal

__all__ = ["read_as", "read_bytes", "read_fields"]

ModelT = TypeVar("ModelT", bound=BaseModel)

_MOST_FIELDS = 1_000


async def read_as(request: Request, form: type[ModelT], limit: int) -> ModelT:
    """Read the body as what ``form`` describes.

    Raises:
        Refusal: it is longer than ``limit`` bytes, not readable, or something in it is missing or wrong.
    """
    fields = await read_fields(request, limit)
    try:
        return form.model_validate(fields)
    except ValidationError as error:
        raise Refusal(400, f"Invalid request: {_in_words(error)}") from None
    except ConfigError as error:  # what a record inside of it says of its values together
        raise Refusal(400, f"Invalid request: {error}") from None


async def read_fields(request: Request, limit: int) -> dict[str, Any]:
    """Return the fields of the body: what a key says several times in a form is a list.

    Raises:
        Refusal: the body is longer than ``limit`` bytes, or not readable.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await read_bytes(request, limit)
    if kind == "application/json" or kind.endswith("+json"):
        return _read_json(body)
    if kind == "multipart/form-data":
        return await _read_parts(request, body)
    if kind not in ("", "application/x-www-form-urlencoded"):
        raise Refusal(415, "Invalid request: send JSON or a form")
    return _read_form(body, request.url.query)


async def read_bytes(request: Request, limit: int) -> bytes:
    """Return the body.

    Raises:
        Refusal: it is longer than ``limit`` bytes, or packed.
    """
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "Invalid request: the body must not be compressed")
    announced = request.headers.get("content-length", "0")
    too_long = Refusal(413, f"Invalid request: the body exceeds {limit} bytes")
    if not announced.isdecimal() or int(announced[:20]) > limit:
        raise too_long
    chunks, size = [], 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > limit:
                raise too_long
            chunks.append(chunk)
    except ClientDisconnect:
        raise Refusal(400, "Invalid request: the body ended early") from None
    return b"".join(chunks)


def _read_json(body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Refusal(400, "Invalid request: the body is no JSON in UTF-8") from None
    if not isinstance(content, dict):
        raise Refusal(400, "Invalid request: the JSON is no object")
    return content


def _read_form(body: bytes, query: str) -> dict[str, Any]:
    try:
        pairs = [
            pair
            for text in (query, body.decode("utf-8"))
            for pair in parse_qsl(
                text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
            )
        ]
    except (ValueError, UnicodeDecodeError):
        raise Refusal(400, "Invalid request: the form cannot be read") from None
    return _gather((key, _newlines(value)) for key, value in pairs)


async def _read_parts(request: Request, body: bytes) -> dict[str, Any]:
    from starlette.formparsers import MultiPartException, MultiPartParser

    async def whole() -> Any:
        yield body

    parser = MultiPartParser(
        request.headers, whole(), max_files=1, max_fields=_MOST_FIELDS, max_part_size=len(body) + 1
    )
    parser.spool_max_size = len(body) + 1  # nothing of a client's is ever written to a disk
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError, ValueError):
        raise Refusal(400, "Invalid request: the form cannot be read") from None
    return _gather(
        (key, _newlines(value) if isinstance(value, str) else value)
        for key, value in form.multi_items()
    )


def _gather(pairs: Any) -> dict[str, Any]:
    fields: dict[str, list[Any]] = {}
    for key, value in pairs:
        fields.setdefault(key, []).append(value)
    return {key: values[0] if len(values) == 1 else values for key, values in fields.items()}


def _newlines(text: str) -> str:
    """Browsers send CR LF in forms, whatever was typed."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _in_words(error: ValidationError) -> str:
    """Say what the first fault is, as LibreTranslate says it."""
    first = error.errors(include_input=False, include_url=False)[0]
    place = first["loc"][0] if first["loc"] else ""
    if first["type"] == "missing":
        return f"missing {place} parameter"
    message = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"{place} {message}"
