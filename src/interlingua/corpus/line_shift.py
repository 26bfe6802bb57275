"""Find where the lines of two sides stop belonging together: shifted by some lines, or unrelated.

``likeness`` tells how likely two lines belong together; the Viterbi path through all lags then tells which lag every
line has (``lag_search``). Small lags are always looked at, and where they do not do, those that ``length_profile``
proposes. What is found must fit better than lines that meet by chance. ``large_corpus_lags`` does the same by a sample
of a large corpus.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.chance import Score, stands_out
from interlingua.corpus.lag_path import (
    LOSE,
    Stretch,
    describe,
    find_path,
    join_lost,
    may_have_stretches,
    switch_cost,
)
from interlingua.corpus.lag_search import ENOUGH_PLACES, NEAR, LagSearch, far_lags
from interlingua.corpus.large_corpus_lags import FarScorer, LargeCorpus
from interlingua.corpus.length_profile import Place, choose_segments, find_places, outline
from interlingua.corpus.likeness import LineReader
from interlingua.corpus.line_index import LineIndex
from interlingua.corpus.lost_lines import propose_lags

__all__ = ["Stretch", "find_stretches"]

Scores = NDArray[np.float32]

_FEWEST = 12
_WHOLE = 6_000
_NOT_JUDGED = 100
"""Lines too few to say of them that they do not belong together: their lengths prove nothing, and no word is learnt."""


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
    sides = LineIndex(source), LineIndex(target)
    return _search_sample(sides) if max(num_lines) > _WHOLE else _search_whole(sides)


def _search_whole(indices: tuple[LineIndex, LineIndex]) -> list[Stretch]:
    numbers = len(indices[0]), len(indices[1])
    lines = [each.read(0, len(each)) for each in indices]
    reader = LineReader(*lines)
    sides = reader.read(0, lines[0]), reader.read(1, lines[1])
    difference = numbers[1] - numbers[0]
    near = _near_lags(difference)
    search = LagSearch(reader, sides, near, difference)
    plain = search.settle_plainly()
    if search.is_plain(plain) and not describe(plain.scores, search.final_path(plain), search.lags):
        return []
    places = _find_places(indices)
    far = far_lags(places)
    if far:
        search = LagSearch(reader, sides, sorted({*near, *far}), difference)
        plain = search.settle_plainly()
    settled = search.settle(plain, places)
    if _are_unrelated(numbers, places) and search.is_by_chance(settled):
        return [_all_lost(numbers)]
    found = describe(settled.scores, search.final_path(settled), search.lags)
    more = propose_lags(found, search.scorer(settled), numbers)
    if more:
        search = LagSearch(reader, sides, sorted({*search.lags, *more}), difference)
        settled = search.score_again(settled)
        found = describe(settled.scores, search.final_path(settled), search.lags)
    return list(_judge(found, search.scorer(settled), numbers))


def _search_sample(indices: tuple[LineIndex, LineIndex]) -> list[Stretch]:
    numbers = len(indices[0]), len(indices[1])
    corpus = LargeCorpus(indices)
    near = lags = _near_lags(numbers[1] - numbers[0])
    reader, search, settled = corpus.settle()
    by_chance = search.is_by_chance(settled)
    scores = corpus.score(settled.likeness, reader, lags) if not by_chance else None
    if scores is not None and not may_have_stretches(scores, lags.index(0)):
        return []
    places = _find_places(indices)
    if by_chance and _are_unrelated(numbers, places):
        return [_all_lost(numbers)]
    far = far_lags(places)
    if scores is None or len(places) >= ENOUGH_PLACES:
        lags = sorted({*near, *far})
        reader, _, settled = corpus.settle(places)
        scores = corpus.score(settled.likeness, reader, lags)
    score = FarScorer(indices, reader, settled.likeness)
    found = _describe_all(scores, numbers, lags)
    more = propose_lags(found, score, numbers)
    if more:
        lags = sorted({*lags, *more})
        found = _describe_all(corpus.score(settled.likeness, reader, lags), numbers, lags)
    return list(_judge(found, score, numbers))


def _describe_all(scores: Scores, numbers: tuple[int, int], lags: list[int]) -> list[Stretch]:
    path = find_path(scores, switch_cost(max(numbers), len(lags)), LOSE)
    return describe(scores, path, lags)


def _near_lags(difference: int) -> list[int]:
    """Return the lags that are looked at always: small ones, and by as many lines as one side has more."""
    return sorted({*NEAR, difference} if abs(difference) <= 500 else NEAR)


def _find_places(indices: tuple[LineIndex, LineIndex]) -> list[Place]:
    source, target = (outline(each.lengths) for each in indices)
    return find_places(source, target, choose_segments(len(source)))


def _are_unrelated(numbers: tuple[int, int], places: list[Place]) -> bool:
    """Tell whether no segment seems to belong anywhere, of lines that are enough to say so."""
    return min(numbers) >= _NOT_JUDGED and not places


def _all_lost(numbers: tuple[int, int]) -> Stretch:
    return Stretch(1, min(numbers), None, 0.0)


def _judge(found: Iterable[Stretch], score: Score, numbers: tuple[int, int]) -> Iterator[Stretch]:
    """Leave out shifts of lines that fit no better so than by chance, and join what is one fault."""
    judged = [_judge_one(stretch, score, numbers) for stretch in found]
    yield from join_lost([stretch for stretch in judged if stretch is not None], numbers)


def _judge_one(stretch: Stretch, score: Score, numbers: tuple[int, int]) -> Stretch | None:
    """Return the stretch, or None, or that its lines are lost, if they are enough to say so."""
    rows = np.arange(stretch.first - 1, stretch.last)
    if stretch.lag == numbers[1] - numbers[0] and stretch.last >= numbers[0]:
        return stretch  # that one side has as many lines more says so too
    if stretch.lag is not None and stands_out(score, rows, rows + stretch.lag, numbers[1]):
        return stretch
    if len(rows) < _NOT_JUDGED:
        return stretch if stretch.lag is None else None
    return None if stands_out(score, rows, rows, numbers[1]) else replace(stretch, lag=None)
