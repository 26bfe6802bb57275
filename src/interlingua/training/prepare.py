"""A run before its first update: the corpus, the choices made from it, the tokenizer, the shards."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from interlingua.batching.order import epoch_order
from interlingua.batching.shards import Shards, write_shards
from interlingua.batching.truncation import truncate
from interlingua.config import RunConfig
from interlingua.config_files import save_config
from interlingua.corpus.pairs import SentencePair
from interlingua.errors import ConfigError
from interlingua.files import replace_folder
from interlingua.hardware import choose_device
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer
from interlingua.training.automatic import (
    CorpusStatistics,
    architecture_of,
    choose_model,
    choose_tokenization,
    measure_corpus,
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
    same_corpus = is_locked_to(folder, corpus.files)
    if folder.has_checkpoints() and not same_corpus:
        raise ConfigError(
            f"{folder.path}: was started with another text than {corpus.files[0]} and its companions "
            "hold now; use --fresh to start anew, or another --run-dir"
        )
    statistics = measure_corpus(corpus.training)
    tokenization, reasons = choose_tokenization(config.tokenization, statistics)
    config = config.model_copy(update={"tokenization": tokenization})
    if same_corpus and earlier and earlier.tokenization == tokenization:
        tokenizers = TokenizerPair.load(folder.tokenizer)
    else:
        tokenizers = _train_tokenizers(config, folder, corpus.training, say)
    training = _shards(config, folder.shards / "training", corpus.training, tokenizers, say)
    validation = _shards(config, folder.shards / "validation", corpus.validation, tokenizers, say)
    config, more = _choose_rest(config, statistics, training, folder, device)
    reasons = [*reasons, *more]
    for reason in reasons:
        say(f"chosen: {reason}")
    save_config(config, folder.config)
    lock_corpus(folder, corpus.files)
    folder.write_environment()
    source_lang, target_lang = languages_of(config.corpus)
    data, held_back = [
        _data(config, tokenizers, shards, pairs, sampling)
        for shards, pairs, sampling in (
            (training, corpus.training, config.tokenization.sampling),
            (validation, corpus.validation, 0.0),
        )
    ]
    return Prepared(
        config=config,
        folder=folder,
        source_lang=source_lang,
        target_lang=target_lang,
        files=corpus.files,
        training=data,
        validation=held_back,
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
        lengths = training.source_lengths, training.target_lengths
        return len(epoch_order(*lengths, batch_tokens=batch_tokens, seed=0, epoch=0))

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
    pairs: Sequence[SentencePair],
    sampling: float,
) -> TrainingData:
    assert config.batching.batch_tokens is not None
    return TrainingData(
        shards=shards,
        pairs=pairs,
        tokenizers=tokenizers,
        batch_tokens=config.batching.batch_tokens,
        max_length=config.batching.max_length,
        seed=config.training.seed,
        sampling=sampling,
    )


def _train_tokenizers(
    config: RunConfig, folder: RunFolder, pairs: Sequence[SentencePair], say: Say
) -> TokenizerPair:
    chosen = config.tokenization
    assert chosen.kind is not None
    assert chosen.vocabulary_size is not None
    sides = [[pair.source for pair in pairs], [pair.target for pair in pairs]]
    texts = [sides[0] + sides[1]] if chosen.shared else sides
    trained = [
        train_tokenizer(
            side,
            kind=chosen.kind,
            vocabulary_size=chosen.vocabulary_size,
            normalization=chosen.normalization,
            lowercase=chosen.lowercase,
            byte_level=chosen.byte_level,
        )
        for side in texts
    ]
    tokenizers = TokenizerPair(trained[0], trained[-1], shared=bool(chosen.shared))
    with replace_folder(folder.tokenizer) as new:
        tokenizers.save(new)
    sizes = " and ".join(f"{tokenizer.vocabulary_size:,}" for tokenizer in trained)
    say(f"vocabulary: {sizes} {chosen.kind} tokens")
    return tokenizers


def _shards(
    config: RunConfig,
    path: Path,
    pairs: Sequence[SentencePair],
    tokenizers: TokenizerPair,
    say: Say,
) -> Shards:
    room = config.batching.max_length
    sources = truncate(tokenizers.source.encode_batch([pair.source for pair in pairs]), room)
    targets = truncate(tokenizers.target.encode_batch([pair.target for pair in pairs]), room)
    for side, result in (("source", sources), ("target", targets)):
        if result.num_truncated:
            say(
                f"{path.name}: {result.num_truncated:,} {side} sentences were cut to batching.max_length = {room} tokens"
            )
    return write_shards(path, sources.ids, targets.ids)
