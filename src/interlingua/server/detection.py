"""Which of the languages of the models a text is in.

Every language that a model was trained on is known by that model's own sentences: a profile of three characters in a row,
learnt when the server starts. Where a model keeps no sentences, ``py3langid`` decides, for the languages that it knows.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.languages import TRIGRAM_BUCKETS, rank_languages, trigrams

__all__ = ["Detected", "Detector"]

_FEWEST = 50
"""Sentences from which a profile is learnt."""

_SMOOTHING = 0.05
_MOST_TRIGRAMS = 30
"""From which a longer text makes no surer: the odds of neighbouring trigrams are not independent."""

_USUAL, _STRANGE = 2.5, 5.0
"""Log-probability of a trigram below the usual one, from which a text is less sure to be in a language, and is not."""

_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Detected:
    """A guess; ``confidence`` is 0 to 100."""

    language: str
    confidence: float


class Detector:
    """Tells languages from each other.

    Args:
        languages: codes of those that there are.
        samples: sentences of each, as far as there are any.
    """

    def __init__(self, languages: Sequence[str], samples: Mapping[str, Sequence[str]]) -> None:
        self.languages = tuple(languages)
        self._samples = {code: samples.get(code, ()) for code in languages}

    def detect(self, text: str) -> list[Detected]:
        """Return the likeliest languages, best first; a text without letters is in none, with confidence 0."""
        text = " ".join(text[:2_000].split())
        if not _LETTER.search(text):
            return [Detected("en" if "en" in self.languages else self.languages[0], 0.0)]
        scores, fit = self._by_profile(text) if self._is_taught else self._by_package(text)
        chances = np.exp(scores - scores.max())
        chances *= 100 * fit / chances.sum()
        found = sorted(zip(self.languages, chances.tolist(), strict=True), key=lambda e: -e[1])
        best, *others = [Detected(code, round(chance, 1)) for code, chance in found]
        return [best, *(other for other in others if other.confidence >= 0.1)]

    @property
    def _is_taught(self) -> bool:
        return all(len(some) >= _FEWEST for some in self._samples.values())

    @cached_property
    def _profiles(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Log-probabilities of trigrams, (languages, buckets), and their mean over the own sentences."""
        tables, usual = [], []
        for some in self._samples.values():
            buckets, _, _ = trigrams(list(some))
            counts = np.bincount(buckets, minlength=TRIGRAM_BUCKETS)
            table = np.log((counts + _SMOOTHING) / (counts + _SMOOTHING).sum())
            tables.append(table)
            usual.append(float(table[buckets].mean()))
        return np.stack(tables), np.array(usual)

    def _by_profile(self, text: str) -> tuple[NDArray[np.float64], float]:
        tables, usual = self._profiles
        buckets, _, _ = trigrams([text])
        means = tables[:, buckets].mean(axis=1)
        below = usual[means.argmax()] - means.max()
        fit = float(np.clip((_STRANGE - below) / (_STRANGE - _USUAL), 0.0, 1.0))
        return means * min(len(buckets), _MOST_TRIGRAMS), fit

    def _by_package(self, text: str) -> tuple[NDArray[np.float64], float]:
        ranked = dict(rank_languages(text))
        odds = [ranked.get(code.split("-")[0], -1e3) for code in self.languages]
        return np.array(odds), 1.0
