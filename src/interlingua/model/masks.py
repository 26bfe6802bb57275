"""Who may look at whom: Vaswani et al. 2017, section 3.2.3. True means "may look"."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

__all__ = ["look_ahead_mask", "padding_mask"]


def padding_mask(ids: Int[Tensor, "B S"], pad_id: int) -> Bool[Tensor, "B S"]:
    """Return True where there is a token, False where there is only padding."""
    return ids != pad_id


def look_ahead_mask(length: int, device: torch.device | None = None) -> Bool[Tensor, "T T"]:
    """Return the lower triangle: position i may look at positions 0 to i, never ahead."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()
