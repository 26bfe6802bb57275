"""The search for the lags of lines that are all in memory.

What tells pairs from other lines is learnt from the lags, and the lags are found by it; each is learnt from the other
until they agree.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.chance import stands_out
from interlingua.corpus.lag_path import LOSE, find_path, switch_cost
from interlingua.corpus.length_profile import Place
from interlingua.corpus.likeness import (
    Likeness,
    LineNumbers,
    LineReader,
    learn_likeness,
    untaught_likeness,
)

__all__ = ["ABSENT", "ENOUGH_PLACES", "LAGS", "NEAR", "LagSearch", "Settled", "far_lags"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scores = NDArray[np.float32]

LAGS = 7
NEAR = tuple(range(-LAGS, LAGS + 1))
"""Lags that are looked at always: so small ones are found from a dozen lines."""

ENOUGH_PLACES = 3
"""Segments that must be known to belong together before only these teach."""

_FAR = 8
_SMALL = 600
_ROUNDS = 3
ABSENT = -2.0
"""The log odds where there is no line."""
_PLAIN = 2.0


def far_lags(places: Iterable[Place]) -> list[int]:
    """Return the lags of places that are not near, the surest of them if there are many."""
    certainty = Counter[int]()
    for place in places:
        if place.lag not in NEAR:
            certainty[place.lag] += round(place.certainty)
    return sorted(lag for lag, _ in certainty.most_common(_FAR))


@dataclass(slots=True)
class Settled:
    """What a search found.

    Attributes:
        likeness: what tells pairs from other lines.
        scores: (lags, lines) log odds.
        path: the lag of each line, a place in the lags; one more if it has none.
    """

    likeness: Likeness
    scores: Scores
    path: Ints

    @property
    def total(self) -> float:
        """The log odds of all lines."""
        return float(self.on_path.sum())

    @property
    def on_path(self) -> Scores:
        """The log odds of each line that has a lag."""
        rows = np.flatnonzero(self.path < len(self.scores))
        found: Scores = self.scores[self.path[rows], rows]
        return found


class LagSearch:
    """The search among some lags.

    Attributes:
        lags: what it may find.
    """

    def __init__(
        self,
        reader: LineReader,
        sides: tuple[LineNumbers, LineNumbers],
        lags: Sequence[int],
        end: int = 0,
    ) -> None:
        """Prepare.

        Args:
            reader: what read the sides.
            sides: all their lines.
            lags: what may be found; 0 is among them.
            end: the lag that the last line is likely to have; 0 if it is not known.
        """
        self.lags = list(lags)
        self._reader, self._sides = reader, sides
        number = len(sides[0])
        self._end = self.lags.index(end) if end in lags and end else None
        self._cost = switch_cost(number, len(lags))
        width = max(8, min(200, number // 12))
        self._folds = (np.arange(number) // width) % (4 if number < 3000 else 2)

    def settle_plainly(self) -> Settled:
        """Learn as if every line belonged to the line of its own number."""
        return self._settle(self._constant(0))

    def is_plain(self, settled: Settled) -> bool:
        """Tell whether all lines plainly belong to the lines of their own numbers: no need to look further."""
        at_zero = not np.any(settled.path != self.lags.index(0))
        return at_zero and float(settled.on_path.mean()) > _PLAIN

    def settle(self, plain: Settled, places: Sequence[Place] = ()) -> Settled:
        """Learn from several beginnings, and return what explains the lines best.

        Args:
            plain: what ``settle_plainly`` found.
            places: where segments seem to belong: one more beginning.
        """
        beginnings = [self._begin()]
        if len(places) >= ENOUGH_PLACES and any(place.lag in self.lags for place in places):
            beginnings.append(self._follow(places))
        if len(self._sides[0]) < _SMALL:
            beginnings += [self._constant(lag) for lag in self.lags if 0 < abs(lag) < 6]
        settled = [plain, *(self._settle(path) for path in beginnings)]
        return max(settled, key=lambda each: each.total)

    def score_again(self, settled: Settled) -> Settled:
        """Return what a search among other lags found, with the scores that the lags of this one have by it."""
        scores = self._score(settled.likeness, self._folds)
        return Settled(settled.likeness, scores, find_path(scores, self._cost, LOSE, self._end))

    def final_path(self, settled: Settled) -> Ints:
        """Return the path that may also leave all lags, if what was learnt tells pairs from others at all."""
        has_all = not np.any(settled.path == len(self.lags))
        if has_all and settled.on_path.mean() < 1.0:
            return settled.path
        return find_path(settled.scores, self._cost, LOSE, self._end)

    def is_by_chance(self, settled: Settled) -> bool:
        """Tell whether the lines fit no better at the lags that were found than elsewhere."""
        rows = np.flatnonzero(settled.path < len(self.lags))
        columns = rows + np.array(self.lags)[settled.path[rows]]
        score = self.scorer(settled)
        return not stands_out(score, rows, columns, len(self._sides[1]))

    def scorer(self, settled: Settled) -> "Scorer":
        """Return what scores any lines by what other lines taught."""
        return Scorer(settled.likeness, self._sides, self._folds)

    def _constant(self, lag: int) -> Ints:
        return np.full(len(self._sides[0]), self.lags.index(lag), np.int64)

    def _begin(self) -> Ints:
        scores = self._score(untaught_likeness(*self._sides, self._reader), None)
        every = np.logaddexp.reduce(scores, axis=0) - np.log(len(self.lags))
        relative = (scores - every).astype(np.float32)
        return find_path(relative, self._cost, np.inf, self._end)

    def _follow(self, places: Sequence[Place]) -> Ints:
        """Give every line the lag of the surest place that it is in, and none to lines that are in no place."""
        path = np.full(len(self._sides[0]), len(self.lags), np.int64)
        for place in sorted(places, key=lambda place: place.certainty):
            if place.lag in self.lags:
                path[place.first : place.end] = self.lags.index(place.lag)
        return path

    def _settle(self, path: Ints) -> Settled:
        # Lines without a lag teach nothing; where all are said to have one, none may lose it.
        lose = LOSE if np.any(path == len(self.lags)) else np.inf
        for turn in range(_ROUNDS):
            rows = np.flatnonzero(path < len(self.lags))
            columns = rows + np.array(self.lags)[path[rows]]
            inside = (columns >= 0) & (columns < len(self._sides[1]))
            if turn and not inside.any():
                break  # all lines are lost: there is nothing more to learn from
            likeness = learn_likeness(
                *self._sides, self._reader, (rows[inside], columns[inside]), self._folds
            )
            scores = self._score(likeness, self._folds)
            before, path = path, find_path(scores, self._cost, lose, self._end)
            if np.array_equal(before, path):
                break
        return Settled(likeness, scores, path)

    def _score(self, likeness: Likeness, folds: Ints | None) -> Scores:
        source, target = self._sides
        found = np.full((len(self.lags), len(source)), ABSENT, np.float32)
        for place, lag in enumerate(self.lags):
            rows = np.arange(max(0, -lag), min(len(source), len(target) - lag))
            if len(rows):
                own = None if folds is None else folds[rows]
                found[place, rows] = likeness.score(source, target, rows, rows + lag, own)
        return found


@dataclass(slots=True)
class Scorer:
    """Scores lines of two sides by what other lines than these taught."""

    likeness: Likeness
    sides: tuple[LineNumbers, LineNumbers]
    folds: Ints

    def __call__(self, rows: Ints, columns: Ints) -> Floats:
        """Return the log odds that source lines ``rows`` and target lines ``columns`` belong together."""
        return self.likeness.score(*self.sides, rows, columns, self.folds[rows])
