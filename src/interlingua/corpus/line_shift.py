"""Find where the lines of two sides stop belonging together: shifted by some lines, or unrelated.

``likeness`` tells how likely two lines belong together; the Viterbi path through all lags then tells which lag every
line has. Each is learnt from the other until they agree. A large corpus teaches by a sample of its blocks, and where
its lines plainly belong together no other lag is looked at, so that memory is a few bytes a line.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.likeness import (
    Likeness,
    LineNumbers,
    LineReader,
    learn_likeness,
    untaught_likeness,
)
from interlingua.corpus.pair_rules import decode_line
from interlingua.corpus.survey import read_pairs

__all__ = ["Stretch", "find_stretches"]

Ints = NDArray[np.int64]
Scores = NDArray[np.float32]

LAGS = 7
"""Lines by which two sides may be shifted; and by as many as one has more than the other, whatever that is."""

_FEWEST = 12
_WHOLE = 6_000
_SAMPLED_LINES, _SAMPLED_BLOCK = 8000, 400
_SMALL = 600
_ROUNDS = 3
_ABSENT = -2.0
_LOSE = 24.0
"""What it costs to leave all lags, in log odds: nothing nearby belongs to these lines."""

_GAIN = 16.0
_ASTRAY = 2.0
_PLAIN = 2.0
_LIKELY = 4.0
_WINDOW = 12
_STEP = 100


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


def find_stretches(source: Path, target: Path, num_lines: tuple[int, int]) -> list[Stretch]:
    """Return the stretches of a corpus whose lag is not 0, in their order.

    Args:
        source: the source file.
        target: the target file.
        num_lines: how many lines they have.

    Raises:
        CorpusError: a file is not readable.
    """
    if min(num_lines) < _FEWEST:
        return []
    whole = max(num_lines) <= _WHOLE
    lags = _choose_lags(num_lines)
    sampled = _sample(source, target, None if whole else max(num_lines))
    reader = LineReader(*sampled)
    search = _Search(
        reader,
        (reader.read(0, sampled[0]), reader.read(1, sampled[1])),
        lags,
        end=num_lines[1] - num_lines[0] if whole else 0,
    )
    settled = search.settle()
    if not whole:
        scores = _score_all(settled.likeness, reader, lags, source, target)
        if not _may_have_stretches(scores, lags.index(0)):
            return []
        cost = _switch_cost(max(num_lines), len(lags))
        return _describe(scores, _find_path(scores, cost, _LOSE), lags)
    return _describe(settled.scores, search.final_path(settled), lags)


@dataclass(slots=True)
class _Settled:
    likeness: Likeness
    scores: Scores
    path: Ints

    @property
    def total(self) -> float:
        return float(self.on_path.sum())

    @property
    def on_path(self) -> Scores:
        found: Scores = self.scores[self.path, np.arange(len(self.path))]
        return found


class _Search:
    """The search for the lags of lines that are all in memory."""

    def __init__(
        self,
        reader: LineReader,
        sides: tuple[LineNumbers, LineNumbers],
        lags: Sequence[int],
        end: int,
    ) -> None:
        self._reader, self._sides, self._lags = reader, sides, lags
        number = len(sides[0])
        self._end = lags.index(end) if end in lags and end else None
        self._cost = _switch_cost(number, len(lags))
        width = max(8, min(200, number // 12))
        self._folds = (np.arange(number) // width) % (4 if number < 3000 else 2)

    def settle(self) -> _Settled:
        """Learn from several beginnings, and return what explains the lines best."""
        number = len(self._sides[0])
        plain = self._settle(self._constant(0))
        if not np.any(plain.path != self._lags.index(0)) and plain.on_path.mean() > _PLAIN:
            return plain
        beginnings = [self._begin()]
        if number < _SMALL:
            beginnings += [self._constant(lag) for lag in self._lags if 0 < abs(lag) < 6]
        settled = [plain, *(self._settle(path) for path in beginnings)]
        return max(settled, key=lambda each: each.total)

    def final_path(self, settled: _Settled) -> Ints:
        """Return the path that may also leave all lags, if what was learnt tells pairs from others at all."""
        if settled.on_path.mean() < 1.0:
            return settled.path
        return _find_path(settled.scores, self._cost, _LOSE, self._end)

    def _constant(self, lag: int) -> Ints:
        return np.full(len(self._sides[0]), self._lags.index(lag), np.int64)

    def _begin(self) -> Ints:
        scores = self._score(untaught_likeness(*self._sides, self._reader), None)
        every = np.logaddexp.reduce(scores, axis=0) - np.log(len(self._lags))
        relative = (scores - every).astype(np.float32)
        return _find_path(relative, self._cost, np.inf, self._end)

    def _settle(self, path: Ints) -> _Settled:
        for _ in range(_ROUNDS):
            columns = np.arange(len(path)) + np.array(self._lags)[path]
            rows = np.flatnonzero((columns >= 0) & (columns < len(self._sides[1])))
            likeness = learn_likeness(
                *self._sides, self._reader, (rows, columns[rows]), self._folds
            )
            scores = self._score(likeness, self._folds)
            before, path = path, _find_path(scores, self._cost, np.inf, self._end)
            if np.array_equal(before, path):
                break
        return _Settled(likeness, scores, path)

    def _score(self, likeness: Likeness, folds: Ints | None) -> Scores:
        source, target = self._sides
        found = np.full((len(self._lags), len(source)), _ABSENT, np.float32)
        for place, lag in enumerate(self._lags):
            rows = np.arange(max(0, -lag), min(len(source), len(target) - lag))
            if len(rows):
                own = None if folds is None else folds[rows]
                found[place, rows] = likeness.score(source, target, rows, rows + lag, own)
        return found


def _sample(source: Path, target: Path, num_lines: int | None) -> tuple[list[str], list[str]]:
    """Read both sides whole (None), or blocks of them from everywhere."""
    sampled: tuple[list[str], list[str]] = ([], [])
    every = 1 if num_lines is None else -(-num_lines // _SAMPLED_LINES)
    block = 0
    for sides in read_pairs(source, target):
        if num_lines is None:
            for lines, read in zip(sampled, sides, strict=True):
                lines += map(decode_line, read)
            continue
        for start in range(0, min(map(len, sides)) - _SAMPLED_BLOCK + 1, _SAMPLED_BLOCK):
            if block % every == 0:
                for lines, read in zip(sampled, sides, strict=True):
                    lines += map(decode_line, read[start : start + _SAMPLED_BLOCK])
            block += 1
    return sampled


def _score_all(
    likeness: Likeness, reader: LineReader, lags: Sequence[int], source: Path, target: Path
) -> Scores:
    """Score lag 0 everywhere, and all lags around lines that do not plainly belong together."""
    margin = max(map(abs, lags))
    expected, blocks = 0, []
    for sources, targets, before in _read_with_margin(reader, source, target, margin):
        blocks.append(_score_block(likeness, sources, targets, lags, before, expected))
        expected = lags[int(blocks[-1][:, -_STEP:].sum(axis=1).argmax())]
    return np.concatenate(blocks, axis=1)


def _read_with_margin(
    reader: LineReader, source: Path, target: Path, margin: int
) -> Iterator[tuple[LineNumbers, LineNumbers, int]]:
    """Yield source lines, target lines around them, and how many of these stand before the first source line."""
    earlier: list[str] = []
    waiting: tuple[list[str], list[str]] | None = None
    for raw in read_pairs(source, target):
        now = [decode_line(line) for line in raw[0]], [decode_line(line) for line in raw[1]]
        if waiting is not None:
            targets = [*earlier, *waiting[1], *now[1][:margin]]
            yield reader.read(0, waiting[0]), reader.read(1, targets), len(earlier)
            earlier = [*earlier, *waiting[1]][-margin:]
        waiting = now
    if waiting is not None and waiting[0]:
        targets = [*earlier, *waiting[1]]
        yield reader.read(0, waiting[0]), reader.read(1, targets), len(earlier)


def _score_block(
    likeness: Likeness,
    source: LineNumbers,
    target: LineNumbers,
    lags: Sequence[int],
    before: int,
    expected: int,
) -> Scores:
    """Score the lines of a block; ``expected`` is the lag that the last lines before it have."""
    number = len(source)
    found = np.full((len(lags), number), _ABSENT, np.float32)

    def score(rows: Ints, lag: int) -> None:
        columns = rows + before + lag
        inside = (columns >= 0) & (columns < len(target))
        rows, columns = rows[inside], columns[inside]
        if len(rows):
            found[lags.index(lag), rows] = likeness.score(source, target, rows, columns, None)

    score(np.arange(number), 0)
    likely = found[lags.index(0)]
    doubtful = _doubtful(likely)
    if expected:
        score(doubtful, expected)
        likely = np.maximum(likely, found[lags.index(expected)])
        doubtful = np.intersect1d(doubtful, _doubtful(likely))
    for lag in lags:
        if lag not in (0, expected) and len(doubtful):
            score(doubtful, lag)
    return found


def _doubtful(scores: Scores) -> Ints:
    """Return the lines of all steps in which, or beside which, a window of lines does not belong together."""
    sums = np.convolve(scores, np.ones(min(_WINDOW, len(scores))), mode="same")
    steps = np.unique(np.flatnonzero(sums < _WINDOW / 2) // _STEP)
    near = np.unique(np.concatenate([steps - 1, steps, steps + 1])) if len(steps) else steps
    last = len(scores) - 1
    lines = (near[:, None] * _STEP + np.arange(_STEP)[None, :]).ravel()
    # The first and the last step always: a shift may begin just beyond the block.
    edges = np.concatenate(
        [np.arange(min(_STEP, last + 1)), np.arange(max(0, last - _STEP), last + 1)]
    )
    return np.unique(np.concatenate([lines[(lines >= 0) & (lines <= last)], edges]))


def _choose_lags(num_lines: tuple[int, int]) -> list[int]:
    difference = num_lines[1] - num_lines[0]
    lags = set(range(-LAGS, LAGS + 1))
    if abs(difference) <= 500:
        lags.add(difference)
    return sorted(lags)


def _switch_cost(num_lines: int, num_lags: int) -> float:
    """Return the log odds against a switch at a given line to a given lag."""
    return 4.0 + float(np.log(num_lines * num_lags))


def _find_path(scores: Scores, switch: float, lose: float, end: int | None = None) -> Ints:
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


def _may_have_stretches(scores: Scores, zero: int) -> bool:
    """Tell whether any lines in a row gain enough from any other state to be a stretch: most corpora have none."""
    for state in range(len(scores) + 1):
        other = scores[state] if state < len(scores) else np.zeros_like(scores[zero])
        gained = np.cumsum(other - scores[zero], dtype=np.float64)
        lowest = np.minimum.accumulate(np.concatenate([[0.0], gained[:-1]]))
        least = _GAIN if state < len(scores) else _LOSE
        if state != zero and float((gained - lowest).max()) >= least:
            return True
    return False


def _describe(scores: Scores, path: Ints, lags: Sequence[int]) -> list[Stretch]:
    zero = lags.index(0)
    stretches = []
    ends = [*(np.flatnonzero(np.diff(path)) + 1).tolist(), len(path)]
    for first, end in zip([0, *ends[:-1]], ends, strict=True):
        state = int(path[first])
        here = float(scores[state, first:end].sum()) if state < len(lags) else 0.0
        gain = here - float(scores[zero, first:end].sum())
        least = _GAIN if state < len(lags) else max(_LOSE, _ASTRAY * (end - first))
        if state != zero and gain >= least:
            stretches.append(
                Stretch(first + 1, end, lags[state] if state < len(lags) else None, gain)
            )
    return stretches
