"""Does a target that is being written go round in circles?"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

__all__ = ["LONGEST_LOOP", "ends_in_repeats"]

LONGEST_LOOP = 32
"""Symbols of the longest phrase that is looked for."""


def ends_in_repeats(written: Int[Tensor, "R T"], times: int) -> Bool[Tensor, "R"]:
    """Return which rows end in some phrase of at most :data:`LONGEST_LOOP` symbols, ``times`` times in a row."""
    rows, length = written.shape
    found = torch.zeros(rows, dtype=torch.bool, device=written.device)
    for period in range(1, min(length // times, LONGEST_LOOP) + 1):
        tail = written[:, length - times * period :].reshape(rows, times, period)
        found |= (tail == tail[:, :1]).all(dim=2).all(dim=1)
    return found
