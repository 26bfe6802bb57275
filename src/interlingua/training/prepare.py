"""A run before its first update: the corpus, the choices made from it, the tokenizer, the shards."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from interlingua.batching.shards import Shards, write_shards
from interlingua.batching.truncation import truncate
from interlingua.config import RunConfig
from interlingua.config_files import load_config, save_config
from interlingua.corpus.embedded import write_embedded
from interlingua.corpus.fingerprint import fingerprint
from interlingua.corpus.pairs import SentencePair
from interlingua.corpus.parallel import language_of, read_parallel_text
from interlingua.corpus.split import split_validation
from interlingua.errors import ConfigError
from interlingua.files import write_text
from interlingua.hardware import choose_device
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer
from interlingua.training.automatic import (
    architecture_of,
    choose_model,
    choose_tokenization,
    measure_corpus,
)
from interlingua.training.data import TrainingData
from interlingua.training.run_folder import RunFolder

__all__ = ["Prepared", "prepare", "run_dir_of"]

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run before its first update: every choice made, text turned into ids."""

    config: RunConfig
    folder: RunFolder
    source_lang: str
    target_lang: str
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
    source, target = _languages(config)
    return Path("runs") / f"{source}-{target}"


def _languages(config: RunConfig) -> tuple[str, str]:
    corpus = config.corpus
    if corpus.embedded == "demo-ro-en":
        return "ro", "en"
    if corpus.embedded:
        return "digits", corpus.embedded
    source = corpus.source_lang or (language_of(corpus.source[0]) if corpus.source else None)
    target = corpus.target_lang or (language_of(corpus.target[0]) if corpus.target else None)
    return source or "source", target or "target"


def prepare(
    config: RunConfig, *, device: torch.device | None = None, say: Say = lambda _: None
) -> Prepared:
    """Make the choices, the tokenizer and the shards of a run, or find them already made.

    Raises:
        ConfigError, CorpusError, OutputError: see :func:`train`.
    """
    device = device or choose_device(config.training.device)
    folder = RunFolder(run_dir_of(config))
    folder.path.mkdir(parents=True, exist_ok=True)
    config, paths = _place_corpus(config, folder)
    training_pairs, validation_pairs = _read(config, say)
    _check_same_corpus(folder, paths)
    statistics = measure_corpus(training_pairs)
    tokenization, reasons = choose_tokenization(config.tokenization, statistics)
    config = config.model_copy(update={"tokenization": tokenization})
    tokenizers = _tokenizers(config, folder, training_pairs, say)
    training = _shards(config, folder.shards / "training", training_pairs, tokenizers, say)
    validation = _shards(config, folder.shards / "validation", validation_pairs, tokenizers, say)
    config, more = choose_model(
        config,
        statistics,
        target_tokens=int(training.target_lengths.sum()),
        on_gpu=device.type == "cuda",
    )
    source_lang, target_lang = _languages(config)
    corpus = config.corpus.model_copy(
        update={"source_lang": source_lang, "target_lang": target_lang}
    )
    config = config.model_copy(update={"run_dir": folder.path, "corpus": corpus})
    try:
        architecture_of(config.model)
    except ValueError as error:
        raise ConfigError(f"[model]: {error}") from error
    _check_same_settings(folder, config)
    for reason in (*reasons, *more):
        say(f"chosen: {reason}")
    save_config(config, folder.config)
    write_text(folder.corpus_lock, json.dumps(fingerprint(paths), indent=2) + "\n")
    folder.write_environment()

    def data(shards: Shards, pairs: Sequence[SentencePair], sampling: float) -> TrainingData:
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

    return Prepared(
        config=config,
        folder=folder,
        source_lang=source_lang,
        target_lang=target_lang,
        training=data(training, training_pairs, config.tokenization.sampling),
        validation=data(validation, validation_pairs, 0.0),
        reasons=(*reasons, *more),
    )


def _place_corpus(config: RunConfig, folder: RunFolder) -> tuple[RunConfig, list[Path]]:
    """Write the embedded corpus if one is asked for; return the files that the run reads."""
    corpus = config.corpus
    if corpus.embedded:
        files = write_embedded(corpus.embedded, folder.corpus, config.training.seed)
        corpus = corpus.model_copy(
            update={
                "source": (files.train_source,),
                "target": (files.train_target,),
                "valid_source": (files.valid_source,),
                "valid_target": (files.valid_target,),
            }
        )
    paths = [*corpus.source, *corpus.target, *corpus.valid_source, *corpus.valid_target]
    return config.model_copy(update={"corpus": corpus}), paths


def _read(config: RunConfig, say: Say) -> tuple[list[SentencePair], list[SentencePair]]:
    corpus = config.corpus
    text = read_parallel_text(corpus.source, corpus.target)
    if report := text.report():
        say(report)
    if corpus.valid_source or corpus.valid_target:
        held_back = read_parallel_text(corpus.valid_source, corpus.valid_target)
        say(f"{len(text.pairs):,} training pairs, {len(held_back.pairs):,} validation pairs")
        return text.pairs, held_back.pairs
    training, validation = split_validation(text.pairs, corpus.valid_size, config.training.seed)
    say(
        f"{len(training):,} training pairs; {len(validation):,} more held back for validation, "
        "because no validation files were given"
    )
    return training, validation


def _check_same_corpus(folder: RunFolder, paths: Sequence[Path]) -> None:
    if not folder.corpus_lock.exists():
        return
    locked = json.loads(folder.corpus_lock.read_text(encoding="utf-8"))
    for path, found in fingerprint(paths).items():
        if path in locked and locked[path]["sha256"] != found["sha256"]:
            raise ConfigError(
                f"{path}: has changed since {folder.path} was started; "
                "use --fresh to start anew, or another --run-dir"
            )


STOPPING = {
    "steps", "epochs", "minutes", "patience", "keep_checkpoints", "threads", "device",
    "validate_every", "validate_sentences", "average_last", "dtype",
}  # fmt: skip
"""Settings that may change when a run is resumed: they do not change what a step means."""


def _check_same_settings(folder: RunFolder, config: RunConfig) -> None:
    """Refuse to mix two configurations in one run."""
    if not folder.config.exists() or not folder.checkpoints.exists():
        return
    old = load_config(folder.config)
    for section in ("corpus", "tokenization", "batching", "model", "training"):
        before, now = getattr(old, section), getattr(config, section)
        for name in type(now).model_fields:
            if section == "training" and name in STOPPING | {"warmup_steps"}:
                continue
            if getattr(before, name) != getattr(now, name):
                raise ConfigError(
                    f"{folder.path}: was started with {section}.{name} = {getattr(before, name)}, "
                    f"not {getattr(now, name)}; use --fresh to start anew, or another --run-dir"
                )


def _tokenizers(
    config: RunConfig, folder: RunFolder, pairs: Sequence[SentencePair], say: Say
) -> TokenizerPair:
    if folder.tokenizer.exists():
        return TokenizerPair.load(folder.tokenizer)
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
    tokenizers.save(folder.tokenizer)
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
                f"{result.num_truncated:,} {side} sentences were cut to batching.max_length = {room} tokens"
            )
    return write_shards(path, sources.ids, targets.ids)
