"""The Transformer without one of its parts, or with one spoilt, to see what each is for; ``training/ablation.py`` trains them.

Each builder takes what :class:`Transformer` takes. What is left computes as before, so that a difference is the part's.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from interlingua.model.architecture import Architecture
from interlingua.model.attention import MultiHeadAttention
from interlingua.model.feed_forward import FeedForward
from interlingua.model.positions import SinusoidalPositions
from interlingua.model.residual import Residual
from interlingua.model.transformer import Memory, Transformer

__all__ = [
    "with_large_positions",
    "without_cross_attention",
    "without_decoder_self_attention",
    "without_encoder_self_attention",
    "without_feed_forward",
    "without_look_ahead_mask",
    "without_normalization",
    "without_padding_mask",
    "without_positions",
    "without_residuals",
    "without_scaling",
]


class NoPositions(nn.Module):
    """Every position is told as zeros: a sentence is a bag of words to the encoder."""

    def __init__(self, max_positions: int, d_model: int) -> None:
        super().__init__()
        self.register_buffer("nothing", torch.zeros(max_positions, d_model), persistent=False)

    def forward(self, start: int, length: int) -> Float[Tensor, "T D"]:
        """Return zeros."""
        nothing: Tensor = self.get_buffer("nothing")[start : start + length]
        return nothing


class LargePositions(SinusoidalPositions):
    """Positions ten times as large as words: two words at one place are nearly the same vector."""

    def __init__(self, max_positions: int, d_model: int) -> None:
        super().__init__(max_positions, d_model)
        self.table *= 10


class UnscaledAttention(MultiHeadAttention):
    """Scores that are not divided by the root of K."""

    def weigh(
        self,
        query: Float[Tensor, "B H T K"],
        key: Float[Tensor, "B H S K"],
        mask: Bool[Tensor, "#B #H #T S"] | None,
    ) -> Float[Tensor, "B H T S"]:
        """Multiply by what is divided by."""
        return super().weigh(query * math.sqrt(query.size(-1)), key, mask)


class SilentAttention(MultiHeadAttention):
    """Looks, so that its weights can still be drawn, but adds zeros to what passes by."""

    def attend(
        self,
        queries: Float[Tensor, "B T D"],
        key: Float[Tensor, "B H S K"],
        value: Float[Tensor, "B H S Kv"],
        mask: Bool[Tensor, "#B #H #T S"] | None,
    ) -> Float[Tensor, "B T D"]:
        """Return zeros."""
        return 0.0 * super().attend(queries, key, value, mask)


class SilentFeedForward(FeedForward):
    """Adds zeros."""

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Return zeros."""
        return torch.zeros_like(x)


class Unconnected(Residual):
    """A sublayer that nothing goes around."""

    def forward(
        self, x: Float[Tensor, "B T D"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "B T D"]:
        """Return what the sublayer makes of x, without x."""
        if self.pre:
            return self.dropout(sublayer(self.norm(x)))
        normalised: Tensor = self.norm(self.dropout(sublayer(x)))
        return normalised


class Unnormalized(Residual):
    """A residual connection without layer normalisation."""

    def __init__(self, d_model: int, dropout: float, norm: Literal["post", "pre"]) -> None:
        super().__init__(d_model, dropout, norm)
        del self.norm

    def forward(
        self, x: Float[Tensor, "B T D"], sublayer: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "B T D"]:
        """Return the sum as it is."""
        return x + self.dropout(sublayer(x))


class Foreseeing(Transformer):
    """Every target position sees the whole target in training, and so the word that it should predict."""

    def decode_hidden(
        self, target_in: Int[Tensor, "B T"], memory: Memory
    ) -> Float[Tensor, "B T D"]:
        """Let padding alone stay unseen."""
        seen = (target_in != self.target_pad)[:, None, None].expand(-1, 1, target_in.size(1), -1)
        x = self.target_embedding(target_in)
        return self.decoder(x, memory.vectors, seen, memory.mask[:, None, None])


class PaddingSeen(Transformer):
    """Padding of the source is looked at like words."""

    def encode(self, source: Int[Tensor, "B S"]) -> Memory:
        """Hide nothing."""
        seen = torch.ones_like(source, dtype=torch.bool)
        return Memory(self.encoder(self.source_embedding(source), seen[:, None, None]), seen)


def _changed(change: Callable[[Transformer], None]) -> Callable[..., Transformer]:
    """Return what builds the usual model and then changes it."""

    def build(
        architecture: Architecture,
        *,
        source_vocabulary: int,
        target_vocabulary: int,
        source_pad: int = 0,
        target_pad: int = 0,
    ) -> Transformer:
        model = Transformer(
            architecture,
            source_vocabulary=source_vocabulary,
            target_vocabulary=target_vocabulary,
            source_pad=source_pad,
            target_pad=target_pad,
        )
        change(model)
        return model

    return build


def _around_sublayers(model: Transformer, kind: type[Residual]) -> None:
    """Put ``kind`` around every sublayer."""
    a = model.architecture
    for layer in (*model.encoder.layers, *model.decoder.layers):
        for name, part in list(layer.named_children()):
            if isinstance(part, Residual):
                setattr(layer, name, kind(a.d_model, a.dropout, a.norm))


def _without_normalization(model: Transformer) -> None:
    _around_sublayers(model, Unnormalized)
    model.encoder.final_norm = model.decoder.final_norm = None


def _silence(model: Transformer, stack: str, name: str) -> None:
    """Let one kind of attention of a stack look at nothing."""
    a = model.architecture
    for layer in getattr(model, stack).layers:
        silent = SilentAttention(a.d_model, a.heads, a.query_width, a.value_width)
        setattr(layer, name, silent)


with_large_positions = partial(Transformer, positions=LargePositions)
without_positions = partial(Transformer, positions=NoPositions)
without_scaling = partial(Transformer, attention=UnscaledAttention)
without_feed_forward = partial(Transformer, feed_forward=SilentFeedForward)
without_look_ahead_mask = Foreseeing
without_padding_mask = PaddingSeen
without_residuals = _changed(partial(_around_sublayers, kind=Unconnected))
without_normalization = _changed(_without_normalization)
without_encoder_self_attention = _changed(partial(_silence, stack="encoder", name="self_attention"))
without_decoder_self_attention = _changed(partial(_silence, stack="decoder", name="self_attention"))
without_cross_attention = _changed(partial(_silence, stack="decoder", name="cross_attention"))
