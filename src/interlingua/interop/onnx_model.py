"""A Transformer as ONNX graphs, with the file and tensor names that transformers.js and Optimum read.

=============================  =================================================================================
``encoder_model``              ids (B, S) -> ``last_hidden_state`` (B, S, D)
``decoder_model``              a target from its beginning -> ``logits`` (B, T, V), and what later steps need
``decoder_with_past_model``    later target tokens, given what the earlier ones left
``decoder_model_merged``       both: ``use_cache_branch`` says whether there is something to continue
=============================  =================================================================================

What is kept between steps is ``past_key_values.N.decoder.key`` (B, H, T, K) of the target so far, and
``past_key_values.N.encoder.key`` (B, H, S, K) of the source, likewise ``value``; a graph returns them as ``present``.
The graphs hold the numbers of ``model/`` part by part; tests/parity compares the two.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import onnx
from onnx import TensorProto
from torch import Tensor, nn

from interlingua.interop.onnx_graph import GraphBuilder, Shape, finish
from interlingua.model.attention import MultiHeadAttention
from interlingua.model.decoder import DecoderLayer
from interlingua.model.embeddings import TokenEmbedding
from interlingua.model.encoder import EncoderLayer
from interlingua.model.feed_forward import FeedForward
from interlingua.model.positions import LearnedPositions, SinusoidalPositions
from interlingua.model.residual import Residual
from interlingua.model.transformer import Transformer

__all__ = ["DECODERS", "decoder_graph", "encoder_graph"]

Kind = Literal["decoder_model", "decoder_with_past_model", "decoder_model_merged"]

DECODERS: tuple[Kind, ...] = ("decoder_model", "decoder_with_past_model", "decoder_model_merged")

_BATCH, _SOURCE, _TARGET = "batch_size", "encoder_sequence_length", "decoder_sequence_length"
_PAST, _PRESENT = "past_decoder_sequence_length", "present_decoder_sequence_length"
_LOWEST = np.array(np.finfo(np.float32).min, dtype=np.float32)


def encoder_graph(model: Transformer, int8: bool = False) -> onnx.ModelProto:
    """Return the graph of ``encode``: ``input_ids`` and ``attention_mask`` (B, S) to ``last_hidden_state``."""
    graph = GraphBuilder("encoder_model", int8)
    width = model.architecture.d_model
    ids = graph.input("input_ids", TensorProto.INT64, [_BATCH, _SOURCE])
    mask = _source_mask(graph, graph.input("attention_mask", TensorProto.INT64, [_BATCH, _SOURCE]))
    end = _size(graph, ids, 1, "source_length")
    embedding = model.source_embedding
    x = _embed(graph, embedding, ids, (graph.integers(0), end), _table_name(model, "source"))
    for number, layer in enumerate(model.encoder.layers):
        assert isinstance(layer, EncoderLayer)
        x = _encoder_layer(graph, layer, x, mask, f"encoder.layers.{number}")
    x = _final_norm(graph, model.encoder.final_norm, x, "encoder.final_norm")
    graph.output("last_hidden_state", x, [_BATCH, _SOURCE, width])
    return finish(graph, "Interlingua: source ids to the vectors that the decoder looks at")


def decoder_graph(model: Transformer, kind: Kind, int8: bool = False) -> onnx.ModelProto:
    """Return the graph of one kind of ``decode``."""
    graph = GraphBuilder(kind, int8)
    a = model.architecture
    ids = graph.input("input_ids", TensorProto.INT64, [_BATCH, _TARGET])
    seen = graph.input("encoder_attention_mask", TensorProto.INT64, [_BATCH, _SOURCE])
    if kind != "decoder_with_past_model":
        graph.input("encoder_hidden_states", TensorProto.FLOAT, [_BATCH, _SOURCE, a.d_model])
    if kind != "decoder_model":
        _declare_past(graph, model)
    if kind == "decoder_model_merged":
        graph.input("use_cache_branch", TensorProto.BOOL, [1])
    if kind == "decoder_model":
        past = graph.integers(0)
    else:
        past = _size(graph, "past_key_values.0.decoder.key", 2, "past_length")
    end = graph.op("Add", [past, _size(graph, ids, 1, "target_length")], "present_length")
    masks = _Masks(_source_mask(graph, seen), _look_ahead_mask(graph, past, end))
    x = _embed(graph, model.target_embedding, ids, (past, end), _table_name(model, "target"))
    for number, layer in enumerate(model.decoder.layers):
        assert isinstance(layer, DecoderLayer)
        x = _decoder_layer(graph, layer, x, masks, number, kind)
    x = _final_norm(graph, model.decoder.final_norm, x, "decoder.final_norm")
    table = model.output.weight
    logits = graph.project(x, "output", _table_name(model, "output"), _array(table))
    if model.output.bias is not None:
        bias = graph.weight("output.bias", _array(model.output.bias))
        logits = graph.op("Add", [logits, bias], "output.sum")
    graph.output("logits", logits, [_BATCH, _TARGET, table.size(0)])
    return finish(graph, "Interlingua: target ids to the logits of the next")


@dataclass(frozen=True, slots=True)
class _Masks:
    """Names of the masks (bool, True where a query may look) of one graph."""

    source: str
    target: str


def _encoder_layer(graph: GraphBuilder, layer: EncoderLayer, x: str, mask: str, name: str) -> str:
    attention = layer.self_attention

    def look(y: str) -> str:
        path = f"{name}.self_attention"
        key, value = _keys_and_values(graph, attention, y, path)
        return _attend(graph, attention, y, (key, value), mask, path)

    x = _around(graph, layer.around_attention, x, look, f"{name}.around_attention")
    return _around(
        graph,
        layer.around_feed_forward,
        x,
        lambda y: _feed_forward(graph, layer.feed_forward, y, f"{name}.feed_forward"),
        f"{name}.around_feed_forward",
    )


def _decoder_layer(
    graph: GraphBuilder, layer: DecoderLayer, x: str, masks: _Masks, number: int, kind: Kind
) -> str:
    name = f"decoder.layers.{number}"

    def look_back(y: str) -> str:
        path, attention = f"{name}.self_attention", layer.self_attention
        pair = _keys_and_values(graph, attention, y, path)
        if kind != "decoder_model":
            pair = _extend(graph, pair, number, path)
        _hand_on(graph, attention, pair, f"present.{number}.decoder", _PRESENT)
        return _attend(graph, attention, y, pair, masks.target, path)

    def look_at_source(y: str) -> str:
        path, attention = f"{name}.cross_attention", layer.cross_attention
        pair = _source_keys_and_values(graph, attention, number, kind, path)
        if kind != "decoder_with_past_model":
            _hand_on(graph, attention, pair, f"present.{number}.encoder", _SOURCE)
        return _attend(graph, attention, y, pair, masks.source, path)

    x = _around(graph, layer.around_self, x, look_back, f"{name}.around_self")
    x = _around(graph, layer.around_cross, x, look_at_source, f"{name}.around_cross")
    return _around(
        graph,
        layer.around_feed_forward,
        x,
        lambda y: _feed_forward(graph, layer.feed_forward, y, f"{name}.feed_forward"),
        f"{name}.around_feed_forward",
    )


def _extend(graph: GraphBuilder, pair: tuple[str, str], number: int, path: str) -> tuple[str, str]:
    """Put the keys and values of earlier target tokens in front."""
    key, value = (
        graph.op(
            "Concat",
            [f"past_key_values.{number}.decoder.{what}", new],
            f"{path}.{what}.all",
            {"axis": 2},
        )
        for what, new in zip(("key", "value"), pair, strict=True)
    )
    return key, value


def _source_keys_and_values(
    graph: GraphBuilder, attention: MultiHeadAttention, number: int, kind: Kind, path: str
) -> tuple[str, str]:
    """Project the source, or take what an earlier step has projected."""
    kept = [f"past_key_values.{number}.encoder.{what}" for what in ("key", "value")]
    if kind == "decoder_with_past_model":
        return kept[0], kept[1]
    if kind == "decoder_model":
        return _keys_and_values(graph, attention, "encoder_hidden_states", path)
    again, first = graph.branch(f"{path}.kept"), graph.branch(f"{path}.projected")
    widths = attention.key.out_features, attention.value.out_features
    for what, width, old in zip(("key", "value"), widths, kept, strict=True):
        shape: Shape = [
            _BATCH,
            attention.heads,
            "past_encoder_sequence_length",
            width // attention.heads,
        ]
        again.output(f"{path}.kept.{what}", old, shape)
    pair = _keys_and_values(first, attention, "encoder_hidden_states", f"{path}.first", path)
    for what, width, new in zip(("key", "value"), widths, pair, strict=True):
        shape = [_BATCH, attention.heads, _SOURCE, width // attention.heads]
        first.output(f"{path}.projected.{what}", new, shape)
    return _choose(graph, again, first, path)


def _choose(
    graph: GraphBuilder, again: GraphBuilder, first: GraphBuilder, path: str
) -> tuple[str, str]:
    names = f"{path}.source.key", f"{path}.source.value"
    branches = {
        side: onnx.helper.make_graph(branch.nodes, branch.name, [], branch.outputs)
        for side, branch in (("then_branch", again), ("else_branch", first))
    }
    node = onnx.helper.make_node("If", ["use_cache_branch"], names, f"{path}.source", **branches)
    graph.nodes.append(node)
    return names


def _declare_past(graph: GraphBuilder, model: Transformer) -> None:
    """Declare what the earlier steps left, in the order in which Optimum lists it."""
    for number, layer in enumerate(model.decoder.layers):
        assert isinstance(layer, DecoderLayer)
        sides = (
            ("decoder", layer.self_attention, _PAST),
            ("encoder", layer.cross_attention, _SOURCE),
        )
        for side, attention, length in sides:
            if side == "encoder" and graph.name == "decoder_model_merged":
                length = "past_encoder_sequence_length"  # empty at the first step
            widths = attention.key.out_features, attention.value.out_features
            for what, width in zip(("key", "value"), widths, strict=True):
                graph.input(
                    f"past_key_values.{number}.{side}.{what}",
                    TensorProto.FLOAT,
                    [_BATCH, attention.heads, length, width // attention.heads],
                )


def _hand_on(
    graph: GraphBuilder,
    attention: MultiHeadAttention,
    pair: tuple[str, str],
    name: str,
    length: str,
) -> None:
    """Return keys and values, for the next step."""
    widths = attention.key.out_features, attention.value.out_features
    for what, width, value in zip(("key", "value"), widths, pair, strict=True):
        shape: Shape = [_BATCH, attention.heads, length, width // attention.heads]
        graph.output(f"{name}.{what}", value, shape)


def _keys_and_values(
    graph: GraphBuilder, attention: MultiHeadAttention, y: str, path: str, key: str | None = None
) -> tuple[str, str]:
    key = key or path
    keys = _linear(graph, attention.key, y, f"{path}.key", f"{key}.key")
    values = _linear(graph, attention.value, y, f"{path}.value", f"{key}.value")
    heads = attention.heads
    return (
        _split(graph, keys, heads, attention.key.out_features, f"{path}.key"),
        _split(graph, values, heads, attention.value.out_features, f"{path}.value"),
    )


def _attend(
    graph: GraphBuilder,
    attention: MultiHeadAttention,
    queries: str,
    pair: tuple[str, str],
    mask: str,
    path: str,
) -> str:
    """Equation 1 for every head, and their joint projection."""
    key, value = pair
    width = attention.query.out_features
    query = _linear(graph, attention.query, queries, f"{path}.query")
    query = _split(graph, query, attention.heads, width, f"{path}.query")
    root = np.array(np.sqrt(width // attention.heads), dtype=np.float32)
    query = graph.op(
        "Div",
        [query, graph.weight(f"sqrt_{width // attention.heads}", root)],
        f"{path}.query.scaled",
    )
    across = graph.op("Transpose", [key], f"{path}.key.across", {"perm": [0, 1, 3, 2]})
    scores = graph.op("MatMul", [query, across], f"{path}.scores")
    lowest = graph.weight("lowest", _LOWEST)
    scores = graph.op("Where", [mask, scores, lowest], f"{path}.scores.masked")
    weights = graph.op("Softmax", [scores], f"{path}.weights", {"axis": -1})
    heads = graph.op("MatMul", [weights, value], f"{path}.heads")
    heads = graph.op("Transpose", [heads], f"{path}.heads.last", {"perm": [0, 2, 1, 3]})
    joined = graph.op(
        "Reshape", [heads, graph.integers(0, 0, attention.value.out_features)], f"{path}.joined"
    )
    return _linear(graph, attention.output, joined, f"{path}.output")


def _feed_forward(graph: GraphBuilder, part: FeedForward, x: str, path: str) -> str:
    hidden = _linear(graph, part.inner, x, f"{path}.inner")
    if part.gate is not None:
        gate = _linear(graph, part.gate, x, f"{path}.gate")
        sigmoid = graph.op("Sigmoid", [gate], f"{path}.gate.sigmoid")
        gate = graph.op("Mul", [gate, sigmoid], f"{path}.gate.silu")
        hidden = graph.op("Mul", [gate, hidden], f"{path}.gated")
    elif part.activation == "gelu":
        hidden = _gelu(graph, hidden, path)
    elif part.activation == "swish":
        sigmoid = graph.op("Sigmoid", [hidden], f"{path}.sigmoid")
        hidden = graph.op("Mul", [hidden, sigmoid], f"{path}.swish")
    else:
        hidden = graph.op("Relu", [hidden], f"{path}.relu")
    return _linear(graph, part.outer, hidden, f"{path}.outer")


def _gelu(graph: GraphBuilder, x: str, path: str) -> str:
    """Return x (1 + erf(x / sqrt 2)) / 2."""
    root, one, half = (
        graph.weight(name, np.array(value, dtype=np.float32))
        for name, value in (("sqrt_two", np.sqrt(2)), ("one", 1), ("half", 0.5))
    )
    erf = graph.op("Erf", [graph.op("Div", [x, root], f"{path}.gelu.x")], f"{path}.gelu.erf")
    share = graph.op("Add", [erf, one], f"{path}.gelu.share")
    half_x = graph.op("Mul", [x, half], f"{path}.gelu.half")
    return graph.op("Mul", [half_x, share], f"{path}.gelu")


def _around(
    graph: GraphBuilder, part: Residual, x: str, sublayer: Callable[[str], str], path: str
) -> str:
    if part.pre:
        y = sublayer(_norm(graph, part.norm, x, path))
        return graph.op("Add", [x, y], f"{path}.sum")
    y = graph.op("Add", [x, sublayer(x)], f"{path}.sum")
    return _norm(graph, part.norm, y, path)


def _norm(graph: GraphBuilder, part: nn.LayerNorm, x: str, path: str) -> str:
    weight = graph.weight(f"{path}.norm.weight", _array(part.weight))
    bias = graph.weight(f"{path}.norm.bias", _array(part.bias))
    attributes = {"axis": -1, "epsilon": part.eps}
    return graph.op("LayerNormalization", [x, weight, bias], f"{path}.norm", attributes)


def _final_norm(graph: GraphBuilder, part: nn.LayerNorm | None, x: str, path: str) -> str:
    return x if part is None else _norm(graph, part, x, path)


def _embed(
    graph: GraphBuilder, part: TokenEmbedding, ids: str, span: tuple[str, str], key: str
) -> str:
    """Embed ids that stand at the positions from ``span[0]`` to ``span[1]``, exclusive."""
    assert isinstance(part.positions, SinusoidalPositions | LearnedPositions)
    vectors = graph.look_up(ids, "embedding", key, _array(part.table.weight))
    scale = graph.weight("sqrt_d_model", np.array(part.scale, dtype=np.float32))
    vectors = graph.op("Mul", [vectors, scale], "embedding.scaled")
    table = graph.weight("positions", _array(part.positions.table))
    places = graph.op("Slice", [table, *span, graph.integers(0)], "embedding.positions")
    return graph.op("Add", [vectors, places], "embedding.sum")


def _source_mask(graph: GraphBuilder, name: str) -> str:
    """1 and 0 (B, S) to True and False (B, 1, 1, S)."""
    wide = graph.op("Unsqueeze", [name, graph.integers(1, 2)], f"{name}.wide")
    return graph.op("Cast", [wide], f"{name}.bool", {"to": TensorProto.BOOL})


def _look_ahead_mask(graph: GraphBuilder, past: str, end: str) -> str:
    """Position i may look at positions 0 to i: (T, past + T)."""
    zero, one = graph.integers(0), graph.weight("one_step", np.array(1, dtype=np.int64))
    first = graph.weight("zero", np.array(0, dtype=np.int64))
    start = graph.op("Squeeze", [past, zero], "past_length.scalar")
    stop = graph.op("Squeeze", [end, zero], "present_length.scalar")
    queries = graph.op("Range", [start, stop, one], "query_positions")
    keys = graph.op("Range", [first, stop, one], "key_positions")
    column = graph.op("Unsqueeze", [queries, graph.integers(1)], "query_positions.column")
    return graph.op("LessOrEqual", [keys, column], "look_ahead_mask")


def _size(graph: GraphBuilder, x: str, axis: int, name: str) -> str:
    """Return one size of ``x``, as a list of one."""
    return graph.op("Shape", [x], name, {"start": axis, "end": axis + 1})


def _split(graph: GraphBuilder, x: str, heads: int, width: int, path: str) -> str:
    """B T (H K) -> B H T K."""
    split = graph.op("Reshape", [x, graph.integers(0, 0, heads, width // heads)], f"{path}.split")
    return graph.op("Transpose", [split], f"{path}.heads", {"perm": [0, 2, 1, 3]})


def _linear(graph: GraphBuilder, part: nn.Linear, x: str, name: str, key: str | None = None) -> str:
    return graph.linear(x, name, _array(part.weight), _array(part.bias), key)


def _table_name(model: Transformer, side: Literal["source", "target", "output"]) -> str:
    """Name a table; tables that are one have one name, so that a graph stores them once."""
    if side == "output" and model.output.weight is model.target_embedding.table.weight:
        side = "target"
    return "output.weight" if side == "output" else f"{side}_embedding.table"


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().float().numpy()
