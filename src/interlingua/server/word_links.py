"""Which word became which, for elements that go with their words.

Views of the attention that join words which occur together are mixed, the better the more: the best one alone is chosen by some
hundred pairs, and often by chance. A source word that everything looks at a little, such as the full stop, is worth that much less
to each: attention is divided by what a source word gets from all target words.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from interlingua.errors import InterlinguaError
from interlingua.inspection.alignment import (
    Shares,
    View,
    judge_views,
    link,
    list_views,
    look,
)
from interlingua.translator import Translator

__all__ = ["Mix", "WordLinks", "choose_views", "fair", "link_words", "links_of"]

Link = tuple[int, int]
Mix = list[tuple[View, float]]
"""Views, and the weight of each."""

_LEAST, _MOST = 50, 200
"""Pairs by which views are judged: fewer cannot tell views apart, more only take longer."""
_SHARPNESS = 20
"""A view that is judged a tenth worse than the best has an eighth of its weight."""
_LEAST_WEIGHT = 0.01
"""Of the best one's; what has less is left out."""


class WordLinks(NamedTuple):
    """Words that belong together, source and target, counted from 0."""

    sure: list[Link]
    """Each target word with the source word that it comes from."""
    spare: list[Link]
    """Each source word that none comes from, with the target word that looks at it most."""


def choose_views(translator: Translator, pairs: Sequence[tuple[str, str]]) -> Mix:
    """Return the views of the attention that join words which occur together in ``pairs``; none if there is none to look at.

    A model that comes without sentences is looked at as most of its depth are: a deep one by what its last layer but one
    reads (Chen et al. 2020, table 2), a shallow one by what the last writes.
    """
    try:
        if len(pairs) >= _LEAST:
            judged = judge_views(translator, pairs[:_MOST])
            best = max(worth for _, worth in judged)
            weighed = [(view, (worth / best) ** _SHARPNESS) for view, worth in judged if best]
            return [(view, weight) for view, weight in weighed if weight >= _LEAST_WEIGHT]
        layers = sorted({view.layer for view in list_views(translator)})
    except InterlinguaError:
        return []
    is_deep = len(layers) > 3
    last = layers[-2] if is_deep else layers[-1]
    return [(View(last, None, "reading" if is_deep else "writing"), 1.0)]


def link_words(
    translator: Translator, pairs: Sequence[tuple[str, str]], mix: Mix
) -> list[WordLinks]:
    """Return the links of the words of each pair.

    Where the model gives none (a tokenizer that joins words, an attention that cannot be read), words are linked in their order.
    """
    return [_link(translator, pair, mix) for pair in pairs]


def _link(translator: Translator, pair: tuple[str, str], mix: Mix) -> WordLinks:
    try:
        seen = [shares for _, shares in look(translator, [pair], [view for view, _ in mix])]
    except InterlinguaError:
        seen = []
    if not mix or not seen:
        return WordLinks(_in_order(*pair), [])
    mixed = sum(weight * shares for (_, weight), shares in zip(mix, seen[0], strict=True))
    return links_of(fair(np.asarray(mixed)))


def fair(shares: Shares) -> Shares:
    """Divide what each source word (column) gets by all that it gets; words without tokens stay at minus infinity."""
    got = np.where(np.isfinite(shares), shares, 0.0).sum(axis=0, keepdims=True)
    fair: Shares = shares / np.maximum(got, 1e-6)
    return fair


def links_of(shares: Shares) -> WordLinks:
    """Link each word with the one that is worth most to it."""
    sure = sorted(link(shares))
    left_out = set(range(shares.shape[1])) - {source for source, _ in sure}
    spare = [(source, target) for target, source in link(shares.T) if source in left_out]
    return WordLinks(sure, sorted(spare))


def _in_order(source: str, target: str) -> list[Link]:
    here, there = len(source.split()), len(target.split())
    return [(min(here - 1, j * here // there), j) for j in range(there)] if here else []
