"""A run before its first update: the corpus, the choices made from it, the tokenizer, the shards."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from interlingua.batching.mixing import weights_of
from interlingua.batching.shards import Shards, StoredPairs
from interlingua.checkpoints.untrusted import LARGEST_TABLE
from interlingua.config import CorpusConfig, RunConfig
from interlingua.config_contradictions import contradictions_in
from interlingua.config_files import save_config
from interlingua.corpus.denoising import Denoising
from interlingua.corpus.input_noise import InputNoise
from interlingua.corpus.masking import Masking
from interlingua.corpus.statistics import PAIRS_MEASURED, CorpusStatistics
from interlingua.directions import Direction
from interlingua.errors import ConfigError, ModelError
from interlingua.hardware import choose_device
from interlingua.model.architecture import AnyArchitecture, RecurrentArchitecture
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.vocabulary import BYTE_PIECES, SPECIAL_PIECES
from interlingua.training.answers import check_answers
from interlingua.training.automatic import (
    architecture_of,
    choose_model,
)
from interlingua.training.corpus_of_run import (
    RunCorpus,
    changed_since,
    languages_of,
    read_corpus,
    takes_files_otherwise,
)
from interlingua.training.data import TrainingData
from interlingua.training.directions_of_run import Part, directions_of, tag_ids
from interlingua.training.expected_bleu import BleuBand, expected_bleu
from interlingua.training.fine_tuning import choose_fine_tuning, open_start
from interlingua.training.resuming import (
    OF_THE_TEXT,
    earlier_config,
    in_words,
    refuse_to_overwrite,
    resumed_config,
)
from interlingua.training.run_folder import RunFolder
from interlingua.training.shards_of_run import reopen_shards, shards_of
from interlingua.training.starting import Start, recall_start
from interlingua.training.vocabularies_of_run import vocabularies_of_run
from interlingua.training.word_vectors import NAME, keep_word_vectors

__all__ = ["Prepared", "prepare", "prepare_locked", "reopen", "run_dir_of"]

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
    expected: BleuBand | None = None
    """What BLEU the model should come to, where that can be told."""
    start: Start | None = None
    """The model that training begins with, if it does not begin with fresh weights."""
    word_vectors: Path | None = None
    """What the embeddings begin as, if not all of them are drawn at random."""

    @property
    def architecture(self) -> AnyArchitecture:
        """The sizes of the model."""
        if self.start and self.start.is_whole:
            return self.start.architecture_for(self.config.model)
        return architecture_of(self.config.model)

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The pairs of languages that the model will know, each once; none where it is of one pair.

        Those of a whole model that it began with stay known, though what it has not been shown again it may forget.
        """
        own = self.training.directions
        before = self.start.directions if self.start and self.start.is_whole and own else ()
        return tuple(dict.fromkeys((*own, *before)))

    @property
    def tokenizers(self) -> TokenizerPair:
        """The tokenizers of both sides."""
        return self.training.tokenizers


def run_dir_of(config: RunConfig) -> Path:
    """Return the run folder: the configured one, or ``runs/SOURCE-TARGET``, with ``-tuned`` if it begins with a model.

    Of several pairs of languages, all languages.
    """
    if config.run_dir is not None:
        return config.run_dir
    every = [code for each in directions_of(config.corpus) for code in (each.source, each.target)]
    codes = tuple(dict.fromkeys(every)) or languages_of(config.corpus)
    name = config.corpus.embedded or "-".join(codes)
    return Path("runs") / (f"{name}-tuned" if config.start.init_from else name)


def prepare(config: RunConfig, *, say: Say = lambda _: None) -> Prepared:
    """Make the choices, the tokenizer and the shards of a run, and leave the rest to :func:`train`.

    Raises:
        ConfigError, CorpusError, OutputError, TrainingError: see :func:`train`.
    """
    folder = RunFolder(run_dir_of(config))
    config = resumed_config(config, folder)
    device = choose_device(config.training.device)
    start = open_start(config, folder)
    corpus = None if config.corpus.embedded else read_corpus(config, folder, say)
    with folder.locked():
        return prepare_locked(config, folder, corpus, start=start, device=device, say=say)


def prepare_locked(
    config: RunConfig,
    folder: RunFolder,
    corpus: RunCorpus | None,
    *,
    device: torch.device,
    say: Say,
    writes: bool = True,
    start: Start | None = None,
) -> Prepared:
    """Do the work of :func:`prepare` in a folder that this process holds.

    ``config`` is that of a run that is resumed, if there is one. ``corpus`` is None for an embedded one, which is
    written into the folder first. A run that has checkpoints keeps its corpus; one that has none is prepared anew,
    except for a tokenizer that would come out the same.

    Without ``writes`` nothing in the folder is touched: for a process that follows another one, which has prepared all.

    Raises:
        TrainingError: without ``writes``, something in the folder is missing, or does not fit.
    """
    earlier = earlier_config(folder)
    if not writes and earlier:
        config = earlier  # what the first process chose by its own processor counts for all
    corpus = corpus or read_corpus(config, folder, say, writes=writes)
    if folder.has_checkpoints():
        _refuse_another_text(corpus, folder)
    if folder.has_checkpoints() and earlier:
        _refuse_another_mixture(earlier.corpus, config.corpus, folder)
    if writes:
        _refuse_contradictions(config, folder)
        refuse_to_overwrite(folder)
        corpus.settle(folder)
    statistics = corpus.statistics(PAIRS_MEASURED)
    drawn = corpus.in_an_epoch(config.corpus, statistics, say)
    config, tokenizers, reasons = vocabularies_of_run(
        config, folder, corpus, start, say, statistics=drawn, device=device, writes=writes
    )
    training = shards_of(config, folder, corpus, tokenizers, "training", say, writes=writes)
    validation = shards_of(config, folder, corpus, tokenizers, "validation", say, writes=writes)
    corpus.check_unchanged()
    unknown_id = tokenizers.target.unknown_id
    check_answers(config, training, "training", unknown_id, say)
    check_answers(config, validation, "validation", unknown_id, say)
    config, more = _choose_rest(config, drawn, training, tokenizers, folder, device, start)
    reasons = [*reasons, *more]
    for reason in reasons:
        say(f"chosen: {reason}")
    if writes:
        _refuse_contradictions(config, folder)
        _keep_vectors(config, folder, tokenizers, say)
        save_config(config, folder.config)
        corpus.lock(folder)
        corpus.save(folder, statistics, PAIRS_MEASURED)
        if not folder.has_checkpoints():  # of a run that has begun it tells the machine
            folder.write_environment(started_from=start.origin if start else None)
    source_lang, target_lang = languages_of(config.corpus)
    batch_tokens = config.batching.batch_tokens
    assert batch_tokens is not None
    return Prepared(
        config=config,
        folder=folder,
        source_lang=source_lang,
        target_lang=target_lang,
        files=corpus.named,
        training=_training_data(config, tokenizers, training, batch_tokens),
        validation=_data(config, tokenizers, validation, batch_tokens, "validation"),
        reasons=tuple(reasons),
        expected=expected_bleu(config, statistics),
        start=start,
        word_vectors=_word_vectors(config, folder),
    )


def reopen(folder: RunFolder) -> Prepared:
    """Return a run as it was prepared, from its folder alone: the ids in ``shards/`` stand for the text.

    Raises:
        ModelError: there is no run, or its configuration or tokenizer cannot be read.
        CorpusError: its shards are missing, damaged, or made from something else.
    """
    config = earlier_config(folder)
    if config is None or config.batching.batch_tokens is None:
        raise ModelError(
            f"{folder.path}: is no run that has begun, as its config.toml is missing or not complete; "
            "name a folder that interlingua train has made"
        )
    tokenizers = TokenizerPair.load(folder.tokenizer)
    training, validation = (
        reopen_shards(config, folder, tokenizers, "training"),
        reopen_shards(config, folder, tokenizers, "validation"),
    )
    source_lang, target_lang = languages_of(config.corpus)
    batch_tokens = config.batching.batch_tokens
    return Prepared(
        config=config,
        folder=folder,
        source_lang=source_lang,
        target_lang=target_lang,
        files=(),
        training=_training_data(config, tokenizers, training, batch_tokens),
        validation=_data(config, tokenizers, validation, batch_tokens, "validation"),
        reasons=(),
        start=recall_start(folder) if config.start.begins_with_a_model else None,
        word_vectors=_word_vectors(config, folder),
    )


def _refuse_contradictions(config: RunConfig, folder: RunFolder) -> None:
    """Raise a ConfigError rather than write a configuration that no later start could read; one made in Python is first seen here."""
    for _, reason in contradictions_in(config):
        raise ConfigError(f"{folder.path}: {reason}")


def _keep_vectors(
    config: RunConfig, folder: RunFolder, tokenizers: TokenizerPair, say: Say
) -> None:
    """Read the vectors of words that a run begins with, unless it has begun."""
    path = _word_vectors(config, folder)
    if path is None or folder.has_checkpoints():
        return
    d_model = config.model.d_model
    assert d_model is not None  # it was chosen
    for found in keep_word_vectors(config.start, tokenizers, d_model, path):
        say(found)


def _word_vectors(config: RunConfig, folder: RunFolder) -> Path | None:
    """Return where a run keeps the vectors of words that its embeddings begin as, if any."""
    start = config.start
    return folder.start / NAME if start.source_vectors or start.target_vectors else None


def _refuse_another_text(corpus: RunCorpus, folder: RunFolder) -> None:
    """Raise a ConfigError if a run that has begun would be trained or validated on other pairs."""
    changed = changed_since(folder, corpus.files, corpus.prints)
    if changed != ():
        before = f"another text than {_in_words(corpus, changed)} now"
    elif takes_files_otherwise(folder, corpus.identity):
        before = (
            "these files, but not each as often, or not for the same part (training, validation)"
        )
    else:
        return
    raise ConfigError(
        f"{folder.path}: was started with {before}; use --fresh to start anew, or another --run-dir"
    )


def _in_words(corpus: RunCorpus, changed: tuple[Path, ...] | None) -> str:
    """Name the files that hold another text, if they are those that the user named."""
    if not changed or len(corpus.named) != len(corpus.files):
        return f"{corpus.named[0]} and its companions hold"
    named = dict(zip(corpus.files, corpus.named, strict=True))
    names = " and ".join(str(named[path]) for path in changed)
    return f"{names} {'holds' if len(changed) == 1 else 'hold'}"


def _refuse_another_mixture(before: CorpusConfig, now: CorpusConfig, folder: RunFolder) -> None:
    """Raise a ConfigError if the epochs of a run that has begun would hold something else, or text of other languages."""
    before, now = _with_languages(before), _with_languages(now)
    for name in OF_THE_TEXT:
        was, other = getattr(before, name), getattr(now, name)
        if was != other:
            raise ConfigError(
                f"{folder.path}: was started with corpus.{name} = {in_words(was)}, not {in_words(other)}; use --fresh to start anew, or "
                "another --run-dir"
            )


def _with_languages(corpus: CorpusConfig) -> CorpusConfig:
    """Return ``corpus`` with the languages that it has where none were given."""
    source_lang, target_lang = languages_of(corpus)
    return corpus.model_copy(update={"source_lang": source_lang, "target_lang": target_lang})


def _choose_rest(
    config: RunConfig,
    statistics: CorpusStatistics,
    training: Shards,
    tokenizers: TokenizerPair,
    folder: RunFolder,
    device: torch.device,
    start: Start | None,
) -> tuple[RunConfig, list[str]]:
    """Fill in all that is still open once the text is cut into tokens; return it with the reasons.

    Raises:
        ConfigError: sizes that do not fit together.
    """
    # How large a batch is, is chosen only now; nothing that is asked of these data depends on it.
    data = _training_data(config, tokenizers, training, batch_tokens=1)
    if start and start.is_whole:
        config, reasons = choose_fine_tuning(
            config,
            start,
            statistics,
            target_tokens=data.target_tokens,
            on_gpu=device.type == "cuda",
            batches_an_epoch=data.count_batches,
        )
    else:
        config, reasons = choose_model(
            config,
            statistics,
            target_tokens=data.target_tokens,
            on_gpu=device.type == "cuda",
            batches_an_epoch=data.count_batches,
        )
    if config.corpus.temperature is not None:
        weights = ", ".join(f"{weight:g}" for weight in data.weights)
        reasons.insert(0, f"corpus.weights = {weights}: temperature {config.corpus.temperature:g}")
    try:
        if start and start.is_whole:
            architecture = start.architecture_for(config.model)
        else:
            architecture = architecture_of(config.model)
    except ValueError as error:
        raise ConfigError(f"[model]: {error}") from error
    most = LARGEST_TABLE // architecture.d_model
    has_table = not isinstance(architecture, RecurrentArchitecture)
    if has_table and architecture.max_positions > most:
        raise ConfigError(
            f"model.max_positions: {architecture.max_positions:,} of width {architecture.d_model:,} would be a table that no model is read "
            f"with; {most:,} at most"
        )
    update = {"run_dir": folder.path, "corpus": _with_languages(config.corpus)}
    return config.model_copy(update=update), reasons


def _training_data(
    config: RunConfig, tokenizers: TokenizerPair, shards: Shards, batch_tokens: int
) -> TrainingData:
    data = _data(config, tokenizers, shards, batch_tokens, "training")
    noise = config.corpus.noise
    sources = {each.source for each in data.directions} or {languages_of(config.corpus)[0]}
    language = sources.pop() if len(sources) == 1 else ""
    return replace(
        data,
        sampling=config.tokenization.sampling or 0.0,
        noise=InputNoise(noise, config.training.seed, language) if noise else data.noise,
        weights=weights_of(shards.parts, config.corpus.weights, config.corpus.temperature),
    )


def _data(
    config: RunConfig, tokenizers: TokenizerPair, shards: Shards, batch_tokens: int, part: Part
) -> TrainingData:
    corpus, seed = config.corpus, config.training.seed
    gaps = Denoising(corpus.denoise, corpus.denoise_span, corpus.denoise_reach, seed)
    return TrainingData(
        shards=shards,
        pairs=StoredPairs(shards) if shards.keeps_text else (),
        tokenizers=tokenizers,
        batch_tokens=batch_tokens,
        max_length=config.batching.max_length,
        seed=seed,
        directions=directions_of(corpus, part),
        prefixes=tag_ids(corpus, tokenizers, part),
        # Unlike what people type, gaps are the task itself: a validation has them too, the same each time.
        noise=gaps if corpus.denoise else None,
        masking=_masking(config, tokenizers),
        has_classes=config.model.answers == "sequence",
        writes_on=config.model.kind == "decoder",
    )


def _masking(config: RunConfig, tokenizers: TokenizerPair) -> Masking | None:
    """Return what hides tokens of a text from an encoder, behind the symbol that no text becomes."""
    if config.model.kind != "encoder" or not config.corpus.text:
        return None
    pieces = tokenizers.source.all_tokens()
    first = len(SPECIAL_PIECES) + len(BYTE_PIECES)
    words = (first if first < len(pieces) else len(SPECIAL_PIECES), len(pieces))
    return Masking(config.corpus.mask, tokenizers.source.unknown_id, words, config.training.seed)
