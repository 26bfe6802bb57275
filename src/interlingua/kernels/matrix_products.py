"""The matrix products of a training step, by whichever way is the fastest.

In bfloat16, on processors that multiply pairs of them: our own (``training_products.h``), 5 to 10 % faster than oneDNN's. Intel's with tiles
for matrices (AMX), which oneDNN uses, are left to it.

torch gives products in single precision to MKL, which on processors of other makers than Intel leaves half of the
lanes unused: 110 GFLOP/s on a core of an AMD EPYC (Zen 5) that has 275, where oneDNN, the library that torch uses for
bfloat16, comes to 160 to 250. torch offers that one for single precision too, in an operator of its compiler; where
there is none, all stays with ``@``. On Intel's own processors, where MKL uses all lanes too, the two were not compared.

Whoever asks for it with ``in_integers`` gets those of bfloat16 in 8-bit integers instead (``training_integers.h``), which are 1.4 to 1.9
times as fast and one percent apart.
"""

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

from interlingua.kernels import native

__all__ = ["has_integers", "in_integers", "product", "product_over_rows"]

MOST_INPUTS = 65_536
"""Terms of a product in integers, whose sum has to fit into 32 bits."""

_rounds = ContextVar("_rounds", default=False)


@contextmanager
def in_integers(wanted: bool = True) -> Iterator[None]:
    """Compute products of bfloat16 in 8-bit integers meanwhile, backwards too; nothing else changes, and without ``wanted`` nothing does.

    Each row of ``a`` and column of ``b`` is rounded to steps of a 127th of its largest number. ``has_integers`` tells where that can be.
    """
    before = _rounds.set(wanted)
    try:
        yield
    finally:
        _rounds.reset(before)


def product(
    a: Float[Tensor, "N K"], b: Float[Tensor, "K M"], *, stochastic: bool = False
) -> Float[Tensor, "N M"]:
    """Return ``a @ b``, without a gradient; both may be transposed views, and so may be what comes out.

    ``stochastic``: in integers, round ``a`` up or down by lot, so that many small numbers beside a large one are not all lost.
    """
    if a.device.type != "cpu" or not a.numel():
        return a @ b
    if a.dtype is torch.float32 and _has_onednn():
        if a.is_contiguous() or b.numel() > a.numel():
            return _onednn(a, b)
        return _onednn(
            b.T, a.T
        ).T  # it copies a first factor that is turned over: let that be the smaller one
    if a.dtype is torch.bfloat16 and _has_pairs() and a.size(1) % 2 == 0 and a.is_contiguous():
        across = b.is_contiguous()
        if across or b.T.is_contiguous():
            out = a.new_empty(a.size(0), b.size(1))
            sizes = *out.shape, a.size(1)
            if _rounds.get() and a.size(1) <= MOST_INPUTS:
                rounding = native.function("integer_product", torch.bfloat16)
                rounding(*sizes, a, b, int(across), int(stochastic), out)
            else:
                native.function("product", torch.bfloat16)(*sizes, a, b, int(across), out)
            return out
    return a @ b


def product_over_rows(
    a: Float[Tensor, "K N"],
    b: Float[Tensor, "K M"],
    into: Float[Tensor, "N M"] | None = None,
    *,
    stochastic: bool = False,
) -> Float[Tensor, "N M"]:
    """Return ``a.T @ b`` without a gradient, in single precision at least: the gradient of a weight, summed over tokens.

    It is added to what ``into`` holds, if that is given, which is what comes out then. ``stochastic``: see ``product``.
    """
    ours = a.dtype is torch.bfloat16 and a.device.type == "cpu" and a.numel() and _has_pairs()
    if ours and a.is_contiguous() and b.is_contiguous():
        out = a.new_empty(a.size(1), b.size(1), dtype=torch.float32) if into is None else into
        sizes, adds = (*out.shape, len(a)), int(into is not None)
        if _rounds.get():
            rounding = native.function("integer_product_over_rows", torch.bfloat16)
            rounding(*sizes, a, b, int(stochastic), out, adds)
        else:
            native.function("product_over_rows", torch.bfloat16)(*sizes, a, b, out, adds)
        return out
    found = product(a.T, b).to(torch.promote_types(a.dtype, torch.float32))
    return found if into is None else into.add_(found)


def _onednn(a: Tensor, b: Tensor) -> Tensor:
    found: Tensor = torch.ops.mkldnn._linear_pointwise(a, b.T, None, "none", [], "")
    return found


@cache
def _has_onednn() -> bool:
    return (
        platform.machine() in ("x86_64", "AMD64")
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )


@cache
def has_integers() -> bool:
    """Tell whether products can be ``in_integers`` here: there are compiled kernels, and AVX-512 with VNNI and bfloat16, but no AMX."""
    return hasattr(native.library(), "integer_product_bf16")


@cache
def _has_pairs() -> bool:
    return hasattr(native.library(), "product_bf16")
