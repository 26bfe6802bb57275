"""What one text demands of its translation, and whether a translation has it."""

from collections.abc import Callable
from dataclasses import dataclass

from interlingua.requests.glossary import holds_all
from interlingua.requests.placeholders import find_placeholders, keeps_placeholders
from interlingua.requests.request import Request

__all__ = ["Demand", "demand_of"]


@dataclass(frozen=True, slots=True)
class Demand:
    """What must stand in one translation."""

    terms: tuple[str, ...]
    """Words and phrases, as whole words."""
    placeholders: tuple[str, ...]
    """What must come through unchanged, each as often as it stands here."""

    @property
    def phrases(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.terms, *self.placeholders)

    def is_met(self, translation: str) -> bool:
        """Whether ``translation`` has all."""
        return holds_all(translation, self.terms) and keeps_placeholders(
            self.placeholders, translation
        )


def demand_of(text: str, request: Request, normalise: Callable[[str], str]) -> Demand:
    """Gather the forced words, the terms of the glossary in ``text``, and its placeholders.

    Words are wanted as the model writes them: ``normalise`` is what its tokenizer does to a target.
    """
    terms = request.glossary.targets_for(text) if request.glossary else ()
    return Demand(
        terms=tuple(dict.fromkeys(map(normalise, (*request.force, *terms)))),
        placeholders=find_placeholders(text) if request.lock else (),
    )
