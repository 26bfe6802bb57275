"""The encoder stack: Vaswani et al. 2017, section 3.1 and the left half of Figure 1."""

from typing import TYPE_CHECKING

from jaxtyping import Bool, Float
from torch import Tensor, nn

from interlingua.model.attention import MultiHeadAttention
from interlingua.model.feed_forward import FeedForward
from interlingua.model.residual import Residual

__all__ = ["Encoder", "EncoderLayer"]


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each inside its residual connection."""

    def __init__(
        self,
        attention: MultiHeadAttention,
        feed_forward: FeedForward,
        around_attention: Residual,
        around_feed_forward: Residual,
    ) -> None:
        super().__init__()
        self.self_attention = attention
        self.feed_forward = feed_forward
        self.around_attention = around_attention
        self.around_feed_forward = around_feed_forward

    def forward(
        self, x: Float[Tensor, "B S D"], mask: Bool[Tensor, "B 1 1 S"]
    ) -> Float[Tensor, "B S D"]:
        """Refine every source position with what it sees in the others."""
        x = self.around_attention(x, lambda y: self.self_attention(y, y, mask))
        return self.around_feed_forward(x, self.feed_forward)

    if TYPE_CHECKING:
        __call__ = forward


class Encoder(nn.Module):
    """N encoder layers; ``final_norm`` only for pre-normalisation, whose sum would else go out raw."""

    def __init__(self, layers: list[EncoderLayer], final_norm: nn.LayerNorm | None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm

    def forward(
        self, x: Float[Tensor, "B S D"], mask: Bool[Tensor, "B 1 1 S"]
    ) -> Float[Tensor, "B S D"]:
        """Pass ``x`` through the stack; ``mask`` is True at real tokens."""
        for layer in self.layers:
            x = layer(x, mask)
        return x if self.final_norm is None else self.final_norm(x)

    if TYPE_CHECKING:
        __call__ = forward
