"""What every dialect shares: the engine, the languages, and what a request may ask for."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from interlingua.server.engine import Engine
from interlingua.server.languages import Languages
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


async def answer_within(service: Service, answer: Coroutine[Any, Any, T]) -> T:
    """Wait for an answer no longer than a request may take.

    Raises:
        Refusal: it takes longer.
    """
    try:
        async with asyncio.timeout(service.settings.deadline):
            return await answer
    except TimeoutError:
        raise Refusal(503, "The server is busy", service.settings.retry_after) from None
