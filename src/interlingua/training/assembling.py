"""What a run consists of besides its text: put together in one way for training and for planning it."""

from collections.abc import Callable
from copy import deepcopy

import torch

from interlingua.checkpoints.model_folder import BuildModel, build
from interlingua.config import DecodingConfig
from interlingua.hardware import choose_dtype
from interlingua.model.building import build_encoder_decoder
from interlingua.training.adapting import restrict
from interlingua.training.loop import Trainer
from interlingua.training.prepare import Prepared
from interlingua.training.validation import Validator
from interlingua.training.workers import ALONE, Workers
from interlingua.translator import Translator

__all__ = ["trainer_of", "translator_of", "validator_of"]


def trainer_of(
    prepared: Prepared,
    device: torch.device,
    *,
    workers: Workers = ALONE,
    build_model: BuildModel = build_encoder_decoder,
    say: Callable[[str], None] = lambda _: None,
) -> Trainer:
    """Return what trains the model of a run, whose weights are drawn by its seed.

    Raises:
        ConfigError: what is to be trained of it does not fit the model.
    """
    config = prepared.config
    torch.manual_seed(config.training.seed)
    model = build(prepared.architecture, prepared.tokenizers, build_model)
    restrict(model, config.start)
    return Trainer(
        model,
        prepared.training,
        config.training,
        device=device,
        dtype=choose_dtype(config.training.dtype, device),
        mean=deepcopy(model) if config.training.ema is not None else None,
        workers=workers,
        say=say,
    )


def translator_of(
    prepared: Prepared, trainer: Trainer, decoding: DecodingConfig | None = None
) -> Translator:
    """Return what translates with the weights that are validated, as the run says or as ``decoding`` does."""
    translator = Translator(
        trainer.judged,
        prepared.tokenizers,
        source_lang=prepared.source_lang,
        target_lang=prepared.target_lang,
        decoding=decoding or prepared.config.decoding,
        device=trainer.home,
        max_source_length=prepared.config.batching.max_length,
    )
    translator.directions = prepared.directions
    return translator


def validator_of(
    prepared: Prepared, trainer: Trainer, translator: Translator, interrupted: Callable[[], bool]
) -> Validator:
    """Return what measures the model on the validation pairs of the run."""
    config = prepared.config.training
    return Validator(
        prepared.validation,
        translator,
        num_sentences=config.validate_sentences,
        dtype=trainer.dtype,
        interrupted=interrupted,
        plain=config.plain,
    )
