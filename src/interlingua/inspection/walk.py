"""One sentence walked through one attention head with its real numbers, down to one multiplication.

What the paper writes as equations stands here as the numbers of one translation: embeddings and positions, the query,
key and value of one head, scores, mask, softmax (with scaling and without), the weighted values, residual and norm.
Everything is computed by the model's own parts, in the order of Figure 1.
"""

import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from interlingua.errors import ConfigError
from interlingua.inspection.interventions import SwitchedAttention
from interlingua.inspection.questions import HeadName
from interlingua.inspection.steps import ids_of, plain_transformer
from interlingua.inspection.trace import Trace
from interlingua.model.attention import MultiHeadAttention
from interlingua.model.decoder import DecoderLayer
from interlingua.model.embeddings import TokenEmbedding
from interlingua.model.encoder import EncoderLayer
from interlingua.model.masks import look_ahead_mask
from interlingua.model.residual import Residual
from interlingua.model.transformer import Transformer
from interlingua.translator import Translator

__all__ = ["HeadWalk", "InputWalk", "ResidualWalk", "walk_head", "walk_input"]


@dataclass(frozen=True, slots=True, eq=False)
class InputWalk:
    """What goes into one side: section 3.4 and 3.5."""

    scale: float
    """The root of d_model, which embeddings are multiplied by."""
    embeddings: Float[np.ndarray, "T D"]
    """After the multiplication."""
    positions: Float[np.ndarray, "T D"]
    sums: Float[np.ndarray, "T D"]


@dataclass(frozen=True, slots=True, eq=False)
class ResidualWalk:
    """What happens around a sublayer at one position: section 3.1."""

    pre: bool
    """Whether the model normalises before the sublayer, not after it."""
    x: Float[np.ndarray, "D"]
    """What came in."""
    sublayer: Float[np.ndarray, "D"]
    """What the attention adds, all heads together."""
    sum: Float[np.ndarray, "D"]
    mean: float
    """Of what is normalised: the sum (post), or what came in (pre)."""
    deviation: float
    out: Float[np.ndarray, "D"]
    """What goes on."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadWalk:
    """One head of one attention: section 3.2."""

    kind: str
    layer: int
    head: int
    d_k: int
    queries_in: Float[np.ndarray, "T D"]
    """What is projected into queries."""
    memory: Float[np.ndarray, "S D"]
    """What is projected into keys and values."""
    w_query: Float[np.ndarray, "D K"]
    b_query: Float[np.ndarray, "K"]
    query: Float[np.ndarray, "T K"]
    key: Float[np.ndarray, "S K"]
    value: Float[np.ndarray, "S Kv"]
    products: Float[np.ndarray, "T S"]
    """Each query times each key."""
    may_look: tuple[tuple[bool, ...], ...]
    """The mask, with what is switched off: T rows of S."""
    weights: Float[np.ndarray, "T S"]
    """The model's own."""
    with_scaling: Float[np.ndarray, "T S"]
    """Softmax of the products over the root of d_k."""
    without_scaling: Float[np.ndarray, "T S"]
    """Softmax of the products as they are."""
    gathered: Float[np.ndarray, "T Kv"]
    """The values, weighed."""
    around: tuple[ResidualWalk, ...]
    """What happens around the whole attention, one a row."""


def walk_input(translator: Translator, trace: Trace) -> tuple[InputWalk, InputWalk]:
    """Return what goes into the encoder and into the decoder.

    Raises:
        ModelError: the model is not made of the usual layers.
    """
    model = plain_transformer(translator)
    source, target_in, _ = ids_of(trace, translator.device)
    with torch.inference_mode():
        return (
            _input(model.source_embedding, source),
            _input(model.target_embedding, target_in),
        )


def walk_head(translator: Translator, trace: Trace, which: HeadName) -> HeadWalk:
    """Return what one head computes, and what happens around its attention.

    Raises:
        ConfigError: the model has no such head, or its layer is switched off.
        ModelError: the model is not made of the usual layers.
    """
    model = plain_transformer(translator)
    layers: nn.ModuleList = (model.encoder if which.kind == "encoder" else model.decoder).layers
    if not (1 <= which.layer <= len(layers) and 1 <= which.head <= model.architecture.heads):
        raise ConfigError(
            f"there is no head {which.head} in layer {which.layer} of the {which.kind} attention"
        )
    with torch.inference_mode():
        return _walk(_arrive(model, trace, which, translator.device), which)


@dataclass(frozen=True, slots=True)
class _Arrival:
    """Where a walk stops: before one attention."""

    attention: MultiHeadAttention
    around: Residual
    x: Tensor
    memory: Tensor | None
    """None: the attention looks at what enters it."""
    mask: Tensor


def _arrive(model: Transformer, trace: Trace, which: HeadName, device: torch.device) -> _Arrival:
    """Compute up to the attention that is asked for."""
    source, target_in, _ = ids_of(trace, device)
    source_mask = torch.ones(1, 1, 1, source.size(1), dtype=torch.bool, device=device)
    if which.kind == "encoder":
        x = model.source_embedding(source)
        for layer in model.encoder.layers[: which.layer - 1]:
            x = layer(x, source_mask)
        own = _layer(model.encoder.layers, which, EncoderLayer)
        return _Arrival(own.self_attention, own.around_attention, x, None, source_mask)
    memory = model.encode(source).vectors
    target_mask = look_ahead_mask(target_in.size(1), device)[None, None]
    x = model.target_embedding(target_in)
    for layer in model.decoder.layers[: which.layer - 1]:
        x = layer(x, memory, target_mask, source_mask)
    last = _layer(model.decoder.layers, which, DecoderLayer)
    if which.kind == "decoder":
        return _Arrival(last.self_attention, last.around_self, x, None, target_mask)
    x = last.around_self(x, lambda y: last.self_attention(y, y, target_mask))
    return _Arrival(last.cross_attention, last.around_cross, x, memory, source_mask)


LayerT = TypeVar("LayerT", EncoderLayer, DecoderLayer)


def _layer(layers: nn.ModuleList, which: HeadName, kind: type[LayerT]) -> LayerT:
    layer = layers[which.layer - 1]
    if not any(hasattr(each, "self_attention") for each in layers):
        side, done = (
            ("encoder", "no source token looks at another")
            if which.kind == "encoder"
            else ("decoder", "nothing looks at the source")
        )
        raise ConfigError(
            f"every {side} layer is switched off, so {done}; switch one on to see a head of it"
        )
    if not isinstance(layer, kind) or not hasattr(layer, "self_attention"):
        raise ConfigError(
            f"layer {which.layer} of the {which.kind} is switched off: nothing happens in it"
        )
    return layer


def _walk(at: _Arrival, which: HeadName) -> HeadWalk:
    attention, pre = at.attention, at.around.pre
    queries_in = at.around.norm(at.x) if pre else at.x
    memory = queries_in if at.memory is None else at.memory
    number, heads = which.head - 1, attention.heads
    projected = attention.query(queries_in)
    width = projected.size(-1) // heads
    query = projected.unflatten(-1, (heads, width)).transpose(1, 2)
    key, value = attention.keys_and_values(memory)
    weights = attention.weigh(query, key, at.mask)[0, number]
    q, k, v = query[0, number], key[0, number], value[0, number]
    products = q @ k.T
    mask = _mask_of(attention, key, at.mask).expand(products.shape)
    own = slice(number * width, (number + 1) * width)
    added = attention(queries_in, memory, at.mask)[0]
    return HeadWalk(
        kind=which.kind,
        layer=which.layer,
        head=which.head,
        d_k=width,
        queries_in=_array(queries_in[0]),
        memory=_array(memory[0]),
        w_query=_array(attention.query.weight[own].T),
        b_query=_array(attention.query.bias[own]),
        query=_array(q),
        key=_array(k),
        value=_array(v),
        products=_array(products),
        may_look=tuple(tuple(line) for line in mask.tolist()),
        weights=_array(weights),
        with_scaling=_array(_softmax(products / math.sqrt(width), mask)),
        without_scaling=_array(_softmax(products, mask)),
        gathered=_array(weights @ v),
        around=tuple(_around(at.around, x, y) for x, y in zip(at.x[0], added, strict=True)),
    )


def _mask_of(attention: MultiHeadAttention, key: Tensor, plain: Tensor) -> Tensor:
    """Return where the one attention may look: without its mask or some words elsewhere than the model as it was trained."""
    mask = attention.mask_of(key, plain) if isinstance(attention, SwitchedAttention) else plain
    return torch.ones_like(plain[0, 0]) if mask is None else mask[0, 0]


def _softmax(scores: Float[Tensor, "T S"], mask: Tensor) -> Float[Tensor, "T S"]:
    """Weigh what may be looked at; a row with nothing to look at is zeros, as in the model."""
    return scores.masked_fill(~mask, float("-inf")).softmax(-1).nan_to_num(0.0)


def _around(around: Residual, x: Float[Tensor, "D"], sublayer: Float[Tensor, "D"]) -> ResidualWalk:
    total = x + sublayer
    normalised = x if around.pre else total
    return ResidualWalk(
        pre=around.pre,
        x=_array(x),
        sublayer=_array(sublayer),
        sum=_array(total),
        mean=float(normalised.mean()),
        deviation=float((normalised.var(unbiased=False) + around.norm.eps).sqrt()),
        out=_array(total if around.pre else around.norm(total)),
    )


def _input(embedding: TokenEmbedding, ids: Tensor) -> InputWalk:
    words = embedding.table(ids)[0] * embedding.scale
    positions = embedding.positions(0, ids.size(1))
    return InputWalk(embedding.scale, _array(words), _array(positions), _array(words + positions))


def _array(x: Tensor) -> "np.ndarray[Any, np.dtype[np.float32]]":
    array: np.ndarray[Any, np.dtype[np.float32]] = x.detach().float().cpu().numpy()
    return array
