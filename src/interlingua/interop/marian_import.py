"""A MarianMT folder of Hugging Face (OPUS-MT and the like), as one of ours."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from interlingua.checkpoints.untrusted import (
    LARGEST_VOCABULARY,
    check_shapes,
    check_table_size,
    check_vocabulary,
    integer,
    read_file,
    read_json,
    read_safetensors,
    safetensors_shapes,
)
from interlingua.config import DecodingConfig
from interlingua.errors import ModelError, TokenizerError
from interlingua.interop.foreign_model import (
    ForeignModel,
    choose_tag,
    language_or_none,
    sinusoids,
)
from interlingua.interop.marian_layout import (
    FINAL_BIAS,
    POSITIONS,
    Place,
    correspondence,
    half_and_half,
    in_turn,
)
from interlingua.model.architecture import Activation, Architecture, Tie
from interlingua.model.positions import sinusoidal_table
from interlingua.model.transformer import Transformer
from interlingua.tokenization import TokenizerPair
from interlingua.tokenization.piece_tokenizer import PieceTokenizer
from interlingua.tokenization.renumbered import RenumberedTokenizer, is_tag
from interlingua.tokenization.sentencepiece_model import read_sentencepiece
from interlingua.tokenization.vocabulary import Specials

__all__ = ["read_marian", "renumbered_side"]

WEIGHTS = "model.safetensors"
PICKLED = "pytorch_model.bin"

_LONGEST = 512
"""Tokens of a text, as OPUS-MT has them, where the model has as many positions."""
_MOST_BEAMS, _LARGEST_PENALTY = 16, 3.0

_ACTIVATIONS: dict[str, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "swish": "swish",
    "silu": "swish",
}
_MUST_BE: dict[str, tuple[bool, str]] = {
    "scale_embedding": (True, "embeddings are not scaled by sqrt(d_model)"),
    "static_position_embeddings": (True, "positions are learned"),
    "normalize_before": (False, "sublayers are normalised before"),
    "normalize_embedding": (False, "embeddings are normalised"),
    "add_final_layer_norm": (False, "the stacks end in a norm"),
    "add_bias_logits": (False, "there is a second bias of the logits"),
}
_ALIASES = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
)
"""Names of the tables: which of them are in a file that shares some depends on the version that wrote it."""


def read_marian(folder: Path, target_tag: str | None = None) -> ForeignModel:
    """Read a folder that ``MarianMTModel.save_pretrained`` and ``MarianTokenizer.save_pretrained`` wrote.

    Raises:
        ModelError: damaged, hostile, or not the paper's architecture, and why.
        TokenizerError: a SentencePiece model that cannot be read.
    """
    path = folder / "config.json"
    config = read_json(path, 1 << 20)
    if not isinstance(config, dict):
        raise ModelError(f"{path}: is not a JSON object; fetch the model again")
    sizes = _Sizes.read(config, path)
    tokenizers, default_tag, remarks = _read_tokenizers(folder, config, sizes, target_tag)
    weights, has_bias = _read_weights(folder, sizes)
    told = _optional_json(folder / "tokenizer_config.json")
    generation = {**config, **_optional_json(folder / "generation_config.json")}
    target = default_tag.strip("<>") or told.get("target_lang")
    architecture = sizes.architecture(output_bias=has_bias)
    if POSITIONS.keys() & weights.keys():
        architecture = replace(architecture, positions="learned")
    longest = min(_longest(told.get("model_max_length")), sizes.positions)
    return ForeignModel(
        program="MarianMT (Hugging Face)",
        architecture=architecture,
        weights=weights,
        tokenizers=tokenizers,
        decoding=_decoding(generation),
        max_length=longest,
        source_lang=language_or_none(told.get("source_lang")),
        target_lang=language_or_none(target),
        card=_optional_text(folder / "README.md"),
        remarks=(*remarks, *_differences(generation, longest)),
    )


@dataclass(frozen=True, slots=True)
class _Sizes:
    """What config.json says of the sizes, within bounds."""

    layers: tuple[int, int]
    d_model: int
    d_ff: int
    heads: int
    positions: int
    vocabularies: tuple[int, int]
    activation: Activation
    shares_embeddings: bool
    ties_output: bool
    dropouts: tuple[float, float, float]

    @classmethod
    def read(cls, config: Mapping[str, Any], path: Path) -> "_Sizes":
        kind = config.get("model_type")
        if kind != "marian":
            raise ModelError(
                f"{path}: describes a model of type {str(kind)[:40]!r}; MarianMT folders (marian) are read"
            )
        for name, (wanted, reason) in _MUST_BE.items():
            if config.get(name, wanted) is not wanted:
                raise ModelError(
                    f"{path}: {name} is {config[name]!r}: {reason}, which is not read here"
                )

        def number(name: str, largest: int) -> int:
            return integer(config, name, path, 1, largest)

        def same(part: str, largest: int) -> int:
            found = [number(f"{side}_{part}", largest) for side in ("encoder", "decoder")]
            if found[0] != found[1]:
                raise ModelError(
                    f"{path}: {part} is {found[0]} in the encoder and {found[1]} in the decoder; "
                    "one number for both is read here"
                )
            return found[0]

        activation = config.get("activation_function")
        if not isinstance(activation, str) or activation not in _ACTIVATIONS:
            raise ModelError(
                f"{path}: activation_function is {str(activation)[:40]!r}; it takes {', '.join(_ACTIVATIONS)}"
            )
        shares = config.get("share_encoder_decoder_embeddings", True)
        words = number("vocab_size", LARGEST_VOCABULARY)
        theirs = config.get("decoder_vocab_size") or words
        target = (
            words
            if shares
            else integer(
                {"decoder_vocab_size": theirs}, "decoder_vocab_size", path, 1, LARGEST_VOCABULARY
            )
        )
        sizes = cls(
            layers=(number("encoder_layers", 1000), number("decoder_layers", 1000)),
            d_model=number("d_model", 65_536),
            d_ff=same("ffn_dim", 1_000_000),
            heads=same("attention_heads", 1024),
            positions=number("max_position_embeddings", 1_000_000),
            vocabularies=(words, target),
            activation=_ACTIVATIONS[activation],
            shares_embeddings=bool(shares),
            ties_output=config.get("tie_word_embeddings", True) is not False,
            dropouts=(
                _probability(config, "dropout", path),
                _probability(config, "attention_dropout", path),
                _probability(config, "activation_dropout", path),
            ),
        )
        if sizes.d_model % sizes.heads or sizes.d_model % 2:
            raise ModelError(
                f"{path}: d_model {sizes.d_model} does not go with {sizes.heads} heads"
            )
        check_table_size(path, sizes.positions, sizes.d_model)
        return sizes

    def architecture(self, *, output_bias: bool) -> Architecture:
        shared: Tie = "three-way" if self.shares_embeddings else "target"
        return Architecture(
            encoder_layers=self.layers[0],
            decoder_layers=self.layers[1],
            d_model=self.d_model,
            d_ff=self.d_ff,
            heads=self.heads,
            dropout=self.dropouts[0],
            attention_dropout=self.dropouts[1],
            activation_dropout=self.dropouts[2],
            activation=self.activation,
            max_positions=self.positions,
            tie=shared if self.ties_output else "none",
            output_bias=output_bias,
        )


def _read_weights(folder: Path, sizes: _Sizes) -> tuple[dict[str, Tensor], bool]:
    """Return the weights by our names, and whether the final bias is among them."""
    if (folder / WEIGHTS).exists():
        path = folder / WEIGHTS
        found = safetensors_shapes(path)
        _check_names(path, found, sizes)
        theirs = read_safetensors(path, list(found))
    elif (folder / PICKLED).exists():
        from interlingua.interop.pickled import read_pickled

        path = folder / PICKLED
        theirs = read_pickled(path)
        _check_names(path, {name: tuple(each.shape) for name, each in theirs.items()}, sizes)
    else:
        raise ModelError(f"{folder}: holds neither {WEIGHTS} nor {PICKLED}; fetch the model again")
    for name, tensor in theirs.items():
        if not tensor.is_floating_point():
            raise ModelError(
                f"{path}: the tensor {name[:80]!r} is of type {tensor.dtype}, which no weights are; fetch the model again"
            )
    bias = theirs.get(FINAL_BIAS)
    has_bias = bias is not None and bool((bias != 0).any())
    weights = {
        place.ours: in_turn(theirs[_name_in(theirs, place.theirs, sizes)].float(), place.axis)
        for place in correspondence(sizes.architecture(output_bias=has_bias))
    }
    if bias is not None and has_bias:
        weights["output.bias"] = bias.float().flatten()
    return weights | _positions(theirs, sizes), has_bias


def _positions(theirs: Mapping[str, Tensor], sizes: _Sizes) -> dict[str, Tensor]:
    """Return the tables of positions by our names, if the file has others than the paper's."""
    stored = {ours: theirs.get(name) for ours, name in POSITIONS.items()}
    if all(table is None or sinusoids(table, half=True) for table in stored.values()):
        return {}
    paper = half_and_half(sinusoidal_table(sizes.positions, sizes.d_model).float(), 1)
    return {
        ours: in_turn((paper if table is None else table).float(), 1)
        for ours, table in stored.items()
    }


def _name_in(found: Mapping[str, object], name: str, sizes: _Sizes) -> str:
    """Return the name under which a file has a table that may be shared."""
    if name in found or name not in _ALIASES or not sizes.shares_embeddings:
        return name
    shared = _ALIASES if sizes.ties_output else _ALIASES[:3]
    return next((other for other in shared if name in shared and other in found), name)


def _check_names(path: Path, found: Mapping[str, tuple[int, ...]], sizes: _Sizes) -> None:
    """Compare names and shapes with what config.json promises, before any table is made."""
    with torch.device("meta"):
        architecture = sizes.architecture(output_bias=False)
        ours = Transformer(
            architecture,
            source_vocabulary=sizes.vocabularies[0],
            target_vocabulary=sizes.vocabularies[1],
        )
    places = list(correspondence(architecture))
    known = {FINAL_BIAS, *_ALIASES, *POSITIONS.values(), *(place.theirs for place in places)}
    if extra := sorted(found.keys() - known):
        raise ModelError(
            f"{path}: holds the tensor {extra[0][:80]!r}, which the Marian of the paper's architecture has not"
        )
    parameters = dict(ours.named_parameters())

    def shape(place: Place) -> tuple[int, ...]:
        return tuple(parameters[place.ours].shape)

    check_shapes(path, found, {_name_in(found, p.theirs, sizes): shape(p) for p in places})
    if FINAL_BIAS in found:
        check_shapes(path, found, {FINAL_BIAS: (1, sizes.vocabularies[1])})
    for name in POSITIONS.values():
        if name in found:
            check_shapes(path, found, {name: (sizes.positions, sizes.d_model)})


def _read_tokenizers(
    folder: Path, config: Mapping[str, Any], sizes: _Sizes, target_tag: str | None
) -> tuple[TokenizerPair, str, tuple[str, ...]]:
    names = ("vocab.json", "target_vocab.json")
    separate = (folder / names[1]).exists() or not sizes.shares_embeddings
    if separate and not (folder / names[1]).exists():
        separate = False
    paths = (folder / names[0], folder / names[1 if separate else 0])
    sides = tuple(
        _read_vocabulary(each, size) for each, size in zip(paths, sizes.vocabularies, strict=True)
    )
    models = tuple(read_file(folder / f"{side}.spm") for side in ("source", "target"))
    tags = [piece for piece in sides[0] if is_tag(piece)]
    tag, remarks = choose_tag(tags, target_tag, folder)
    source = renumbered_side(folder / "source.spm", models[0], paths[0], sides[0], config, tag)
    if models[0] == models[1] and sides[0] == sides[1] and not tag:
        return TokenizerPair(source, source, shared=True), tag, remarks
    target = renumbered_side(folder / "target.spm", models[1], paths[1], sides[1], config, "")
    return TokenizerPair(source, target, shared=False), tag, remarks


def renumbered_side(
    spm: Path, model: bytes, vocab: Path, pieces: list[str], config: Mapping[str, Any], tag: str
) -> RenumberedTokenizer:
    """Put a SentencePiece model and a vocabulary together, if they belong together.

    Raises:
        ModelError: they do not, or the special symbols are others than ``config`` says.
        TokenizerError: the SentencePiece model is damaged.
    """
    last = len(pieces) - 1
    end = integer(config, "eos_token_id", vocab, 0, last)
    pad = integer(config, "pad_token_id", vocab, 0, last)
    begin = integer(
        {"decoder_start_token_id": pad, **config}, "decoder_start_token_id", vocab, 0, last
    )
    numbers = {piece: number for number, piece in enumerate(pieces)}
    for name, number in (("</s>", end), ("<pad>", pad)):
        if numbers.get(name) != number:
            raise ModelError(
                f"{vocab}: gives {name} the id {numbers.get(name)}, and config.json {number}; "
                "the two belong to different models"
            )
    if "<unk>" not in numbers:
        raise ModelError(f"{vocab}: has no <unk>; fetch the model again")
    try:
        cutter: PieceTokenizer = read_sentencepiece(model)
    except TokenizerError as error:
        raise TokenizerError(f"{spm}: {error}") from None
    check_vocabulary(spm, cutter.vocabulary.pieces)
    known = sum(piece in numbers for piece in cutter.vocabulary.pieces)
    if 2 * known < len(cutter.vocabulary):
        raise ModelError(
            f"{spm}: {known:,} of its {len(cutter.vocabulary):,} pieces are in {vocab.name}; "
            "the two belong to different models"
        )
    specials = Specials(pad=pad, unknown=numbers["<unk>"], begin=begin, end=end)
    return RenumberedTokenizer(cutter, pieces, specials, tag)


def _read_vocabulary(path: Path, size: int) -> list[str]:
    """Return the pieces in the order of their ids; an id that none has gets a piece that no text becomes."""
    found = read_json(path)
    if not isinstance(found, dict):
        raise ModelError(f"{path}: is not a JSON object of pieces and ids; fetch the model again")
    check_vocabulary(path, list(found))
    pieces = [""] * size
    for piece, number in found.items():
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < size:
            raise ModelError(
                f"{path}: gives {piece[:40]!r} the id {str(number)[:20]}, and config.json has {size:,} ids"
            )
        if pieces[number]:
            raise ModelError(
                f"{path}: gives the id {number} to {pieces[number]!r} and to {piece[:40]!r}"
            )
        pieces[number] = piece
    return [piece or f"<unused {number}>" for number, piece in enumerate(pieces)]


def _decoding(generation: Mapping[str, Any]) -> DecodingConfig:
    """Search as the folder asks; the length penalty there divides by length^alpha, ours by its like."""
    alpha = _number(generation.get("length_penalty"))
    beams = _number(generation.get("num_beams"))
    return DecodingConfig(
        beam_size=int(beams) if beams is not None and 1 <= beams <= _MOST_BEAMS else 4,
        length_penalty=alpha if alpha is not None and 0 <= alpha <= _LARGEST_PENALTY else 1.0,
    )


def _differences(generation: Mapping[str, Any], longest: int) -> Iterator[str]:
    """Tell where search here cannot be what the folder asks for."""
    ours = _decoding(generation)
    for name, chosen in (("num_beams", ours.beam_size), ("length_penalty", ours.length_penalty)):
        if name in generation and generation[name] != chosen:
            yield f"{name} is {str(generation[name])[:20]} there and {chosen:g} here"
    most = _number(generation.get("max_length"))
    if most is not None and most < longest:
        yield f"transformers ends outputs at {most:g} tokens (max_length); decoding.max_length_factor and _offset do here"


def _longest(most: object) -> int:
    """Return how many tokens a text may have: what the tokenizer says, unless that is a number for "no limit"."""
    said = _number(most)
    return int(said) if said is not None and 2 <= said <= _LONGEST else _LONGEST


def _number(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return None


def _probability(config: Mapping[str, Any], name: str, path: Path) -> float:
    value = config.get(name, 0.0)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 1:
        raise ModelError(
            f"{path}: {name} is {str(value)[:40]}; it takes 0 or more, and less than 1"
        )
    return float(value)


def _optional_json(path: Path) -> dict[str, Any]:
    found = read_json(path, 1 << 20) if path.exists() else {}
    return found if isinstance(found, dict) else {}


def _optional_text(path: Path) -> str:
    return read_file(path, 1 << 20).decode("utf-8", errors="replace") if path.exists() else ""
