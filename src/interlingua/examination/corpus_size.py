"""Whether a corpus is large enough for the vocabulary and the model that were chosen for it."""

import shlex
from dataclasses import dataclass
from pathlib import Path

import torch

from interlingua.config import RunConfig
from interlingua.corpus.findings import Finding
from interlingua.model.architecture import PRESETS, Architecture
from interlingua.training.automatic import largest_preset, usual_preset
from interlingua.training.automatic_vocabulary import subwords_of

__all__ = ["Choice", "examine_size"]

_TOO_LARGE = 3.5
"""Times what a corpus is enough for, from which on it is too small: a preset above, or half as many pairs again and again."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A vocabulary and a model that were chosen, and where: a configuration, or a run that has begun.

    Attributes:
        config: all choices; what is None, ``train`` chooses from the corpus.
        path: the configuration file, or that of the run.
        run: the run folder, or None; a run that has begun keeps its sizes, so that another one is needed.
    """

    config: RunConfig
    path: Path
    run: Path | None = None


def examine_size(choice: Choice, pairs: int) -> list[Finding]:
    """Compare the sizes that were chosen with those that so many pairs are enough for, and tell what ``train`` would choose."""
    vocabulary, largest = subwords_of(pairs), PRESETS[largest_preset(pairs)]
    told, settings = [], []
    size = choice.config.tokenization.vocabulary_size
    if size is not None and _has_subwords(choice.config) and size > _TOO_LARGE * vocabulary:
        told.append(
            f"a vocabulary of {size:,} entries, many of which it would see a few times only (train would choose "
            f"{vocabulary:,})"
        )
        settings += ["--tokenization.vocabulary_size", str(vocabulary)]
    model = _sizes_of(choice.config)
    if model is not None and _count_weights(model) > _TOO_LARGE * _count_weights(largest):
        preset = usual_preset(pairs, on_gpu=_trains_on_gpu(choice.config))
        usual = PRESETS[preset]
        told.append(
            f"layers with {_count_weights(model) / 1e6:,.1f} million weights, which would learn it by heart (train would "
            f"choose {preset}: {_count_weights(usual) / 1e6:,.1f} million)"
        )
        settings += _settings_of(usual, preset)
    if not told:
        return []
    command = ["interlingua", "train", str(choice.path), *settings]
    command += ["--run-dir", f"{choice.run}-smaller"] if choice.run is not None else []
    return [
        Finding(
            "too-small",
            "warning",
            (),
            f"{pairs:,} pairs are few for {' and '.join(told)}.",
            shlex.join(command),
        )
    ]


def _trains_on_gpu(config: RunConfig) -> bool:
    device = config.training.device
    return device.startswith("cuda") or (device == "auto" and torch.cuda.is_available())


def _has_subwords(config: RunConfig) -> bool:
    return config.tokenization.kind not in ("word", "char")


def _sizes_of(config: RunConfig) -> Architecture | None:
    """Return the sizes that a configuration gives, the preset's where it gives none; None if it gives no preset either, or another model."""
    model = config.model
    if model.kind != "transformer":
        return None
    names = ("encoder_layers", "decoder_layers", "d_model", "d_ff", "heads")
    given = {name: getattr(model, name) for name in names if getattr(model, name) is not None}
    if model.preset is None and len(given) < len(names):
        return None
    preset = PRESETS[model.preset or "base"]
    return Architecture(**{name: getattr(preset, name) for name in names} | given)


def _count_weights(sizes: Architecture) -> int:
    """Count the matrices of all layers, biases and embeddings left out (section 3 of the paper)."""
    attention, feed_forward = 4 * sizes.d_model**2, 2 * sizes.d_model * sizes.d_ff
    encoder = sizes.encoder_layers * (attention + feed_forward)
    return encoder + sizes.decoder_layers * (2 * attention + feed_forward)


def _settings_of(sizes: Architecture, preset: str) -> list[str]:
    """Write all sizes, as those of the configuration would else stand beside the preset."""
    settings = ["--model.preset", preset]
    for name in ("encoder_layers", "decoder_layers", "d_model", "d_ff", "heads"):
        settings += [f"--model.{name}", str(getattr(sizes, name))]
    return settings
