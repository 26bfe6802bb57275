"""Dropout: Vaswani et al. 2017, section 5.4; Srivastava et al. 2014."""

from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["Dropout"]

LEVELS = 1 << 16
"""The probability is rounded to a multiple of 1/65,536 on a CPU."""


class Dropout(nn.Module):
    """Set each number to zero with ``probability``, and scale the others so that the mean stays.

    On a CPU ``torch.nn.Dropout`` draws one double a number, which costs more than a small model's matrix
    products; here four decisions share one 64-bit draw. The generator is torch's own: a seed repeats it.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Return ``x`` itself in evaluation mode."""
        if not self.training or self.probability == 0.0:
            return x
        if x.device.type != "cpu":
            return functional.dropout(x, self.probability)
        threshold = min(round(self.probability * LEVELS), LEVELS - 1)
        draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
        kept = draws.view(torch.int16)[: x.numel()].view(x.shape) >= threshold - LEVELS // 2
        return x * (kept.to(x.dtype) * (LEVELS / (LEVELS - threshold)))

    if TYPE_CHECKING:
        __call__ = forward
