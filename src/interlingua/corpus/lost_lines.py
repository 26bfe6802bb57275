"""To which lines those may belong that belong to none at the lags known so far, if they are too few for their lengths to tell."""

from collections.abc import Iterable

import numpy as np

from interlingua.corpus.chance import Score, stands_out
from interlingua.corpus.lag_path import Stretch

__all__ = ["propose_lags"]

_FARTHEST = 60
_FEWEST, _MOST = 12, 400
_ROWS = 100
_STRETCHES = 20


def propose_lags(found: Iterable[Stretch], score: Score, num_lines: tuple[int, int]) -> set[int]:
    """Return the lags at which lost lines fit clearly better than at any other lag up to ``_FARTHEST``.

    Args:
        found: stretches, of which those without a lag are looked at.
        score: how well lines belong together.
        num_lines: how many lines the sides have.
    """
    proposed = set()
    lost = [stretch for stretch in found if stretch.lag is None]
    for stretch in lost[:_STRETCHES]:
        number = stretch.last - stretch.first + 1
        if not _FEWEST <= number <= _MOST:
            continue
        # The middle: the first or the last lines may belong to none because of a shift.
        half = min(_ROWS, max(_FEWEST, number // 2))
        first = stretch.first - 1 + (number - half) // 2
        rows = np.arange(first, first + half)
        means = {
            lag: float(score(rows, rows + lag).mean())
            for lag in range(-_FARTHEST, _FARTHEST + 1)
            if rows[0] + lag >= 0 and rows[-1] + lag < num_lines[1]
        }
        best = max(means, key=lambda lag: means[lag], default=0)
        if best and means[best] > 0 and stands_out(score, rows, rows + best, num_lines[1]):
            proposed.add(best)
    return proposed
