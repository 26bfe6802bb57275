"""The sentences of a batch one after the other, without their padding."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

__all__ = ["Packed", "pack"]

ROWS = 128
"""Rows are filled up to a multiple of this: oneDNN compiles a kernel for every new shape, which costs more."""


@dataclass(frozen=True, slots=True)
class Packed:
    """Sentences one after the other, filled up to a multiple of ``ROWS``.

    Attributes:
        ids: one a token; -1 where there is none.
        places: the position of each token in its sentence.
        offsets: sentence b has the rows from ``offsets[b]`` to ``offsets[b + 1]``.
        count: rows that hold a token.
        longest: tokens of the longest sentence.
    """

    ids: Int[Tensor, "M"]
    places: Int[Tensor, "M"]
    offsets: Int[Tensor, "B1"]
    count: int
    longest: int

    def to(self, device: torch.device) -> "Packed":
        """Return the same on ``device``."""
        if device == self.ids.device:
            return self
        ids, places, offsets = (
            each.to(device, non_blocking=True) for each in (self.ids, self.places, self.offsets)
        )
        return Packed(ids, places, offsets, self.count, self.longest)


def pack(ids: Int[Tensor, "B L"], lengths: Int[Tensor, "B"], vocabulary: int) -> Packed:
    """Leave the padding out; the kernels rely on what is checked here.

    Raises:
        ValueError: lengths that do not fit the width of the batch.
        IndexError: an id that is not in the vocabulary.
    """
    given, each = ids.numpy(), lengths.numpy()
    flat = given[np.arange(given.shape[1]) < each[:, None]]
    count = len(flat)
    offsets = np.concatenate(([0], each.cumsum())).astype(np.int32)
    if count != offsets[-1]:
        raise ValueError(f"lengths up to {each.max()} in a batch of width {given.shape[1]}")
    if count and not 0 <= flat.min() <= flat.max() < vocabulary:
        raise IndexError(f"an id is outside the vocabulary of {vocabulary} entries")
    rows = -(-count // ROWS) * ROWS
    filled, places = np.full(rows, -1, dtype=np.int64), np.zeros(rows, dtype=np.int32)
    filled[:count] = flat
    places[:count] = np.arange(count, dtype=np.int32) - np.repeat(offsets[:-1], each)
    each_token, each_place, ends = map(torch.from_numpy, (filled, places, offsets))
    return Packed(each_token, each_place, ends, count, given.shape[1])
