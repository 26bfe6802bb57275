"""What every dialect shares: the engine, the languages, and what a request may ask for."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.requests import Request

from interlingua.server.detection import Detected, Detector
from interlingua.server.engine import Engine
from interlingua.server.keys import KeyRing
from interlingua.server.languages import Languages
from interlingua.server.metrics import Metrics
from interlingua.server.refusals import Refusal
from interlingua.server.settings import ServerSettings

__all__ = ["Service", "answer_within"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Service:
    """The models, and the limits that requests have."""

    engine: Engine
    languages: Languages
    settings: ServerSettings
    keys: KeyRing
    metrics: Metrics
    detector: Detector

    def authorise(self, request: Request, key: object = None) -> None:
        """Let in whoever has a key, if one is needed; in the body, or in the header Authorization.

        Raises:
            Refusal: there is none, or it is not one of ours.
        """
        if not self.keys.is_needed:
            return
        kind, _, told = request.headers.get("authorization", "").partition(" ")
        if kind.lower() in ("bearer", "deepl-auth-key"):
            key = told.strip()
        if not isinstance(key, str) or not key:
            raise Refusal(400, "Please contact the server operator to get an API key")
        if not self.keys.opens(key):
            raise Refusal(403, "Invalid API key")

    def refuse_if_full(self) -> None:
        """Refuse before anything is read: under ten times too much this is what most requests cost.

        Raises:
            Refusal: the queue takes no more.
        """
        if self.engine.batcher.is_full:
            raise self.engine.batcher.refusal()

    def detect(self, text: str) -> list[Detected]:
        """Tell which of the languages a text is in, likeliest first."""
        return self.detector.detect(text)

    def check_texts(self, texts: Sequence[str]) -> None:
        """Hold the texts of one request to their limits.

        Raises:
            Refusal: there are too many, or one is too long.
        """
        if len(texts) > self.settings.max_texts:
            raise Refusal(
                400,
                f"Invalid request: request ({len(texts)}) exceeds text limit ({self.settings.max_texts})",
            )
        longest = max(map(len, texts), default=0)
        if longest > self.settings.max_chars:
            raise Refusal(
                400,
                f"Invalid request: request ({longest}) exceeds text limit ({self.settings.max_chars})",
            )

    def check_inspected(self, *texts: str | None) -> None:
        """Hold what is to be looked into to its limit; None is no text.

        Raises:
            Refusal: one is too long.
        """
        longest = max(len(text or "") for text in texts)
        if longest > self.settings.max_inspected:
            raise Refusal(
                400,
                f"Invalid request: request ({longest}) exceeds text limit ({self.settings.max_inspected}) "
                "of what is inspected, --max-inspected",
            )


async def answer_within(
    service: Service,
    request: Request,
    answer: Coroutine[Any, Any, T],
    seconds: float | None = None,
) -> T:
    """Wait for an answer as long as the client does, and no longer than a request may take
    (``seconds``, or the deadline).

    Raises:
        Refusal: it takes longer, or the client has left.
    """
    task = asyncio.current_task()
    assert task is not None
    has_answer = False

    def leave(left: asyncio.Task[None]) -> None:
        if not (left.cancelled() or has_answer):
            task.cancel()

    leaving = asyncio.create_task(_wait_until_left(request))
    leaving.add_done_callback(leave)
    try:
        async with asyncio.timeout(seconds or service.settings.deadline):
            return await answer
    except TimeoutError:
        raise service.engine.batcher.refusal() from None
    except asyncio.CancelledError:
        if not leaving.done():
            raise
        task.uncancel()
        raise Refusal(499, "The client has left") from None
    finally:
        has_answer = True
        leaving.cancel()


async def _wait_until_left(request: Request) -> None:
    """Return when the client is gone; its body has been read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
