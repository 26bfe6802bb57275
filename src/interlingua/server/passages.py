"""From which language, and through which models, a text gets into the one that is wanted."""

from dataclasses import dataclass
from typing import Any

from interlingua.server.detection import Detected
from interlingua.server.engine import ServedModel
from interlingua.server.service import Service

__all__ = ["Passage", "find_passage"]


@dataclass(frozen=True, slots=True)
class Passage:
    """How one text is translated.

    Attributes:
        source: language that it is in, or is taken for.
        way: models that it goes through; none where it is in the wanted language already.
        guess: what was found out about the language, if nobody told it.
    """

    source: str
    way: tuple[ServedModel, ...]
    guess: Detected | None = None

    def told(self) -> dict[str, Any]:
        """Return what the answer says besides the translation, by LibreTranslate's names."""
        told: dict[str, Any] = {}
        if self.guess is not None:
            told["detectedLanguage"] = self.guess.to_dict()
        if len(self.way) > 1:
            told["pivot"] = ">".join(model.target for model in self.way[:-1])
        return told


def find_passage(service: Service, text: str, source: str | None, target: str) -> Passage:
    """Find the way of a text to ``target``.

    Args:
        service: the languages and the models.
        text: what is to be translated.
        source: code of its language, one that a model has; None: the likeliest of those from which a way leads to
            ``target``, which may be ``target`` itself.
        target: code of the language that is wanted, one that a model has.

    Raises:
        Refusal: no way leads there.
    """
    if source is not None:
        return Passage(source, service.languages.require_way(source, target))
    guess = service.detector.likeliest(text, service.languages.sources_of(target))
    return Passage(guess.language, service.languages.require_way(guess.language, target), guess)
