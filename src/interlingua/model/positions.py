"""Positional encoding: Vaswani et al. 2017, section 3.5."""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

__all__ = ["LearnedPositions", "Positions", "SinusoidalPositions", "sinusoidal_table"]


def sinusoidal_table(length: int, d_model: int) -> Float[Tensor, "T D"]:
    r"""Return the fixed encodings of positions 0 to ``length`` - 1, in double precision.

    .. math::
        PE_{(pos, 2i)} = \sin(pos / 10000^{2i/D}) \qquad PE_{(pos, 2i+1)} = \cos(pos / 10000^{2i/D})

    where i counts from 0, so that the first pair has frequency 1. Sines and cosines alternate.

    Source: section 3.5.
    """
    position = torch.arange(length, dtype=torch.float64)[:, None]
    frequency = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angle = position * frequency
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)


@runtime_checkable
class Positions(Protocol):
    """What an embedding asks of positions: the vectors of ``length`` positions from ``start``."""

    def __call__(self, start: int, length: int) -> Float[Tensor, "T D"]:
        """Return one vector a position."""
        ...


class SinusoidalPositions(nn.Module):
    """The paper's fixed encodings; nothing is learned or stored."""

    table: Tensor

    def __init__(self, max_positions: int, d_model: int) -> None:
        super().__init__()
        table = sinusoidal_table(max_positions, d_model).to(torch.get_default_dtype())
        self.register_buffer("table", table, persistent=False)

    def forward(self, start: int, length: int) -> Float[Tensor, "T D"]:
        """Return the encodings of ``length`` positions from ``start``."""
        _check(start + length, self.table.size(0))
        return self.table[start : start + length]


class LearnedPositions(nn.Module):
    """One learned vector a position; Table 3, row E, finds them equal to the fixed ones."""

    def __init__(self, max_positions: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_positions, d_model))
        nn.init.normal_(self.table, std=d_model**-0.5)

    def forward(self, start: int, length: int) -> Float[Tensor, "T D"]:
        """Return the vectors of ``length`` positions from ``start``."""
        _check(start + length, self.table.size(0))
        return self.table[start : start + length]


def _check(needed: int, available: int) -> None:
    if needed > available:
        raise ValueError(
            f"a sequence of {needed} tokens is longer than the {available} positions of this model"
        )
