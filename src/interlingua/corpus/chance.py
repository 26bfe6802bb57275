"""Whether lines that are said to belong together do so better than lines that meet by chance."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Score", "stands_out"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Score = Callable[[Ints, Ints], Floats]
"""Returns the log odds that source lines and as many target lines belong together."""

_OTHERS = tuple(sign * lag for lag in range(8, 28) for sign in (1, -1))
"""Lines by which the target is moved to see how well lines fit that do not belong together."""

_ROWS = 300
_FEWEST = 8
_CLEARLY = 2.5
"""Standard errors: the best of so many others is a little lucky, and so is the lag that a search chose."""


def stands_out(score: Score, rows: Ints, columns: Ints, num_columns: int) -> bool:
    """Tell whether lines fit better than with the target moved by any other few lines.

    The best of these others is what counts, not their mean: where long and short lines alternate, half of them fit
    quite well.

    Args:
        score: how well lines belong together.
        rows: source lines, from 0.
        columns: the target line of each.
        num_columns: how many lines the target has.
    """
    if len(rows) > _ROWS:
        chosen = np.linspace(0, len(rows) - 1, _ROWS).astype(np.int64)
        rows, columns = rows[chosen], columns[chosen]
    inside = (columns >= 0) & (columns < num_columns)
    rows, columns = rows[inside], columns[inside]
    if len(rows) < _FEWEST:
        return False
    own = score(rows, columns)
    leads = []
    for lag in _OTHERS:
        met = np.flatnonzero((columns + lag >= 0) & (columns + lag < num_columns))
        if len(met) < max(_FEWEST, len(rows) // 2):
            continue
        lead = own[met] - score(rows[met], columns[met] + lag)
        error = float(lead.std()) / np.sqrt(len(met)) + 1e-6
        leads.append(float(lead.mean() / error))
    # Too short to be compared with anything: what was learnt must do.
    return not leads or min(leads) >= _CLEARLY
