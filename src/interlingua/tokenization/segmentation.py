"""Five ways to cut a word into pieces; each returns substrings that, joined, are the word again.

A substring that is not in the vocabulary is always a single character: the caller spells it in bytes.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise

from interlingua.errors import TokenizerError
from interlingua.tokenization.vocabulary import Vocabulary

__all__ = [
    "UNKNOWN_PENALTY",
    "Segment",
    "UnigramScores",
    "best_path",
    "build_segment",
    "longest_matches",
    "merge_many",
    "merge_pairs",
    "piece_ranks",
    "split_symbols",
]

Segment = Callable[[str], list[str]]

_MANY_SYMBOLS = 64
"""From here on a heap costs less than looking through all pairs again."""

UNKNOWN_PENALTY = 10.0
"""How much worse than the worst piece an unknown character scores in Unigram; SentencePiece's value."""


def build_segment(kind: str, vocabulary: Vocabulary) -> Segment:
    """Return the function that cuts one word, for ``kind``."""
    ids = vocabulary.ids
    if kind == "bpe":
        ranks, whole = piece_ranks(vocabulary), whole_pattern(vocabulary.whole)
        return lambda word: merge_pairs(split_symbols(word, whole), ranks)
    if kind == "unigram":
        scores = UnigramScores(vocabulary)
        return lambda word: best_path(word, scores)
    if kind == "wordpiece":
        longest = max(map(len, ids), default=1)
        return lambda word: longest_matches(word, ids, longest)
    if kind == "word":
        return lambda word: [word] if word in ids else list(word)
    if kind == "char":
        return list
    raise TokenizerError(
        f"{kind!r} is not a kind of tokenizer; choose bpe, unigram, wordpiece, word or char"
    )


def piece_ranks(vocabulary: Vocabulary) -> dict[str, int]:
    """Return the rank of each piece that a merge can make: the best score first, equal scores share a rank."""
    scores = {
        piece: vocabulary.scores[number]
        for piece, number in vocabulary.ids.items()
        if len(piece) > 1 and piece not in vocabulary.whole
    }
    rank_of = {score: rank for rank, score in enumerate(sorted(set(scores.values()), reverse=True))}
    return {piece: rank_of[score] for piece, score in scores.items()}


def whole_pattern(whole: frozenset[str]) -> re.Pattern[str] | None:
    """Return a pattern for the pieces that are never cut, the longest first."""
    if not whole:
        return None
    return re.compile(
        "|".join(map(re.escape, sorted(whole, key=lambda piece: (-len(piece), piece))))
    )


def split_symbols(word: str, whole: re.Pattern[str] | None = None) -> list[str]:
    """Cut ``word`` into characters, but for the pieces that are never cut."""
    if whole is None:
        return list(word)
    symbols: list[str] = []
    end = 0
    for match in whole.finditer(word):
        symbols += word[end : match.start()]
        symbols.append(match.group())
        end = match.end()
    return symbols + list(word[end:])


def merge_pairs(symbols: list[str], ranks: Mapping[str, int]) -> list[str]:
    """Join neighbours, the lowest rank first and the leftmost of equals, until no join is known.

    The rank is that of the joined piece, not of the pair, as in SentencePiece: so the list of pieces in their order
    says everything, and can be written as ``.spm`` without loss.

    Source: Sennrich et al. 2016, algorithm 1.
    """
    if len(symbols) > _MANY_SYMBOLS:
        return merge_many(symbols, ranks)
    never = len(ranks)
    waiting = [ranks.get(left + right, never) for left, right in pairwise(symbols)]
    while waiting:
        rank = min(waiting)
        if rank == never:
            break
        join_at(waiting.index(rank), symbols, waiting, ranks)
    return symbols


def merge_many(symbols: list[str], ranks: Mapping[str, int]) -> list[str]:
    """Return what :func:`merge_pairs` returns, in n log n steps instead of n^2: the next join comes from a heap."""
    count = len(symbols)
    text: list[str] = list(symbols)
    before, after = list(range(-1, count - 1)), list(range(1, count + 1))
    heap = [
        (ranks[joined], place, joined)
        for place, joined in enumerate(map(operator.add, text, text[1:]))
        if joined in ranks
    ]
    heapify(heap)
    while heap:
        _, place, joined = heappop(heap)
        follower = after[place]
        # What was merged since, on either side, has left an entry behind that no longer fits.
        if not text[place] or follower == count or text[place] + text[follower] != joined:
            continue
        text[place], text[follower] = joined, ""
        after[place] = beyond = after[follower]
        if beyond < count:
            before[beyond] = place
            _consider(heap, place, joined + text[beyond], ranks)
        if (earlier := before[place]) >= 0:
            _consider(heap, earlier, text[earlier] + joined, ranks)
    return [symbol for symbol in text if symbol]


def _consider(
    heap: list[tuple[int, int, str]], place: int, joined: str, ranks: Mapping[str, int]
) -> None:
    rank = ranks.get(joined)
    if rank is not None:
        heappush(heap, (rank, place, joined))


def join_at(index: int, symbols: list[str], waiting: list[int], ranks: Mapping[str, int]) -> None:
    """Join ``symbols[index]`` and its right neighbour, and rank the two joins that this makes possible."""
    never = len(ranks)
    symbols[index : index + 2] = [symbols[index] + symbols[index + 1]]
    del waiting[index]
    if index > 0:
        waiting[index - 1] = ranks.get(symbols[index - 1] + symbols[index], never)
    if index < len(waiting):
        waiting[index] = ranks.get(symbols[index] + symbols[index + 1], never)


class UnigramScores:
    """Log probabilities of pieces, and what an unknown character costs."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        ordinary = {
            piece: vocabulary.scores[number]
            for piece, number in vocabulary.ids.items()
            if piece not in vocabulary.whole
        }
        best, worst = max(ordinary.values(), default=0.0), min(ordinary.values(), default=0.0)
        # SentencePiece lets a user-defined symbol win over every path through ordinary pieces.
        whole = {piece: len(piece) * best - 0.1 for piece in vocabulary.whole}
        self.of = ordinary | whole
        self.unknown = worst - UNKNOWN_PENALTY
        self.longest = max(map(len, self.of), default=1)

    def edges(self, word: str, start: int) -> list[tuple[int, float]]:
        """Return (end, score) of every piece that begins at ``start``; an unknown character is one."""
        found = []
        for end in range(start + 1, min(start + self.longest, len(word)) + 1):
            score = self.of.get(word[start:end])
            if score is not None:
                found.append((end, score))
        if not found or found[0][0] != start + 1:
            found.append((start + 1, self.unknown))
        return found


def best_path(word: str, scores: UnigramScores) -> list[str]:
    """Return the most probable pieces of ``word`` (Viterbi); of equals, the one whose last piece is longest.

    Source: Kudo 2018, section 3.1.
    """
    best = [0.0] + [-math.inf] * len(word)
    back = [0] * (len(word) + 1)
    for start in range(len(word)):
        reached = best[start]
        for end, score in scores.edges(word, start):
            if reached + score > best[end]:
                best[end], back[end] = reached + score, start
    pieces = []
    end = len(word)
    while end:
        pieces.append(word[back[end] : end])
        end = back[end]
    return pieces[::-1]


def longest_matches(word: str, ids: Mapping[str, int], longest: int) -> list[str]:
    """Take the longest known piece, again and again from the left.

    Source: Wu et al. 2016, section 4.1 (WordPiece); the left-to-right match is that of BERT.
    """
    pieces = []
    start = 0
    while start < len(word):
        end = min(start + longest, len(word))
        while end > start + 1 and word[start:end] not in ids:
            end -= 1
        pieces.append(word[start:end])
        start = end
    return pieces
