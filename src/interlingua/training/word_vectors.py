"""Embeddings that begin as vectors of words which others have trained, kept in the run: the files are read once.

Tokens that are no whole word, and words that the file does not hold, begin at random like all others.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor

from interlingua.checkpoints.weights import read_tensors
from interlingua.config import StartConfig
from interlingua.corpus.packed import is_pipe
from interlingua.errors import ConfigError, ModelError
from interlingua.files import replace_file
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.model.language_model import LanguageModel
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.tokenization.word_vectors import (
    WordVectors,
    read_width,
    read_word_vectors,
    words_of,
)

__all__ = ["NAME", "check_word_vectors", "keep_word_vectors", "take_word_vectors"]

NAME = "word_vectors.safetensors"

_SIDES = ("source", "target")


@dataclass(frozen=True, slots=True)
class _Rows:
    """Which rows of an embedding table are known."""

    ids: Tensor
    """(N,), int64."""
    vectors: Tensor
    """(N, D), float32."""


def check_word_vectors(start: StartConfig, d_model: int | None) -> None:
    """Look at the beginning of the files that ``start`` names, before a corpus is read and a vocabulary learnt.

    What comes through a pipe can be read only once, and is not looked at.

    Raises:
        ConfigError: vectors of another width than the model, if that is given.
        CorpusError: a file is missing, or of another form.
    """
    for side in _SIDES:
        file: Path | None = getattr(start, f"{side}_vectors")
        if file is not None and not is_pipe(file):
            _fit(f"start.{side}_vectors = {file}", read_width(file), d_model)


def keep_word_vectors(
    start: StartConfig, tokenizers: TokenizerPair, d_model: int, path: Path
) -> list[str]:
    """Read the files that ``start`` names, and write what the vocabulary needs of them to ``path``.

    Returns:
        What was found, to be said.

    Raises:
        ConfigError: vectors of another width than the model, or none for any token.
        CorpusError: a file is missing, damaged or of another form.
    """
    tensors: dict[str, Tensor] = {}
    told = []
    for side in _SIDES:
        file: Path | None = getattr(start, f"{side}_vectors")
        if file is None:
            continue
        rows, remark = _read(file, side, getattr(tokenizers, side), d_model)
        tensors |= {f"{side}.ids": rows.ids, f"{side}.vectors": rows.vectors}
        told.append(remark)
    with replace_file(path) as new:
        new.write(save(tensors))
    return told


def take_word_vectors(model: EncoderDecoder, path: Path) -> None:
    """Put what ``keep_word_vectors`` wrote into the embeddings of a model with fresh weights.

    All vectors are multiplied by one number, so that they are as large as what they replace: angles and proportions
    stay. With one table for both sides, as that of a language model is, the target's vectors count where both have one.

    Raises:
        ModelError: what the run has kept is missing, damaged, or of another vocabulary.
    """
    kept = read_tensors(path)
    for side in _SIDES:
        if f"{side}.ids" not in kept:
            continue
        name = "embedding" if isinstance(model, LanguageModel) else f"{side}_embedding"
        table = getattr(model, name).table.weight
        ids, vectors = kept[f"{side}.ids"], kept[f"{side}.vectors"]
        if vectors.size(1) != table.size(1) or int(ids.max()) >= table.size(0):
            raise ModelError(f"{path}: is of another vocabulary; use --fresh to start anew")
        with torch.no_grad():
            factor = table.square().mean().sqrt() / vectors.square().mean().sqrt()
            table[ids.to(table.device)] = (vectors.to(table) * factor).to(table.dtype)


def _fit(key: str, width: int, d_model: int | None) -> None:
    if d_model is not None and width != d_model:
        raise ConfigError(
            f"{key}: its vectors have {width} numbers and model.d_model is {d_model}; give --model.d-model "
            f"{width}, with model.heads that divide it, or vectors of {d_model} numbers"
        )


def _read(file: Path, side: str, tokenizer: Tokenizer, d_model: int) -> tuple[_Rows, str]:
    key = f"start.{side}_vectors = {file}"
    words = words_of(tokenizer)
    wanted = {form for word in words.values() for form in (word, word.lower())}
    found = read_word_vectors(file, wanted)
    _fit(key, found.width, d_model)
    known = {
        token: found.vectors[word if word in found.vectors else word.lower()]
        for token, word in words.items()
        if word in found.vectors or word.lower() in found.vectors
    }
    if not any(vector.any() for vector in known.values()):
        raise ConfigError(
            f"{key}: holds none of the {len(words):,} words of the {side} vocabulary; is it of another language? "
            "Words that are cut into pieces have no vector: tokenization.kind = word keeps them whole"
        )
    rows = _Rows(torch.tensor(list(known)), torch.from_numpy(np.stack(list(known.values()))))
    remark = (
        f"{len(known):,} of {tokenizer.vocabulary_size:,} tokens of the {side} begin with vectors of {file} "
        f"({found.total:,} words{_missing(found)})"
    )
    return rows, remark


def _missing(found: WordVectors) -> str:
    """Say so if a file has fewer words than its first line promises."""
    if found.promised is None or found.promised <= found.total:
        return ""
    return f" of the {found.promised:,} that its first line promises: is it the whole file?"
