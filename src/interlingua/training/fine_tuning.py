"""Choices for a run that begins with a model: what the model decides, and how to learn on without forgetting at once.

What learns another task, a language that the model does not know or translation after filling gaps, has more to learn and nothing to keep.
"""

from collections.abc import Callable
from dataclasses import replace

from interlingua.checkpoints.model_folder import BuildModel
from interlingua.config import RunConfig, TokenizationConfig
from interlingua.corpus.parallel import read_parallel
from interlingua.corpus.statistics import CorpusStatistics
from interlingua.directions import in_words
from interlingua.errors import ConfigError
from interlingua.model.architecture import fields_of
from interlingua.model.building import build_encoder_decoder
from interlingua.tokenization.normalisation import Normaliser
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.piece_tokenizer import PieceTokenizer
from interlingua.training.adapting import freeze, restrict
from interlingua.training.automatic import steps_asked_for, steps_in_time, usual_dropout
from interlingua.training.borrowed_encoder import fit_to_encoder
from interlingua.training.corpus_of_run import languages_of
from interlingua.training.directions_of_run import (
    direction_of_files,
    directions_of,
    symbols_of,
)
from interlingua.training.run_folder import RunFolder
from interlingua.training.starting import (
    Start,
    languages_with,
    read_start,
    recall_start,
    refuse_contradictions,
    refuse_sampling,
)
from interlingua.training.word_vectors import check_word_vectors

__all__ = ["choose_fine_tuning", "inherit", "learns_another_task", "open_start"]

_KINDS = ("bpe", "unigram", "wordpiece", "word", "char")
_FREE = ("preset", "dropout", "attention_dropout", "activation_dropout")
_WIDTH = 256
"""The learning rates below are for this d_model, and fall with the root of it, as the paper's does."""
_PEAK, _PEAK_OF_ANOTHER_TASK, _PEAK_OF_ADAPTERS = 5e-4, 1e-3, 3e-3
_SHARE_OF_IMPORTED = 0.3
"""Models from elsewhere are trained longer, and to a lower rate at their end: OPUS-MT's, with Marian's usual rate of 3e-4, would get more than
that at width 512."""
_PASSES, _PASSES_OF_ANOTHER_TASK = 10, 40
_FEWEST_STEPS, _FEWEST_STEPS_OF_ANOTHER_TASK, _MOST_STEPS = 200, 3_000, 20_000


def open_start(
    config: RunConfig,
    folder: RunFolder,
    *,
    fresh: bool = False,
    build_model: BuildModel = build_encoder_decoder,
) -> Start | None:
    """Return what is to be known of the starting model: from the run, once it has begun, else from the model.

    What does not fit the model is refused here, and so are vectors of words that cannot be read, before anything is written.

    Raises:
        ConfigError: the model lies in the run itself, or something is asked for that it does not have.
        ModelError: it is missing or damaged.
        CorpusError: the text to keep, or vectors of words, cannot be read.
    """
    asked = config.start
    model = asked.init_from or asked.encoder_from
    has_begun = folder.has_checkpoints() and not fresh
    if not has_begun:
        check_word_vectors(asked, config.model.d_model)
    if model is None:
        return None
    if has_begun:
        return recall_start(folder)
    place = model.resolve()
    if folder.path.resolve() in (place, *place.parents):
        key = "init_from" if asked.init_from else "encoder_from"
        raise ConfigError(
            f"start.{key} = {model}: lies in the folder of the run that would begin with it, "
            f"{folder.path}; give another --run-dir"
        )
    start, loaded = read_start(model, build_model)
    if asked.encoder_from:
        fit_to_encoder(config, start, loaded.tokenizers.source)
        if asked.freeze:
            freeze(loaded.model.requires_grad_(True), asked.freeze)
        return replace(start, part="encoder")
    is_extended = bool(asked.new_pieces or symbols_of(config.corpus))
    inherit(config, start, loaded.tokenizers, is_extended=is_extended)
    restrict(loaded.model.requires_grad_(True), asked)
    if asked.keep_source:
        _refuse_kept_text_without_direction(config, start)
        read_parallel(asked.keep_source, asked.keep_target)
    return start


def _refuse_kept_text_without_direction(config: RunConfig, start: Start) -> None:
    """Raise a ConfigError if a run that tells directions is given text to keep whose own names do not tell one that the model knows."""
    if not config.corpus.directions or start.is_unnamed:
        return
    kept = config.start
    for source, target in zip(kept.keep_source, kept.keep_target, strict=True):
        if direction_of_files(source, target, start.known) is None:
            known = start.known[0]
            raise ConfigError(
                f"{source}, {target}: their names do not tell a pair of languages of {start.model}, which translates "
                f"{in_words(start.known)}; name text to keep by its languages, such as keep.{known.source} and keep.{known.target}"
            )


def inherit(
    config: RunConfig, start: Start, tokenizers: TokenizerPair, *, is_extended: bool
) -> RunConfig:
    """Fill in all that the starting model decides: tokenizer, sizes, languages, longest text, search.

    Args:
        config: what the user asks for.
        start: the model.
        tokenizers: its tokenizers, extended if the run extends them.
        is_extended: whether it does.

    Raises:
        ConfigError: something else is asked for.
    """
    tokenization = _tokenization(config.tokenization, tokenizers, start, is_extended=is_extended)
    corpus = config.corpus
    if corpus.text and not corpus.denoise and start.architecture.kind not in ("encoder", "decoder"):
        raise ConfigError(
            f"corpus.text is source and target at once, which would teach {start.model} to copy and no more; add corpus.denoise, "
            "such as 0.35, or give pairs"
        )
    told = languages_of(config.corpus)
    if config.start.new_language:
        if start.directions and not config.corpus.directions:
            raise ConfigError(
                f"{start.model}: is of several pairs of languages; say of every file which it is, for example "
                f"--corpus.directions {start.directions[0]}"
            )
    else:
        told = languages_with(start, config.corpus, told)
    languages = {"source_lang": told[0], "target_lang": told[1]}
    max_length = {"max_length": _max_length(config, start)}
    update = {
        "corpus": config.corpus.model_copy(update=languages),
        "tokenization": tokenization,
        "batching": config.batching.model_copy(update=max_length),
        "model": _sizes_of(config, start),
        "decoding": _decoding(config, start),
    }
    config = config.model_copy(update=update)
    refuse_contradictions(config, start)
    return config


def _tokenization(
    asked: TokenizationConfig, tokenizers: TokenizerPair, start: Start, *, is_extended: bool
) -> TokenizationConfig:
    source = tokenizers.source
    own: dict[str, object] = {"shared": tokenizers.shared}
    if source.kind in _KINDS:
        own["kind"] = source.kind
    size = max(source.vocabulary_size, tokenizers.target.vocabulary_size)
    own["vocabulary_size"] = size if size >= 262 else None
    if is_extended and asked.vocabulary_size is not None:
        own["vocabulary_size"] = asked.vocabulary_size  # how large it grows is not known yet
    if isinstance(source, PieceTokenizer):
        own["byte_level"] = source.spacing.byte_level
        if isinstance(source.normaliser, Normaliser):
            own["normalization"] = source.normaliser.form
            own["lowercase"] = source.normaliser.lowercase
    for name, value in own.items():
        wanted = getattr(asked, name)
        if name in asked.model_fields_set and wanted is not None and wanted != value:
            raise ConfigError(
                f"tokenization.{name} = {_in_words(wanted)}: {start.model} has {_in_words(value)}, and its tokenizer "
                "is kept; leave this out"
            )
    own["sampling"] = asked.sampling or 0.0
    refuse_sampling(asked.sampling, source, start)
    return asked.model_copy(update=own)


def learns_another_task(config: RunConfig, start: Start) -> bool:
    """Tell whether the run is to learn what its model does not do; one that is shown a pair of languages again has something to keep."""
    if start.fills_gaps and not config.corpus.text:
        return True
    is_kept = any(each in start.known for each in directions_of(config.corpus))
    return config.start.new_language and not is_kept


def _learns_whole(config: RunConfig) -> bool:
    """Tell whether all weights are trained."""
    return config.start.lora_rank is None and not config.start.freeze


def choose_fine_tuning(
    config: RunConfig,
    start: Start,
    corpus: CorpusStatistics,
    *,
    target_tokens: int,
    on_gpu: bool,
    batches_an_epoch: Callable[[int], int],
) -> tuple[RunConfig, list[str]]:
    """Choose a training that is short and gentle, unless it learns another task; return it with the reasons.

    Args:
        config: the configuration, with all that it inherits.
        start: the model.
        corpus: what the choices look at.
        target_tokens: target tokens of one epoch, end symbols included.
        on_gpu: whether a graphics card computes.
        batches_an_epoch: tells how many batches of so many padded tokens make one epoch.
    """
    sizes = start.architecture
    reasons = [
        f"model.* as in {start.model}: {sizes.encoder_layers} + {sizes.decoder_layers} layers, width "
        f"{sizes.d_model}, {start.source_lang} to {start.target_lang}"
    ]
    batch_tokens = config.batching.batch_tokens
    if batch_tokens is None:
        batch_tokens = 1024 if target_tokens < 300_000 else 4096
        reasons.append(
            f"batching.batch_tokens = {batch_tokens:,}: {target_tokens:,} target tokens an epoch, and a model that "
            "can do something already learns from small batches"
        )
    epoch = max(1, batches_an_epoch(batch_tokens)) / config.training.accumulate
    size = config.tokenization.vocabulary_size or 0
    in_time = steps_in_time(config.training, config.model, size, batch_tokens, on_gpu=on_gpu)
    training = _length(config, start, epoch, in_time, reasons)
    update = {
        "batching": config.batching.model_copy(update={"batch_tokens": batch_tokens}),
        "model": _dropout(config, start, corpus, reasons),
        "training": config.training.model_copy(update=training),
        "start": _adapter(config, reasons),
    }
    return config.model_copy(update=update), reasons


def _sizes_of(config: RunConfig, start: Start) -> object:
    """Fill in the model's sizes; what a user asks for must not differ."""
    asked, kind = config.model, start.architecture.kind
    update: dict[str, object] = {}
    for name in sorted(asked.model_fields_set - fields_of(kind) - {"kind", "preset"}):
        wanted = getattr(asked, name)
        if wanted != type(asked).model_fields[name].default:
            raise ConfigError(
                f"model.{name} = {_in_words(wanted)}: {start.model} is of the kind {kind}, which has none; leave it out"
            )
    is_new = _learns_whole(config) and learns_another_task(config, start)
    is_open = {"dropout"} if is_new else set()
    for name, value in (start.architecture.to_dict() | {"kind": kind}).items():
        if name not in type(asked).model_fields or name in is_open:
            continue
        wanted = getattr(asked, name)
        if name in asked.model_fields_set and wanted is not None:
            if name not in _FREE and wanted != value:
                raise ConfigError(
                    f"model.{name} = {_in_words(wanted)}: {start.model} has {_in_words(value)}, which cannot be "
                    "changed; leave it out"
                )
            continue
        update[name] = value
    return asked.model_copy(update=update)


def _max_length(config: RunConfig, start: Start) -> int:
    asked = config.batching
    if "max_length" not in asked.model_fields_set:
        return start.max_length
    most = start.architecture.max_positions
    if asked.max_length > most:
        raise ConfigError(
            f"batching.max_length = {asked.max_length}: {start.model} has {most} positions; lower it"
        )
    return asked.max_length


def _dropout(
    config: RunConfig, start: Start, corpus: CorpusStatistics, reasons: list[str]
) -> object:
    """Choose the dropout where the model does not decide it: what it had, or what the new text asks for if that is more."""
    if config.model.dropout is not None:
        return config.model
    before, usual = start.architecture.dropout, usual_dropout(corpus)
    if usual > before:
        reasons.append(
            f"model.dropout = {usual}: {start.model} had {before:g}; the less text, the more"
        )
    return config.model.model_copy(update={"dropout": max(before, usual)})


def _length(
    config: RunConfig, start: Start, epoch: float, in_time: int, reasons: list[str]
) -> dict[str, object]:
    """Choose how long to train, and how the learning rate goes; ``epoch`` is in updates, ``in_time`` those that the clock may allow."""
    training, is_another = config.training, learns_another_task(config, start)
    passes, fewest = _PASSES, _FEWEST_STEPS
    if is_another:
        passes, fewest = _PASSES_OF_ANOTHER_TASK, _FEWEST_STEPS_OF_ANOTHER_TASK
    enough = min(_MOST_STEPS, max(fewest, round(passes * epoch)))
    update: dict[str, object] = {}
    steps = steps_asked_for(training, epoch)
    if steps is None and training.minutes is None:
        steps = enough
        why = (
            "it is another task than that of the model"
            if is_another
            else "the model knows the languages already, and longer training on a small corpus learns it by heart"
        )
        reasons.append(f"training.steps = {steps:,}: {steps / epoch:.0f} passes; {why}")
    update["steps"] = steps
    steps = steps or max(_FEWEST_STEPS, min(enough, in_time))
    if training.peak_learning_rate is None:
        peak, why = _peak(config, start)
        update["peak_learning_rate"] = float(
            f"{peak * (_WIDTH / start.architecture.d_model) ** 0.5:.2g}"
        )
        reasons.append(f"training.peak_learning_rate = {update['peak_learning_rate']:g}: {why}")
    if training.schedule is None:
        update["schedule"] = "linear"
        reasons.append(
            "training.schedule = linear: down to zero, as the end is near from the start"
        )
    if training.warmup_steps is None:
        update["warmup_steps"] = min(500, max(10, steps // 10))
        reasons.append(
            f"training.warmup_steps = {update['warmup_steps']:,}: Adam begins without its running means"
        )
    if training.validate_every is None:
        update["validate_every"] = min(2_000, max(20, steps // (20 if is_another else 10)))
    if training.patience is None:
        update["patience"] = 10 if is_another else 5
    return update


def _peak(config: RunConfig, start: Start) -> tuple[float, str]:
    """Return the highest learning rate for the width that the numbers are for, and why it is that."""
    if config.start.lora_rank is not None:
        return (
            _PEAK_OF_ADAPTERS,
            "an adapter begins at nothing and takes larger steps than the weights themselves",
        )
    is_another = learns_another_task(config, start)
    peak = _PEAK_OF_ANOTHER_TASK if is_another else _PEAK
    if start.imported:
        why = "gentle, as the model is of another program, which may have trained it long"
        return _SHARE_OF_IMPORTED * peak, why
    if is_another:
        return peak, "higher than to learn on, as it is another task"
    return peak, "a fraction of what trained it, so that what it knows is not overwritten"


def _adapter(config: RunConfig, reasons: list[str]) -> object:
    start = config.start
    if start.lora_rank is None or start.lora_alpha is not None:
        return start
    alpha = 2.0 * start.lora_rank
    reasons.append(f"start.lora_alpha = {alpha:g}: twice the rank")
    return start.model_copy(update={"lora_alpha": alpha})


def _decoding(config: RunConfig, start: Start) -> object:
    """Search as the model was made to be searched, unless the user says otherwise."""
    asked = config.decoding
    known = {
        name: value for name, value in start.decoding.items() if name in type(asked).model_fields
    }
    return asked.model_copy(
        update={name: v for name, v in known.items() if name not in asked.model_fields_set}
    )


def _in_words(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
