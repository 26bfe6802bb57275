"""What a training step does between its matrix products, on a graphics card: the kernels of ``training.cpp`` once more, in Triton.

Each function has the name and the arguments of its twin there, and computes the same, dropout included: a decision is the same hash
of the same place. tests/parity/test_gpu_kernels.py compares the two. Storage is float32 or
bfloat16, arithmetic is float32. Sums over rows are taken in pieces, and the pieces in their order, so that a run repeats bit for bit.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from interlingua.kernels.gpu_attention import attention_backward, attention_forward
from interlingua.kernels.gpu_parts import (
    add_up,
    block_of,
    kept_or_not,
    pieces_of,
    rows_of,
    signed,
)

__all__ = ["FUNCTIONS"]

# ---------------------------------------------------------------- residual, dropout, normalisation


@triton.jit
def _normalise(sum, inside, at, i, rows, c, width, gain, shift, epsilon, out, normal, inverse):
    mean = tl.sum(sum, 1) / width
    apart = tl.where(inside, sum - mean[:, None], 0.0)
    by = 1.0 / tl.sqrt(tl.sum(apart * apart, 1) / width + epsilon)
    z = apart * by[:, None]
    g = tl.load(gain + c, c < width, 0.0)
    s = tl.load(shift + c, c < width, 0.0)
    tl.store(normal + at, z.to(normal.dtype.element_ty), inside)
    tl.store(out + at, (z * g[None, :] + s[None, :]).to(out.dtype.element_ty), inside)
    tl.store(inverse + i, by, i < rows)


@triton.jit(do_not_specialize=["rows", "key0", "key1", "threshold"])
def _add_norm_forward(
    rows, x, y, bias, key0, key1, threshold, by, gain, shift, epsilon, out, normal, inverse,
    width: tl.constexpr, NOISE: tl.constexpr, ADDS: tl.constexpr, NORMS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    inside = (i[:, None] < rows) & (c[None, :] < width)
    at = i[:, None].to(tl.int64) * width + c[None, :]
    sum = tl.load(x + at, inside, 0.0).to(tl.float32)
    if ADDS:
        added = tl.load(y + at, inside, 0.0).to(tl.float32)
        added += tl.load(bias + c, c < width, 0.0)[None, :]
        if NOISE:
            added *= kept_or_not(at, key0, key1, threshold, by)
        sum += added
    if NORMS:
        _normalise(sum, inside, at, i, rows, c, width, gain, shift, epsilon, out, normal, inverse)
    else:
        tl.store(out + at, sum.to(out.dtype.element_ty), inside)


@triton.jit(do_not_specialize=["rows", "each", "key0", "key1", "threshold"])
def _add_norm_backward(
    rows, each, grad, normal, inverse, key0, key1, threshold, by, gain, grad_x, grad_y, partial,
    width: tl.constexpr, NOISE: tl.constexpr, NORMS: tl.constexpr, ADDS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    piece = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    # A row lies in one warp; sums over rows, for which warps wait for each other, are taken once, at the end.
    of_gain = tl.zeros([ROWS, BLOCK], tl.float32)
    of_shift = tl.zeros([ROWS, BLOCK], tl.float32)
    of_bias = tl.zeros([ROWS, BLOCK], tl.float32)
    if NORMS:
        weight = tl.load(gain + c, c < width, 0.0)[None, :]
    for start in range(piece * each, min(rows, (piece + 1) * each), ROWS):
        i = start + tl.arange(0, ROWS)
        inside = (i[:, None] < rows) & (c[None, :] < width)
        at = i[:, None].to(tl.int64) * width + c[None, :]
        g = tl.load(grad + at, inside, 0.0).to(tl.float32)
        if NORMS:
            z = tl.load(normal + at, inside, 0.0).to(tl.float32)
            of_gain += g * z
            of_shift += g
            g *= weight
            mean, along = tl.sum(g, 1) / width, tl.sum(g * z, 1) / width
            g = tl.load(inverse + i, i < rows, 0.0)[:, None] * (
                g - mean[:, None] - z * along[:, None]
            )
            tl.store(grad_x + at, g.to(grad_x.dtype.element_ty), inside)
        if ADDS:
            if NOISE:
                g *= kept_or_not(at, key0, key1, threshold, by)
            if NOISE or not NORMS:
                tl.store(grad_y + at, g.to(grad_y.dtype.element_ty), inside)
            of_bias += tl.where(inside, g, 0.0)
    row = partial + piece * (NORMS * 2 + ADDS) * width + c
    if NORMS:
        tl.store(row, tl.sum(of_gain, 0), c < width)
        tl.store(row + width, tl.sum(of_shift, 0), c < width)
        row += 2 * width
    if ADDS:
        tl.store(row, tl.sum(of_bias, 0), c < width)


def _forward(
    rows: int, width: int, x: Tensor, y: Tensor, bias: Tensor, noise: tuple[Any, ...],
    gain: Tensor, shift: Tensor, epsilon: float, out: Tensor, normal: Tensor, inverse: Tensor, adds: bool, norms: bool,
) -> None:  # fmt: skip
    if rows == 0:
        return
    block = block_of(width)
    at_once = rows_of(block)
    _add_norm_forward[triton.cdiv(rows, at_once),](
        rows, x, y, bias, *signed(noise), gain, shift, epsilon, out, normal, inverse,
        width=width, NOISE=noise[2] != 0, ADDS=adds, NORMS=norms, ROWS=at_once, BLOCK=block, num_warps=4,
    )  # fmt: skip


def _backward(
    rows: int, width: int, grad: Tensor, normal: Tensor, inverse: Tensor, noise: tuple[Any, ...],
    gain: Tensor, grad_x: Tensor, grad_y: Tensor, sums: tuple[Tensor, ...], adds: bool, norms: bool,
) -> None:  # fmt: skip
    if rows == 0:
        return
    block = block_of(width)
    at_once = rows_of(block)
    pieces, each = pieces_of(rows, at_once)
    partial = torch.empty(pieces, len(sums) * width, dtype=torch.float32, device=grad.device)
    _add_norm_backward[pieces,](
        rows, each, grad, normal, inverse, *signed(noise), gain, grad_x, grad_y, partial,
        width=width, NOISE=noise[2] != 0, NORMS=norms, ADDS=adds, ROWS=at_once, BLOCK=block, num_warps=4,
    )  # fmt: skip
    add_up(partial, *sums)


QUIET = (0, 0, 0, 1.0)


def add_norm_forward(
    rows: int, width: int, x: Tensor, y: Tensor, bias: Tensor, key0: Any, key1: Any, threshold: int, by: float,
    gain: Tensor, shift: Tensor, epsilon: float, out: Tensor, normal: Tensor, inverse: Tensor,
) -> None:  # fmt: skip
    noise = (key0, key1, threshold, by)
    _forward(rows, width, x, y, bias, noise, gain, shift, epsilon, out, normal, inverse, True, True)


def add_norm_backward(
    rows: int, width: int, grad: Tensor, normal: Tensor, inverse: Tensor, key0: Any, key1: Any, threshold: int, by: float,
    gain: Tensor, grad_x: Tensor, grad_y: Tensor | None, grad_gain: Tensor, grad_shift: Tensor, grad_bias: Tensor,
) -> None:  # fmt: skip
    into_y = grad_x if grad_y is None else grad_y
    sums = (grad_gain, grad_shift, grad_bias)
    noise = (key0, key1, threshold, by)
    _backward(rows, width, grad, normal, inverse, noise, gain, grad_x, into_y, sums, True, True)


def norm_forward(
    rows: int, width: int, x: Tensor, gain: Tensor, shift: Tensor, epsilon: float,
    out: Tensor, normal: Tensor, inverse: Tensor,
) -> None:  # fmt: skip
    _forward(rows, width, x, x, x, QUIET, gain, shift, epsilon, out, normal, inverse, False, True)


def norm_backward(
    rows: int, width: int, grad: Tensor, normal: Tensor, inverse: Tensor, gain: Tensor,
    grad_x: Tensor, grad_gain: Tensor, grad_shift: Tensor,
) -> None:  # fmt: skip
    sums = (grad_gain, grad_shift)
    _backward(rows, width, grad, normal, inverse, QUIET, gain, grad_x, grad_x, sums, False, True)


def add_forward(
    rows: int, width: int, x: Tensor, y: Tensor, bias: Tensor, key0: Any, key1: Any, threshold: int, by: float, out: Tensor
) -> None:  # fmt: skip
    noise = (key0, key1, threshold, by)
    _forward(rows, width, x, y, bias, noise, x, x, 0.0, out, out, out, True, False)


def add_backward(
    rows: int, width: int, grad: Tensor, key0: Any, key1: Any, threshold: int, by: float, grad_y: Tensor, grad_bias: Tensor
) -> None:  # fmt: skip
    noise = (key0, key1, threshold, by)
    _backward(rows, width, grad, grad, grad, noise, grad, grad, grad_y, (grad_bias,), True, False)


# ---------------------------------------------------------------- the middle of the feed-forward network


@triton.jit(do_not_specialize=["rows", "key0", "key1", "threshold"])
def _relu_forward(
    rows, hidden, bias, key0, key1, threshold, by,
    width: tl.constexpr, NOISE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = (i[:, None] < rows) & (c[None, :] < width)
    at = i[:, None].to(tl.int64) * width + c[None, :]
    x = (
        tl.load(hidden + at, inside, 0.0).to(tl.float32)
        + tl.load(bias + c, c < width, 0.0)[None, :]
    )
    kept = x
    if NOISE:
        kept *= kept_or_not(at, key0, key1, threshold, by)
    tl.store(hidden + at, tl.where(x < 0.0, 0.0, kept).to(hidden.dtype.element_ty), inside)


@triton.jit(do_not_specialize=["rows", "each"])
def _relu_backward(
    rows, each, hidden, grad, by, partial, width: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):  # fmt: skip
    piece = tl.program_id(0)
    c = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(piece * each, min(rows, (piece + 1) * each), ROWS):
        i = start + tl.arange(0, ROWS)
        inside = (i[:, None] < rows) & (c[None, :] < width)
        at = i[:, None].to(tl.int64) * width + c[None, :]
        open = tl.load(hidden + at, inside, 0.0).to(tl.float32) > 0.0
        g = tl.where(open, tl.load(grad + at, inside, 0.0).to(tl.float32) * by, 0.0)
        tl.store(grad + at, g.to(grad.dtype.element_ty), inside)
        total += g
    tl.store(partial + piece * width + c, tl.sum(total, 0), c < width)


def relu_forward(
    rows: int,
    width: int,
    hidden: Tensor,
    bias: Tensor,
    key0: Any,
    key1: Any,
    threshold: int,
    by: float,
) -> None:
    if rows == 0:
        return
    columns = min(512, block_of(width))
    at_once = 4096 // columns
    grid = (triton.cdiv(rows, at_once), triton.cdiv(width, columns))
    _relu_forward[grid](
        rows, hidden, bias, *signed((key0, key1, threshold, by)),
        width=width, NOISE=threshold != 0, ROWS=at_once, COLUMNS=columns, num_warps=8,
    )  # fmt: skip


def relu_backward(
    rows: int, width: int, hidden: Tensor, grad: Tensor, by: float, grad_bias: Tensor
) -> None:
    if rows == 0:
        return
    columns = min(256, block_of(width))
    at_once = max(1, 2048 // columns)
    pieces, each = pieces_of(rows, 4 * at_once)
    partial = torch.empty(pieces, width, dtype=torch.float32, device=grad.device)
    _relu_backward[pieces, triton.cdiv(width, columns)](
        rows,
        each,
        hidden,
        grad,
        by,
        partial,
        width=width,
        ROWS=at_once,
        COLUMNS=columns,
        num_warps=4,
    )
    add_up(partial, grad_bias)


# ---------------------------------------------------------------- embeddings


@triton.jit(do_not_specialize=["rows", "key0", "key1", "threshold"])
def _embed_forward(
    rows, ids, places, table, positions, scale, key0, key1, threshold, by, out,
    width: tl.constexpr, NOISE: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)[None, :]
    word = tl.load(ids + i, i < rows, -1).to(tl.int64)[:, None]
    place = tl.load(places + i, i < rows, 0).to(tl.int64)[:, None]
    at = i[:, None].to(tl.int64) * width + c
    inside = (c < width) & (word >= 0)
    x = tl.load(table + word * width + c, inside, 0.0) * scale
    x += tl.load(positions + place * width + c, inside, 0.0)
    if NOISE:
        x *= kept_or_not(at, key0, key1, threshold, by)
    tl.store(out + at, x.to(out.dtype.element_ty), (i[:, None] < rows) & (c < width))


@triton.jit(do_not_specialize=["rows", "key0", "key1", "threshold"])
def _embed_backward(
    rows, ids, grad, scale, key0, key1, threshold, by, out,
    width: tl.constexpr, NOISE: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)[None, :]
    word = tl.load(ids + i, i < rows, -1)[:, None]
    at = i[:, None].to(tl.int64) * width + c
    g = tl.load(grad + at, (c < width) & (word >= 0), 0.0).to(tl.float32) * scale
    if NOISE:
        g *= kept_or_not(at, key0, key1, threshold, by)
    tl.store(out + at, g, (i[:, None] < rows) & (c < width))


def embed_forward(
    rows: int, width: int, ids: Tensor, places: Tensor, table: Tensor, positions: Tensor, scale: float,
    key0: Any, key1: Any, threshold: int, by: float, out: Tensor,
) -> None:  # fmt: skip
    if rows == 0:
        return
    block = block_of(width)
    at_once = rows_of(block)
    _embed_forward[triton.cdiv(rows, at_once),](
        rows, ids, places, table, positions, scale, *signed((key0, key1, threshold, by)), out,
        width=width, NOISE=threshold != 0, ROWS=at_once, BLOCK=block, num_warps=4,
    )  # fmt: skip


def embed_backward(
    rows: int, width: int, ids: Tensor, grad: Tensor, scale: float,
    key0: Any, key1: Any, threshold: int, by: float, table: Tensor,
) -> None:  # fmt: skip
    if rows == 0:
        return
    vectors = torch.empty(rows, width, dtype=torch.float32, device=grad.device)
    block = block_of(width)
    at_once = rows_of(block)
    _embed_backward[triton.cdiv(rows, at_once),](
        rows, ids, grad, scale, *signed((key0, key1, threshold, by)), vectors,
        width=width, NOISE=threshold != 0, ROWS=at_once, BLOCK=block, num_warps=4,
    )  # fmt: skip
    # Rows of one word are sorted together and added in their order; atomic additions would come in any.
    found = torch.ops.aten.embedding_dense_backward(
        vectors, ids.clamp(min=0), len(table), -1, False
    )
    table.copy_(found)


# ---------------------------------------------------------------- label-smoothed cross-entropy


@triton.jit
def _cross_entropy(
    logits, targets, losses, epsilon, vocabulary: tl.constexpr, WANTED: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    i = tl.program_id(0)
    target = tl.load(targets + i)
    row = logits + i.to(tl.int64) * vocabulary
    top = -float("inf")
    total = 0.0
    sum = 0.0
    for start in range(0, vocabulary, BLOCK):
        v = start + tl.arange(0, BLOCK)
        x = tl.load(row + v, v < vocabulary, -float("inf")).to(tl.float32)
        sum += tl.sum(tl.where(v < vocabulary, x, 0.0), 0)
        higher = tl.maximum(top, tl.max(x, 0))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(x - higher), 0)
        top = higher
    all = tl.log(total) + top
    true = tl.load(row + tl.maximum(target, 0)).to(tl.float32)
    loss = all - (1.0 - epsilon) * true - epsilon * (sum / vocabulary)
    tl.store(losses + i, tl.where(target < 0, 0.0, loss))
    if WANTED:
        tl.debug_barrier()  # every thread has read what is written over now
        for start in range(0, vocabulary, BLOCK):
            v = start + tl.arange(0, BLOCK)
            x = tl.load(row + v, v < vocabulary, 0.0).to(tl.float32)
            g = tl.exp(x - all) - epsilon / vocabulary - tl.where(v == target, 1.0 - epsilon, 0.0)
            g = tl.where(target < 0, 0.0, g)
            tl.store(row + v, g.to(logits.dtype.element_ty), v < vocabulary)


def cross_entropy(
    rows: int,
    vocabulary: int,
    logits: Tensor,
    targets: Tensor,
    epsilon: float,
    wanted: int,
    losses: Tensor,
) -> None:
    if rows == 0:
        return
    block = min(8192, block_of(vocabulary))
    _cross_entropy[rows,](
        logits,
        targets,
        losses,
        epsilon,
        vocabulary=vocabulary,
        WANTED=bool(wanted),
        BLOCK=block,
        num_warps=8,
    )


FUNCTIONS = {
    function.__name__: function
    for function in (
        *(add_norm_forward, add_norm_backward, norm_forward, norm_backward, add_forward, add_backward),
        *(relu_forward, relu_backward, embed_forward, embed_backward),
        *(attention_forward, attention_backward, cross_entropy),
    )
}  # fmt: skip
