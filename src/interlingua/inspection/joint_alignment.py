"""Word alignment by two models of opposite directions that are looked at together.

Two models that learnt apart rarely make the same mistake, so that what they agree on is mostly right: Chen et al. 2020,
"Accurate Word Alignment Induction from Neural Machine Translation", section 3.2, chooses a layer of each by how much they agree.
Here that goes on: further views are mixed in for as long as the agreement rises, and then each word asks both models.
No gold is looked at anywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from interlingua.evaluation.alignment import Links, transpose
from interlingua.inspection.alignment import Shares, View, align, link, list_views, look
from interlingua.translator import Translator

__all__ = ["Reading", "agreement", "choose_together", "link_together"]

_LEAST_SHARE = 1e-3
"""Attention below this says nothing, so that no single view can forbid a link."""
_STEP = 0.25
"""How much of a further view is mixed in at a time; the first has 1."""
_CANDIDATES = 8
"""How many views of each model may be mixed: those that agree most with the best of the other."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A model, and how much each view of its attention counts."""

    translator: Translator
    weights: Mapping[View, float]

    def worth(self, pairs: Sequence[tuple[str, str]]) -> list[Shares]:
        """Return for each pair what a source word (column) is worth to a target word (row): logarithms of shares, mixed.

        Raises:
            CorpusError: a text whose words the tokenizer runs together.
        """
        views = list(self.weights)
        found = [_nothing(*pair) for pair in pairs]
        for place, seen in look(self.translator, pairs, views):
            found[place] = _mix(
                [self.weights[view] for view in views], [_logarithm(shares) for shares in seen]
            )
        return found

    def __str__(self) -> str:
        return "; ".join(
            str(view) if weight == 1.0 else f"{weight:g} of {view}"
            for view, weight in self.weights.items()
        )


def link_together(here: Shares, there: Shares) -> tuple[Links, Links]:
    """Return two alignments of a pair, as both models see it: a link for each target word, and one for each source word.

    What a link is worth to the two is added, which multiplies their shares of attention.

    Args:
        here: what source words are worth to target words, as the first model reads the pair.
        there: what target words are worth to source words, as the model of the opposite direction reads it.
    """
    both = here + there.T
    return link(both), transpose(link(both.T))


def agreement(one: Sequence[Links], other: Sequence[Links]) -> float:
    """Return how much two alignments of the same pairs agree: twice the common links over all links, 0 to 1."""
    common = sum(len(a & b) for a, b in zip(one, other, strict=True))
    total = sum(map(len, one)) + sum(map(len, other))
    return 2 * common / total if total else 0.0


def choose_together(
    forward: Translator, reverse: Translator, pairs: Sequence[tuple[str, str]]
) -> tuple[Reading, Reading, float]:
    """Return how to read two models so that they agree most on ``pairs``, and how much they agree.

    First the two single views that agree most; then, one step at a time, whichever view of either model makes the two agree
    more, until none does.

    Raises:
        ModelError: a model has no attention to the source that can be read.
        CorpusError: a text whose words a tokenizer runs together.
    """
    turned = [(target, source) for source, target in pairs]
    here, there, share = _rank(forward, reverse, pairs)
    sides = [_Mixture(forward, here, pairs), _Mixture(reverse, there, turned)]
    while True:
        turned_back = [_turn(side.links()) for side in sides]
        tried = [
            (agreement(side.links(view), turned_back[1 - place]), place, view)
            for place, side in enumerate(sides)
            for view in side.candidates
        ]
        best, place, view = max(tried, key=lambda each: each[0])
        if best <= share:
            break
        share = best
        sides[place].add(view)
    return sides[0].reading, sides[1].reading, share


def _rank(
    forward: Translator, reverse: Translator, pairs: Sequence[tuple[str, str]]
) -> tuple[list[View], list[View], float]:
    """Return the views of each model, the best first, and how much the best two agree.

    Best are the two that agree most; the others follow by how much they agree with the best of the other model.
    """
    here, there = list_views(forward), list_views(reverse)
    if not pairs:
        return here, there, 0.0  # nothing to choose by
    turned = [(target, source) for source, target in pairs]
    ours = list(zip(*align(forward, pairs, here), strict=True))
    theirs = [_turn(view) for view in zip(*align(reverse, turned, there), strict=True)]
    scores = np.array([[agreement(a, b) for b in theirs] for a in ours])
    i, j = divmod(int(scores.argmax()), len(there))
    ranked = [
        [views[k] for k in sorted(range(len(views)), key=lambda k: (k != best, -agreed[k]))]
        for views, best, agreed in ((here, i, scores[:, j]), (there, j, scores[i]))
    ]
    return ranked[0], ranked[1], float(scores[i, j])


class _Mixture:
    """The best views of one model on some pairs, and how much of each is taken so far: at first the first alone."""

    def __init__(
        self, translator: Translator, ranked: Sequence[View], pairs: Sequence[tuple[str, str]]
    ) -> None:
        self.candidates = list(ranked[:_CANDIDATES])
        self._translator = translator
        self._seen = {
            place: [_logarithm(shares) for shares in seen]
            for place, seen in look(translator, pairs, self.candidates)
        }
        self._pairs = len(pairs)
        self._weights = [1.0] + [0.0] * (len(self.candidates) - 1)

    def links(self, further: View | None = None) -> list[Links]:
        """Return the links, with a step of a further view if one is given."""
        weights = self._weights if further is None else self._with(further)
        return [
            link(_mix(weights, self._seen[place])) if place in self._seen else frozenset()
            for place in range(self._pairs)
        ]

    def add(self, further: View) -> None:
        self._weights = self._with(further)

    def _with(self, further: View) -> list[float]:
        return [
            weight + (_STEP if view == further else 0.0)
            for view, weight in zip(self.candidates, self._weights, strict=True)
        ]

    @property
    def reading(self) -> Reading:
        chosen = zip(self.candidates, self._weights, strict=True)
        return Reading(self._translator, {view: weight for view, weight in chosen if weight})


def _turn(links: Sequence[Links]) -> list[Links]:
    return [transpose(each) for each in links]


def _nothing(source: str, target: str) -> Shares:
    return np.full((len(target.split()), len(source.split())), -np.inf, dtype=np.float32)


def _logarithm(shares: Shares) -> Shares:
    """Take the logarithm; words without tokens keep minus infinity."""
    return np.where(shares == -np.inf, -np.inf, np.log(np.maximum(shares, 0) + _LEAST_SHARE))


def _mix(weights: Sequence[float], seen: Sequence[Shares]) -> Shares:
    mixed: Shares = sum(
        (weight * each for weight, each in zip(weights, seen, strict=True) if weight),
        start=np.zeros_like(seen[0]),
    )
    return mixed
