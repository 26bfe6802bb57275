"""What the kernels of a graphics card share: who is dropped, sums over rows, sizes of blocks."""

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

__all__ = ["add_up", "block_of", "kept_or_not", "pieces_of", "rows_of", "signed"]

MOST_PIECES = 1024
"""Programs that share the rows of a sum; each leaves one row of partial sums."""


# ---------------------------------------------------------------- dropout


@triton.jit
def _mixed(x):
    x ^= x >> 16
    x *= 0x7FEB352D
    x ^= x >> 15
    x *= 0x846CA68B
    return x ^ (x >> 16)


@triton.jit
def _number(key):
    """Return a key, which is given as a number, or as the place where it will lie when a graph is replayed."""
    if key.dtype.is_ptr():
        key = tl.load(key)
    return key.to(tl.uint32, bitcast=True)


@triton.jit
def kept_or_not(place, key0, key1, threshold, by):
    """Return 0 where what stands at ``place`` is dropped, else what it is multiplied by."""
    draw = place.to(tl.uint32) ^ _number(key0)
    draw = _mixed(_mixed(draw) + _number(key1))
    return tl.where(draw >= threshold.to(tl.uint32, bitcast=True), by, 0.0)


# ---------------------------------------------------------------- sums over rows


@triton.jit(do_not_specialize=["count"])
def _add_rows(
    partial,
    count,
    out0,
    out1,
    out2,
    width0,
    width1,
    width2,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Add the rows of ``partial`` up; its columns are those of three results, side by side."""
    c = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    width = width0 + width1 + width2
    found = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, count, ROWS):
        i = start + tl.arange(0, ROWS)
        inside = (i[:, None] < count) & (c[None, :] < width)
        found += tl.load(partial + i[:, None] * width + c[None, :], inside, 0.0)
    total = tl.sum(found, 0)
    tl.store(out0 + c, total, c < width0)
    c -= width0
    tl.store(out1 + c, total, (c >= 0) & (c < width1))
    c -= width1
    tl.store(out2 + c, total, (c >= 0) & (c < width2))


def add_up(partial: Tensor, *outs: Tensor) -> None:
    """Add the rows of ``partial`` up into one to three vectors, which stand side by side in it."""
    width = sum(len(out) for out in outs)
    named = [*outs, outs[0], outs[0]][:3]
    widths = [*(len(out) for out in outs), 0, 0][:3]
    _add_rows[triton.cdiv(width, 16),](
        partial, len(partial), *named, *widths, ROWS=128, COLUMNS=16, num_warps=8
    )


def pieces_of(rows: int, at_once: int) -> tuple[int, int]:
    """Return how many programs share the rows, and how many rows each takes, a multiple of ``at_once``."""
    each = triton.cdiv(triton.cdiv(rows, MOST_PIECES), at_once) * at_once
    return triton.cdiv(rows, each), each


def block_of(width: int) -> int:
    """Return the power of two that a row of this width lies in."""
    return max(16, triton.next_power_of_2(width))


def rows_of(block: int) -> int:
    """Return how many rows a program holds at once."""
    return max(1, min(16, 2048 // block))


def signed(noise: tuple[Any, ...]) -> tuple[Any, ...]:
    """Give keys and threshold as numbers of 32 bits with a sign, which compile to one kernel whatever they are."""
    *numbers, by = noise
    return (*(n if isinstance(n, Tensor) else n - (n >> 31 << 32) for n in numbers), by)
