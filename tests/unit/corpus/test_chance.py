"""Lines belong together if no other lag does as well."""

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.chance import stands_out

Ints = NDArray[np.int64]
ROWS = np.arange(200)


def judge(gain: float, *, every: int = 1000) -> bool:
    """Judge lines that gain by belonging together, and by any lag that is a multiple of ``every``."""
    noise = np.random.default_rng(3).normal(0, 2, (200, 400))

    def score(rows: Ints, columns: Ints) -> NDArray[np.float64]:
        alike = (columns - rows) % every == 0
        scores: NDArray[np.float64] = noise[rows, columns] + gain * alike
        return scores

    return stands_out(score, ROWS, ROWS, 400)


def test_lines_that_fit_better_than_any_others_stand_out() -> None:
    assert judge(2.0)


def test_lines_that_fit_as_any_others_do_not() -> None:
    assert not judge(0.0)


def test_what_repeats_is_no_sign() -> None:
    assert not judge(5.0, every=2)
