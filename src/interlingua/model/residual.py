"""What surrounds every sublayer: Vaswani et al. 2017, sections 3.1 and 5.4."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from jaxtyping import Float
from torch import Tensor, nn

from interlingua.model.dropout import Dropout

__all__ = ["Residual"]


class Residual(nn.Module):
    r"""Dropout, residual connection and layer normalisation around a sublayer.

    ``post`` (the paper):

    .. math:: \mathrm{LayerNorm}(x + \mathrm{dropout}(\mathrm{Sublayer}(x)))

    ``pre`` (Wang et al. 2019, "Learning Deep Transformer Models"):

    .. math:: x + \mathrm{dropout}(\mathrm{Sublayer}(\mathrm{LayerNorm}(x)))

    The normalisation is over the D features of one position, never over positions.
    """

    def __init__(self, d_model: int, dropout: float, norm: Literal["post", "pre"]) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = Dropout(dropout)
        self.pre = norm == "pre"

    def forward(
        self, x: Float[Tensor, "B T D"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "B T D"]:
        """Return x, refined by ``sublayer``."""
        if self.pre:
            return x + self.dropout(sublayer(self.norm(x)))
        normalised: Tensor = self.norm(x + self.dropout(sublayer(x)))
        return normalised

    if TYPE_CHECKING:
        __call__ = forward
