"""The decoder stack: Vaswani et al. 2017, section 3.1 and the right half of Figure 1.

Training passes a whole target at once under the look-ahead mask. Search passes one token at a time and keeps
the keys and values of the earlier ones; the two give the same numbers, which a property test checks.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from interlingua.model.attention import MultiHeadAttention
from interlingua.model.feed_forward import FeedForward
from interlingua.model.residual import Residual

__all__ = ["Decoder", "DecoderLayer", "LayerCache"]


@dataclass(frozen=True, slots=True)
class LayerCache:
    """Keys and values of one decoder layer: of the source once, of the target so far."""

    source_key: Float[Tensor, "R H S K"]
    source_value: Float[Tensor, "R H S Kv"]
    target_key: Float[Tensor, "R H T K"]
    target_value: Float[Tensor, "R H T Kv"]

    def extended(self, key: Tensor, value: Tensor) -> "LayerCache":
        """Add the key and value of one more target token."""
        return LayerCache(
            self.source_key,
            self.source_value,
            torch.cat((self.target_key, key), dim=2),
            torch.cat((self.target_value, value), dim=2),
        )


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the source, then feed-forward."""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        residuals: tuple[Residual, Residual, Residual],
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.around_self, self.around_cross, self.around_feed_forward = residuals

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S D"],
        target_mask: Bool[Tensor, "#B 1 T T"],
        source_mask: Bool[Tensor, "B 1 1 S"],
    ) -> Float[Tensor, "B T D"]:
        """Refine every target position with the earlier ones and with the source."""
        x = self.around_self(x, lambda y: self.self_attention(y, y, target_mask))
        x = self.around_cross(x, lambda y: self.cross_attention(y, memory, source_mask))
        return self.around_feed_forward(x, self.feed_forward)

    def start(self, memory: Float[Tensor, "R S D"]) -> LayerCache:
        """Project the source once; no target token has been seen."""
        source_key, source_value = self.cross_attention.keys_and_values(memory)
        target_key, target_value = self.self_attention.keys_and_values(memory[:, :0])
        return LayerCache(source_key, source_value, target_key, target_value)

    def step(
        self,
        x: Float[Tensor, "R 1 D"],
        cache: LayerCache,
        source_mask: Bool[Tensor, "R 1 1 S"],
    ) -> tuple[Float[Tensor, "R 1 D"], LayerCache]:
        """Refine the newest position only."""

        def look_back(y: Tensor) -> Tensor:
            nonlocal cache
            cache = cache.extended(*self.self_attention.keys_and_values(y))
            return self.self_attention.attend(y, cache.target_key, cache.target_value, None)

        def look_at_source(y: Tensor) -> Tensor:
            return self.cross_attention.attend(y, cache.source_key, cache.source_value, source_mask)

        x = self.around_self(x, look_back)
        x = self.around_cross(x, look_at_source)
        return self.around_feed_forward(x, self.feed_forward), cache

    if TYPE_CHECKING:
        __call__ = forward


class Decoder(nn.Module):
    """M decoder layers; ``final_norm`` only for pre-normalisation."""

    def __init__(self, layers: list[DecoderLayer], final_norm: nn.LayerNorm | None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S D"],
        target_mask: Bool[Tensor, "#B 1 T T"],
        source_mask: Bool[Tensor, "B 1 1 S"],
    ) -> Float[Tensor, "B T D"]:
        """Pass a whole target through the stack."""
        for layer in self.layers:
            x = layer(x, memory, target_mask, source_mask)
        return x if self.final_norm is None else self.final_norm(x)

    def start(self, memory: Float[Tensor, "R S D"]) -> tuple[LayerCache, ...]:
        """Prepare every layer for step-by-step search."""
        return tuple(layer.start(memory) for layer in self._typed_layers())

    def step(
        self,
        x: Float[Tensor, "R 1 D"],
        caches: tuple[LayerCache, ...],
        source_mask: Bool[Tensor, "R 1 1 S"],
    ) -> tuple[Float[Tensor, "R 1 D"], tuple[LayerCache, ...]]:
        """Pass one more token through the stack."""
        extended = []
        for layer, cache in zip(self._typed_layers(), caches, strict=True):
            x, cache = layer.step(x, cache, source_mask)
            extended.append(cache)
        return (x if self.final_norm is None else self.final_norm(x)), tuple(extended)

    def _typed_layers(self) -> list[DecoderLayer]:
        return [layer for layer in self.layers if isinstance(layer, DecoderLayer)]

    if TYPE_CHECKING:
        __call__ = forward
