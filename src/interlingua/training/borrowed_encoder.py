"""A run that begins with the encoder of another model: its layers, source embeddings and source tokenizer.

The decoder is new, with a vocabulary of its own, so that what one language pair (or a task without a second language) taught the
encoder serves another target. With ``start.freeze`` the encoder stays what it is, to the bit.
"""

import torch

from interlingua.checkpoints.model_folder import BuildModel
from interlingua.checkpoints.weights import parameters_of
from interlingua.config import ModelConfig, RunConfig
from interlingua.errors import ConfigError
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.training.corpus_of_run import languages_of
from interlingua.training.directions_of_run import directions_of, symbols_of
from interlingua.training.starting import (
    Start,
    open_again,
    refuse_contradictions,
    refuse_sampling,
    tokenizers_of,
)

__all__ = ["encoder_tokenizer", "fit_to_encoder", "take_encoder"]

ENCODER = ("source_embedding.", "encoder.")
"""What the names of its parameters begin with, in a model of any kind."""

_OWN = {
    *("decoder_layers", "attention", "answers", "tie", "output_bias"),
    *("dropout", "attention_dropout", "activation_dropout"),
}
"""Sizes and choices that the run has for itself; all others are the encoder's."""


_SAME_ENCODER = {"transformer", "encoder"}
"""Kinds that read with the same parts, so that one can begin with the encoder of the other."""


def fit_to_encoder(config: RunConfig, start: Start, tokenizer: Tokenizer) -> RunConfig:
    """Fill in what the encoder decides: its kind and sizes, the longest text, a vocabulary of its own for the target.

    Args:
        config: what the user asks for.
        start: the model that the encoder is of.
        tokenizer: its source tokenizer.

    Raises:
        ConfigError: something else is asked for, or the source is another language.
    """
    model = _sizes_with(config, start)
    if config.tokenization.shared:
        raise ConfigError(
            f"tokenization.shared = true: {start.model} brings the source tokenizer, and the target gets its own; "
            "leave it out"
        )
    if model.tie == "three-way":
        raise ConfigError(
            'model.tie = three-way: the target has a vocabulary of its own; set it to "target", or leave it out'
        )
    refuse_sampling(config.tokenization.sampling, tokenizer, start)
    _refuse_unknown_tags(config, start, tokenizer)
    _refuse_another_language(config, start)
    batching = config.batching
    if "max_length" not in batching.model_fields_set:
        batching = batching.model_copy(update={"max_length": start.max_length})
    most = start.architecture.max_positions
    if batching.max_length > most:
        raise ConfigError(
            f"batching.max_length = {batching.max_length}: the encoder of {start.model} has {most} positions; lower it"
        )
    config = config.model_copy(
        update={
            "model": model,
            "batching": batching,
            "tokenization": config.tokenization.model_copy(
                update={"shared": False, "sampling": config.tokenization.sampling or 0.0}
            ),
        }
    )
    refuse_contradictions(config, start)
    return config


def _sizes_with(config: RunConfig, start: Start) -> ModelConfig:
    """Return the model's sizes, as far as they are the encoder's."""
    asked, sizes = config.model, start.architecture
    if not sizes.encoder_layers:
        raise ConfigError(
            f"start.encoder_from = {start.model}: is a language model, which has no encoder; name another model"
        )
    if asked.kind == "encoder" and config.corpus.text:
        raise ConfigError(
            f"start.encoder_from = {start.model}: guessing words of a text goes on with the whole model and its "
            "vocabulary; give --init-from instead"
        )
    kind = asked.kind if {asked.kind, sizes.kind} <= _SAME_ENCODER else sizes.kind
    model: dict[str, object] = {}
    for name, value in (sizes.to_dict() | {"kind": kind}).items():
        if name not in type(asked).model_fields or name in _OWN:
            continue
        wanted = getattr(asked, name)
        if name in asked.model_fields_set and wanted is not None and wanted != value:
            raise ConfigError(
                f"model.{name} = {wanted}: the encoder of {start.model} has {value}; leave it out"
            )
        model[name] = value
    if asked.decoder_layers is None and kind != "encoder":
        model["decoder_layers"] = sizes.decoder_layers or sizes.encoder_layers
    return asked.model_copy(update=model)


def encoder_tokenizer(start: Start) -> Tokenizer:
    """Read the tokenizer that the encoder was trained with, from its model's own folder."""
    return tokenizers_of(start).source


def take_encoder(model: EncoderDecoder, start: Start, build_model: BuildModel) -> None:
    """Copy the encoder of the starting model, and the embeddings of its source, into ``model``.

    Raises:
        ModelError: it is missing or damaged, or not what it was when the run was prepared.
    """
    own = parameters_of(open_again(start, build_model).model)
    with torch.no_grad():
        for name, parameter in parameters_of(model).items():
            if name.startswith(ENCODER):
                parameter.copy_(own[name])


def _refuse_unknown_tags(config: RunConfig, start: Start, tokenizer: Tokenizer) -> None:
    known = set(tokenizer.all_tokens())
    for tag in symbols_of(config.corpus):
        if tag not in known:
            told = "tags holds" if tag in config.corpus.tags else "directions needs"
            raise ConfigError(
                f"corpus.{told} {tag}, which the vocabulary of {start.model} has not, and the encoder has no row for it; "
                "leave it out"
            )


def _refuse_another_language(config: RunConfig, start: Start) -> None:
    reads = tuple(dict.fromkeys(each.source for each in start.known))
    directions = directions_of(config.corpus)
    told = [each.source for each in directions] or [languages_of(config.corpus)[0]]
    unknown = [each for each in told if each not in (*reads, "source")]
    if unknown and not config.start.new_language:
        flag = "other --corpus.directions" if directions else f"--source-lang {reads[0]}"
        raise ConfigError(
            f"{start.model}: its encoder reads {', '.join(reads)}, and the corpus has {unknown[0]} as a source; give {flag} if only the "
            "name of the file differs, or --start.new-language true"
        )
