"""The trace: one translation with everything that the model looked at, in one versioned record.

The command line, a server, a page and a notebook all draw from this record, so that they show the same numbers.
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from interlingua.decoding.held_model import evaluating
from interlingua.decoding.protocol import TeacherForcedModel
from interlingua.decoding.score import score_pairs
from interlingua.errors import ConfigError, ModelError
from interlingua.inspection.interventions import SwitchedTransformer
from interlingua.inspection.questions import AttentionKind
from interlingua.model.attention import MultiHeadAttention
from interlingua.model.attention_maps import AttentionMaps, record_attention
from interlingua.model.labeller import Labeller
from interlingua.model.language_model import LanguageModel
from interlingua.model.recurrent import RecurrentModel
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.translator import Translator

__all__ = [
    "TRACE_VERSION",
    "AttentionKind",
    "AttentionMap",
    "Trace",
    "TraceToken",
    "trace_translation",
]

TRACE_VERSION = 1
"""Grows when a reader of older traces would misread a newer one."""


@dataclass(frozen=True, slots=True)
class TraceToken:
    """One token, and where it stands in the text."""

    text: str
    """Its piece of the vocabulary."""
    id: int
    start: int
    """First character that it covers in :attr:`Trace.source` or :attr:`Trace.target`."""
    end: int
    """One beyond the last; the same as ``start`` for the end symbol."""


@dataclass(frozen=True, slots=True, eq=False)
class AttentionMap:
    """The weights of one layer: ``weights[h, t, s]`` is how much head h at row t looks at column s.

    Columns are the source tokens (``encoder``, ``cross``), or the begin symbol and the target tokens but the last
    (``decoder``). Rows are the source tokens (``encoder``), or the target tokens that are being predicted.
    """

    kind: AttentionKind
    layer: int
    """Counted from 1 within its kind, from the input up."""
    module: str
    """Its name in the model, ``decoder.layers.0.cross_attention``."""
    weights: Float[np.ndarray, "H T S"]


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """One translation, opened up."""

    version: int
    source_lang: str
    target_lang: str
    source: str
    """The source text as the tokenizer reads it (normalised); the offsets of its tokens point into it."""
    target: str
    """The target text; the offsets of its tokens point into it."""
    source_tokens: tuple[TraceToken, ...]
    """With the end symbol."""
    target_tokens: tuple[TraceToken, ...]
    """With the end symbol, unless the model was cut off before it wrote one."""
    begin: TraceToken
    """What the decoder reads before the first target token."""
    log_probabilities: tuple[float, ...]
    """Of each target token, given the source and the target tokens before it."""
    flags: tuple[str, ...]
    """``truncated-source``, ``truncated-target``; ``max-length``: the model did not end it."""
    attention: tuple[AttentionMap, ...]
    """Nothing for a recurrent model without attention, and where every layer is switched off."""

    def maps(self, kind: AttentionKind) -> tuple[AttentionMap, ...]:
        """Return the layers of one kind, from the input up."""
        return tuple(map for map in self.attention if map.kind == kind)

    @property
    def target_inputs(self) -> tuple[TraceToken, ...]:
        """What the decoder read: the begin symbol, and the target without its last token."""
        return (self.begin, *self.target_tokens[:-1])

    def to_dict(self) -> dict[str, Any]:
        """Return the record in the types of JSON."""
        content = {
            name: getattr(self, name)
            for name in ("version", "source_lang", "target_lang", "source", "target")
        }
        content["source_tokens"] = [asdict(token) for token in self.source_tokens]
        content["target_tokens"] = [asdict(token) for token in self.target_tokens]
        content["begin"] = asdict(self.begin)
        content["log_probabilities"] = list(self.log_probabilities)
        content["flags"] = list(self.flags)
        content["attention"] = [
            {
                "kind": map.kind,
                "layer": map.layer,
                "module": map.module,
                "weights": _shortest(map.weights),
            }
            for map in self.attention
        ]
        return {"format": "interlingua-trace"} | content

    def to_json(self) -> str:
        """Return the record as ``trace.json`` holds it."""
        return json.dumps(self.to_dict(), ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Trace":
        """Read what :meth:`to_json` wrote.

        Raises:
            ModelError: the text is no trace, or one of a version that is not known here.
        """
        try:
            content = json.loads(text)
            if content["format"] != "interlingua-trace":
                raise ValueError(f"its format is {content['format']!r}")
            version = int(content["version"])
            if version > TRACE_VERSION:
                raise ModelError(
                    f"the trace has version {version}, and this program reads up to {TRACE_VERSION}; "
                    "use a newer interlingua"
                )
            return cls(
                version=version,
                source_lang=content["source_lang"],
                target_lang=content["target_lang"],
                source=content["source"],
                target=content["target"],
                source_tokens=tuple(TraceToken(**token) for token in content["source_tokens"]),
                target_tokens=tuple(TraceToken(**token) for token in content["target_tokens"]),
                begin=TraceToken(**content["begin"]),
                log_probabilities=tuple(map(float, content["log_probabilities"])),
                flags=tuple(content["flags"]),
                attention=tuple(_read_map(entry) for entry in content["attention"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise ModelError(f"this is not a whole trace ({error!r}); inspect again") from error


def trace_translation(translator: Translator, text: str, target: str | None = None) -> Trace:
    """Translate ``text``, or take ``target`` as its translation, and record what the model looked at.

    The target is read once more as in training, all tokens at once, which gives the same numbers as the search
    that wrote it.

    Raises:
        ConfigError: ``text`` holds nothing to translate.
        ModelError: the model has no attention to record, or gives not-a-number.
        TokenizerError: a text holds half a surrogate pair.
    """
    model, read = translator.model, translator.tokenizers.source
    if not isinstance(model, nn.Module) or not isinstance(model, TeacherForcedModel):
        raise ModelError(
            f"a {type(model).__name__} cannot be inspected: it is not a model that reads whole targets"
        )
    if isinstance(model, LanguageModel | Labeller):
        raise ModelError(
            f"a model of the kind {model.architecture.kind} has no decoder that looks at a source, so that there is no "
            "attention between two texts to show"
        )
    encoding, room = read.encode(text), translator.max_source_length - 1
    if not text.strip() or not encoding.ids:
        raise ConfigError("the text is empty; give a sentence to inspect")
    flags = ["truncated-source"] if len(encoding.ids) > room else []
    source_ids = [*encoding.ids[:room], read.end_id]
    source = read.normalise(text)
    written = _search(translator, text) if target is None else _given(translator, target)
    log_probabilities, maps = _read_again(translator, source_ids, written.ids)
    return Trace(
        version=TRACE_VERSION,
        source_lang=translator.source_lang,
        target_lang=translator.target_lang,
        source=source,
        target=written.text,
        source_tokens=_tokens(read, source_ids, [*encoding.offsets[:room], _end_of(source)]),
        target_tokens=_tokens(translator.tokenizers.target, written.ids, written.offsets),
        begin=_tokens(
            translator.tokenizers.target, [translator.tokenizers.target.begin_id], [(0, 0)]
        )[0],
        log_probabilities=tuple(log_probabilities),
        flags=(*flags, *written.flags),
        attention=tuple(_name_maps(maps)),
    )


@dataclass(frozen=True, slots=True)
class _Written:
    """A target, with its end symbol where it has one."""

    text: str
    ids: list[int]
    offsets: list[tuple[int, int]]
    flags: tuple[str, ...]


def _search(translator: Translator, text: str) -> _Written:
    found = translator.translate([text])[0]
    tokenizer = translator.tokenizers.target
    ids = _ids_of(tokenizer, found.text, found.tokens)
    offsets = _offsets_by_decoding(tokenizer, ids, found.text)
    flags = ("max-length",) if found.stopped == "max_length" else ()
    if not flags:
        ids, offsets = [*ids, tokenizer.end_id], [*offsets, _end_of(found.text)]
    return _Written(found.text, ids, offsets, flags)


def _given(translator: Translator, target: str) -> _Written:
    tokenizer, room = translator.tokenizers.target, translator.max_source_length - 1
    encoding, text = tokenizer.encode(target), tokenizer.normalise(target)
    return _Written(
        text,
        [*encoding.ids[:room], tokenizer.end_id],
        [*encoding.offsets[:room], _end_of(text)],
        ("truncated-target",) if len(encoding.ids) > room else (),
    )


def _read_again(
    translator: Translator, source_ids: list[int], target_ids: list[int]
) -> tuple[list[float], AttentionMaps]:
    """Pass the pair through the model once, teacher-forced; return log-probabilities and maps."""
    model, tokenizer = translator.model, translator.tokenizers.target
    assert isinstance(model, nn.Module)
    with evaluating(model), torch.inference_mode(), record_attention(model) as maps:
        scores = score_pairs(
            model,
            torch.tensor([source_ids], device=translator.device),
            torch.tensor([[tokenizer.begin_id, *target_ids[:-1]]], device=translator.device),
            torch.tensor([target_ids], device=translator.device),
            pad_id=tokenizer.pad_id,
        )
    log_probabilities = scores[0].tolist()
    if not any(maps.values()) and not _has_none(model):
        raise ModelError(
            "the model has no attention to record; a variant derives from MultiHeadAttention "
            "and lets its weights pass through self.dropout"
        )
    if not math.isfinite(math.fsum(log_probabilities)):
        raise ModelError(
            "the model gives not-a-number or no chance at all to this translation; "
            "its weights are damaged: take an earlier checkpoint"
        )
    return log_probabilities, maps


def _has_none(model: nn.Module) -> bool:
    """Tell whether the model was made without attention, or every layer is switched off: there is nothing to miss."""
    if isinstance(model, SwitchedTransformer):
        return not any(isinstance(part, MultiHeadAttention) for part in model.modules())
    return isinstance(model, RecurrentModel) and not model.architecture.looks_at_source


def _name_maps(maps: AttentionMaps) -> Iterator[AttentionMap]:
    """Give every recorded call its kind and its layer; a layer that was never called has no map.

    A layer has the number that its name has, whatever of its neighbours was skipped; one that is called again and again
    counts on.
    """
    layers: dict[AttentionKind, int] = {"encoder": 0, "decoder": 0, "cross": 0}
    for module, calls in maps.items():
        kind: AttentionKind = "encoder" if module.startswith("encoder") else "decoder"
        if "cross" in module:
            kind = "cross"
        named = re.search(r"layers\.(\d+)\.", module)
        if named and len(calls) == 1:
            layers[kind] = int(named[1])
        for weights in calls:
            layers[kind] += 1
            yield AttentionMap(kind, layers[kind], module, _as_array(weights[0]))


def _as_array(weights: Tensor) -> Float[np.ndarray, "H T S"]:
    array: np.ndarray[Any, np.dtype[np.float32]] = weights.float().cpu().numpy()
    return array


def _tokens(
    tokenizer: Tokenizer, ids: Sequence[int], offsets: Sequence[tuple[int, int]]
) -> tuple[TraceToken, ...]:
    return tuple(
        TraceToken(text, id, start, end)
        for text, id, (start, end) in zip(tokenizer.tokens(ids), ids, offsets, strict=True)
    )


def _end_of(text: str) -> tuple[int, int]:
    return len(text), len(text)


def _ids_of(tokenizer: Tokenizer, text: str, pieces: Sequence[str]) -> list[int]:
    """Return the ids of the pieces that search wrote, which need not be how ``text`` would be cut."""
    usual = list(tokenizer.encode(text).ids)
    if tokenizer.tokens(usual) == list(pieces):
        return usual
    every = tokenizer.all_tokens()
    numbers = {piece: id for id, piece in reversed(list(enumerate(every)))}
    return [numbers[piece] for piece in pieces]


def _offsets_by_decoding(
    tokenizer: Tokenizer, ids: Sequence[int], text: str
) -> list[tuple[int, int]]:
    """Return the span of ``text`` that each id adds; those that spell one character together all have that character's span.

    Where a prefix of ``ids`` ends within a character, its text ends in U+FFFD, and only what stands before that is known.
    """
    spans, done, broken = [], 0, "\N{REPLACEMENT CHARACTER}"
    for number in range(1, len(ids) + 1):
        decoded = tokenizer.decode(ids[:number])
        is_half = decoded.endswith(broken)
        is_within = is_half and not text.startswith(decoded)
        known = len(decoded.rstrip(broken)) if is_within else len(decoded)
        end = min(known + 1 if is_within else known, len(text))
        # More of a character that never becomes whole: it is in the text as U+FFFD already.
        begins = done - 1 if is_half and done == end > 0 else min(done, end)
        spans.append((begins, end))
        done = min(known, end)
    return spans


def _shortest(weights: Float[np.ndarray, "H T S"]) -> Any:
    """Round to 7 decimals, finer than single precision near 1, so that the file holds no noise."""
    return np.round(weights.astype(np.float64), 7).tolist()


def _read_map(entry: dict[str, Any]) -> AttentionMap:
    if entry["kind"] not in ("encoder", "decoder", "cross"):
        raise ValueError(f"an attention of the kind {entry['kind']!r}")
    weights = np.asarray(entry["weights"], dtype=np.float32)
    return AttentionMap(entry["kind"], int(entry["layer"]), str(entry["module"]), weights)
