"""The model and the training that suit a corpus, each choice with its reason.

Where the configuration says nothing (``None``), sizes, dropout and length of training follow from how much text there is
and what it looks like; on a graphics card models and batches may be larger. In a run that only the clock ends the cores are counted too,
for batches, dropout, warm-up and validations. A run keeps what was chosen: a resumed one, and the other processes of one, begin
with that.
"""

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any, Literal

import torch

from interlingua.config import ModelConfig, RunConfig, TrainingConfig
from interlingua.corpus.statistics import CorpusStatistics
from interlingua.errors import ConfigError
from interlingua.hardware import choose_dtype, num_cores
from interlingua.model.architecture import (
    PRESETS,
    AnyArchitecture,
    architecture_from,
    fields_of,
)
from interlingua.training.automatic_vocabulary import LITTLE_TEXT
from interlingua.training.schedule import paper_peak

__all__ = [
    "WARMUP_OF_PEAK",
    "architecture_of",
    "choose_model",
    "largest_preset",
    "most_updates",
    "steps_asked_for",
    "steps_in_time",
    "usual_dropout",
    "usual_preset",
]

_STEPS_IN_THE_TIME = 5_000
"""Updates that a run limited by minutes is taken to make at the most, before anybody knows how fast the machine is.

Only the warm-up and the distance between validations follow from it; the run ends when its time is over.
"""

_FLOPS_OF_A_CORE = {torch.float32: 4e10, torch.bfloat16: 1.2e11}
"""Floating-point operations a second of training on one core: what a Zen 3 does; of processors with bfloat16 a Zen 4 does
about so many, and a Zen 5 more."""

_PIECES_A_WORD = 1.5
"""Of a vocabulary as small as little text gets, end symbols counted: before it is learnt."""

_LETTERS_A_WORD = 2
"""In scripts without spaces, where most words are about so long."""

_FEWEST_STEPS, _FEWEST_STEPS_SAMPLED = 2_000, 3_000
"""Updates of the shortest training on ordinary text; words that are cut in other ways each time are learnt later, and further."""

WARMUP_OF_PEAK = 1_000
"""Updates of warm-up whose highest learning rate by the paper's rule every run gets, unless it says otherwise.

That rule reaches the higher, the shorter the warm-up is: a run of 2,000 updates on 1,000 pairs, with 200 of them, came to 0.006, and learnt
nothing (BLEU 2.6 on Multi30k; 14.1 with 0.002, 14.5 with 0.0028).
"""

_SHALLOW, _WARMUP_OF_DEEP_PEAK = 4, 4_000
"""More layers than so many on a side get the paper's own highest rate, half as much: with 0.002 six and two layers of width 256 learnt to write and
never to look at the source (BLEU 1.3 after 2,600 updates), and with 0.00099 came to 10.3 after 600.
"""

_FEWEST_STEPS_TO_WARM_UP = 500
"""Updates of the shortest warm-up of a Transformer that translates ordinary text. Its layers are normalised afterwards: where the rate rises to
that height in 100 updates, the decoder learns to write and never to look at the source (29,000 captions, ten minutes of one core: BLEU 2.4
instead of 34.2 after 500). With a linear decay a run that ends sooner gets no farther up the same slope.
"""

_FEW_PASSES = 20
"""Passes over the text up to which it is not learnt by heart."""

_ENOUGH_UPDATES, _SMALLEST_BATCH = 2_500, 1_024
"""Where minutes leave room for few passes and fewer updates, batches are halved down to so many tokens."""

_ENOUGH_DROPOUT = {_FEW_PASSES // 2: 0.1, _FEW_PASSES: 0.2}
"""Passes below which so much dropout is enough. With it and batches of 1,024 tokens the ten minutes of above came to 36.6 and 37.8 BLEU, with 0.3 and
batches of 4,096 to 34.2."""

Preset = Literal["tiny", "small", "base", "big"]

_MUCH_TEXT, _MUCH_TEXT_ON_CPU = 300_000, 3_000_000
"""Pairs from which a graphics card, or a processor, trains a base model; from the former on the rate follows the paper: a linear decay was not tried with so many."""

_PEAK_OF_PREDECESSORS = 0.001
"""Learning rate of recurrent and convolutional models (Kingma and Ba 2015)."""

_USUAL_OF_PREDECESSORS: dict[str, int | str] = {
    "attention": "dot",
    "bidirectional": True,
    "kernel_width": 3,
}
"""What a recurrent or convolutional model has when nothing is said."""

_SIZES_OF_PRESETS = ("encoder_layers", "decoder_layers", "d_model", "d_ff", "heads")

_RECURRENT_LAYERS = {"tiny": 1, "small": 1, "base": 2, "big": 4}
"""Layers a side of a recurrent model: one (Bahdanau et al. 2015) up to four (Sutskever et al. 2014)."""


def most_updates(config: RunConfig, corpus: CorpusStatistics, *, on_gpu: bool) -> int | None:
    """Return how many updates of a tiny model a run makes at most, by number or by a guess of what the passes or the minutes come
    to; None where none of these is given.
    """
    training = config.training
    limits = [training.steps] if training.steps else []
    if training.epochs:
        words = max(corpus.target_words, corpus.target_unspaced / _LETTERS_A_WORD)
        tokens = _PIECES_A_WORD * words / corpus.measured * corpus.pairs
        usual = 1_024 if config.start.init_from else 2_048
        batch = (config.batching.batch_tokens or usual) * training.accumulate
        limits.append(max(1, round(training.epochs * tokens / batch)))
    if training.minutes:
        tiny = PRESETS["tiny"].to_dict()
        model = ModelConfig.model_validate({name: tiny[name] for name in _SIZES_OF_PRESETS})
        limits.append(steps_in_time(training, model, 2_000, 2_048, on_gpu=on_gpu))
    return min(limits, default=None)


def largest_preset(num_pairs: int) -> Preset:
    """Return the largest preset that so many pairs of ordinary text are enough for."""
    if num_pairs < LITTLE_TEXT:
        return "tiny"
    if num_pairs < _MUCH_TEXT:
        return "small"
    return "base" if num_pairs < 1_000_000 else "big"


def usual_preset(num_pairs: int, *, on_gpu: bool) -> Preset:
    """Return the preset that is chosen for so many pairs of ordinary text: on a processor a smaller one than they are enough for, as it takes less time."""
    largest = largest_preset(num_pairs)
    if largest in ("tiny", "small"):
        return largest
    return "base" if on_gpu or num_pairs >= _MUCH_TEXT_ON_CPU else "small"


def choose_model(
    config: RunConfig,
    corpus: CorpusStatistics,
    *,
    target_tokens: int,
    on_gpu: bool,
    batches_an_epoch: Callable[[int], int],
) -> tuple[RunConfig, list[str]]:
    """Fill in the model's sizes, the batches and the length of training; return them with the reasons.

    Args:
        config: the configuration, its tokenization already chosen.
        corpus: what the choices look at.
        target_tokens: target tokens of one epoch, end symbols included.
        on_gpu: whether a graphics card computes.
        batches_an_epoch: tells how many batches of so many padded tokens make one epoch.

    Raises:
        ConfigError: one matrix is asked for two vocabularies.
    """
    reasons: list[str] = []
    model = _choose_sizes(config.model, corpus, on_gpu=on_gpu, reasons=reasons)
    if model.tie is None:
        tie = "three-way" if config.tokenization.shared else "target"
        model = model.model_copy(update={"tie": tie})
    elif model.tie == "three-way" and config.tokenization.shared is False:
        raise ConfigError(
            "model.tie = three-way needs one vocabulary, and the two sides have one each; "
            'set model.tie to "target", or tokenization.shared to true'
        )
    vocabulary_size = config.tokenization.vocabulary_size or 0
    in_minutes = _tokens_in_time(config.training, model, vocabulary_size, on_gpu=on_gpu)
    accumulate = config.training.accumulate
    batch_tokens = config.batching.batch_tokens
    if batch_tokens is None:
        batch_tokens = 2048 if corpus.is_rules or target_tokens < 300_000 else 4096
        batch_tokens = 25_000 if on_gpu and corpus.pairs > 100_000 else batch_tokens
        why = f"{target_tokens:,} target tokens an epoch"
        while (
            in_minutes < _FEW_PASSES * target_tokens
            and in_minutes < _ENOUGH_UPDATES * batch_tokens * accumulate
            and batch_tokens > _SMALLEST_BATCH
        ):
            batch_tokens //= 2
            why = f"so that {config.training.minutes:g} minutes have room for more updates"
        reasons.append(f"batching.batch_tokens = {batch_tokens:,}: {why}")
    epoch = max(1, batches_an_epoch(batch_tokens)) / accumulate
    batching = config.batching.model_copy(update={"batch_tokens": batch_tokens})
    in_time = steps_in_time(config.training, model, vocabulary_size, batch_tokens, on_gpu=on_gpu)
    if model.dropout is None:
        updates = min(config.training.steps or inf, in_minutes / (batch_tokens * accumulate))
        passes = min(config.training.epochs or inf, updates / epoch)
        model = model.model_copy(update={"dropout": _choose_dropout(corpus, passes, reasons)})
    config = config.model_copy(update={"model": model, "batching": batching})
    training = _choose_length(
        config.training,
        corpus,
        epoch=epoch,
        fewest=_FEWEST_STEPS_SAMPLED if config.tokenization.sampling else _FEWEST_STEPS,
        model=model,
        in_time=in_time,
        reasons=reasons,
    )
    return config.model_copy(update={"training": training}), reasons


def steps_asked_for(training: TrainingConfig, epoch: float) -> int | None:
    """Return how many updates a run makes at most by what is told of updates and of passes, ``epoch`` updates each; None where neither is."""
    if training.epochs is None:
        return training.steps
    return min(training.steps or 10**9, max(1, round(training.epochs * epoch)))


def steps_in_time(
    training: TrainingConfig,
    model: ModelConfig,
    vocabulary_size: int,
    batch_tokens: int,
    *,
    on_gpu: bool,
) -> int:
    """Guess how many updates are made within the minutes of a run; the true number may be three times as large, or a third."""
    tokens = _tokens_in_time(training, model, vocabulary_size, on_gpu=on_gpu)
    return round(min(_STEPS_IN_THE_TIME, tokens / (batch_tokens * training.accumulate)))


def _tokens_in_time(
    training: TrainingConfig, model: ModelConfig, vocabulary_size: int, *, on_gpu: bool
) -> float:
    """Guess how many padded tokens that is, without an upper limit; infinity where no minutes are given, or a graphics card computes."""
    if on_gpu or training.minutes is None:
        return inf
    width, inner = model.d_model or 512, model.d_ff or 0
    encoder = (model.encoder_layers or 0) * (4 * width**2 + 2 * width * inner)
    decoder = (model.decoder_layers or 0) * (8 * width**2 + 2 * width * inner)
    weights = encoder + decoder + width * vocabulary_size
    speed = _FLOPS_OF_A_CORE[choose_dtype(training.dtype, torch.device("cpu"))]
    cores = training.threads or num_cores()
    return 60 * training.minutes * cores * speed / max(6 * weights, 1)


def _choose_length(
    training: TrainingConfig,
    corpus: CorpusStatistics,
    *,
    epoch: float,
    fewest: int,
    model: ModelConfig,
    in_time: int,
    reasons: list[str],
) -> TrainingConfig:
    """Choose how long to train, and how the learning rate goes; ``epoch`` and ``fewest`` are in updates, ``in_time`` those that the clock may allow."""
    update: dict[str, Any] = {}
    steps = steps_asked_for(training, epoch)
    if steps is None and training.minutes is None:
        epochs = 16 if corpus.is_rules else 60 if corpus.pairs < 100_000 else 20
        steps = max(1_000 if corpus.is_rules else fewest, round(epochs * epoch))
        passes = f"at most {steps / epoch:.0f} passes over the corpus"
        reasons.append(f"training.steps = {steps:,}: {passes}")
    update["steps"] = steps
    if steps is None:
        steps = in_time
        reasons.append(
            f"training.warmup_steps, validate_every: as if {steps:,} updates fitted into the "
            f"{training.minutes:g} minutes, after which training ends"
        )
    is_usual = model.kind == "transformer" and not corpus.is_rules
    if training.schedule is None:
        falls = corpus.is_rules or (is_usual and corpus.pairs < _MUCH_TEXT)
        update["schedule"] = "linear" if falls else "inverse-sqrt"
        if falls:
            why = "the last mistakes go when the updates get small"
            reasons.append(f"training.schedule = linear: {why}")
    if training.warmup_steps is None:
        fewest_to_warm_up = _FEWEST_STEPS_TO_WARM_UP if is_usual else 100
        update["warmup_steps"] = min(4_000, max(fewest_to_warm_up, steps // 10))
    if training.peak_learning_rate is None:
        is_chosen = training.warmup_steps is None
        update["peak_learning_rate"] = _peak(corpus, model, reasons, warmup_is_chosen=is_chosen)
    if training.validate_every is None:
        update["validate_every"] = min(5_000, max(100, min(steps // 20, round(2 * epoch))))
    if training.patience is None:
        update["patience"] = 10
    return training.model_copy(update=update)


def _peak(
    corpus: CorpusStatistics, model: ModelConfig, reasons: list[str], *, warmup_is_chosen: bool
) -> float | None:
    """Choose the highest learning rate; None is the paper's rule, for a warm-up that was asked for."""
    if model.kind in ("transformer", "encoder", "decoder"):
        if corpus.is_rules:
            return 0.002
        if not warmup_is_chosen:
            return None
        is_deep = max(model.encoder_layers or 0, model.decoder_layers or 0) > _SHALLOW
        warmup = _WARMUP_OF_DEEP_PEAK if is_deep else WARMUP_OF_PEAK
        peak = float(f"{paper_peak(model.d_model or 512, warmup):.2g}")
        why = "a short warm-up does not make it higher, as the paper's rule would"
        reasons.append(f"training.peak_learning_rate = {peak:g}: {why}")
        return peak
    why = "Adam's usual one; the paper's rule is for its own model"
    reasons.append(f"training.peak_learning_rate = {_PEAK_OF_PREDECESSORS:g}: {why}")
    return _PEAK_OF_PREDECESSORS


def _choose_sizes(
    model: ModelConfig, corpus: CorpusStatistics, *, on_gpu: bool, reasons: list[str]
) -> ModelConfig:
    update: dict[str, object] = {}
    has = fields_of(model.kind)
    left_out = [
        name
        for name in (*_SIZES_OF_PRESETS, *_USUAL_OF_PREDECESSORS)
        if name in has and getattr(model, name) is None
    ]
    usual_one = "tiny" if corpus.is_rules else usual_preset(corpus.pairs, on_gpu=on_gpu)
    preset = model.preset or usual_one
    sizes = PRESETS[preset]
    is_recurrent = model.kind in ("rnn", "lstm", "gru")
    if model.preset is None and left_out:
        update["preset"] = preset
        where = "on a GPU" if on_gpu else "on a CPU"
        reasons.append(f"model.preset = {preset}: {corpus.pairs:,} pairs, {where}")
    if is_recurrent:
        layers = _RECURRENT_LAYERS[preset]
        sizes = replace(sizes, encoder_layers=layers, decoder_layers=layers)
    elif model.preset is None and left_out and corpus.is_rules:
        sizes = replace(sizes, encoder_layers=2, decoder_layers=2)
        reasons.append("model.encoder_layers, decoder_layers = 2: rules, not a language")
    usual = sizes.to_dict() | _USUAL_OF_PREDECESSORS
    update |= {name: usual[name] for name in left_out}
    if model.norm is None and "norm" in has:
        update["norm"] = "pre" if corpus.is_rules else "post"
        if corpus.is_rules:
            reasons.append("model.norm = pre: rules are learnt sooner and more surely")
    return model.model_copy(update=update)


def _choose_dropout(corpus: CorpusStatistics, passes: float, reasons: list[str]) -> float:
    """Choose by how much text there is and how often it is seen; ``passes`` is infinite where nothing is known of that."""
    dropout, why = usual_dropout(corpus), "the less text, the more"
    if corpus.is_rules:
        why = "rules are learnt exactly or not at all"
    enough = min((most for few, most in _ENOUGH_DROPOUT.items() if passes < few), default=dropout)
    if enough < dropout:
        seen = f"about {passes:.0f} times" if passes >= 1.5 else "once or less"
        dropout, why = enough, f"text that is seen {seen} is not learnt by heart"
    reasons.append(f"model.dropout = {dropout}: {why}")
    return dropout


def usual_dropout(corpus: CorpusStatistics) -> float:
    """Return the dropout for so much text."""
    if corpus.is_rules:
        return 0.0
    if corpus.pairs >= 1_000_000:
        return 0.1
    return 0.2 if corpus.pairs >= 200_000 else 0.3


def architecture_of(model: ModelConfig) -> AnyArchitecture:
    """Turn a configuration with every choice made into the sizes of a model.

    Raises:
        ValueError: sizes that do not fit together.
    """
    sizes = {name: getattr(model, name) for name in fields_of(model.kind)}
    return architecture_from({"kind": model.kind} | sizes)
