"""A splitter of sentences as an ONNX graph, in the form that Argos Translate and LibreTranslate read.

They cut every text into sentences before they translate it, with a model of MiniSBD that they fetch from the network
for each language, unless a package brings one of its own. This is one that needs no training and no network: a
sentence ends at a full stop, a question or exclamation mark or an ellipsis, with the quotes and brackets that close
after it, where a space and a capital letter follow, or a space alone in a language without capitals; and at any mark
that only ends sentences, such as those of Chinese, Hindi or Burmese.

The graph: ``units`` (B, L), ids of characters, and ``features`` (B, L, 1), whether a character is a capital, become
(B, L, 3), whose greatest is 2 at the last character of a sentence and 0 elsewhere. The metadata tells a reader which
character has which id.
"""

import json

import numpy as np
import onnx
from onnx import TensorProto

from interlingua.corpus.language_codes import two_letters
from interlingua.interop.onnx_graph import GraphBuilder, finish

__all__ = ["splitter_graph"]

_MARKS = ".!?…"
_CLOSERS = "\"'”’»)]"
_SURE_MARKS = "。！？।॥။។؟۔።፧"
"""Marks behind which no capital need follow."""
_WITHOUT_CAPITALS = {
    "am", "ar", "as", "bn", "ckb", "dv", "fa", "gu", "he", "hi", "ja", "ka", "km", "kn", "ko", "lo", "ml",
    "mr", "my", "ne", "or", "pa", "ps", "sa", "sd", "si", "ta", "te", "th", "ti", "ug", "ur", "yi", "zh",
}  # fmt: skip # codespell:ignore
"""Languages that are written without them."""
_SPACE = 2
_FIRST_MARK = 3
_FIRST_CLOSER = _FIRST_MARK + len(_MARKS)
_FIRST_SURE = _FIRST_CLOSER + len(_CLOSERS)

_BATCH, _LENGTH = "batch_size", "length"


def splitter_graph(language: str) -> onnx.ModelProto:
    """Return the model; ``language`` is the code that its metadata names."""
    graph = GraphBuilder("sentence_ends")
    units = graph.input("units", TensorProto.INT64, [_BATCH, _LENGTH])
    features = graph.input("features", TensorProto.FLOAT, [_BATCH, _LENGTH, 1])
    capital = graph.op("Squeeze", [features, graph.integers(2)], "capital.number")
    capital = graph.op("Cast", [capital], "capital", {"to": TensorProto.BOOL})
    mark = _is_between(graph, units, _FIRST_MARK, _FIRST_CLOSER, "mark")
    closer = _is_between(graph, units, _FIRST_CLOSER, _FIRST_SURE, "closer")
    sure = _is_between(graph, units, _FIRST_SURE, _FIRST_SURE + len(_SURE_MARKS), "sure_mark")
    space = _is_between(graph, units, _SPACE, _SPACE + 1, "space")
    closed = graph.op("And", [closer, _shifted(graph, mark, -1, "mark_before")], "closed")
    ends = graph.op("Or", [mark, closed], "may_end")
    begins = _shifted(graph, space, 1, "space_after")
    if two_letters(language) not in _WITHOUT_CAPITALS:
        upper = _shifted(graph, capital, 2, "capital_after_space")
        begins = graph.op("And", [begins, upper], "begins_anew")
    ends = graph.op("And", [ends, begins], "ends_here")
    ends = graph.op("Or", [ends, sure], "ends")
    number = graph.op("Cast", [ends], "ends.number", {"to": TensorProto.FLOAT})
    column = graph.op("Unsqueeze", [number, graph.integers(2)], "ends.column")
    one, zero = np.array(1, dtype=np.float32), np.array(0, dtype=np.float32)
    rest = graph.op("Sub", [graph.weight("one", one), column], "goes_on")
    nothing = graph.op("Mul", [column, graph.weight("nothing", zero)], "never")
    scores = graph.op("Concat", [rest, nothing, column], "scores", {"axis": 2})
    graph.output("predictions", scores, [_BATCH, _LENGTH, 3])
    model = finish(graph, "Interlingua: where a sentence ends, by its marks")
    onnx.helper.set_model_props(model, _metadata(language))
    return model


def _metadata(language: str) -> dict[str, str]:
    units = ["<PAD>", "<UNK>", " ", *_MARKS, *_CLOSERS, *_SURE_MARKS]
    config = {"feat_funcs": ["capitalized"], "use_dictionary": False, "num_dict_feat": 0}
    vocabulary = {
        "lang": language,
        "idx": 0,
        "cutoff": 0,
        "lower": False,
        "_unit2id": {unit: number for number, unit in enumerate(units)},
        "_id2unit": units,
    }
    return {
        "lang_code": language,
        "config": json.dumps(config),
        "vocab": json.dumps(vocabulary),
    }


def _is_between(graph: GraphBuilder, units: str, first: int, end: int, name: str) -> str:
    """Tell which ids are at least ``first`` and below ``end``."""
    low = graph.weight(f"{name}.first", np.array(first, dtype=np.int64))
    high = graph.weight(f"{name}.end", np.array(end, dtype=np.int64))
    above = graph.op("GreaterOrEqual", [units, low], f"{name}.above")
    below = graph.op("Less", [units, high], f"{name}.below")
    return graph.op("And", [above, below], name)


def _shifted(graph: GraphBuilder, flags: str, by: int, name: str) -> str:
    """Return at each character what holds ``by`` characters further on; False beyond the ends."""
    number = graph.op("Cast", [flags], f"{name}.number", {"to": TensorProto.FLOAT})
    front, back = max(-by, 0), max(by, 0)
    padded = graph.op("Pad", [number, graph.integers(0, front, 0, back)], f"{name}.padded")
    length = graph.op("Shape", [flags], f"{name}.length", {"start": 1, "end": 2})
    start = graph.integers(back)
    end = graph.op("Add", [length, start], f"{name}.end")
    cut = graph.op("Slice", [padded, start, end, graph.integers(1)], f"{name}.cut")
    return graph.op("Cast", [cut], name, {"to": TensorProto.BOOL})
