"""Which of the languages of the models a text is in.

Every language that a model was trained on is known by that model's own sentences: a profile of three characters in a row,
learnt when the server starts. ``py3langid``, which knows 140 languages, is asked too: of the languages that it knows it tells
some apart better than few sentences do, and it says whether a text is in one of them at all, or in one that no model here knows.
Where a model keeps no sentences, it decides alone.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.languages import TRIGRAM_BUCKETS, are_alike, rank_languages, trigrams

__all__ = ["Detected", "Detector"]

_FEWEST = 50
"""Sentences from which a profile is learnt."""

_SMOOTHING = 0.05
_MOST_TRIGRAMS = 30
"""From which a longer text makes no surer: the odds of neighbouring trigrams are not independent."""

_USUAL, _STRANGE = 2.5, 5.0
"""Log-probability of a trigram below the usual one, from which a text is less sure to be in a language, and is not."""

_MARGIN, _SPREAD = 6.0, 3.0
"""Log odds by which a language that is not here may be likelier before a text is rather in that one; and how fast that turns."""

_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Detected:
    """A guess; ``confidence`` is 0 to 100."""

    language: str
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as LibreTranslate tells it."""
        return {"confidence": self.confidence, "language": self.language}


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
        """Return the likeliest languages, best first; a text without letters is in none, with confidence 0.

        Only languages of the models are told, as clients take them for what can be asked for: of a text in another one the
        likeliest has a confidence near 0.
        """
        best, *others = self._rank(text)
        if not _LETTER.search(text):
            return [best]
        return [best, *(other for other in others if other.confidence >= 0.1)]

    def likeliest(self, text: str, among: Collection[str]) -> Detected:
        """Return the likeliest of some of the languages, as sure as it is among all of them.

        Args:
            text: what to tell the language of.
            among: codes, at least one of a language that there is.
        """
        return next(each for each in self._rank(text) if each.language in among)

    def _rank(self, text: str) -> list[Detected]:
        """Return every language, likeliest first."""
        text = " ".join(text[:2_000].split())
        if not _LETTER.search(text):
            usual_first = sorted(self.languages, key=lambda code: code != "en")
            return [Detected(code, 0.0) for code in usual_first]
        odds = _odds(text)
        scores = np.array([odds.get(_plain(code), -1e3) for code in self.languages])
        fit = 1.0
        if self._is_taught:
            own, fit = self._by_profile(text)
            knows_all = all(_plain(code) in odds for code in self.languages)
            scores = own + scores if knows_all else own
        likeliest = _plain(self.languages[int(scores.argmax())])
        if likeliest in odds:
            fit = self._share(odds, likeliest)
        chances = np.exp(scores - scores.max())
        chances *= 100 * fit / chances.sum()
        # by scores: of chances the least are all 0
        order = np.argsort(-scores, kind="stable")
        return [Detected(self.languages[n], round(float(chances[n]), 1)) for n in order]

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

    def _share(self, odds: Mapping[str, float], likeliest: str) -> float:
        """Return how surely a text is in a language that is here, and in none that is not."""
        here = set(map(_plain, self.languages))
        others = [
            odds[code] for code in odds if code not in here and not are_alike(code, likeliest)
        ]
        margin = odds[likeliest] - max(others, default=-np.inf)
        return float(1 / (1 + np.exp(-np.clip((margin + _MARGIN) / _SPREAD, -50, 50))))


def _odds(text: str) -> dict[str, float]:
    """Return the logarithms of the odds that the package gives; nothing where it has no opinion."""
    ranked = rank_languages(text)
    return dict(ranked) if ranked[0][1] > ranked[-1][1] else {}


def _plain(code: str) -> str:
    """Return a code as the package has it: pt-BR is pt."""
    return code.split("-")[0]
