"""A batch: pairs of id sequences as padded tensors, the target shifted for teacher forcing.

::

    source       a b c </s>          what the encoder reads
    target_in    <s> x y             what the decoder has written so far
    target_out   x y </s>            what it should write next

Shorter rows are filled up with the pad id at their end.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from interlingua.tokenization.pair import TokenizerPair

__all__ = ["Batch", "Rows", "batch_for", "make_batch", "pad_sources"]


@dataclass(frozen=True, slots=True)
class Rows:
    """Sequences of ids one after the other; thousands are put together without a look at each."""

    ids: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> "Rows":
        """Join sequences that are given one by one."""
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        every = chain.from_iterable(sequences)
        return cls(np.fromiter(every, np.int64, int(lengths.sum())), lengths)

    def padded(self, pad: int, *, end: int) -> Int[Tensor, "B L"]:
        """Return each row with ``end`` behind it, filled up with ``pad``."""
        return self._filled(pad, end, 0)

    def shifted(self, pad: int, *, begin: int) -> Int[Tensor, "B L"]:
        """Return each row with ``begin`` before it, filled up with ``pad``."""
        return self._filled(pad, begin, 1)

    def _filled(self, pad: int, symbol: int, first: int) -> Int[Tensor, "B L"]:
        if not len(self.lengths):
            raise ValueError("a batch needs at least one pair")
        places = np.arange(self.lengths.max() + 1)
        out = np.full((len(self.lengths), len(places)), pad, dtype=np.int64)
        out[(places >= first) & (places < self.lengths[:, None] + first)] = self.ids
        out[np.arange(len(out)), 0 if first else self.lengths] = symbol
        return torch.from_numpy(out)


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentence pairs as tensors.

    Attributes:
        source: source ids, ended by the end symbol.
        target_in: the begin symbol and the target ids.
        target_out: the target ids and the end symbol: ``target_in`` one step later.
        source_lengths: ids of each source row that are not padding, the end symbol included.
        target_lengths: the same of both target tensors.
        pair_ids: which pairs of the corpus the rows are.
    """

    source: Int[Tensor, "B S"]
    target_in: Int[Tensor, "B T"]
    target_out: Int[Tensor, "B T"]
    source_lengths: Int[Tensor, "B"]
    target_lengths: Int[Tensor, "B"]
    pair_ids: tuple[int, ...]
    counted: Int[Tensor, "B"] | None = None
    """Of each target row, tokens that the loss counts; None is all that are no padding."""

    @property
    def num_target_tokens(self) -> int:
        """Target tokens that the loss counts: all but padding, the end symbols included."""
        return int((self.target_lengths if self.counted is None else self.counted).sum())

    def rows(self, which: slice) -> "Batch":
        """Return some of the rows, with no more padding than these need."""
        source_lengths, target_lengths = self.source_lengths[which], self.target_lengths[which]
        source = int(source_lengths.max()) if len(source_lengths) else 0
        target = int(target_lengths.max()) if len(target_lengths) else 0
        return Batch(
            source=self.source[which, :source],
            target_in=self.target_in[which, :target],
            target_out=self.target_out[which, :target],
            source_lengths=source_lengths,
            target_lengths=target_lengths,
            pair_ids=self.pair_ids[which],
            counted=None if self.counted is None else self.counted[which],
        )

    def guessing(self, guessed: Sequence[Sequence[bool]], pad: int) -> "Batch":
        """Return the batch with ``pad`` in place of all targets but those marked and the end symbols, so that no other counts."""
        kept = torch.zeros_like(self.target_out, dtype=torch.bool)
        for row, marks in enumerate(guessed):
            kept[row, : len(marks) + 1] = torch.tensor([*marks, True])
        hidden = self.target_out.masked_fill(~kept, pad)
        return replace(self, target_out=hidden, counted=kept.sum(1))

    def twice(self) -> "Batch":
        """Return all rows, and then all rows again."""
        return Batch(
            source=self.source.repeat(2, 1),
            target_in=self.target_in.repeat(2, 1),
            target_out=self.target_out.repeat(2, 1),
            source_lengths=self.source_lengths.repeat(2),
            target_lengths=self.target_lengths.repeat(2),
            pair_ids=self.pair_ids * 2,
            counted=None if self.counted is None else self.counted.repeat(2),
        )

    def to(self, device: torch.device | str) -> "Batch":
        """Return the batch on ``device``; from pinned memory the copy does not wait."""
        return Batch(
            source=self.source.to(device, non_blocking=True),
            target_in=self.target_in.to(device, non_blocking=True),
            target_out=self.target_out.to(device, non_blocking=True),
            source_lengths=self.source_lengths.to(device, non_blocking=True),
            target_lengths=self.target_lengths.to(device, non_blocking=True),
            pair_ids=self.pair_ids,
            counted=None if self.counted is None else self.counted.to(device, non_blocking=True),
        )


def make_batch(
    sources: Sequence[Sequence[int]] | Rows,
    targets: Sequence[Sequence[int]] | Rows,
    pair_ids: Sequence[int],
    *,
    source_pad: int,
    source_end: int,
    target_pad: int,
    target_begin: int,
    target_end: int,
) -> Batch:
    """Pad pairs of id sequences, which hold no special symbols yet, into one batch.

    Raises:
        ValueError: there are no pairs, or not as many targets or pair ids as sources.
    """
    read, write = (side if isinstance(side, Rows) else Rows.of(side) for side in (sources, targets))
    if not len(read.lengths) == len(write.lengths) == len(pair_ids):
        raise ValueError(
            f"{len(read.lengths)} sources, {len(write.lengths)} targets and {len(pair_ids)} pair ids "
            "do not make a batch"
        )
    return Batch(
        source=read.padded(source_pad, end=source_end),
        target_in=write.shifted(target_pad, begin=target_begin),
        target_out=write.padded(target_pad, end=target_end),
        source_lengths=torch.from_numpy(read.lengths + 1),
        target_lengths=torch.from_numpy(write.lengths + 1),
        pair_ids=tuple(pair_ids),
    )


def pad_sources(sources: Sequence[Sequence[int]], *, pad: int, end: int) -> Int[Tensor, "B S"]:
    """Append the end symbol to each source and pad them into one tensor.

    Raises:
        ValueError: there are no sources.
    """
    return Rows.of(sources).padded(pad, end=end)


def batch_for(
    tokenizers: TokenizerPair,
    sources: Sequence[Sequence[int]] | Rows,
    targets: Sequence[Sequence[int]] | Rows,
    pair_ids: Sequence[int],
) -> Batch:
    """Pad pairs as :func:`make_batch` does, with the special symbols of ``tokenizers``."""
    read, write = tokenizers.source, tokenizers.target
    return make_batch(
        sources,
        targets,
        pair_ids,
        source_pad=read.pad_id,
        source_end=read.end_id,
        target_pad=write.pad_id,
        target_begin=write.begin_id,
        target_end=write.end_id,
    )
