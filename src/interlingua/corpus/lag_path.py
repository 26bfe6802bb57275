"""Stretches of lines that have the same lag: the best path through all lags, line by line (Viterbi)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LOSE", "Stretch", "describe", "find_path", "may_have_stretches", "switch_cost"]

Ints = NDArray[np.int64]
Scores = NDArray[np.float32]

LOSE = 24.0
"""What it costs to leave all lags, in log odds: nothing nearby belongs to these lines."""

_GAIN = 16.0
_ASTRAY = 2.0
_LIKELY = 4.0


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines that follow each other and have the same lag.

    Attributes:
        first: the first source line, from 1.
        last: the last one.
        lag: source line N belongs to target line N + lag; None if it belongs to none nearby.
        gain: by how much that explains the lines better than no lag does, in log odds.
    """

    first: int
    last: int
    lag: int | None
    gain: float


def switch_cost(num_lines: int, num_lags: int) -> float:
    """Return the log odds against a switch at a given line to a given lag."""
    return 4.0 + float(np.log(num_lines * num_lags))


def find_path(scores: Scores, switch: float, lose: float, end: int | None = None) -> Ints:
    """Return the best state of each line: a place in the lags, or one more for none of them.

    Args:
        scores: (lags, lines) log odds.
        switch: what a change of state costs.
        lose: what a change to the last state costs.
        end: a state that the last line is likely to have, so that it costs little to get there.
    """
    states, number = scores.shape
    came = np.tile(np.arange(states + 1, dtype=np.int16), (number, 1))
    emission = np.concatenate([scores, np.zeros((1, number), np.float32)]).T.astype(np.float64)
    best = emission[0].copy()
    best[-1] -= lose
    for line in range(1, number):
        top = int(best[:-1].argmax())
        origin = top if best[top] >= best[-1] else states
        into = best[origin] - switch
        astray = best[top] - lose
        better = best < into
        better[-1] = best[-1] < astray
        if better.any():
            best[:-1] = np.where(better[:-1], into, best[:-1])
            came[line][better] = origin
            if better[-1]:
                best[-1], came[line, -1] = astray, top
        best += emission[line]
    if end is not None:
        best[end] += switch - _LIKELY
    path = np.zeros(number, np.int64)
    path[-1] = int(best.argmax())
    for line in range(number - 1, 0, -1):
        path[line - 1] = came[line, path[line]]
    return path


def may_have_stretches(scores: Scores, zero: int) -> bool:
    """Tell whether any lines in a row gain enough from any other state to be a stretch: most corpora have none."""
    for state in range(len(scores) + 1):
        other = scores[state] if state < len(scores) else np.zeros_like(scores[zero])
        gained = np.cumsum(other - scores[zero], dtype=np.float64)
        lowest = np.minimum.accumulate(np.concatenate([[0.0], gained[:-1]]))
        least = _GAIN if state < len(scores) else LOSE
        if state != zero and float((gained - lowest).max()) >= least:
            return True
    return False


def describe(scores: Scores, path: Ints, lags: Sequence[int]) -> list[Stretch]:
    """Return the stretches of a path whose lag is not 0, and that gain enough by it."""
    zero = lags.index(0)
    stretches = []
    ends = [*(np.flatnonzero(np.diff(path)) + 1).tolist(), len(path)]
    for first, end in zip([0, *ends[:-1]], ends, strict=True):
        state = int(path[first])
        here = float(scores[state, first:end].sum()) if state < len(lags) else 0.0
        gain = here - float(scores[zero, first:end].sum())
        least = _GAIN if state < len(lags) else max(LOSE, _ASTRAY * (end - first))
        if state != zero and gain >= least:
            stretches.append(
                Stretch(first + 1, end, lags[state] if state < len(lags) else None, gain)
            )
    return stretches
