"""The sentences of a batch one after the other, without their padding."""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor, nn

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


def pack(ids: Int[Tensor, "B L"], lengths: Int[Tensor, "B"], vocabulary: int) -> Packed:
    """Leave the padding out; the kernels rely on what is checked here.

    Raises:
        ValueError: lengths that do not fit the width of the batch.
        IndexError: an id that is not in the vocabulary.
    """
    columns = torch.arange(ids.size(1), dtype=torch.int32).expand_as(ids)
    real = columns < lengths[:, None]
    flat = ids[real]
    count = flat.numel()
    if count != int(lengths.sum()):
        raise ValueError(f"lengths up to {int(lengths.max())} in a batch of width {ids.size(1)}")
    if count and not 0 <= int(flat.min()) <= int(flat.max()) < vocabulary:
        raise IndexError(f"an id is outside the vocabulary of {vocabulary} entries")
    rows = -(-count // ROWS) * ROWS
    return Packed(
        ids=nn.functional.pad(flat, (0, rows - count), value=-1),
        places=nn.functional.pad(columns[real], (0, rows - count)),
        offsets=nn.functional.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0)),
        count=count,
        longest=ids.size(1),
    )
