"""A run before its first update: the corpus, the choices made from it, the tokenizer, the shards."""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from interlingua.batching.encoding import Encoder, encode_chunks
from interlingua.batching.order import epoch_order
from interlingua.batching.shard_writer import ShardWriter
from interlingua.batching.shards import Shards, StoredPairs, open_shards
from interlingua.config import RunConfig
from interlingua.config_files import save_config
from interlingua.corpus.scan import ParallelFiles
from interlingua.errors import ConfigError, CorpusError
from interlingua.files import replace_folder
from interlingua.hardware import choose_device
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer
from interlingua.training.automatic import (
    CorpusStatistics,
    architecture_of,
    choose_model,
    choose_tokenization,
)
from interlingua.training.corpus_of_run import (
    RunCorpus,
    is_locked_to,
    languages_of,
    lock_corpus,
    read_corpus,
)
from interlingua.training.data import TrainingData
from interlingua.training.resuming import earlier_config, resumed_config
from interlingua.training.run_folder import RunFolder

__all__ = ["Prepared", "prepare", "prepare_locked", "run_dir_of"]

Say = Callable[[str], None]

_PAIRS_FOR_WORKERS = 60_000
"""Fewer pairs are not worth the half second that a process takes to start."""

_PAIRS_COUNTED = 1_000_000
"""Of a larger corpus so many pairs tell how many batches make an epoch: a choice need not be exact to a batch."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run before its first update: every choice made, text turned into ids."""

    config: RunConfig
    folder: RunFolder
    source_lang: str
    target_lang: str
    files: tuple[Path, ...]
    training: TrainingData
    validation: TrainingData
    reasons: tuple[str, ...]

    @property
    def tokenizers(self) -> TokenizerPair:
        """The tokenizers of both sides."""
        return self.training.tokenizers


def run_dir_of(config: RunConfig) -> Path:
    """Return the run folder: the configured one, or ``runs/SOURCE-TARGET``."""
    if config.run_dir is not None:
        return config.run_dir
    if config.corpus.embedded:
        return Path("runs") / config.corpus.embedded
    return Path("runs") / "-".join(languages_of(config.corpus))


def prepare(config: RunConfig, *, say: Say = lambda _: None) -> Prepared:
    """Make the choices, the tokenizer and the shards of a run, and leave the rest to :func:`train`.

    Raises:
        ConfigError, CorpusError, OutputError, TrainingError: see :func:`train`.
    """
    device = choose_device(config.training.device)
    folder = RunFolder(run_dir_of(config))
    config = resumed_config(config, folder)
    corpus = None if config.corpus.embedded else read_corpus(config, folder, say)
    with folder.locked():
        return prepare_locked(config, folder, corpus, device=device, say=say)


def prepare_locked(
    config: RunConfig,
    folder: RunFolder,
    corpus: RunCorpus | None,
    *,
    device: torch.device,
    say: Say,
) -> Prepared:
    """Do the work of :func:`prepare` in a folder that this process holds.

    ``config`` is that of a run that is resumed, if there is one. ``corpus`` is None for an embedded one, which is
    written into the folder first. A run that has checkpoints keeps its corpus; one that has none is prepared anew,
    except for a tokenizer that would come out the same.
    """
    earlier = earlier_config(folder)
    corpus = corpus or read_corpus(config, folder, say)
    same_corpus = is_locked_to(folder, corpus.files, corpus.prints)
    if folder.has_checkpoints() and not same_corpus:
        raise ConfigError(
            f"{folder.path}: was started with another text than {corpus.files[0]} and its companions "
            "hold now; use --fresh to start anew, or another --run-dir"
        )
    sample = config.tokenization.training_pairs
    statistics = corpus.statistics(sample)
    tokenization, reasons = choose_tokenization(config.tokenization, statistics)
    config = config.model_copy(update={"tokenization": tokenization})
    if corpus.num_training > sample:
        reasons.append(
            f"tokenization.training_pairs = {sample:,}: the vocabulary is learnt from so many pairs, "
            f"evenly spread over all {corpus.num_training:,}"
        )
    same_tokens = same_corpus and earlier is not None and earlier.tokenization == tokenization
    if same_tokens and folder.tokenizer.exists():
        tokenizers = TokenizerPair.load(folder.tokenizer)
    else:
        shutil.rmtree(folder.tokenizer, ignore_errors=True)
        # From here on the folder is known as a run, so that an interrupted preparation can be taken up again.
        save_config(config.model_copy(update={"run_dir": folder.path}), folder.config)
        lock_corpus(folder, corpus.files, corpus.prints)
        tokenizers = _train_tokenizers(config, folder, corpus.training, say)
    training = _shards(config, folder, corpus, tokenizers, "training", say)
    validation = _shards(config, folder, corpus, tokenizers, "validation", say)
    corpus.check_unchanged()
    config, more = _choose_rest(config, statistics, training, folder, device)
    reasons = [*reasons, *more]
    for reason in reasons:
        say(f"chosen: {reason}")
    save_config(config, folder.config)
    lock_corpus(folder, corpus.files, corpus.prints)
    corpus.save(folder, statistics, sample)
    folder.write_environment()
    source_lang, target_lang = languages_of(config.corpus)
    return Prepared(
        config=config,
        folder=folder,
        source_lang=source_lang,
        target_lang=target_lang,
        files=corpus.files,
        training=_data(config, tokenizers, training, config.tokenization.sampling),
        validation=_data(config, tokenizers, validation, 0.0),
        reasons=tuple(reasons),
    )


def _choose_rest(
    config: RunConfig,
    statistics: CorpusStatistics,
    training: Shards,
    folder: RunFolder,
    device: torch.device,
) -> tuple[RunConfig, list[str]]:
    """Fill in all that is still open once the text is cut into tokens; return it with the reasons.

    Raises:
        ConfigError: sizes that do not fit together.
    """

    def batches_an_epoch(batch_tokens: int) -> int:
        every = max(1, len(training) // _PAIRS_COUNTED)
        lengths = training.source_lengths[::every], training.target_lengths[::every]
        return every * len(epoch_order(*lengths, batch_tokens=batch_tokens, seed=0, epoch=0))

    config, reasons = choose_model(
        config,
        statistics,
        target_tokens=int(training.target_lengths.sum()),
        on_gpu=device.type == "cuda",
        batches_an_epoch=batches_an_epoch,
    )
    try:
        architecture_of(config.model)
    except ValueError as error:
        raise ConfigError(f"[model]: {error}") from error
    source_lang, target_lang = languages_of(config.corpus)
    languages = {"source_lang": source_lang, "target_lang": target_lang}
    update = {"run_dir": folder.path, "corpus": config.corpus.model_copy(update=languages)}
    return config.model_copy(update=update), reasons


def _data(
    config: RunConfig,
    tokenizers: TokenizerPair,
    shards: Shards,
    sampling: float,
) -> TrainingData:
    assert config.batching.batch_tokens is not None
    return TrainingData(
        shards=shards,
        pairs=StoredPairs(shards) if shards.keeps_text else (),
        tokenizers=tokenizers,
        batch_tokens=config.batching.batch_tokens,
        max_length=config.batching.max_length,
        seed=config.training.seed,
        sampling=sampling,
    )


def _train_tokenizers(
    config: RunConfig, folder: RunFolder, text: ParallelFiles, say: Say
) -> TokenizerPair:
    chosen = config.tokenization
    assert chosen.kind is not None
    assert chosen.vocabulary_size is not None
    sides = (("source", "target"),) if chosen.shared else (("source",), ("target",))
    trained = [
        train_tokenizer(
            _sentences(text, side, chosen.training_pairs),
            kind=chosen.kind,
            vocabulary_size=chosen.vocabulary_size,
            normalization=chosen.normalization,
            lowercase=chosen.lowercase,
            byte_level=chosen.byte_level,
        )
        for side in sides
    ]
    tokenizers = TokenizerPair(trained[0], trained[-1], shared=bool(chosen.shared))
    with replace_folder(folder.tokenizer) as new:
        tokenizers.save(new)
    sizes = " and ".join(f"{tokenizer.vocabulary_size:,}" for tokenizer in trained)
    say(f"vocabulary: {sizes} {chosen.kind} tokens")
    return tokenizers


def _sentences(text: ParallelFiles, sides: tuple[str, ...], sample: int) -> Iterator[str]:
    """Yield one side or both of the pairs that a vocabulary is learnt from; their order does not matter."""
    for pair in text.pairs(sample):
        for side in sides:
            yield pair.source if side == "source" else pair.target


def _shards(
    config: RunConfig,
    folder: RunFolder,
    corpus: RunCorpus,
    tokenizers: TokenizerPair,
    part: str,
    say: Say,
) -> Shards:
    """Open the shards of one part if they are there and fit; else write them, or finish what was begun."""
    encoder = Encoder(
        tokenizers,
        config.batching.max_length,
        keep_text=part == "validation" or config.tokenization.sampling > 0,
    )
    made_from = {
        "corpus": corpus.identity,
        "part": part,
        "tokenizers": _checksums(folder.tokenizer),
        "max_length": encoder.max_length,
        "keep_text": encoder.keep_text,
    }
    path = folder.shards / part
    try:
        shards = open_shards(path, made_from=made_from)
    except (
        CorpusError
    ):  # not there, of another version, damaged, or of something else: all mended alike
        text = corpus.training if part == "training" else corpus.validation
        shards = _write_shards(config, path, text, encoder, made_from, folder.tokenizer, say)
    for side, number in shards.manifest.truncated.items():
        if number:
            say(
                f"{part}: {number:,} {side} sentences were cut to batching.max_length = "
                f"{encoder.max_length} tokens"
            )
    return shards


def _write_shards(
    config: RunConfig,
    path: Path,
    text: ParallelFiles,
    encoder: Encoder,
    made_from: dict[str, Any],
    tokenizers: Path,
    say: Say,
) -> Shards:
    writer = ShardWriter(
        path, made_from=made_from, id_dtypes=encoder.id_dtypes, keep_text=encoder.keep_text
    )
    done = writer.take_up()
    if done:
        say(f"{path.name}: goes on after the first {writer.pairs:,} pairs, which are cut already")
    chunks = islice((chunk for chunk in text.chunks() if chunk.num_pairs), done, None)
    workers = config.training.threads or _num_cores()
    if len(text) < _PAIRS_FOR_WORKERS:
        workers = 1
    try:
        for chunk in encode_chunks(encoder, chunks, tokenizers=tokenizers, workers=workers):
            writer.append(chunk)
        return writer.finish()
    finally:
        writer.close()


def _checksums(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
    }


def _num_cores() -> int:
    mine = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(mine(0)) if mine else os.cpu_count() or 1
