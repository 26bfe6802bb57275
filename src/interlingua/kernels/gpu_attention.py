"""Attention over packed sentences on a graphics card, forward and backward: the kernels of ``attention.h`` once more, in Triton.

One program takes one head of one sentence.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from interlingua.kernels.gpu_parts import add_up, block_of, kept_or_not, signed

__all__ = ["attention_backward", "attention_forward"]


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
    return kept_or_not(place, key0, key1, threshold, by)


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
    wide = q.element_size() * max(block_of(key_width), block_of(value_width))
    block = min(64 if wide <= 128 else 32 if wide <= 256 else 16, block_of(longest))
    return {
        "HEADS": heads,
        "KEY_WIDTH": key_width,
        "VALUE_WIDTH": value_width,
        "CAUSAL": bool(causal),
        "NOISE": noise[2] != 0,
        "SCALE": key_width**-0.5,
        "KEY": block_of(key_width),
        "VALUE": block_of(value_width),
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
        side, other, q, k, v, q_stride, k_stride, v_stride, q_bias, k_bias, v_bias, longest, *signed(noise), len(q),
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
        side, other, q, k, v, q_stride, k_stride, v_stride, q_bias, k_bias, v_bias, longest, *signed(noise),
        len(q), len(k), grad, grad_stride, grad_q, grad_k, grad_v, partial,
    )  # fmt: skip
    if longest <= how["BLOCK"]:
        _attention_backward_short[sentences, heads](*given, **how)
    else:
        kept = torch.empty(len(q), heads, 2, dtype=torch.float32, device=q.device)
        _attention_backward[sentences, heads](*given, kept, **how)
    add_up(partial, grad_q_bias, grad_k_bias, grad_v_bias)
