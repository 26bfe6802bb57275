r"""A training step of the paper's Transformer on real tokens only: the plain model's numbers, without its padding.

The sentences of a batch lie one after the other, (M, D) with M tokens in all, so that everything position-wise costs
nothing for padding; attention finds its sentence by offsets. Between two matrix products there is one kernel of
``native.cpp`` that reads and writes each number once: bias, dropout, residual and normalisation together, bias and ReLU
together, and the whole of attention for one sentence and head in the processor's cache. Dropout masks are never stored:
a decision is a hash of its place, and is drawn again on the way back.

The plain reference is ``model/``, whose parameters these functions read; tests/parity/test_packed.py compares the two.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from interlingua.batching.batch import Batch
from interlingua.kernels import native
from interlingua.kernels.projected_cross_entropy import projected_cross_entropy, projected_r_drop
from interlingua.model.attention import MultiHeadAttention
from interlingua.model.decoder import Decoder, DecoderLayer
from interlingua.model.dropout import Dropout
from interlingua.model.embeddings import TokenEmbedding
from interlingua.model.encoder import Encoder, EncoderLayer
from interlingua.model.feed_forward import FeedForward
from interlingua.model.positions import SinusoidalPositions
from interlingua.model.residual import Residual
from interlingua.model.transformer import Transformer

__all__ = ["Packed", "can_pack", "pack", "packed_loss"]

ROWS = 128
"""Rows are filled up to a multiple of this: oneDNN compiles a kernel for every new shape, which costs more."""

_OUR_PARTS = {
    *(Transformer, Encoder, EncoderLayer, Decoder, DecoderLayer, MultiHeadAttention, FeedForward),
    *(Residual, TokenEmbedding, SinusoidalPositions, Dropout),
    *(nn.ModuleList, nn.Linear, nn.Embedding, nn.LayerNorm),
}


def can_pack(model: nn.Module, device: torch.device, dtype: torch.dtype) -> bool:
    """Tell whether ``packed_loss`` computes what this model computes.

    It does so for the paper's model on a CPU: of our own parts, without hooks, normalised after each sublayer.
    """
    return (
        type(model) is Transformer
        and device.type == "cpu"
        and dtype in native.DTYPES
        and model.architecture.norm == "post"
        and model.architecture.activation == "relu"
        and model.encoder.final_norm is None
        and model.decoder.final_norm is None
        and all(_is_ours(part) for part in model.modules() if part is not model.output)
        and all(parameter.dtype == torch.float32 for parameter in model.parameters())
        and native.is_available()
    )


def packed_loss(
    model: Transformer, batch: Batch, epsilon: float, dtype: torch.dtype, alpha: float = 0.0
) -> Float[Tensor, ""]:
    """Return what the plain model's loss of a batch is, summed over its target tokens, in nats.

    Args:
        model: one that ``can_pack``.
        batch: what it should learn.
        epsilon: label smoothing.
        dtype: of matrix products and of what is kept between them.
        alpha: above 0, the batch passes twice: see ``projected_r_drop``.

    Raises:
        ValueError: lengths that do not fit the width of the batch.
        IndexError: an id that is not in the vocabulary.
    """
    source_words = model.source_embedding.table.num_embeddings
    target_words = model.target_embedding.table.num_embeddings
    wanted = pack(batch.target_out, batch.target_lengths, target_words)
    if alpha:
        batch = batch.twice()
    source = pack(batch.source, batch.source_lengths, source_words)
    target = pack(batch.target_in, batch.target_lengths, target_words)
    with torch.autocast("cpu", enabled=False):
        step = _Step(dtype)
        x = step.embed(model.source_embedding, source)
        for layer in model.encoder.layers:
            assert isinstance(layer, EncoderLayer)
            x = step.self_attention(x, layer.self_attention, layer.around_attention, source, False)
            x = step.feed_forward(x, layer.feed_forward, layer.around_feed_forward)
        memory, x = x, step.embed(model.target_embedding, target)
        for layer in model.decoder.layers:
            assert isinstance(layer, DecoderLayer)
            x = step.self_attention(x, layer.self_attention, layer.around_self, target, True)
            x = step.cross_attention(
                x, memory, layer.cross_attention, layer.around_cross, target, source
            )
            x = step.feed_forward(x, layer.feed_forward, layer.around_feed_forward)
        if alpha:
            fill = (0, 0, 0, len(wanted.ids) - wanted.count)
            halves = x[: target.count].chunk(2)
            x = torch.cat([nn.functional.pad(half, fill) for half in halves])
            return projected_r_drop(x, model.output.weight, wanted.ids, epsilon, alpha)
        return projected_cross_entropy(x, model.output.weight, wanted.ids, epsilon)


@dataclass(frozen=True, slots=True)
class Packed:
    """Sentences one after the other, filled up to a multiple of ``ROWS``.

    Attributes:
        ids: one a token; -1 where there is none.
        places: the position of each token in its sentence.
        offsets: sentence b has the rows from ``offsets[b]`` to ``offsets[b + 1]``.
        count: rows that hold a token.
        longest: tokens of the longest sentence.
    """

    ids: Int[Tensor, "M"]
    places: Int[Tensor, "M"]
    offsets: Int[Tensor, "B1"]
    count: int
    longest: int


def pack(ids: Int[Tensor, "B L"], lengths: Int[Tensor, "B"], vocabulary: int) -> Packed:
    """Leave the padding out; the kernels rely on what is checked here.

    Raises:
        ValueError: lengths that do not fit the width of the batch.
        IndexError: an id that is not in the vocabulary.
    """
    columns = torch.arange(ids.size(1), dtype=torch.int32).expand_as(ids)
    real = columns < lengths[:, None]
    flat = ids[real]
    count = flat.numel()
    if count != int(lengths.sum()):
        raise ValueError(f"lengths up to {int(lengths.max())} in a batch of width {ids.size(1)}")
    if count and not 0 <= int(flat.min()) <= int(flat.max()) < vocabulary:
        raise IndexError(f"an id is outside the vocabulary of {vocabulary} entries")
    rows = -(-count // ROWS) * ROWS
    return Packed(
        ids=nn.functional.pad(flat, (0, rows - count), value=-1),
        places=nn.functional.pad(columns[real], (0, rows - count)),
        offsets=nn.functional.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0)),
        count=count,
        longest=ids.size(1),
    )


Noise = tuple[int, int, int, float]
"""Two keys, the threshold below which a draw of 32 bits drops, and the scale of what is kept."""


class _Step:
    """The sublayers of the model on packed rows; each reads the parameters of its plain twin."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.keys = _keys()

    def embed(self, part: TokenEmbedding, side: Packed) -> Tensor:
        positions = part.positions(0, side.longest)
        noise = self._noise(part.dropout)
        return _Embed.apply(part.table.weight, positions, side, part.scale, noise, self.dtype)  # type: ignore[no-untyped-call]

    def self_attention(
        self, x: Tensor, part: MultiHeadAttention, around: Residual, side: Packed, causal: bool
    ) -> Tensor:
        qkv = self._product(x, part.query, part.key, part.value)
        return self._finish_attention(x, qkv, None, part, around, side, side, causal)

    def cross_attention(
        self,
        x: Tensor,
        memory: Tensor,
        part: MultiHeadAttention,
        around: Residual,
        side: Packed,
        other: Packed,
    ) -> Tensor:
        q, kv = self._product(x, part.query), self._product(memory, part.key, part.value)
        return self._finish_attention(x, q, kv, part, around, side, other, False)

    def feed_forward(self, x: Tensor, part: FeedForward, around: Residual) -> Tensor:
        y = _FeedForward.apply(  # type: ignore[no-untyped-call]
            x, part.inner.weight, part.inner.bias, part.outer.weight, self._noise(part.dropout)
        )
        return self._add_norm(x, y, part.outer, around)

    def _finish_attention(
        self,
        x: Tensor,
        q: Tensor,
        kv: Tensor | None,
        part: MultiHeadAttention,
        around: Residual,
        side: Packed,
        other: Packed,
        causal: bool,
    ) -> Tensor:
        sizes = part.heads, part.query.out_features, part.value.out_features
        how = _How(side, other, *sizes, causal, self._noise(part.dropout))
        heads = _Attention.apply(  # type: ignore[no-untyped-call]
            q, kv, part.query.bias, part.key.bias, part.value.bias, how
        )
        return self._add_norm(x, self._product(heads, part.output), part.output, around)

    def _product(self, x: Tensor, *parts: nn.Linear) -> Tensor:
        return _Product.apply(x, *(part.weight for part in parts))  # type: ignore[no-untyped-call]

    def _add_norm(self, x: Tensor, y: Tensor, last: nn.Linear, around: Residual) -> Tensor:
        norm = around.norm
        return _AddNorm.apply(  # type: ignore[no-untyped-call]
            x, y, last.bias, norm.weight, norm.bias, norm.eps, self._noise(around.dropout)
        )

    def _noise(self, part: Dropout) -> Noise:
        if not part.training or part.probability == 0.0:
            return 0, 0, 0, 1.0
        threshold = min(round(part.probability * 2**32), 2**32 - 1)
        return next(self.keys), next(self.keys), threshold, 2**32 / (2**32 - threshold)


def _keys() -> Iterator[int]:
    """Draw keys from torch's generator, many at a time."""
    while True:
        yield from torch.randint(2**32, (128,)).tolist()


class _Product(torch.autograd.Function):
    """x times the transposes of some weights, side by side: one product of matrices for several."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *weights: Tensor) -> Tensor:
        joined = (weights[0] if len(weights) == 1 else torch.cat(weights)).to(x.dtype)
        ctx.save_for_backward(x, joined)
        ctx.sizes = [len(weight) for weight in weights]
        return x @ joined.T

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        x, joined = ctx.saved_tensors
        return grad @ joined, *torch.split(_weight_gradient(grad, x), ctx.sizes)


class _Embed(torch.autograd.Function):
    """The rows of a table, scaled, plus positions."""

    @staticmethod
    def forward(
        ctx: Any,
        table: Tensor,
        positions: Tensor,
        side: Packed,
        scale: float,
        noise: Noise,
        dtype: torch.dtype,
    ) -> Tensor:
        out = torch.empty(len(side.ids), table.size(1), dtype=dtype)
        native.function("embed_forward", dtype)(
            *out.shape, side.ids, side.places, table, positions.float(), scale, *noise, out
        )
        ctx.side, ctx.scale, ctx.noise, ctx.words = side, scale, noise, len(table)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grad = grad.contiguous()
        table = torch.zeros(ctx.words, grad.size(1), dtype=torch.float32)
        native.function("embed_backward", grad.dtype)(
            *grad.shape, ctx.side.ids, grad, ctx.scale, *ctx.noise, table
        )
        return table, *[None] * 5


@dataclass(frozen=True, slots=True)
class _How:
    """All that attention needs to know beside its tensors; widths are those of all heads together."""

    side: Packed
    other: Packed
    heads: int
    key_width: int
    value_width: int
    causal: bool
    noise: Noise


class _Attention(torch.autograd.Function):
    """All heads of all sentences; ``q`` holds keys and values too when there is no ``kv``."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        kv: Tensor | None,
        query_bias: Tensor,
        key_bias: Tensor,
        value_bias: Tensor,
        how: _How,
    ) -> Tensor:
        ctx.save_for_backward(q, kv, query_bias, key_bias, value_bias)
        ctx.how = how
        out = torch.empty(len(q), how.value_width, dtype=q.dtype)
        out[how.side.count :] = 0
        native.function("attention_forward", q.dtype)(
            *_described(how, q, kv, (query_bias, key_bias, value_bias)), out, out.stride(0)
        )
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grad, how = grad.contiguous(), ctx.how
        q, kv, *biases = ctx.saved_tensors
        grad_q = torch.empty_like(q)
        grad_q[how.side.count :] = 0
        grad_kv = None
        if kv is not None:
            grad_kv = torch.empty_like(kv)
            grad_kv[how.other.count :] = 0
        grad_biases = [torch.zeros_like(bias) for bias in biases]
        native.function("attention_backward", grad.dtype)(
            *_described(how, q, kv, biases),
            *(grad, grad.stride(0), grad_q, *_views(grad_q, grad_kv, how.key_width), *grad_biases),
        )
        return grad_q, grad_kv, *grad_biases, None


def _described(
    how: _How, q: Tensor, kv: Tensor | None, biases: Sequence[Tensor]
) -> tuple[Any, ...]:
    """Give the arguments that both directions of attention begin with."""
    key, value = _views(q, kv, how.key_width)
    return (
        *(len(how.side.offsets) - 1, how.heads),
        *(how.key_width // how.heads, how.value_width // how.heads),
        *(how.other.longest, how.side.offsets, how.other.offsets, q, key, value),
        *(q.stride(0), key.stride(0), value.stride(0), *biases),
        *(int(how.causal), *how.noise),
    )


class _AddNorm(torch.autograd.Function):
    """LayerNorm(x + dropout(y + bias))."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        y: Tensor,
        bias: Tensor,
        gain: Tensor,
        shift: Tensor,
        epsilon: float,
        noise: Noise,
    ) -> Tensor:
        out, normal = torch.empty_like(x), torch.empty_like(x)
        inverse = torch.empty(len(x), dtype=torch.float32)
        native.function("add_norm_forward", x.dtype)(
            *x.shape, x, y, bias, *noise, gain, shift, epsilon, out, normal, inverse
        )
        ctx.save_for_backward(normal, inverse, gain)
        ctx.noise = noise
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        normal, inverse, gain = ctx.saved_tensors
        grad = grad.contiguous()
        grad_x = torch.empty_like(grad)
        grad_y = torch.empty_like(grad) if ctx.noise[2] else None
        grad_gain, grad_shift, grad_bias = torch.zeros(3, grad.size(1), dtype=torch.float32)
        native.function("add_norm_backward", grad.dtype)(
            *grad.shape,
            *(grad, normal, inverse, *ctx.noise, gain, grad_x, grad_y),
            *(grad_gain, grad_shift, grad_bias),
        )
        into_y = grad_x if grad_y is None else grad_y
        return grad_x, into_y, grad_bias, grad_gain, grad_shift, None, None


class _FeedForward(torch.autograd.Function):
    """dropout(max(0, x W1 + b1)) W2; the last bias is added with the residual."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, inner: Tensor, bias: Tensor, outer: Tensor, noise: Noise
    ) -> Tensor:
        inner, outer = inner.to(x.dtype), outer.to(x.dtype)
        hidden = x @ inner.T
        native.function("relu_forward", x.dtype)(*hidden.shape, hidden, bias, *noise)
        ctx.save_for_backward(x, hidden, inner, outer)
        ctx.scale = noise[3]
        return hidden @ outer.T

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, hidden, inner, outer = ctx.saved_tensors
        grad_outer = _weight_gradient(grad, hidden)
        grad_hidden = grad @ outer
        grad_bias = torch.zeros(hidden.size(1), dtype=torch.float32)
        native.function("relu_backward", x.dtype)(
            *hidden.shape, hidden, grad_hidden, ctx.scale, grad_bias
        )
        return (
            grad_hidden @ inner,
            _weight_gradient(grad_hidden, x),
            grad_bias,
            grad_outer,
            None,
        )


def _weight_gradient(grad: Tensor, x: Tensor) -> Tensor:
    return (grad.T @ x).float()


def _views(q: Tensor, kv: Tensor | None, key_width: int) -> tuple[Tensor, Tensor]:
    """Find keys and values: behind the queries, or in a tensor of their own."""
    if kv is None:
        return q[:, key_width : 2 * key_width], q[:, 2 * key_width :]
    return kv[:, :key_width], kv[:, key_width:]


def _is_ours(part: nn.Module) -> bool:
    """Tell whether a part is one of those that are read here, whole, and nobody listens to it."""
    whole = not isinstance(part, nn.Linear | nn.LayerNorm) or part.bias is not None
    hooks = (
        *(part._forward_hooks, part._forward_pre_hooks),
        *(part._backward_hooks, part._backward_pre_hooks),
    )
    return type(part) in _OUR_PARTS and whole and not any(hooks)
