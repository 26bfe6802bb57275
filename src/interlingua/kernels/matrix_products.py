"""The matrix products of a training step, by whichever library of torch is the faster one.

torch gives products in single precision to MKL, which on processors of other makers than Intel leaves half of the
lanes unused: 110 GFLOP/s on a core of an AMD EPYC (Zen 5) that has 275, where oneDNN, the library that torch uses for
bfloat16, comes to 160 to 250. torch offers that one for single precision too, in an operator of its compiler; where
there is none, all stays with ``@``. On Intel's own processors, where MKL uses all lanes too, the two were not compared.
"""

import platform
from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["product"]


def product(a: Float[Tensor, "N K"], b: Float[Tensor, "K M"]) -> Float[Tensor, "N M"]:
    """Return ``a @ b``, without a gradient; both may be transposed views, and so may be what comes out."""
    if a.dtype is torch.float32 and a.device.type == "cpu" and a.numel() and _has_onednn():
        if a.is_contiguous() or b.numel() > a.numel():
            return _onednn(a, b)
        return _onednn(
            b.T, a.T
        ).T  # it copies a first factor that is turned over: let that be the smaller one
    return a @ b


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
