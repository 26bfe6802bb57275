"""Which of the languages of the models a text is in."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from interlingua.corpus.languages import rank_languages

__all__ = ["Detected", "detect"]


@dataclass(frozen=True, slots=True)
class Detected:
    """A guess; ``confidence`` is 0 to 100."""

    language: str
    confidence: float


def detect(text: str, languages: Sequence[str]) -> list[Detected]:
    """Return the likeliest of ``languages``, best first; a text without letters is in none, with confidence 0."""
    if not any(map(str.isalpha, text)):
        return [Detected("en" if "en" in languages else languages[0], 0.0)]
    ranked = dict(rank_languages(text[:2_000]))
    odds = np.array([ranked.get(code.split("-")[0], -1e3) for code in languages])
    chances = np.exp(odds - odds.max())
    chances *= 100 / chances.sum()
    found = sorted(zip(languages, chances.tolist(), strict=True), key=lambda each: -each[1])
    return [Detected(code, round(chance, 1)) for code, chance in found if chance >= 0.05]
