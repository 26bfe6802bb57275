"""Lost lines are looked for at every lag of up to 60."""

import numpy as np
import pytest
from numpy.typing import NDArray

from interlingua.corpus.lag_path import Stretch
from interlingua.corpus.lost_lines import propose_lags

Ints = NDArray[np.int64]


def score(rows: Ints, columns: Ints) -> NDArray[np.float64]:
    noise = np.random.default_rng(int(columns[0] - rows[0]) + 1000).normal(0, 1, len(rows))
    fitting: NDArray[np.float64] = noise - 3.0 + 6.0 * (columns - rows == 30)
    return fitting


@pytest.mark.parametrize(("lag", "proposed"), [(None, {30}), (4, set())])
def test_only_lost_lines_are_looked_for(lag: int | None, proposed: set[int]) -> None:
    assert propose_lags([Stretch(200, 260, lag, 100.0)], score, (500, 500)) == proposed


def test_lines_that_fit_nowhere_stay_lost() -> None:
    def nowhere(rows: Ints, columns: Ints) -> NDArray[np.float64]:
        return score(rows, columns + 1000)

    assert propose_lags([Stretch(200, 260, None, 100.0)], nowhere, (500, 500)) == set()
