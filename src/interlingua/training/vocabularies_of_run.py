"""The vocabularies of a run: those of the model that it begins with, those that an earlier start has learnt, or new ones."""

from collections.abc import Callable

import numpy as np
import torch

from interlingua.config import CorpusConfig, RunConfig
from interlingua.config_files import save_config
from interlingua.corpus.scan import ParallelFiles
from interlingua.corpus.statistics import CorpusStatistics
from interlingua.errors import ConfigError, ModelError
from interlingua.files import remove_folder, replace_folder
from interlingua.tokenization.extension import extend_pair
from interlingua.tokenization.pair import TokenizerPair
from interlingua.training.answers import choose_answers
from interlingua.training.automatic import most_updates
from interlingua.training.automatic_vocabulary import choose_tokenization
from interlingua.training.borrowed_encoder import encoder_tokenizer, fit_to_encoder
from interlingua.training.corpus_of_run import (
    RunCorpus,
    is_locked_to,
    takes_files_otherwise,
)
from interlingua.training.directions_of_run import directions_of, symbols_of
from interlingua.training.fine_tuning import inherit
from interlingua.training.resuming import earlier_config
from interlingua.training.run_folder import RunFolder, not_prepared
from interlingua.training.starting import Start, tokenizers_of
from interlingua.training.tokenizers_of_run import train_tokenizers

__all__ = ["vocabularies_of_run"]

Say = Callable[[str], None]


def vocabularies_of_run(
    config: RunConfig,
    folder: RunFolder,
    corpus: RunCorpus,
    start: Start | None,
    say: Say,
    *,
    statistics: CorpusStatistics,
    device: torch.device,
    writes: bool,
) -> tuple[RunConfig, TokenizerPair, list[str]]:
    """Return the tokenizers, the configuration with all that they decide, and the reasons of what was chosen.

    Without ``writes`` those are read that another process has prepared, and those of a run that has begun are never learnt again.

    Raises:
        ConfigError: what is asked for does not fit the model that the run begins with.
        ModelError: the run has begun, and its tokenizers are gone.
        TrainingError: without ``writes``, nothing is prepared.
    """
    has_begun = folder.has_checkpoints()
    if has_begun and not folder.tokenizer.exists():
        raise ModelError(
            f"{folder.tokenizer}: is gone, and the run learnt with it; copy its files from {folder.model}, or use --fresh to start anew"
        )
    if start and start.is_whole:
        return *_take_tokenizers(config, folder, corpus, start, say, writes=writes), []
    borrowed = None
    if start and not has_begun:
        borrowed = encoder_tokenizer(start)
        config = fit_to_encoder(config, start, borrowed)
    updates = most_updates(config, statistics, on_gpu=device.type == "cuda")
    config, reasons = _choose_tokens(config, corpus, statistics, updates)
    is_there = has_begun or _has_them_of(config, folder, corpus)
    if is_there and not (borrowed and writes):
        return config, TokenizerPair.load(folder.tokenizer), reasons
    if not writes:
        raise not_prepared(folder.tokenizer)
    remove_folder(folder.tokenizer)
    _make_known(config, folder, corpus)
    if start:
        start.save(folder)
    return config, train_tokenizers(config, folder, corpus.training, say, borrowed), reasons


def _has_them_of(config: RunConfig, folder: RunFolder, corpus: RunCorpus) -> bool:
    """Tell whether the run keeps tokenizers that were learnt from the same text in the same way."""
    earlier = earlier_config(folder)
    return (
        earlier is not None
        and folder.tokenizer.exists()
        and is_locked_to(folder, corpus.files, corpus.prints)
        and not takes_files_otherwise(folder, corpus.identity)
        and _tokens_follow_from(earlier) == _tokens_follow_from(config)
    )


def _choose_tokens(
    config: RunConfig, corpus: RunCorpus, statistics: CorpusStatistics, updates: int | None
) -> tuple[RunConfig, list[str]]:
    """Choose how text is cut; return the configuration with the reasons."""
    sample = config.tokenization.training_pairs
    config = choose_answers(config)
    is_translated = config.model.kind not in ("encoder", "decoder") and not config.corpus.text
    tokenization, reasons = choose_tokenization(
        config.tokenization, statistics, is_translated=is_translated, updates=updates
    )
    if tokenization.target_kind is not None:
        tokenization = tokenization.model_copy(update={"shared": False})
    if corpus.num_training > sample:
        reasons.append(
            f"tokenization.training_pairs = {sample:,}: the vocabulary is learnt from so many pairs, "
            f"evenly spread over all {corpus.num_training:,}"
        )
    return config.model_copy(update={"tokenization": tokenization}), reasons


def _make_known(config: RunConfig, folder: RunFolder, corpus: RunCorpus) -> None:
    """Let the folder be known as a run from here on, so that an interrupted preparation can be taken up again."""
    save_config(config.model_copy(update={"run_dir": folder.path}), folder.config)
    corpus.lock(folder)


def _of_new_languages(config: CorpusConfig, text: ParallelFiles, start: Start) -> ParallelFiles:
    """Return the text of languages that the model does not know, if it is among other text: new pieces are for their words."""
    is_new = [each not in start.known for each in directions_of(config)]
    if not any(is_new) or all(is_new):
        return text
    return text.keep(np.repeat(is_new, text.pairs_a_part))


def _take_tokenizers(
    config: RunConfig,
    folder: RunFolder,
    corpus: RunCorpus,
    start: Start,
    say: Say,
    *,
    writes: bool,
) -> tuple[RunConfig, TokenizerPair]:
    """Return the tokenizers of the starting model, with more pieces if that is wanted, and all that it decides.

    A run that has begun has them already, and needs the model no more.
    """
    tags = symbols_of(config.corpus)
    is_extended = bool(config.start.new_pieces or tags)
    if folder.has_checkpoints() or not writes:
        if not folder.tokenizer.exists():
            raise not_prepared(folder.tokenizer)
        tokenizers = TokenizerPair.load(folder.tokenizer)
        return inherit(config, start, tokenizers, is_extended=is_extended), tokenizers
    before = tokenizers_of(start)
    inherit(
        config, start, before, is_extended=is_extended
    )  # what it refuses, it refuses before work is done
    number = config.start.new_pieces
    text = _of_new_languages(config.corpus, corpus.training, start)
    pairs = list(text.pairs(config.tokenization.training_pairs)) if number else []
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    tokenizers = extend_pair(before, sources, targets, number, tags) if is_extended else before
    grown = tokenizers.source.vocabulary_size - before.source.vocabulary_size
    if grown and config.start.lora_rank is not None:
        raise ConfigError(
            f"{', '.join(tags)}: not in the vocabulary of {start.model}, and an adapter (start.lora_rank) has no room for "
            "new symbols; train all weights, or leave corpus.tags and corpus.directions out"
        )
    config = inherit(config, start, tokenizers, is_extended=is_extended)
    remove_folder(folder.tokenizer)
    _make_known(config, folder, corpus)
    start.save(folder)
    with replace_folder(folder.tokenizer) as new:
        tokenizers.save(new)
    if is_extended:
        sizes = {tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size}
        say(
            f"vocabulary: {' and '.join(f'{size:,}' for size in sorted(sizes))} tokens, {grown:,} new"
        )
    return config, tokenizers


def _tokens_follow_from(config: RunConfig) -> tuple[object, ...]:
    """Return the settings that decide, together with the text, what a tokenizer learns or is taken from."""
    corpus = config.corpus
    held_back = corpus.valid_source or corpus.valid_target or corpus.valid_pairs
    is_split = not (corpus.embedded or held_back)
    split = (corpus.valid_size, config.training.seed) if is_split else None
    mixture = (corpus.directions, corpus.weights, corpus.temperature) if corpus.directions else None
    start = (config.start.init_from, config.start.encoder_from)
    return config.tokenization, start, sorted(symbols_of(corpus)), mixture, split
