"""The training pairs that are most like a sentence: what the model may have learnt its words from.

Likeness counts the tokens that both have, rare ones more (the logarithm of how few pairs have them), over the root of
the pair's length, so that long pairs do not win by length alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int

from interlingua.batching.shards import Shards, open_shards
from interlingua.corpus.pairs import SentencePair
from interlingua.tokenization.pair import TokenizerPair

__all__ = ["NearPair", "TrainingPairs"]

MOST_PAIRS = 1_000_000
"""Pairs that are looked through, the first of the corpus."""
_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class NearPair:
    """One training pair."""

    line: int
    source: str
    target: str
    likeness: float
    """0: nothing in common; 1: the same tokens."""


class TrainingPairs:
    """The pairs that a model was trained on.

    Args:
        shards: their ids.
        tokenizers: what the ids mean.
    """

    def __init__(self, shards: Shards, tokenizers: TokenizerPair) -> None:
        self._shards, self._tokenizers = shards, tokenizers

    @classmethod
    def open(cls, folder: Path, tokenizers: TokenizerPair) -> "TrainingPairs":
        """Open the shards of a run.

        Raises:
            CorpusError: they are damaged.
        """
        return cls(open_shards(folder), tokenizers)

    def __len__(self) -> int:
        return min(len(self._shards), MOST_PAIRS)

    def first(self, number: int) -> tuple[SentencePair, ...]:
        """Return the first ``number`` pairs."""
        near = (self._pair(place, 1.0) for place in range(min(number, len(self))))
        return tuple(SentencePair(pair.source, pair.target, pair.line) for pair in near)

    def nearest(self, ids: Sequence[int], number: int) -> list[NearPair]:
        """Return the ``number`` pairs whose sources are most like ``ids``, the most like first."""
        wanted = np.unique(np.asarray(ids, dtype=np.int64))
        if not len(wanted) or not len(self):
            return []
        # Read twice rather than kept: a million pairs by hundreds of ids would fill the memory.
        pairs = np.arange(len(self))
        blocks = [pairs[start : start + _AT_ONCE] for start in range(0, len(self), _AT_ONCE)]
        counts = np.sum([self._present(wanted, block).sum(axis=0) for block in blocks], axis=0)
        rarity = np.log((1 + len(self)) / (1 + counts)) + 1e-3
        common = np.concatenate([self._present(wanted, block) @ rarity for block in blocks])
        lengths = np.asarray(self._shards.source_lengths[: len(self)], dtype=np.float64) - 1
        likeness = common / rarity.sum() * np.sqrt(len(wanted) / np.maximum(lengths, 1))
        best = np.argsort(-likeness, kind="stable")[:number]
        return [self._pair(int(place), float(min(likeness[place], 1.0))) for place in best]

    def _present(
        self, wanted: "np.ndarray[tuple[int], np.dtype[np.int64]]", pairs: Int[np.ndarray, "P"]
    ) -> Bool[np.ndarray, "P W"]:
        """Say which of the ``wanted`` ids each of some pairs has."""
        found = np.zeros((len(pairs), len(wanted)), dtype=np.bool_)
        sources = self._shards.rows("source", pairs)
        rows = np.repeat(np.arange(len(pairs)), sources.lengths)
        places = np.searchsorted(wanted, sources.ids).clip(max=len(wanted) - 1)
        hits = wanted[places] == sources.ids
        found[rows[hits], places[hits]] = True
        return found

    def _pair(self, place: int, likeness: float) -> NearPair:
        source = self._tokenizers.source.decode(self._shards.source(place).tolist())
        target = self._tokenizers.target.decode(self._shards.target(place).tolist())
        return NearPair(self._shards.line(place), source, target, likeness)
