"""Which word became which, for elements that go with their words."""

from collections.abc import Sequence

from interlingua.errors import InterlinguaError
from interlingua.inspection.alignment import View, align, list_views
from interlingua.translator import Translator

__all__ = ["link_words"]

Link = tuple[int, int]


def link_words(translator: Translator, pairs: Sequence[tuple[str, str]]) -> list[list[Link]]:
    """Return the links of the words of each pair, source and target, counted from 0.

    Where the model gives none (a tokenizer that joins words, an attention that cannot be read), words are linked in their order.
    """
    try:
        view = _usual_view(translator)
    except InterlinguaError:
        return [_in_order(*pair) for pair in pairs]
    return [_link(translator, (source, target), view) for source, target in pairs]


def _link(translator: Translator, pair: tuple[str, str], view: View) -> list[Link]:
    try:
        [[links]] = align(translator, [pair], [view])
    except InterlinguaError:
        return _in_order(*pair)
    return sorted(links)


def _usual_view(translator: Translator) -> View:
    """Return the last layer but one as it reads the word, where there are three or more: what it looks at is most often
    what the word comes from (Chen et al. 2020, table 2); in a shallower model the last.
    """
    layers = sorted({view.layer for view in list_views(translator)})
    return View(layers[-2] if len(layers) > 2 else layers[-1], None, "reading")


def _in_order(source: str, target: str) -> list[Link]:
    here, there = len(source.split()), len(target.split())
    return [(min(here - 1, j * here // there), j) for j in range(there)] if here else []
