"""Which word became which, for elements that go with their words."""

from collections.abc import Sequence

from interlingua.errors import InterlinguaError
from interlingua.inspection.alignment import View, align, choose_alone, list_views
from interlingua.translator import Translator

__all__ = ["choose_view", "link_words"]

Link = tuple[int, int]

_LEAST, _MOST = 50, 200
"""Pairs by which a view is chosen: fewer cannot tell views apart, more only take longer."""


def choose_view(translator: Translator, pairs: Sequence[tuple[str, str]]) -> View | None:
    """Return the view of the attention that joins words which occur together in ``pairs``; None if there is none to look at.

    A model that comes without sentences is looked at as most of its depth are: a deep one by what its last layer but one
    reads (Chen et al. 2020, table 2), a shallow one by what the last writes.
    """
    try:
        if len(pairs) >= _LEAST:
            return choose_alone(translator, pairs[:_MOST])[0]
        layers = sorted({view.layer for view in list_views(translator)})
    except InterlinguaError:
        return None
    is_deep = len(layers) > 3
    return View(layers[-2] if is_deep else layers[-1], None, "reading" if is_deep else "writing")


def link_words(
    translator: Translator, pairs: Sequence[tuple[str, str]], view: View | None
) -> list[list[Link]]:
    """Return the links of the words of each pair, source and target, counted from 0.

    Where the model gives none (a tokenizer that joins words, an attention that cannot be read), words are linked in their order.
    """
    if view is None:
        return [_in_order(*pair) for pair in pairs]
    return [_link(translator, (source, target), view) for source, target in pairs]


def _link(translator: Translator, pair: tuple[str, str], view: View) -> list[Link]:
    try:
        [[links]] = align(translator, [pair], [view])
    except InterlinguaError:
        return _in_order(*pair)
    return sorted(links)


def _in_order(source: str, target: str) -> list[Link]:
    here, there = len(source.split()), len(target.split())
    return [(min(here - 1, j * here // there), j) for j in range(there)] if here else []
