"""A folder of Marian itself, ``model.npz`` with its vocabularies, as one of ours.

What is read is the layout that Marian's source writes (``transformer.h``), its options from ``special:model.yml`` inside the
archive. No Marian was at hand when this was written: it is held to other readers of the same files, and not to Marian.

Marian's sines and cosines are not quite the paper's: their wavelengths run to 10000 in D/2 - 1 steps (Tensor2Tensor's
way), not D/2, and that is enough to change some translations. So the table comes along, as positions of the model's own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from interlingua.checkpoints.untrusted import (
    LARGEST_VOCABULARY,
    check_shapes,
    check_table_size,
    read_file,
)
from interlingua.config import DecodingConfig
from interlingua.errors import ModelError
from interlingua.interop.foreign_model import ForeignModel, with_another_row
from interlingua.interop.marian_options import MarianOptions, read_options
from interlingua.interop.marian_vocabularies import read_vocabularies
from interlingua.interop.marian_yaml import Setting, read_settings
from interlingua.interop.npz_file import ArrayHeader, npz_headers, read_array
from interlingua.model.architecture import Architecture, Tie
from interlingua.model.transformer import Transformer

__all__ = ["find_npz", "marian_positions", "read_marian_npz"]

OPTIONS = "special:model.yml"
MAX_POSITIONS = 1024
"""Marian has no limit; this is that of a model trained here."""

_REMARK = (
    "read by the documented layout of Marian's files and never compared with Marian itself, which was not at hand: "
    "translate some sentences with both"
)
_PARTS = {"query": "q", "key": "k", "value": "v", "output": "o"}


def find_npz(folder: Path) -> Path | None:
    """Return the weights of a Marian folder: the file that its decoder settings name, or the only one.

    Raises:
        ModelError: there are several, and nothing tells which.
    """
    found = sorted(each for each in folder.glob("*.npz") if ".optimizer." not in each.name)
    if len(found) < 2:
        return found[0] if found else None
    told = _decoder_settings(folder).get("models", [])
    names = {Path(each).name for each in (told if isinstance(told, list) else [told])}
    chosen = [each for each in found if each.name in names] or [
        each for each in found if each.name == "model.npz"
    ]
    if len(chosen) != 1:
        raise ModelError(
            f"{folder}: holds {len(found)} .npz files; keep one, or name one under models: in decoder.yml"
        )
    return chosen[0]


def read_marian_npz(folder: Path, path: Path, target_tag: str | None = None) -> ForeignModel:
    """Read the weights in ``path`` and the vocabularies beside it.

    Raises:
        ModelError: damaged, hostile, or not the paper's architecture, and why.
        TokenizerError: a SentencePiece model that cannot be read.
    """
    headers = npz_headers(path)
    options = read_options(_options_in(path, headers), f"{path}, {OPTIONS}")
    check_table_size(path, MAX_POSITIONS, options.d_model)
    tables = _Tables.find(path, headers)
    a = _architecture(options, tables, has_bias="decoder_ff_logit_out_b" in headers)
    _check(path, headers, a, tables)
    told = _decoder_settings(folder)
    tokenizers, tag, remarks = read_vocabularies(
        folder, told.get("vocabs", []), tables.rows, target_tag
    )
    weights = {
        place.ours: _tensor(path, place, headers[place.theirs]) for place in _places(a, tables)
    }
    a, weights = with_another_row(a, weights)
    for side in ("source", "target"):
        weights[f"{side}_embedding.positions.table"] = marian_positions(MAX_POSITIONS, a.d_model)
    return ForeignModel(
        program="Marian",
        architecture=a,
        weights=weights,
        tokenizers=tokenizers,
        decoding=_decoding(told),
        max_length=512,
        source_lang=None,
        target_lang=tag.strip("<>") or None,
        remarks=(_REMARK, *remarks),
    )


def marian_positions(length: int, d_model: int) -> Tensor:
    """Return Marian's encodings of positions (T, D) in single precision: sines in one half, cosines in the other.

    Source: ``sinusoidalPositionEmbeddings`` in Marian's ``node_initializers.cpp``.
    """
    half = d_model // 2
    steps = torch.arange(half, dtype=torch.float64) / max(half - 1, 1)
    angle = torch.arange(length, dtype=torch.float64)[:, None] * 10000.0**-steps
    return torch.cat((angle.sin(), angle.cos()), dim=1).float()


@dataclass(frozen=True, slots=True)
class _Tables:
    """Where the embeddings are, and how many pieces they have."""

    source: str
    target: str
    output: str | None
    """None where the output is the target's table."""
    rows: tuple[int, int]

    @classmethod
    def find(cls, path: Path, headers: Mapping[str, ArrayHeader]) -> "_Tables":
        shared = "Wemb" in headers
        names = ("Wemb", "Wemb") if shared else ("encoder_Wemb", "decoder_Wemb")
        rows = []
        for name in names:
            shape = headers[name].shape if name in headers else None
            if shape is None or len(shape) != 2 or not 1 <= shape[0] <= LARGEST_VOCABULARY:
                raise ModelError(f"{path}: lacks the table {name!r}, or it has no two axes")
            rows.append(shape[0])
        outputs = ("decoder_ff_logit_out_W", "decoder_ff_logit_out_Wt")
        output = next((name for name in outputs if name in headers), None)
        return cls(*names, output, (rows[0], rows[1]))


@dataclass(frozen=True, slots=True)
class _Place:
    """One parameter here and there; matrices lie the other way there, tables do not."""

    ours: str
    theirs: str
    is_transposed: bool = False
    is_row: bool = False
    """Whether a vector is a matrix of one row there."""


def _places(a: Architecture, tables: _Tables) -> Iterator[_Place]:
    yield _Place("source_embedding.table.weight", tables.source)
    if a.tie != "three-way":
        yield _Place("target_embedding.table.weight", tables.target)
    if tables.output is not None:
        yield _Place("output.weight", tables.output, is_transposed=tables.output.endswith("_W"))
    if a.output_bias:
        yield _Place("output.bias", "decoder_ff_logit_out_b", is_row=True)
    pre = "_pre" if a.norm == "pre" else ""
    for side, layers in (("encoder", a.encoder_layers), ("decoder", a.decoder_layers)):
        for number in range(layers):
            yield from _layer(side, f"{side}.layers.{number}", f"{side}_l{number + 1}", pre)
        if pre:
            yield from _norm(f"{side}.final_norm", f"{side}_top_ln", "")


def _layer(side: str, ours: str, theirs: str, pre: str) -> Iterator[_Place]:
    blocks = [("self_attention", "around_attention", "self")]
    if side == "decoder":
        blocks = [
            ("self_attention", "around_self", "self"),
            ("cross_attention", "around_cross", "context"),
        ]
    for mine, around, his in blocks:
        for part, letter in _PARTS.items():
            yield from _linear(f"{ours}.{mine}.{part}", f"{theirs}_{his}", letter)
        yield from _norm(f"{ours}.{around}.norm", f"{theirs}_{his}_Wo_ln", pre)
    for part, letter in (("inner", "1"), ("outer", "2")):
        yield from _linear(f"{ours}.feed_forward.{part}", f"{theirs}_ffn", letter)
    yield from _norm(f"{ours}.around_feed_forward.norm", f"{theirs}_ffn_ffn_ln", pre)


def _linear(ours: str, theirs: str, letter: str) -> Iterator[_Place]:
    yield _Place(f"{ours}.weight", f"{theirs}_W{letter}", is_transposed=True)
    yield _Place(f"{ours}.bias", f"{theirs}_b{letter}", is_row=True)


def _norm(ours: str, theirs: str, suffix: str) -> Iterator[_Place]:
    yield _Place(f"{ours}.weight", f"{theirs}_scale{suffix}", is_row=True)
    yield _Place(f"{ours}.bias", f"{theirs}_bias{suffix}", is_row=True)


def _architecture(options: MarianOptions, tables: _Tables, *, has_bias: bool) -> Architecture:
    tie: Tie = "three-way" if tables.source == tables.target else "target"
    if tables.output is not None:
        tie = "none"
    return Architecture(
        encoder_layers=options.layers[0],
        decoder_layers=options.layers[1],
        d_model=options.d_model,
        d_ff=options.d_ff,
        heads=options.heads,
        activation=options.activation,
        norm=options.norm,
        positions="learned",
        max_positions=MAX_POSITIONS,
        tie=tie,
        output_bias=has_bias,
    )


def _check(
    path: Path, headers: Mapping[str, ArrayHeader], a: Architecture, tables: _Tables
) -> None:
    """Compare names, shapes and types with what the options promise, before anything is read."""
    with torch.device("meta"):
        ours = Transformer(a, source_vocabulary=tables.rows[0], target_vocabulary=tables.rows[1])
    parameters = {name: tuple(each.shape) for name, each in ours.named_parameters()}
    wanted = {}
    for place in _places(a, tables):
        shape = parameters[place.ours]
        row = (1, *shape) if place.is_row else shape
        wanted[place.theirs] = shape[::-1] if place.is_transposed else row
    check_shapes(path, {n: h.shape for n, h in headers.items()}, wanted, OPTIONS)
    if extra := sorted(headers.keys() - wanted.keys() - {OPTIONS}):
        raise ModelError(
            f"{path}: holds {extra[0][:80]!r}, which the Transformer of the paper has not"
        )
    for name in wanted:
        if headers[name].dtype.kind != "f":
            raise ModelError(
                f"{path}: {name!r} holds {headers[name].dtype}, not floating-point numbers; "
                "take the model as it was before it was quantised"
            )


def _tensor(path: Path, place: _Place, header: ArrayHeader) -> Tensor:
    array = read_array(path, place.theirs, header).astype("float32")
    tensor = torch.from_numpy(array)
    if place.is_row:
        return tensor[0].contiguous()
    return (tensor.T if place.is_transposed else tensor).contiguous()


def _options_in(path: Path, headers: Mapping[str, ArrayHeader]) -> str:
    """Return the options as Marian stores them: bytes, ended by NUL."""
    header = headers.get(OPTIONS)
    if header is None or header.dtype.itemsize != 1 or len(header.shape) != 1:
        raise ModelError(
            f"{path}: has no {OPTIONS}, which Marian writes into each model; fetch the model again"
        )
    if header.shape[0] > 1 << 20:
        raise ModelError(f"{path}: its {OPTIONS} has {header.shape[0]:,} bytes")
    content = read_array(path, OPTIONS, header).tobytes().split(b"\0", 1)[0]
    return content.decode("utf-8", errors="replace")


def _decoder_settings(folder: Path) -> dict[str, Setting]:
    """Read how Marian's decoder was told to search, if a file tells."""
    for path in (folder / "decoder.yml", *sorted(folder.glob("*.decoder.yml"))):
        if path.exists():
            text = read_file(path, 1 << 20).decode("utf-8", errors="replace")
            return read_settings(text, str(path))
    return {}


def _decoding(told: Mapping[str, Any]) -> DecodingConfig:
    """Search as the folder asks; the length penalty there divides by length^alpha, ours by its like."""
    beam, alpha = str(told.get("beam-size", "")), str(told.get("normalize", ""))
    penalty = float(alpha) if alpha.replace(".", "", 1).isdecimal() and len(alpha) < 9 else 1.0
    return DecodingConfig(
        beam_size=min(max(int(beam), 1), 16) if beam.isdecimal() and len(beam) < 9 else 6,
        length_penalty=penalty if 0 <= penalty <= 3 else 1.0,
    )
