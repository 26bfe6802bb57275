"""What a training step does between its matrix products, on a graphics card: the kernels of ``training.cpp`` once more, in Triton.

Each function has the name and the arguments of its twin there, and computes the same, dropout included: a decision is the same hash
of the same place. tests/parity/test_card_kernels.py compares the two. Storage is float32 or
bfloat16, arithmetic is float32. Sums over rows are taken in pieces, and the pieces in their order, so that a run repeats bit for bit.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["FUNCTIONS"]

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
def _kept(place, key0, key1, threshold, by):
    """Return 0 where what stands at ``place`` is dropped, else what it is multiplied by."""
    draw = place.to(tl.uint32) ^ _number(key0)
    draw = _mixed(_mixed(draw) + _number(key1))
    return tl.where(draw >= threshold.to(tl.uint32, bitcast=True), by, 0.0)


# ---------------------------------------------------------------- sums over rows


@triton.jit(do_not_specialize=["count"])
def _add_up(
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


def _sums(partial: Tensor, *outs: Tensor) -> None:
    width = sum(len(out) for out in outs)
    named = [*outs, outs[0], outs[0]][:3]
    widths = [*(len(out) for out in outs), 0, 0][:3]
    _add_up[triton.cdiv(width, 16),](
        partial, len(partial), *named, *widths, ROWS=128, COLUMNS=16, num_warps=8
    )


def _pieces(rows: int, at_once: int) -> tuple[int, int]:
    """Return how many programs share the rows, and how many rows each takes, a multiple of ``at_once``."""
    each = triton.cdiv(triton.cdiv(rows, MOST_PIECES), at_once) * at_once
    return triton.cdiv(rows, each), each


def _block(width: int) -> int:
    return max(16, triton.next_power_of_2(width))


def _rows_of(block: int) -> int:
    """Return how many rows a program holds at once."""
    return max(1, min(16, 2048 // block))


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
            added *= _kept(at, key0, key1, threshold, by)
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
                g *= _kept(at, key0, key1, threshold, by)
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


def _signed(noise: tuple[Any, ...]) -> tuple[Any, ...]:
    """Give keys and threshold as numbers of 32 bits with a sign, which compile to one kernel whatever they are."""
    *numbers, by = noise
    return (*(n if isinstance(n, Tensor) else n - (n >> 31 << 32) for n in numbers), by)


def _forward(
    rows: int, width: int, x: Tensor, y: Tensor, bias: Tensor, noise: tuple[Any, ...],
    gain: Tensor, shift: Tensor, epsilon: float, out: Tensor, normal: Tensor, inverse: Tensor, adds: bool, norms: bool,
) -> None:  # fmt: skip
    if rows == 0:
        return
    block = _block(width)
    at_once = _rows_of(block)
    _add_norm_forward[triton.cdiv(rows, at_once),](
        rows, x, y, bias, *_signed(noise), gain, shift, epsilon, out, normal, inverse,
        width=width, NOISE=noise[2] != 0, ADDS=adds, NORMS=norms, ROWS=at_once, BLOCK=block, num_warps=4,
    )  # fmt: skip


def _backward(
    rows: int, width: int, grad: Tensor, normal: Tensor, inverse: Tensor, noise: tuple[Any, ...],
    gain: Tensor, grad_x: Tensor, grad_y: Tensor, sums: tuple[Tensor, ...], adds: bool, norms: bool,
) -> None:  # fmt: skip
    if rows == 0:
        return
    block = _block(width)
    at_once = _rows_of(block)
    pieces, each = _pieces(rows, at_once)
    partial = torch.empty(pieces, len(sums) * width, dtype=torch.float32, device=grad.device)
    _add_norm_backward[pieces,](
        rows, each, grad, normal, inverse, *_signed(noise), gain, grad_x, grad_y, partial,
        width=width, NOISE=noise[2] != 0, NORMS=norms, ADDS=adds, ROWS=at_once, BLOCK=block, num_warps=4,
    )  # fmt: skip
    _sums(partial, *sums)


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
        kept *= _kept(at, key0, key1, threshold, by)
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
    columns = min(512, _block(width))
    at_once = 4096 // columns
    grid = (triton.cdiv(rows, at_once), triton.cdiv(width, columns))
    _relu_forward[grid](
        rows, hidden, bias, *_signed((key0, key1, threshold, by)),
        width=width, NOISE=threshold != 0, ROWS=at_once, COLUMNS=columns, num_warps=8,
    )  # fmt: skip


def relu_backward(
    rows: int, width: int, hidden: Tensor, grad: Tensor, by: float, grad_bias: Tensor
) -> None:
    if rows == 0:
        return
    columns = min(256, _block(width))
    at_once = max(1, 2048 // columns)
    pieces, each = _pieces(rows, 4 * at_once)
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
    _sums(partial, grad_bias)


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
        x *= _kept(at, key0, key1, threshold, by)
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
        g *= _kept(at, key0, key1, threshold, by)
    tl.store(out + at, g, (i[:, None] < rows) & (c < width))


def embed_forward(
    rows: int, width: int, ids: Tensor, places: Tensor, table: Tensor, positions: Tensor, scale: float,
    key0: Any, key1: Any, threshold: int, by: float, out: Tensor,
) -> None:  # fmt: skip
    if rows == 0:
        return
    block = _block(width)
    at_once = _rows_of(block)
    _embed_forward[triton.cdiv(rows, at_once),](
        rows, ids, places, table, positions, scale, *_signed((key0, key1, threshold, by)), out,
        width=width, NOISE=threshold != 0, ROWS=at_once, BLOCK=block, num_warps=4,
    )  # fmt: skip


def embed_backward(
    rows: int, width: int, ids: Tensor, grad: Tensor, scale: float,
    key0: Any, key1: Any, threshold: int, by: float, table: Tensor,
) -> None:  # fmt: skip
    if rows == 0:
        return
    vectors = torch.empty(rows, width, dtype=torch.float32, device=grad.device)
    block = _block(width)
    at_once = _rows_of(block)
    _embed_backward[triton.cdiv(rows, at_once),](
        rows, ids, grad, scale, *_signed((key0, key1, threshold, by)), vectors,
        width=width, NOISE=threshold != 0, ROWS=at_once, BLOCK=block, num_warps=4,
    )  # fmt: skip
    # Rows of one word are sorted together and added in their order; atomic additions would come in any.
    found = torch.ops.aten.embedding_dense_backward(
        vectors, ids.clamp(min=0), len(table), -1, False
    )
    table.copy_(found)


# ---------------------------------------------------------------- attention


@triton.jit
def _rows(x, i, inside, stride, c, width, bias, TYPE: tl.constexpr, by):
    """Load rows of a head, with their bias."""
    at = i[:, None].to(tl.int64) * stride + c[None, :]
    found = tl.load(x + at, inside[:, None] & (c[None, :] < width), 0.0).to(tl.float32)
    found += tl.load(bias + c, c < width, 0.0)[None, :]
    return tl.where(inside[:, None] & (c[None, :] < width), found * by, 0.0).to(TYPE)


@triton.jit
def _kept_weights(query, key, most_keys, key0, key1, threshold, by):
    """Return what the weight of each key is multiplied by, for queries that are counted through all heads."""
    place = query.to(tl.uint32)[:, None] * most_keys.to(tl.uint32) + key.to(tl.uint32)[None, :]
    return _kept(place, key0, key1, threshold, by)


@triton.jit
def _clear(out, offsets, rows, stride, width, WIDTH: tl.constexpr):
    """Write zeros into the rows behind the last sentence: each program into its share of them."""
    c = tl.arange(0, WIDTH)
    first = tl.load(offsets + tl.num_programs(0)) + tl.program_id(0)
    row = out + first.to(tl.int64) * stride + c
    for _ in range(first, rows, tl.num_programs(0)):
        tl.store(row, tl.zeros([WIDTH], out.dtype.element_ty), c < width)
        row += tl.num_programs(0) * stride


@triton.jit(do_not_specialize=["rows", "most_keys", "key0", "key1", "threshold"])
def _attention_forward(
    side, other, q, k, v, q_stride, k_stride, v_stride, q_bias, k_bias, v_bias,
    most_keys, key0, key1, threshold, by, rows, out, out_stride,
    HEADS: tl.constexpr, KEY_WIDTH: tl.constexpr, VALUE_WIDTH: tl.constexpr, CAUSAL: tl.constexpr, NOISE: tl.constexpr,
    SCALE: tl.constexpr, KEY: tl.constexpr, VALUE: tl.constexpr, BLOCK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    TYPE: tl.constexpr = q.dtype.element_ty
    sentence, head = tl.program_id(0), tl.program_id(1)
    a, b = tl.arange(0, KEY), tl.arange(0, VALUE)
    q += head * KEY_WIDTH
    k += head * KEY_WIDTH
    v += head * VALUE_WIDTH
    q_bias += head * KEY_WIDTH
    k_bias += head * KEY_WIDTH
    v_bias += head * VALUE_WIDTH
    q_first, q_last = tl.load(side + sentence), tl.load(side + sentence + 1)
    k_first, k_last = tl.load(other + sentence), tl.load(other + sentence + 1)
    for m0 in range(q_first, q_last, BLOCK):
        m = m0 + tl.arange(0, BLOCK)
        qs = _rows(q, m, m < q_last, q_stride, a, KEY_WIDTH, q_bias, TYPE, SCALE)
        top = tl.full([BLOCK], -float("inf"), tl.float32)
        total = tl.zeros([BLOCK], tl.float32)
        found = tl.zeros([BLOCK, VALUE], tl.float32)
        end = min(k_last, m0 + BLOCK) if CAUSAL else k_last
        for n0 in range(k_first, end, BLOCK):
            n = n0 + tl.arange(0, BLOCK)
            ks = _rows(k, n, n < k_last, k_stride, a, KEY_WIDTH, k_bias, TYPE, 1.0)
            vs = _rows(v, n, n < k_last, v_stride, b, VALUE_WIDTH, v_bias, TYPE, 1.0)
            seen = (n < k_last)[None, :]
            if CAUSAL:
                seen = seen & (n[None, :] <= m[:, None])
            s = tl.where(seen, tl.dot(qs, tl.trans(ks), input_precision=PRECISION), -float("inf"))
            higher = tl.maximum(top, tl.max(s, 1))
            p = tl.exp(s - higher[:, None])
            fade = tl.exp(top - higher)
            total = total * fade + tl.sum(p, 1)
            if NOISE:
                p *= _kept_weights(
                    m * HEADS + head, n - k_first, most_keys, key0, key1, threshold, by
                )
            found = found * fade[:, None] + tl.dot(p.to(TYPE), vs, input_precision=PRECISION)
            top = higher
        at = m[:, None].to(tl.int64) * out_stride + head * VALUE_WIDTH + b[None, :]
        inside = (m < q_last)[:, None] & (b < VALUE_WIDTH)[None, :]
        tl.store(out + at, (found / total[:, None]).to(TYPE), inside)
    _clear(out + head * VALUE_WIDTH, side, rows, out_stride, VALUE_WIDTH, VALUE)


@triton.jit(do_not_specialize=["rows", "key_rows", "most_keys", "key0", "key1", "threshold"])
def _attention_backward(
    side, other, q, k, v, q_stride, k_stride, v_stride, q_bias, k_bias, v_bias,
    most_keys, key0, key1, threshold, by, rows, key_rows, grad, grad_stride, grad_q, grad_k, grad_v, partial, kept,
    HEADS: tl.constexpr, KEY_WIDTH: tl.constexpr, VALUE_WIDTH: tl.constexpr, CAUSAL: tl.constexpr, NOISE: tl.constexpr,
    SCALE: tl.constexpr, KEY: tl.constexpr, VALUE: tl.constexpr, BLOCK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Queries first, whose sums over keys are kept for the second half: keys and values."""
    TYPE: tl.constexpr = q.dtype.element_ty
    sentence, head = tl.program_id(0), tl.program_id(1)
    a, b = tl.arange(0, KEY), tl.arange(0, VALUE)
    q += head * KEY_WIDTH
    k += head * KEY_WIDTH
    v += head * VALUE_WIDTH
    grad += head * VALUE_WIDTH
    grad_q += head * KEY_WIDTH
    grad_k += head * KEY_WIDTH
    grad_v += head * VALUE_WIDTH
    q_bias += head * KEY_WIDTH
    k_bias += head * KEY_WIDTH
    v_bias += head * VALUE_WIDTH
    partial += sentence * HEADS * (2 * KEY_WIDTH + VALUE_WIDTH)
    q_first, q_last = tl.load(side + sentence), tl.load(side + sentence + 1)
    k_first, k_last = tl.load(other + sentence), tl.load(other + sentence + 1)

    _clear(grad_q, side, rows, q_stride, KEY_WIDTH, KEY)
    _clear(grad_k, other, key_rows, k_stride, KEY_WIDTH, KEY)
    _clear(grad_v, other, key_rows, v_stride, VALUE_WIDTH, VALUE)
    of_bias = tl.zeros([KEY], tl.float32)
    for m0 in range(q_first, q_last, BLOCK):
        m = m0 + tl.arange(0, BLOCK)
        qs = _rows(q, m, m < q_last, q_stride, a, KEY_WIDTH, q_bias, TYPE, SCALE)
        at = m[:, None].to(tl.int64) * grad_stride + b[None, :]
        gs = tl.load(grad + at, (m < q_last)[:, None] & (b < VALUE_WIDTH)[None, :], 0.0)
        top = tl.full([BLOCK], -float("inf"), tl.float32)
        total = tl.zeros([BLOCK], tl.float32)
        along = tl.zeros([BLOCK], tl.float32)
        end = min(k_last, m0 + BLOCK) if CAUSAL else k_last
        for n0 in range(k_first, end, BLOCK):
            n = n0 + tl.arange(0, BLOCK)
            ks = _rows(k, n, n < k_last, k_stride, a, KEY_WIDTH, k_bias, TYPE, 1.0)
            vs = _rows(v, n, n < k_last, v_stride, b, VALUE_WIDTH, v_bias, TYPE, 1.0)
            seen = (n < k_last)[None, :]
            if CAUSAL:
                seen = seen & (n[None, :] <= m[:, None])
            s = tl.where(seen, tl.dot(qs, tl.trans(ks), input_precision=PRECISION), -float("inf"))
            dp = tl.dot(gs, tl.trans(vs), input_precision=PRECISION)
            if NOISE:
                dp *= _kept_weights(
                    m * HEADS + head, n - k_first, most_keys, key0, key1, threshold, by
                )
            higher = tl.maximum(top, tl.max(s, 1))
            p = tl.exp(s - higher[:, None])
            fade = tl.exp(top - higher)
            total = total * fade + tl.sum(p, 1)
            along = along * fade + tl.sum(p * dp, 1)
            top = higher
        top += tl.log(total)
        along /= total
        place = kept + 2 * (m * HEADS + head)
        tl.store(place, top, m < q_last)
        tl.store(place + 1, along, m < q_last)
        of_q = tl.zeros([BLOCK, KEY], tl.float32)
        for n0 in range(k_first, end, BLOCK):
            n = n0 + tl.arange(0, BLOCK)
            ks = _rows(k, n, n < k_last, k_stride, a, KEY_WIDTH, k_bias, TYPE, 1.0)
            vs = _rows(v, n, n < k_last, v_stride, b, VALUE_WIDTH, v_bias, TYPE, 1.0)
            seen = (n < k_last)[None, :]
            if CAUSAL:
                seen = seen & (n[None, :] <= m[:, None])
            s = tl.dot(qs, tl.trans(ks), input_precision=PRECISION)
            p = tl.where(seen, tl.exp(s - top[:, None]), 0.0)
            dp = tl.dot(gs, tl.trans(vs), input_precision=PRECISION)
            if NOISE:
                dp *= _kept_weights(
                    m * HEADS + head, n - k_first, most_keys, key0, key1, threshold, by
                )
            ds = p * (dp - along[:, None]) * SCALE
            of_q += tl.dot(ds.to(TYPE), ks, input_precision=PRECISION)
        inside = (m < q_last)[:, None] & (a < KEY_WIDTH)[None, :]
        at = m[:, None].to(tl.int64) * q_stride + a[None, :]
        tl.store(grad_q + at, of_q.to(TYPE), inside)
        of_bias += tl.sum(tl.where(inside, of_q, 0.0), 0)
    tl.store(partial + head * KEY_WIDTH + a, of_bias, a < KEY_WIDTH)

    tl.debug_barrier()  # what the first half kept is read by other threads of this program
    of_k_bias = tl.zeros([KEY], tl.float32)
    of_v_bias = tl.zeros([VALUE], tl.float32)
    for n0 in range(k_first, k_last, BLOCK):
        n = n0 + tl.arange(0, BLOCK)
        ks = _rows(k, n, n < k_last, k_stride, a, KEY_WIDTH, k_bias, TYPE, 1.0)
        vs = _rows(v, n, n < k_last, v_stride, b, VALUE_WIDTH, v_bias, TYPE, 1.0)
        of_k = tl.zeros([BLOCK, KEY], tl.float32)
        of_v = tl.zeros([BLOCK, VALUE], tl.float32)
        begin = n0 if CAUSAL else q_first
        for m0 in range(begin, q_last, BLOCK):
            m = m0 + tl.arange(0, BLOCK)
            qs = _rows(q, m, m < q_last, q_stride, a, KEY_WIDTH, q_bias, TYPE, SCALE)
            at = m[:, None].to(tl.int64) * grad_stride + b[None, :]
            gs = tl.load(grad + at, (m < q_last)[:, None] & (b < VALUE_WIDTH)[None, :], 0.0)
            place = kept + 2 * (m * HEADS + head)
            top = tl.load(place, m < q_last, 0.0)
            along = tl.load(place + 1, m < q_last, 0.0)
            seen = (n < k_last)[None, :] & (m < q_last)[:, None]
            if CAUSAL:
                seen = seen & (n[None, :] <= m[:, None])
            s = tl.dot(qs, tl.trans(ks), input_precision=PRECISION)
            p = tl.where(seen, tl.exp(s - top[:, None]), 0.0)
            dp = tl.dot(gs, tl.trans(vs), input_precision=PRECISION)
            shown = p
            if NOISE:
                factors = _kept_weights(
                    m * HEADS + head, n - k_first, most_keys, key0, key1, threshold, by
                )
                dp *= factors
                shown *= factors
            ds = p * (dp - along[:, None])
            of_v += tl.dot(tl.trans(shown.to(TYPE)), gs, input_precision=PRECISION)
            of_k += tl.dot(tl.trans(ds.to(TYPE)), qs, input_precision=PRECISION)
        inside = (n < k_last)[:, None] & (a < KEY_WIDTH)[None, :]
        at = n[:, None].to(tl.int64) * k_stride + a[None, :]
        tl.store(grad_k + at, of_k.to(TYPE), inside)
        of_k_bias += tl.sum(tl.where(inside, of_k, 0.0), 0)
        inside = (n < k_last)[:, None] & (b < VALUE_WIDTH)[None, :]
        at = n[:, None].to(tl.int64) * v_stride + b[None, :]
        tl.store(grad_v + at, of_v.to(TYPE), inside)
        of_v_bias += tl.sum(tl.where(inside, of_v, 0.0), 0)
    partial += HEADS * KEY_WIDTH
    tl.store(partial + head * KEY_WIDTH + a, of_k_bias, a < KEY_WIDTH)
    partial += HEADS * KEY_WIDTH
    tl.store(partial + head * VALUE_WIDTH + b, of_v_bias, b < VALUE_WIDTH)


@triton.jit(do_not_specialize=["rows", "key_rows", "most_keys", "key0", "key1", "threshold"])
def _attention_backward_short(
    side, other, q, k, v, q_stride, k_stride, v_stride, q_bias, k_bias, v_bias,
    most_keys, key0, key1, threshold, by, rows, key_rows, grad, grad_stride, grad_q, grad_k, grad_v, partial,
    HEADS: tl.constexpr, KEY_WIDTH: tl.constexpr, VALUE_WIDTH: tl.constexpr, CAUSAL: tl.constexpr, NOISE: tl.constexpr,
    SCALE: tl.constexpr, KEY: tl.constexpr, VALUE: tl.constexpr, BLOCK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Where all keys of a sentence are at hand at once: every weight is computed once, and nothing is kept."""
    TYPE: tl.constexpr = q.dtype.element_ty
    sentence, head = tl.program_id(0), tl.program_id(1)
    a, b = tl.arange(0, KEY), tl.arange(0, VALUE)
    q += head * KEY_WIDTH
    k += head * KEY_WIDTH
    v += head * VALUE_WIDTH
    grad += head * VALUE_WIDTH
    grad_q += head * KEY_WIDTH
    grad_k += head * KEY_WIDTH
    grad_v += head * VALUE_WIDTH
    q_bias += head * KEY_WIDTH
    k_bias += head * KEY_WIDTH
    v_bias += head * VALUE_WIDTH
    q_first, q_last = tl.load(side + sentence), tl.load(side + sentence + 1)
    k_first, k_last = tl.load(other + sentence), tl.load(other + sentence + 1)
    _clear(grad_q, side, rows, q_stride, KEY_WIDTH, KEY)
    _clear(grad_k, other, key_rows, k_stride, KEY_WIDTH, KEY)
    _clear(grad_v, other, key_rows, v_stride, VALUE_WIDTH, VALUE)
    n = k_first + tl.arange(0, BLOCK)
    ks = _rows(k, n, n < k_last, k_stride, a, KEY_WIDTH, k_bias, TYPE, 1.0)
    vs = _rows(v, n, n < k_last, v_stride, b, VALUE_WIDTH, v_bias, TYPE, 1.0)
    of_k = tl.zeros([BLOCK, KEY], tl.float32)
    of_v = tl.zeros([BLOCK, VALUE], tl.float32)
    of_q_bias = tl.zeros([BLOCK, KEY], tl.float32)
    for m0 in range(q_first, q_last, BLOCK):
        m = m0 + tl.arange(0, BLOCK)
        qs = _rows(q, m, m < q_last, q_stride, a, KEY_WIDTH, q_bias, TYPE, SCALE)
        at = m[:, None].to(tl.int64) * grad_stride + b[None, :]
        gs = tl.load(grad + at, (m < q_last)[:, None] & (b < VALUE_WIDTH)[None, :], 0.0)
        seen = (n < k_last)[None, :]
        if CAUSAL:
            seen = seen & (n[None, :] <= m[:, None])
        s = tl.where(seen, tl.dot(qs, tl.trans(ks), input_precision=PRECISION), -float("inf"))
        p = tl.exp(s - tl.max(s, 1)[:, None])
        p = tl.where((m < q_last)[:, None], p / tl.sum(p, 1)[:, None], 0.0)
        dp = tl.dot(gs, tl.trans(vs), input_precision=PRECISION)
        shown = p
        if NOISE:
            factors = _kept_weights(
                m * HEADS + head, n - k_first, most_keys, key0, key1, threshold, by
            )
            dp *= factors
            shown *= factors
        ds = p * (dp - tl.sum(p * dp, 1)[:, None])
        of_v += tl.dot(tl.trans(shown.to(TYPE)), gs, input_precision=PRECISION)
        of_k += tl.dot(tl.trans(ds.to(TYPE)), qs, input_precision=PRECISION)
        of_q = tl.dot((ds * SCALE).to(TYPE), ks, input_precision=PRECISION)
        inside = (m < q_last)[:, None] & (a < KEY_WIDTH)[None, :]
        tl.store(grad_q + m[:, None].to(tl.int64) * q_stride + a[None, :], of_q.to(TYPE), inside)
        of_q_bias += of_q
    inside = (n < k_last)[:, None] & (a < KEY_WIDTH)[None, :]
    tl.store(grad_k + n[:, None].to(tl.int64) * k_stride + a[None, :], of_k.to(TYPE), inside)
    inside = (n < k_last)[:, None] & (b < VALUE_WIDTH)[None, :]
    tl.store(grad_v + n[:, None].to(tl.int64) * v_stride + b[None, :], of_v.to(TYPE), inside)
    partial += sentence * HEADS * (2 * KEY_WIDTH + VALUE_WIDTH)
    tl.store(partial + head * KEY_WIDTH + a, tl.sum(of_q_bias, 0), a < KEY_WIDTH)
    partial += HEADS * KEY_WIDTH
    tl.store(partial + head * KEY_WIDTH + a, tl.sum(of_k, 0), a < KEY_WIDTH)
    partial += HEADS * KEY_WIDTH
    tl.store(partial + head * VALUE_WIDTH + b, tl.sum(of_v, 0), b < VALUE_WIDTH)


def _how(
    heads: int,
    key_width: int,
    value_width: int,
    longest: int,
    q: Tensor,
    causal: int,
    noise: tuple[Any, ...],
    rows_a_warp: int,
) -> dict[str, Any]:
    """Return what attention is compiled for: tiles no larger than the longest sentence needs, or than a small card has room for."""
    wide = q.element_size() * max(_block(key_width), _block(value_width))
    block = min(64 if wide <= 128 else 32 if wide <= 256 else 16, _block(longest))
    return {
        "HEADS": heads,
        "KEY_WIDTH": key_width,
        "VALUE_WIDTH": value_width,
        "CAUSAL": bool(causal),
        "NOISE": noise[2] != 0,
        "SCALE": key_width**-0.5,
        "KEY": _block(key_width),
        "VALUE": _block(value_width),
        "BLOCK": block,
        "PRECISION": "ieee" if q.dtype == torch.float32 else "tf32",
        "num_warps": max(1, block // rows_a_warp),
    }


def attention_forward(
    sentences: int, heads: int, key_width: int, value_width: int, longest: int, side: Tensor, other: Tensor,
    q: Tensor, k: Tensor, v: Tensor, q_stride: int, k_stride: int, v_stride: int,
    q_bias: Tensor, k_bias: Tensor, v_bias: Tensor, causal: int, key0: Any, key1: Any, threshold: int, by: float,
    out: Tensor, out_stride: int,
) -> None:  # fmt: skip
    noise = (key0, key1, threshold, by)
    _attention_forward[sentences, heads](
        side, other, q, k, v, q_stride, k_stride, v_stride, q_bias, k_bias, v_bias, longest, *_signed(noise), len(q),
        out, out_stride,
        **_how(heads, key_width, value_width, longest, q, causal, noise, 16),
    )  # fmt: skip


def attention_backward(
    sentences: int, heads: int, key_width: int, value_width: int, longest: int, side: Tensor, other: Tensor,
    q: Tensor, k: Tensor, v: Tensor, q_stride: int, k_stride: int, v_stride: int,
    q_bias: Tensor, k_bias: Tensor, v_bias: Tensor, causal: int, key0: Any, key1: Any, threshold: int, by: float,
    grad: Tensor, grad_stride: int, grad_q: Tensor, grad_k: Tensor, grad_v: Tensor,
    grad_q_bias: Tensor, grad_k_bias: Tensor, grad_v_bias: Tensor,
) -> None:  # fmt: skip
    noise = (key0, key1, threshold, by)
    width = heads * (2 * key_width + value_width)
    partial = torch.empty(sentences, width, dtype=torch.float32, device=q.device)
    how = _how(heads, key_width, value_width, longest, q, causal, noise, 8)
    given = (
        side, other, q, k, v, q_stride, k_stride, v_stride, q_bias, k_bias, v_bias, longest, *_signed(noise),
        len(q), len(k), grad, grad_stride, grad_q, grad_k, grad_v, partial,
    )  # fmt: skip
    if longest <= how["BLOCK"]:
        _attention_backward_short[sentences, heads](*given, **how)
    else:
        kept = torch.empty(len(q), heads, 2, dtype=torch.float32, device=q.device)
        _attention_backward[sentences, heads](*given, kept, **how)
    _sums(partial, grad_q_bias, grad_k_bias, grad_v_bias)


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
    block = min(8192, _block(vocabulary))
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
