"""Minimum Bayes risk: of several translations the one that is most like all the others."""

from collections.abc import Sequence

__all__ = ["rank_by_consensus"]


def rank_by_consensus(texts: Sequence[str]) -> list[int]:
    """Return the places of ``texts``, the one with the highest mean chrF against all others first.

    Every other text counts as a reference that is as likely as the rest: samples are drawn so, and an n-best list is
    taken as if it were. Ties keep their order.

    Source: Eikema and Aziz 2020, "Is MAP Decoding All You Need?"; chrF as in Popović 2015, sacreBLEU's defaults.
    """
    from sacrebleu.metrics.chrf import CHRF

    chrf = CHRF()
    distinct = list(dict.fromkeys(texts))
    counts = {text: texts.count(text) for text in distinct}
    utility = dict.fromkeys(distinct, 0.0)
    for text in distinct:
        for other in distinct:
            same = text == other
            times = counts[other] - same
            if times:
                score = 100.0 if same else chrf.sentence_score(text, [other]).score
                utility[text] += times * score
    return sorted(range(len(texts)), key=lambda place: -utility[texts[place]])
