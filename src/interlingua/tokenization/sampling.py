"""Random ways to cut a word, each a pure function of the word and a stream of random numbers."""

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import accumulate, pairwise

import numpy as np

from interlingua.tokenization.segmentation import UnigramScores, join_at

__all__ = [
    "Lattice",
    "Uniforms",
    "build_lattice",
    "drop_matches",
    "drop_merges",
    "sample_path",
]

_BLOCK = 64
_MASK = (1 << 64) - 1

Lattice = list[tuple[list[int], list[float]]]
"""For each end of a piece, where it may start and the cumulative probability of that."""


class Uniforms(Iterator[float]):
    """Numbers in [0, 1) without end, which depend only on the arguments, whatever was drawn before.

    The arguments are the key and the counter of Philox, so no two of these streams overlap.
    Raw 64-bit words are used because NumPy promises that they never change.

    Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
    """

    __slots__ = ("_drawn", "_next", "_stream")

    def __init__(self, seed: int, epoch: int, pair: int, side: int) -> None:
        key = np.array([seed & _MASK, side & _MASK], dtype=np.uint64)
        counter = np.array([0, 0, pair & _MASK, epoch & _MASK], dtype=np.uint64)
        self._stream = np.random.Philox(key=key, counter=counter)
        self._drawn: list[float] = []
        self._next = 0

    def __next__(self) -> float:
        """Return the next number."""
        if self._next == len(self._drawn):
            self._draw_more()
        number = self._drawn[self._next]
        self._next += 1
        return number

    def skip_unless_below(self, limit: float, count: int) -> bool:
        """Pass over the next ``count`` numbers if none of them is below ``limit``; tell whether it did."""
        end = self._next + count
        while end > len(self._drawn):
            self._draw_more()
            end = self._next + count
        if count and min(self._drawn[self._next : end]) < limit:
            return False
        self._next = end
        return True

    def _draw_more(self) -> None:
        more = (self._stream.random_raw(_BLOCK) >> np.uint64(11)) * 2.0**-53
        self._drawn = self._drawn[self._next :] + more.tolist()
        self._next = 0


def drop_merges(
    symbols: list[str], ranks: Mapping[str, int], probability: float, draw: Iterator[float]
) -> list[str]:
    """Join neighbours as BPE does, but before each join drop every candidate with ``probability``.

    Candidates are drawn in the order of their ranks and only until one is kept: the others do not matter.

    Source: Provilkov et al. 2020, algorithm 1.
    """
    never = len(ranks)
    waiting = [ranks.get(left + right, never) for left, right in pairwise(symbols)]
    while waiting:
        candidates = waiting
        rank = min(candidates)
        while rank != never and next(draw) < probability:
            if candidates is waiting:
                candidates = waiting.copy()
            candidates[candidates.index(rank)] = never
            rank = min(candidates)
        if rank == never:
            break
        join_at(candidates.index(rank), symbols, waiting, ranks)
    return symbols


def drop_matches(
    word: str, ids: Mapping[str, int], longest: int, probability: float, draw: Iterator[float]
) -> list[str]:
    """Take the longest known piece from the left, but pass over each with ``probability``.

    Source: Hiraoka 2022, "MaxMatch-Dropout", section 2.
    """
    pieces = []
    start = 0
    while start < len(word):
        end = min(start + longest, len(word))
        while end > start + 1 and (word[start:end] not in ids or next(draw) < probability):
            end -= 1
        pieces.append(word[start:end])
        start = end
    return pieces


def build_lattice(word: str, scores: UnigramScores, alpha: float) -> Lattice:
    """Sum the probabilities, to the power ``alpha``, of all paths from the left (forward filtering)."""
    arriving: list[list[tuple[int, float]]] = [[] for _ in range(len(word) + 1)]
    lattice: Lattice = [([], [])]
    forward = 0.0
    for start in range(len(word)):
        for end, score in scores.edges(word, start):
            arriving[end].append((start, forward + alpha * score))
        here = arriving[start + 1]
        top = max(weight for _, weight in here)
        cumulative = list(accumulate(math.exp(weight - top) for _, weight in here))
        forward = top + math.log(cumulative[-1])
        lattice.append(
            ([begin for begin, _ in here], [part / cumulative[-1] for part in cumulative])
        )
    return lattice


def sample_path(word: str, lattice: Lattice, draw: Iterator[float]) -> list[str]:
    """Draw one path from the right (backward sampling).

    Source: Kudo 2018, section 3.2; the exact sampler is that of Scott 2002.
    """
    pieces = []
    end = len(word)
    while end:
        starts, cumulative = lattice[end]
        choice = bisect_right(cumulative, next(draw)) if len(starts) > 1 else 0
        start = starts[min(choice, len(starts) - 1)]
        pieces.append(word[start:end])
        end = start
    return pieces[::-1]
