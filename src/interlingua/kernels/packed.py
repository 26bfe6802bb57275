r"""A training step of the paper's Transformer on real tokens only: the plain model's numbers, without its padding.

The sentences of a batch lie one after the other, (M, D) with M tokens in all, so that everything position-wise costs
nothing for padding; attention finds its sentence by offsets. Between two matrix products there is one kernel of
``training.cpp`` that reads and writes each number once: bias, dropout, residual and normalisation together, bias and ReLU
together, and the whole of attention for one sentence and head in the processor's cache. Dropout masks are never stored:
a decision is a hash of its place, and is drawn again on the way back.

The plain reference is ``model/``, whose parameters these functions read; tests/parity/test_packed.py compares the two.
"""

from collections.abc import Callable, Iterator
from typing import TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor, nn

from interlingua.batching.batch import Batch
from interlingua.kernels import devices
from interlingua.kernels.packing import Packed, pack
from interlingua.kernels.projected_cross_entropy import projected_cross_entropy, projected_r_drop
from interlingua.kernels.sublayers import (
    Add,
    AddNorm,
    Attention,
    Embed,
    FeedForwardProducts,
    How,
    Key,
    Noise,
    Norm,
    Product,
)
from interlingua.model.attention import MultiHeadAttention
from interlingua.model.decoder import Decoder, DecoderLayer
from interlingua.model.dropout import Dropout
from interlingua.model.embeddings import TokenEmbedding
from interlingua.model.encoder import Encoder, EncoderLayer
from interlingua.model.feed_forward import FeedForward
from interlingua.model.low_rank import LowRankLinear
from interlingua.model.positions import SinusoidalPositions
from interlingua.model.residual import Residual
from interlingua.model.transformer import Transformer

__all__ = ["can_pack", "draw_keys", "loss_of_packed", "packed_loss", "packed_sides"]

_OUR_PARTS = {
    *(Transformer, Encoder, EncoderLayer, Decoder, DecoderLayer, MultiHeadAttention, FeedForward),
    *(LowRankLinear, Residual, TokenEmbedding, SinusoidalPositions, Dropout),
    *(nn.ModuleList, nn.Linear, nn.Embedding, nn.LayerNorm),
}


def can_pack(model: nn.Module, device: torch.device, dtype: torch.dtype) -> TypeGuard[Transformer]:
    """Tell whether ``packed_loss`` computes what this model computes.

    It does so for the paper's model where there are kernels: of our own parts, without hooks, normalised after or before each sublayer.
    """
    return (
        type(model) is Transformer
        and model.architecture.activation == "relu"
        and devices.has_room(
            device, dtype, max(model.architecture.query_width, model.architecture.value_width)
        )
        and _has_the_last_norms(model)
        and all(_is_ours(part) for part in model.modules() if part is not model.output)
        and all(parameter.dtype == torch.float32 for parameter in model.parameters())
        and devices.is_available(device, dtype)
    )


def packed_loss(
    model: Transformer, batch: Batch, epsilon: float, dtype: torch.dtype, alpha: float = 0.0
) -> Float[Tensor, ""]:
    """Return what the plain model's loss of a batch is, summed over its target tokens, in nats.

    Args:
        model: one that ``can_pack``.
        batch: what it should learn; in main memory, wherever the model is, so that padding is left behind there.
        epsilon: label smoothing.
        dtype: of matrix products and of what is kept between them.
        alpha: above 0, the batch passes twice: see ``projected_r_drop``.

    Raises:
        ValueError: lengths that do not fit the width of the batch.
        IndexError: an id that is not in the vocabulary.
    """
    device = model.output.weight.device
    source, target, wanted = (
        side.to(device) for side in packed_sides(model, batch, twice=alpha > 0.0)
    )
    return loss_of_packed(model, source, target, wanted, epsilon, dtype, alpha, _keys())


def packed_sides(
    model: Transformer, batch: Batch, *, twice: bool = False
) -> tuple[Packed, Packed, Packed]:
    """Return what is read, what is written so far, and what should be written next; with ``twice`` the first two passes of it."""
    source_words = model.source_embedding.table.num_embeddings
    target_words = model.target_embedding.table.num_embeddings
    wanted = pack(batch.target_out, batch.target_lengths, target_words)
    if twice:
        batch = batch.twice()
    source = pack(batch.source, batch.source_lengths, source_words)
    return source, pack(batch.target_in, batch.target_lengths, target_words), wanted


def loss_of_packed(
    model: Transformer,
    source: Packed,
    target: Packed,
    wanted: Packed,
    epsilon: float,
    dtype: torch.dtype,
    alpha: float,
    keys: Iterator[Key],
) -> Float[Tensor, ""]:
    """Return the loss of sides that lie where the model is; ``keys`` decide what dropout drops, two for each place of it."""
    device = model.output.weight.device
    with torch.autocast(device.type, enabled=False):
        step = _Step(dtype, model.architecture.norm, keys)
        x = step.embed(model.source_embedding, source)
        for layer in model.encoder.layers:
            assert isinstance(layer, EncoderLayer)
            x = _encode(step, layer, x, source)
        memory = step.norm(x, model.encoder.final_norm)
        x = step.embed(model.target_embedding, target)
        for layer in model.decoder.layers:
            assert isinstance(layer, DecoderLayer)
            x = _decode(step, layer, x, memory, target, source)
        x = step.norm(x, model.decoder.final_norm)
        words, bias = model.output.weight, model.output.bias
        if alpha:
            fill = (0, 0, 0, len(wanted.ids) - wanted.count)
            halves = x[: target.count].chunk(2)
            x = torch.cat([nn.functional.pad(half, fill) for half in halves])
            return projected_r_drop(x, words, wanted.ids, epsilon, alpha, bias=bias)
        return projected_cross_entropy(x, words, wanted.ids, epsilon, bias=bias)


def _encode(step: "_Step", layer: EncoderLayer, x: Tensor, side: Packed) -> Tensor:
    def look(y: Tensor) -> tuple[Tensor, Tensor]:
        return step.attend(layer.self_attention, (y, side), (y, side))

    x = step.around(x, layer.around_attention, look)
    return step.around(
        x, layer.around_feed_forward, lambda y: step.feed_forward(y, layer.feed_forward)
    )


def _decode(
    step: "_Step", layer: DecoderLayer, x: Tensor, memory: Tensor, side: Packed, other: Packed
) -> Tensor:
    def look_back(y: Tensor) -> tuple[Tensor, Tensor]:
        return step.attend(layer.self_attention, (y, side), (y, side), causal=True)

    def look_at_source(y: Tensor) -> tuple[Tensor, Tensor]:
        return step.attend(layer.cross_attention, (y, side), (memory, other))

    x = step.around(x, layer.around_self, look_back)
    x = step.around(x, layer.around_cross, look_at_source)
    return step.around(
        x, layer.around_feed_forward, lambda y: step.feed_forward(y, layer.feed_forward)
    )


class _Step:
    """The sublayers of the model on packed rows; each reads the parameters of its plain twin.

    With the norm before each sublayer the sums between them are kept in single precision, because nothing
    normalises them on their way.
    """

    def __init__(self, dtype: torch.dtype, norm: str, keys: Iterator[Key]) -> None:
        self.dtype = dtype
        self.pre = norm == "pre"
        self.keys = keys

    def embed(self, part: TokenEmbedding, side: Packed) -> Tensor:
        positions = part.positions(0, side.longest)
        noise, dtype = self._noise(part.dropout), torch.float32 if self.pre else self.dtype
        return Embed.apply(part.table.weight, positions, side, part.scale, noise, dtype)  # type: ignore[no-untyped-call]

    def around(
        self, x: Tensor, part: Residual, sublayer: Callable[[Tensor], tuple[Tensor, Tensor]]
    ) -> Tensor:
        """Return x, refined by a sublayer, which leaves its last bias to be added here."""
        y, bias = sublayer(self.norm(x, part.norm) if self.pre else x)
        noise, norm = self._noise(part.dropout), part.norm
        if self.pre:
            return Add.apply(x, y, bias, noise)  # type: ignore[no-untyped-call]
        return AddNorm.apply(x, y, bias, norm.weight, norm.bias, norm.eps, noise)  # type: ignore[no-untyped-call]

    def norm(self, x: Tensor, part: nn.LayerNorm | None) -> Tensor:
        if part is None:
            return x
        return Norm.apply(x, part.weight, part.bias, part.eps, self.dtype)  # type: ignore[no-untyped-call]

    def attend(
        self,
        part: MultiHeadAttention,
        queries: tuple[Tensor, Packed],
        memory: tuple[Tensor, Packed],
        causal: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Let one side look at the other, or at itself: then queries, keys and values are one product."""
        (x, side), (y, other) = queries, memory
        kv = None
        if x is y:
            q = self._product(x, part.query, part.key, part.value)
        else:
            q, kv = self._product(x, part.query), self._product(y, part.key, part.value)
        sizes = part.heads, part.query.out_features, part.value.out_features
        how = How(side, other, *sizes, causal, self._noise(part.dropout))
        heads = Attention.apply(q, kv, part.query.bias, part.key.bias, part.value.bias, how)  # type: ignore[no-untyped-call]
        return self._product(heads, part.output), part.output.bias

    def feed_forward(self, x: Tensor, part: FeedForward) -> tuple[Tensor, Tensor]:
        y = FeedForwardProducts.apply(  # type: ignore[no-untyped-call]
            x, part.inner.weight, part.inner.bias, part.outer.weight, self._noise(part.dropout)
        )
        return y, part.outer.bias

    def _product(self, x: Tensor, *parts: nn.Linear) -> Tensor:
        return Product.apply(x, *(part.weight for part in parts))  # type: ignore[no-untyped-call]

    def _noise(self, part: Dropout) -> Noise:
        if not part.training or part.probability == 0.0:
            return 0, 0, 0, 1.0
        threshold = min(round(part.probability * 2**32), 2**32 - 1)
        return next(self.keys), next(self.keys), threshold, 2**32 / (2**32 - threshold)


def draw_keys() -> list[int]:
    """Draw some keys from torch's generator."""
    return torch.randint(2**32, (128,)).tolist()


def _keys() -> Iterator[int]:
    while True:
        yield from draw_keys()


def _is_ours(part: nn.Module) -> bool:
    """Tell whether a part is one of those that are read here, whole, and nobody listens to it."""
    whole = not isinstance(part, nn.Linear | nn.LayerNorm) or part.bias is not None
    hooks = (
        *(part._forward_hooks, part._forward_pre_hooks),
        *(part._backward_hooks, part._backward_pre_hooks),
    )
    return type(part) in _OUR_PARTS and whole and not any(hooks)


def _has_the_last_norms(model: Transformer) -> bool:
    """Tell whether the stacks end as the architecture says: with a norm of their own if there is none after."""
    wanted = model.architecture.norm == "pre"
    return all((stack.final_norm is not None) is wanted for stack in (model.encoder, model.decoder))
