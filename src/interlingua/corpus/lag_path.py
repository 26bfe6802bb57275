"""Stretches of lines that have the same lag: the best path through all lags, line by line (Viterbi)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LOSE",
    "Stretch",
    "describe",
    "find_path",
    "join_lost",
    "may_have_stretches",
    "switch_cost",
]

Ints = NDArray[np.int64]
Scores = NDArray[np.float32]

LOSE = 24.0
"""What it costs to leave all lags, in log odds: nothing nearby belongs to these lines."""

_GAIN = 16.0
_ASTRAY = 2.0
_LIKELY = 4.0
_BESIDE = 20
"""Lines between two stretches that are one fault: a few fit by chance."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines that follow each other and have the same lag.

    Attributes:
        first: the first source line, from 1.
        last: the last one.
        lag: source line N belongs to target line N + lag; None if it belongs to none nearby.
        gain: by how much that explains the lines better than no lag does, in log odds.
        alone: how many of the first lines belong to none, because what they belong to was left out.
    """

    first: int
    last: int
    lag: int | None
    gain: float
    alone: int = 0


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


def join_lost(stretches: Sequence[Stretch], num_lines: tuple[int, int]) -> list[Stretch]:
    """Join lines that belong to none with the stretch that tells why.

    Where lines are left out of the target, as many of the source belong to none, and then the shift begins; where lines
    are put in and the end is cut off, the last lines belong to none. Both are one fault with the shift. Lost lines that
    follow each other are one too.

    Args:
        stretches: in their order.
        num_lines: how many lines the sides have.
    """
    joined: list[Stretch] = []
    lag = 0  # of the lines before the last stretch
    for stretch in stretches:
        last = joined[-1] if joined else None
        if last is None or stretch.first > last.last + _BESIDE:
            lag = 0
            joined.append(stretch)
        elif last.lag is None and stretch.lag is None:
            joined[-1] = replace(last, last=stretch.last, gain=last.gain + stretch.gain)
        elif last.lag is None and stretch.first - last.first <= lag - (stretch.lag or 0) + _BESIDE:
            alone = stretch.first - last.first
            joined[-1] = replace(stretch, first=last.first, alone=alone)
        elif stretch.lag is None and _runs_out(last, stretch, num_lines):
            joined[-1] = replace(last, last=stretch.last)
        else:
            lag = last.lag or 0
            joined.append(stretch)
    return joined


def _runs_out(shift: Stretch, lost: Stretch, num_lines: tuple[int, int]) -> bool:
    """Tell whether the lines that are lost are those behind the end of the target."""
    return shift.last + (shift.lag or 0) >= num_lines[1] - _BESIDE and lost.last >= num_lines[0]
