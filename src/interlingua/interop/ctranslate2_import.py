"""A folder of CTranslate2, quantised or not, as one of ours.

What the quantisation rounded away does not come back: an int8 model is imported as what its integers stand for.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from interlingua.checkpoints.untrusted import (
    check_table_size,
    check_vocabulary,
    read_file,
    read_json,
)
from interlingua.config import DecodingConfig
from interlingua.errors import ModelError
from interlingua.interop.ctranslate2_file import read_variables
from interlingua.interop.foreign_model import (
    ForeignModel,
    choose_tag,
    language_or_none,
    sinusoids,
    with_another_row,
)
from interlingua.interop.marian_layout import correspondence, in_turn
from interlingua.model.architecture import Activation, Architecture, Tie
from interlingua.tokenization import TokenizerPair
from interlingua.tokenization.pair import SHARED_NAME, SOURCE_NAME
from interlingua.tokenization.renumbered import RenumberedTokenizer, is_tag
from interlingua.tokenization.sentencepiece_model import read_sentencepiece
from interlingua.tokenization.vocabulary import Specials

__all__ = ["read_ctranslate2"]

_ACTIVATIONS: dict[int, Activation] = {0: "relu", 2: "swish", 3: "gelu"}
_MUST_BE_ZERO = ("alibi", "multi_query_attention")

_LINEAR = r"(weight|weight_scale|bias)"
_KNOWN = re.compile(
    r"(encoder|decoder)/("
    r"num_heads|pre_norm|activation|embeddings_merge|scale_embeddings|scale_outputs|alignment_layer|alignment_heads"
    r"|multi_query_attention|alibi|alibi_use_positive_positions|scale_alibi|start_from_zero_embedding"
    rf"|embeddings(_0)?/{_LINEAR}|position_encodings/encodings|projection/{_LINEAR}|layer_norm/(gamma|beta)"
    rf"|layer_\d+/(self_attention|attention)/(linear_\d/{_LINEAR}|layer_norm/(gamma|beta)|queries_scale)"
    rf"|layer_\d+/ffn/(linear_(0|1|0_noact)/{_LINEAR}|layer_norm/(gamma|beta))"
    r")"
)


def read_ctranslate2(folder: Path, target_tag: str | None = None) -> ForeignModel:
    """Read a folder that a converter of CTranslate2 wrote, with ``tokenizer.json`` or SentencePiece models beside it.

    Raises:
        ModelError: damaged, hostile, or not the paper's architecture, and why.
        TokenizerError: a tokenizer that cannot be read.
    """
    path = folder / "model.bin"
    config = read_json(folder / "config.json", 1 << 20)
    if not isinstance(config, dict):
        raise ModelError(f"{folder / 'config.json'}: is not a JSON object; convert the model again")
    _check_config(folder / "config.json", config)
    variables = read_variables(path)
    for name in variables:
        if not _KNOWN.fullmatch(name):
            raise ModelError(f"{path}: has {name[:80]!r}, which the paper's architecture has not")
    reader = _Reader(path, variables)
    architecture, weights = reader.read()
    sides = [_read_pieces(folder, side) for side in ("source", "target")]
    first = weights["source_embedding.table.weight"]
    shown = [first, weights.get("target_embedding.table.weight", first)]
    for side, pieces, table in zip(("source", "target"), sides, shown, strict=True):
        if len(pieces) != len(table):
            raise ModelError(
                f"{folder}: its {side} vocabulary has {len(pieces):,} pieces and its table {len(table):,} rows; "
                "the two belong to different models"
            )
    starts_from_zero = bool(reader.scalar("decoder/start_from_zero_embedding", 0.0))
    # A converted Marian leaves the end symbol to Marian's tokenizer, which always adds it.
    if config.get("add_source_eos", False) is not True and not starts_from_zero:
        raise ModelError(
            f"{folder / 'config.json'}: sources do not end with the end symbol (add_source_eos), as they always do here"
        )
    tokenizers, added, tag, remarks = _tokenizers(
        folder, config, sides, shown[1] if starts_from_zero else None, target_tag
    )
    if added:
        architecture, weights = with_another_row(architecture, weights)
    return ForeignModel(
        program="CTranslate2",
        architecture=architecture,
        weights=weights,
        tokenizers=tokenizers,
        decoding=DecodingConfig(),
        max_length=min(512, architecture.max_positions),
        source_lang=language_or_none(config.get("source_lang")),
        target_lang=language_or_none(tag.strip("<>") or config.get("target_lang")),
        remarks=remarks,
    )


def _check_config(path: Path, config: Mapping[str, Any]) -> None:
    if config.get("add_source_bos", False) is not False:
        raise ModelError(
            f"{path}: sources begin with a symbol (add_source_bos), which is not read here"
        )
    epsilon = config.get("layer_norm_epsilon")
    if epsilon not in (None, 1e-5):
        raise ModelError(
            f"{path}: layer_norm_epsilon is {str(epsilon)[:20]}, and 1e-05 is read here"
        )


@dataclass(frozen=True, slots=True)
class _Reader:
    """The variables of a model.bin, and where it is."""

    path: Path
    variables: Mapping[str, Tensor]

    def scalar(self, name: str, default: float | None = None) -> float:
        found = self.variables.get(name)
        if found is None and default is not None:
            return default
        if found is None or found.numel() != 1:
            raise ModelError(f"{self.path}: {name} is missing, or not one number")
        return float(found.reshape(()))

    def same(self, name: str, default: float | None = None) -> int:
        """Return a number that must be the same in the encoder and in the decoder."""
        one, other = (self.scalar(f"{side}/{name}", default) for side in ("encoder", "decoder"))
        if one != other:
            raise ModelError(
                f"{self.path}: {name} is {one:g} in the encoder and {other:g} in the decoder"
            )
        if not one.is_integer():
            raise ModelError(f"{self.path}: {name} is {one:g}, which is no whole number")
        return int(one)

    def tensor(self, name: str, shape: tuple[int, ...] | None = None) -> Tensor:
        """Return what a variable stands for, in single precision."""
        found = self.variables.get(name)
        if found is None:
            raise ModelError(f"{self.path}: lacks {name!r}; convert the model again")
        if shape is not None and tuple(found.shape) != shape:
            raise ModelError(
                f"{self.path}: {name!r} has shape {tuple(found.shape)} instead of {shape}; convert the model again"
            )
        if found.dtype not in (torch.int8, torch.int16):
            return found.float()
        scale = self.variables.get(f"{name}_scale")
        rows = len(found) if found.dim() == 2 else 1
        if scale is None or scale.dim() > 1 or scale.numel() not in (1, rows):
            raise ModelError(
                f"{self.path}: {name!r} has no scale, or one of another shape; convert the model again"
            )
        return found.float() / scale.float().reshape(-1, *[1] * (found.dim() - 1))

    def matrix(self, name: str) -> Tensor:
        """Return :meth:`tensor` of a variable that must have rows and columns."""
        found = self.variables.get(name)
        if found is not None and found.dim() != 2:
            raise ModelError(
                f"{self.path}: {name!r} has shape {tuple(found.shape)} and is no matrix; convert the model again"
            )
        return self.tensor(name)

    def read(self) -> tuple[Architecture, dict[str, Tensor]]:
        """Return the sizes and the weights by our names."""
        for name in _MUST_BE_ZERO:
            if self.scalar(f"encoder/{name}", 0.0) or self.scalar(f"decoder/{name}", 0.0):
                raise ModelError(
                    f"{self.path}: uses {name}, which the paper's architecture has not"
                )
        source, target = (
            self.matrix("encoder/embeddings_0/weight"),
            self.matrix("decoder/embeddings/weight"),
        )
        layers = tuple(self._layers(side) for side in ("encoder", "decoder"))
        d_ff = len(self.matrix("encoder/layer_0/ffn/linear_0/weight"))
        table = self.matrix("encoder/position_encodings/encodings")
        output = self.matrix("decoder/projection/weight")
        if output.shape != target.shape:
            raise ModelError(f"{self.path}: its tables have shapes that do not go together")
        d_model = source.size(1)
        self._check_scale(d_model)
        check_table_size(self.path, len(table), d_model)
        if table.size(1) != d_model:
            raise ModelError(f"{self.path}: its positions have another width than its embeddings")
        stored = self.variables["encoder/position_encodings/encodings"]
        stored = stored if stored.is_floating_point() else table
        in_halves = sinusoids(stored, half=True)
        learned = not in_halves and not sinusoids(stored, half=False)
        tied: Tie = "three-way" if torch.equal(source, target) else "target"
        has_bias = "decoder/projection/bias" in self.variables
        glu = "encoder/layer_0/ffn/linear_0_noact/weight" in self.variables
        activation = _ACTIVATIONS.get(self.same("activation", 0.0))
        heads = self.same("num_heads")
        if activation is None or (glu and activation != "swish"):
            raise ModelError(f"{self.path}: its activation is none of relu, gelu, swish and swiglu")
        if heads < 1 or d_model % heads or d_model % 2:
            raise ModelError(f"{self.path}: width {d_model} does not go with {heads} heads")
        architecture = Architecture(
            encoder_layers=layers[0],
            decoder_layers=layers[1],
            d_model=d_model,
            d_ff=d_ff,
            heads=heads,
            activation="swiglu" if glu else activation,
            norm="pre" if self.same("pre_norm", 1.0) else "post",
            positions="learned" if learned else "sinusoidal",
            max_positions=len(table),
            tie=tied if torch.equal(output, target) else "none",
            output_bias=has_bias,
        )
        weights = self._weights(architecture)
        if in_halves:
            axes = {place.ours: place.axis for place in correspondence(architecture)}
            weights = {name: in_turn(tensor, _axis(name, axes)) for name, tensor in weights.items()}
        return architecture, weights

    def _layers(self, side: str) -> int:
        found = {
            int(match[1])
            for name in self.variables
            if (match := re.match(rf"{side}/layer_(\d{{1,4}})/", name))
        }
        if not found or found != set(range(len(found))) or len(found) > 1000:
            raise ModelError(f"{self.path}: its {side} has no whole stack of layers")
        return len(found)

    def _check_scale(self, d_model: int) -> None:
        for side in ("encoder", "decoder"):
            scale = self.scalar(f"{side}/scale_embeddings", 1.0)
            found = self.variables.get(f"{side}/scale_embeddings")
            is_flag = found is None or not found.is_floating_point()
            if not (scale == 1 if is_flag else abs(scale - d_model**0.5) < 1e-3):
                raise ModelError(
                    f"{self.path}: embeddings are not scaled by sqrt(d_model), as they always are here"
                )
        if self.scalar("decoder/scale_outputs", 1.0) != 1:
            raise ModelError(f"{self.path}: outputs are scaled, which is not read here")

    def _weights(self, a: Architecture) -> dict[str, Tensor]:
        weights = {"source_embedding.table.weight": self.tensor("encoder/embeddings_0/weight")}
        if a.tie != "three-way":
            weights["target_embedding.table.weight"] = self.tensor("decoder/embeddings/weight")
        if a.tie == "none":
            weights["output.weight"] = self.tensor("decoder/projection/weight")
        if a.output_bias:
            weights["output.bias"] = self.tensor("decoder/projection/bias")
        if a.positions == "learned":
            for side, ours in (("encoder", "source"), ("decoder", "target")):
                table = self.matrix(f"{side}/position_encodings/encodings")
                weights[f"{ours}_embedding.positions.table"] = table
        for side, layers in (("encoder", a.encoder_layers), ("decoder", a.decoder_layers)):
            for number in range(layers):
                self._layer(weights, a, side, number)
            if a.norm == "pre":
                self._norm(weights, f"{side}.final_norm", f"{side}/layer_norm")
        return weights

    def _layer(self, weights: dict[str, Tensor], a: Architecture, side: str, number: int) -> None:
        ours, theirs = f"{side}.layers.{number}", f"{side}/layer_{number}"
        around = "around_attention" if side == "encoder" else "around_self"
        here, there = f"{ours}.self_attention", f"{theirs}/self_attention"
        self._linears(weights, here, ("query", "key", "value"), f"{there}/linear_0", a.d_model)
        self._linears(weights, here, ("output",), f"{there}/linear_1", a.d_model)
        self._norm(weights, f"{ours}.{around}.norm", f"{there}/layer_norm")
        if side == "decoder":
            here, there = f"{ours}.cross_attention", f"{theirs}/attention"
            self._linears(weights, here, ("query",), f"{there}/linear_0", a.d_model)
            self._linears(weights, here, ("key", "value"), f"{there}/linear_1", a.d_model)
            self._linears(weights, here, ("output",), f"{there}/linear_2", a.d_model)
            self._norm(weights, f"{ours}.around_cross.norm", f"{there}/layer_norm")
        here, there = f"{ours}.feed_forward", f"{theirs}/ffn"
        gated = a.activation == "swiglu"
        if gated:
            self._linears(weights, here, ("gate",), f"{there}/linear_0", a.d_ff)
        self._linears(weights, here, ("inner",), f"{there}/linear_0{'_noact' * gated}", a.d_ff)
        self._linears(weights, here, ("outer",), f"{there}/linear_1", a.d_model)
        self._norm(weights, f"{ours}.around_feed_forward.norm", f"{there}/layer_norm")

    def _linears(
        self, weights: dict[str, Tensor], ours: str, parts: tuple[str, ...], theirs: str, width: int
    ) -> None:
        """Cut a matrix into those of ours that lie one above the other in it."""
        rows = width * len(parts)
        weight, bias = self.matrix(f"{theirs}/weight"), self.tensor(f"{theirs}/bias", (rows,))
        if len(weight) != rows:
            raise ModelError(
                f"{self.path}: '{theirs}/weight' has {len(weight)} rows instead of {rows}"
            )
        for place, part in enumerate(parts):
            rows_of_part = slice(place * width, (place + 1) * width)
            weights[f"{ours}.{part}.weight"] = weight[rows_of_part].contiguous()
            weights[f"{ours}.{part}.bias"] = bias[rows_of_part].contiguous()

    def _norm(self, weights: dict[str, Tensor], ours: str, theirs: str) -> None:
        weights[f"{ours}.weight"] = self.tensor(f"{theirs}/gamma")
        weights[f"{ours}.bias"] = self.tensor(f"{theirs}/beta")


def _axis(name: str, axes: Mapping[str, int | None]) -> int | None:
    """Return the axis along d_model, also of the parameters that Marian has not."""
    if name in axes:
        return axes[name]
    if name == "output.bias" or name.endswith("gate.bias"):
        return None
    return 0 if "final_norm" in name else 1


def _read_pieces(folder: Path, side: str) -> list[str]:
    names = [f"{side}_vocabulary", "shared_vocabulary"]
    path = next(
        (folder / f"{name}.json" for name in names if (folder / f"{name}.json").exists()), None
    )
    if path is not None:
        pieces = read_json(path)
    else:
        text = next(
            (folder / f"{name}.txt" for name in names if (folder / f"{name}.txt").exists()), None
        )
        if text is None:
            raise ModelError(
                f"{folder}: has neither {names[0]}.json nor {names[1]}.json; convert the model again"
            )
        path, content = text, read_file(text)
        try:
            pieces = content.decode("utf-8").removesuffix("\n").split("\n")
        except UnicodeDecodeError as error:
            raise ModelError(f"{path}: is not UTF-8 ({error}); convert the model again") from None
    if not isinstance(pieces, list):
        raise ModelError(f"{path}: is not a list of pieces; convert the model again")
    check_vocabulary(path, pieces)
    return list(pieces)


def _tokenizers(
    folder: Path,
    config: Mapping[str, Any],
    sides: list[list[str]],
    zero_table: Tensor | None,
    target_tag: str | None,
) -> tuple[TokenizerPair, bool, str, tuple[str, ...]]:
    """Return the tokenizers, whether they have one symbol more than the model, the tag, and what to tell of it."""
    if (folder / SHARED_NAME).exists() or (folder / SOURCE_NAME).exists():
        if target_tag is not None:
            raise ModelError(
                f"{folder}: has a tokenizer of Interlingua, which has no tags to choose from; leave --target-tag out"
            )
        pair = TokenizerPair.load(folder)
        for tokenizer, pieces in zip((pair.source, pair.target), sides, strict=True):
            if tokenizer.all_tokens() != pieces:
                raise ModelError(
                    f"{folder}: its tokenizer and its vocabulary belong to different models"
                )
        return pair, False, "", ()
    spms = [_spm_of(folder, side) for side in ("source", "target")]
    end, unknown = str(config.get("eos_token", "</s>")), str(config.get("unk_token", "<unk>"))
    start = str(config.get("decoder_start_token") or end)
    for pieces in sides:
        for name in (end, unknown):
            if name not in pieces:
                raise ModelError(
                    f"{folder}: its vocabulary lacks {name[:40]!r}, which config.json names"
                )
    starts_there = start in sides[1] and (
        zero_table is None or not zero_table[sides[1].index(start)].any()
    )
    added = not starts_there or "<pad>" not in sides[0] or "<pad>" not in sides[1]
    if added:
        sides = [[*pieces, "<added>"] for pieces in sides]
    tag, remarks = choose_tag([each for each in sides[0] if is_tag(each)], target_tag, folder)
    built = []
    for place, (pieces, spm) in enumerate(zip(sides, spms, strict=True)):
        pad = len(pieces) - 1 if added else pieces.index("<pad>")
        begin = pieces.index(start) if starts_there and start in pieces else pad
        specials = Specials(pad, pieces.index(unknown), begin, pieces.index(end))
        cutter = read_sentencepiece(read_file(spm))
        built.append(RenumberedTokenizer(cutter, pieces, specials, tag if place == 0 else ""))
    return TokenizerPair(built[0], built[1], shared=False), added, tag, remarks


def _spm_of(folder: Path, side: str) -> Path:
    names = (f"{side}.spm", f"{side}.model", "sentencepiece.model")
    for name in names:
        if (folder / name).exists():
            return folder / name
    raise ModelError(
        f"{folder}: has no tokenizer; put {names[0]} (or {names[2]} for both sides), which cut its text, beside model.bin"
    )
