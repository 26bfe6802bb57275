"""What one text demands of its translation, and whether a translation has it."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from interlingua.corpus.placeholders import keeps_placeholders, placeholder_spans
from interlingua.corpus.words import count_phrase, holds_phrase
from interlingua.requests.request import Request

__all__ = ["Demand", "demand_of", "holds_all"]


@dataclass(frozen=True, slots=True)
class Demand:
    """What must stand in one translation."""

    terms: tuple[str, ...]
    """Words and phrases, as whole words, each as often as it is wanted."""
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

    def only(self, can_write: Callable[[str], bool]) -> "Demand":
        """Leave out what cannot be written."""
        return Demand(
            tuple(filter(can_write, self.terms)), tuple(filter(can_write, self.placeholders))
        )


def demand_of(text: str, request: Request, normalise: Callable[[str], str]) -> Demand:
    """Gather the forced words, the terms of the glossary in ``text``, and its placeholders, within which no term is looked for.

    A forced word that stands in a longer phrase is held by it; terms stand each for a place of the source. Words are wanted as
    the model writes them: ``normalise`` is what its tokenizer does to a target.
    """
    locked = placeholder_spans(text) if request.lock else ()
    found = request.glossary.targets_for(text, locked) if request.glossary else ()
    terms = Counter(map(normalise, found))
    forced = list(map(normalise, request.force))
    longer = [*terms, *forced]
    for phrase in forced:
        if not any(len(other) > len(phrase) and holds_phrase(other, phrase) for other in longer):
            terms |= Counter([phrase])
    return Demand(
        terms=tuple(terms.elements()),
        placeholders=tuple(text[start:end] for start, end in locked),
    )


def holds_all(text: str, phrases: Sequence[str]) -> bool:
    """Whether every one of ``phrases`` stands in ``text``, as often as it is among them, and not only as a part of another of them."""
    wanted = Counter(phrases)
    return all(
        count_phrase(text, phrase)
        >= sum(times * count_phrase(other, phrase) for other, times in wanted.items())
        for phrase in wanted
    )
