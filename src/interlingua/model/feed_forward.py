"""Position-wise feed-forward networks: Vaswani et al. 2017, section 3.3."""

from typing import TYPE_CHECKING, Literal

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from interlingua.model.dropout import Dropout

__all__ = ["FeedForward"]


class FeedForward(nn.Module):
    r"""Two linear maps with a non-linearity between, the same at every position.

    .. math:: \mathrm{FFN}(x) = \max(0, x W_1 + b_1) W_2 + b_2

    ``gelu`` and ``swish`` (:math:`x \,\sigma(x)`) replace the maximum; ``swiglu`` is :math:`(\mathrm{silu}(x W_g) \odot (x W_1)) W_2`
    (Shazeer 2020, "GLU Variants Improve Transformer").

    Source: section 3.3, equation 2.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        activation: Literal["relu", "gelu", "swish", "swiglu"] = "relu",
        activation_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.activation = activation
        self.inner = nn.Linear(d_model, d_ff)
        self.gate = nn.Linear(d_model, d_ff) if activation == "swiglu" else None
        self.outer = nn.Linear(d_ff, d_model)
        self.dropout = Dropout(activation_dropout)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Transform each position on its own."""
        hidden = self.inner(x)
        if self.gate is not None:
            hidden = functional.silu(self.gate(x)) * hidden
        elif self.activation == "gelu":
            hidden = functional.gelu(hidden)
        elif self.activation == "swish":
            hidden = functional.silu(hidden)
        else:
            hidden = functional.relu(hidden)
        return self.outer(self.dropout(hidden))

    if TYPE_CHECKING:
        __call__ = forward
