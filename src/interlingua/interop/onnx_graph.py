"""ONNX graphs, written node by node: small words for the operations that a Transformer is made of.

A graph is a text that others read (Netron draws it, compilers fold it), so every node and tensor has the name of what
it computes, and every weight is stored once.

Source: the ONNX operator specification, opset 17.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["OPSET", "GraphBuilder", "Shape", "finish"]

OPSET = 17
"""The first with LayerNormalization; onnxruntime has run it since 1.12, onnxruntime-web too."""

IR_VERSION = 8
"""The one that came with opset 17."""

Shape = Sequence[int | str]
"""Sizes; a name stands for a size that differs from call to call."""

Attributes = dict[str, Any]


@dataclass
class GraphBuilder:
    """One graph as it grows.

    ``int8`` keeps matrices in 8 bits, symmetrically, one scale a column, and multiplies them with activations that
    are cut to 8 bits as they come: what onnxruntime calls dynamic quantisation.
    """

    name: str
    int8: bool = False
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    outputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    weights: dict[str, onnx.TensorProto] = field(default_factory=dict)
    outer: "GraphBuilder | None" = None

    def branch(self, name: str) -> "GraphBuilder":
        """Begin a graph inside this one, for an ``If``; its weights are kept out here."""
        return GraphBuilder(name, self.int8, outer=self.outer or self)

    def input(self, name: str, kind: int, shape: Shape) -> str:
        """Declare what a caller gives."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        return name

    def output(self, name: str, value: str, shape: Shape) -> None:
        """Hand ``value`` (float32) out under ``name``."""
        self.op("Identity", [value], name)
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)))

    def weight(self, name: str, values: np.ndarray) -> str:
        """Keep an array; a name that is already kept is the same array."""
        kept = (self.outer or self).weights
        if name not in kept:
            kept[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name

    def integers(self, *values: int) -> str:
        """Keep a short list of int64, which shapes and axes are made of."""
        return self.weight("ints_" + "_".join(map(str, values)), np.array(values, dtype=np.int64))

    def op(
        self, kind: str, inputs: Sequence[str], name: str, attributes: Attributes | None = None
    ) -> str:
        """Add a node with one output, called like the node."""
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name, **(attributes or {})))
        return name

    def linear(
        self, x: str, name: str, weight: np.ndarray, bias: np.ndarray | None, key: str | None = None
    ) -> str:
        """Multiply (..., I) with a matrix (O, I) of torch, and add the bias; ``key`` is the weight's name."""
        key = key or name
        if not self.int8:
            y = self.op("MatMul", [x, self.weight(f"{key}.weight", weight.T)], f"{name}.product")
        else:
            codes, scales = _quantise(weight)
            matrix, scale = (
                self.weight(f"{key}.weight", codes.T),
                self.weight(f"{key}.scale", scales),
            )
            y = self._product_in_8_bits(x, matrix, scale, f"{name}.product")
        if bias is None:
            return y
        return self.op("Add", [y, self.weight(f"{key}.bias", bias)], f"{name}.sum")

    def project(self, x: str, name: str, key: str, table: np.ndarray) -> str:
        """Compare (..., D) with every row of a table (V, D), which may be the table of :meth:`look_up`."""
        if not self.int8:
            rows = self.op("Transpose", [self.weight(key, table)], f"{name}.columns", _SWAP)
            return self.op("MatMul", [x, rows], f"{name}.product")
        codes, scales = _quantise(table)
        rows = self.op("Transpose", [self.weight(key, codes)], f"{name}.columns", _SWAP)
        scale = self.weight(f"{key}.scale", scales)
        return self._product_in_8_bits(x, rows, scale, f"{name}.product")

    def look_up(self, ids: str, name: str, key: str, table: np.ndarray) -> str:
        """Take the rows (V, D) of ``ids``."""
        if not self.int8:
            return self.op("Gather", [self.weight(key, table), ids], name)
        codes, scales = _quantise(table)
        rows = self.op("Gather", [self.weight(key, codes), ids], f"{name}.codes")
        scale = self.op("Gather", [self.weight(f"{key}.scale", scales), ids], f"{name}.scales")
        scale = self.op("Unsqueeze", [scale, self.integers(-1)], f"{name}.scale")
        rows = self.op("Cast", [rows], f"{name}.float", {"to": TensorProto.FLOAT})
        middle = self.weight("codes.zero_float", np.array(_ZERO, dtype=np.float32))
        rows = self.op("Sub", [rows, middle], f"{name}.rows")
        return self.op("Mul", [rows, scale], name)

    def _product_in_8_bits(self, x: str, matrix: str, scale: str, name: str) -> str:
        parts = [f"{name}.{part}" for part in ("codes", "step", "zero")]
        self.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], parts, f"{name}.quantize"))
        codes, step, zero = parts
        middle = self.weight("codes.zero", np.array(_ZERO, dtype=np.uint8))
        whole = self.op("MatMulInteger", [codes, matrix, zero, middle], f"{name}.whole")
        whole = self.op("Cast", [whole], f"{name}.float", {"to": TensorProto.FLOAT})
        return self.op("Mul", [whole, self.op("Mul", [step, scale], f"{name}.scale")], name)


_SWAP: Attributes = {"perm": [1, 0]}
_ZERO = 128
"""The code of nought in 8 bits without a sign."""


def finish(graph: GraphBuilder, about: str) -> onnx.ModelProto:
    """Make the model of a whole graph, and have ONNX check it.

    Raises:
        onnx.checker.ValidationError: the graph is not one that the standard allows; a bug here.
    """
    model = helper.make_model(
        helper.make_graph(
            graph.nodes, graph.name, graph.inputs, graph.outputs, list(graph.weights.values())
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="interlingua",
        doc_string=about,
    )
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model, full_check=True)
    return model


def _quantise(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (rows, columns) in 8 bits without a sign, 1 to 255 around :data:`_ZERO`, and the step of each row.

    Without a sign, since onnxruntime's product of codes without by codes with one overflows its 16 bits on processors that
    have AVX2 and nothing newer.
    """
    steps = np.abs(matrix).max(axis=1) / 127
    steps = np.where(steps == 0, 1.0, steps).astype(np.float32)
    codes = (np.rint(matrix / steps[:, None]) + _ZERO).astype(np.uint8)
    return codes, steps
