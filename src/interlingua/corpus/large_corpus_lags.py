"""The lags of a corpus that is too large to be looked at whole.

It teaches by a sample of its blocks, and where its lines plainly belong together no other lag than 0 is looked at, so
that memory is a few bytes a line.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.lag_search import ABSENT, LAGS, NEAR, LagSearch, Settled
from interlingua.corpus.length_profile import Place
from interlingua.corpus.likeness import Likeness, LineNumbers, LineReader
from interlingua.corpus.line_index import LineIndex

__all__ = ["FarScorer", "LargeCorpus"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scores = NDArray[np.float32]

_SAMPLED_BLOCKS, _SAMPLED_BLOCK = 20, 400
_BLOCK = 5_000
_WINDOW = 12
_STEP = 100


class LargeCorpus:
    """Two files of many lines."""

    def __init__(self, sides: tuple[LineIndex, LineIndex]) -> None:
        self._sides = sides

    def settle(self, places: Sequence[Place] = ()) -> tuple[LineReader, LagSearch, Settled]:
        """Learn from a sample of the blocks: from those that seem to belong together, if any are known."""
        blocks = [(place.first, place.end, place.lag) for place in places] or self._all_blocks()
        chosen = np.linspace(0, len(blocks) - 1, min(len(blocks), _SAMPLED_BLOCKS))
        sampled: tuple[list[str], list[str]] = ([], [])
        for place in chosen.astype(np.int64).tolist():
            first, end, lag = blocks[place]
            lines = self._sides[0].read(first, end), self._sides[1].read(first + lag, end + lag)
            shortest = min(map(len, lines))
            if first + lag >= 0:
                sampled[0].extend(lines[0][:shortest])
                sampled[1].extend(lines[1][:shortest])
        reader = LineReader(*sampled)
        search = LagSearch(reader, (reader.read(0, sampled[0]), reader.read(1, sampled[1])), NEAR)
        settled = search.settle_plainly()
        if not search.is_plain(settled):
            settled = search.settle(settled)
        return reader, search, settled

    def _all_blocks(self) -> list[tuple[int, int, int]]:
        last = min(map(len, self._sides)) - _SAMPLED_BLOCK
        starts = range(0, max(last, 0) + 1, _SAMPLED_BLOCK)
        return [(start, start + _SAMPLED_BLOCK, 0) for start in starts]

    def score(self, likeness: Likeness, reader: LineReader, lags: Sequence[int]) -> Scores:
        """Score lag 0 everywhere, and all lags around lines that do not plainly belong together."""
        expected, blocks = 0, []
        for start in range(0, len(self._sides[0]), _BLOCK):
            block = _Block(self._sides, reader, likeness, start)
            blocks.append(block.score(lags, expected))
            expected = lags[int(blocks[-1][:, -_STEP:].sum(axis=1).argmax())]
        return np.concatenate(blocks, axis=1)


class _Block:
    """Source lines that follow each other, and the target lines that they meet at any lag."""

    def __init__(
        self,
        sides: tuple[LineIndex, LineIndex],
        reader: LineReader,
        likeness: Likeness,
        start: int,
    ) -> None:
        self._target, self._reader, self._likeness, self._start = (
            sides[1],
            reader,
            likeness,
            start,
        )
        self._source = reader.read(0, sides[0].read(start, start + _BLOCK))
        self._near = self._read_target(start - LAGS, start + len(self._source) + LAGS)

    def score(self, lags: Sequence[int], expected: int) -> Scores:
        """Return (lags, lines) log odds; ``expected`` is the lag that the last lines before have."""
        number = len(self._source)
        found = np.full((len(lags), number), ABSENT, np.float32)
        zero, last = lags.index(0), lags.index(expected)
        self._score(found[zero], np.arange(number), 0)
        likely = found[zero]
        doubtful = _doubtful(likely)
        if expected:
            self._score(found[last], doubtful, expected)
            likely = np.maximum(likely, found[last])
            doubtful = np.intersect1d(doubtful, _doubtful(likely))
        for place, lag in enumerate(lags):
            if lag not in (0, expected) and len(doubtful):
                self._score(found[place], doubtful, lag)
        return found

    def _score(self, found: Scores, rows: Ints, lag: int) -> None:
        """Write the log odds of some rows, at one lag."""
        columns = rows + self._start + lag
        inside = (columns >= 0) & (columns < len(self._target))
        rows, columns = rows[inside], columns[inside]
        if not len(rows):
            return
        if abs(lag) <= LAGS:
            target, before = self._near, max(self._start - LAGS, 0)
        else:
            before = int(columns[0])
            target = self._read_target(before, int(columns[-1]) + 1)
        found[rows] = self._likeness.score(self._source, target, rows, columns - before, None)

    def _read_target(self, first: int, end: int) -> LineNumbers:
        return self._reader.read(1, self._target.read(first, end))


class FarScorer:
    """Scores any lines of a large corpus; they are read when asked for."""

    def __init__(
        self, sides: tuple[LineIndex, LineIndex], reader: LineReader, likeness: Likeness
    ) -> None:
        self._sides, self._reader, self._likeness = sides, reader, likeness

    def __call__(self, rows: Ints, columns: Ints) -> Floats:
        """Return the log odds that source lines ``rows`` and target lines ``columns`` belong together."""
        numbers, places = [], []
        for side, asked in enumerate((rows, columns)):
            distinct, place = np.unique(asked, return_inverse=True)
            lines = self._sides[side].pick(distinct.tolist())
            numbers.append(self._reader.read(side, lines))
            places.append(place)
        return self._likeness.score(numbers[0], numbers[1], places[0], places[1], None)


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
