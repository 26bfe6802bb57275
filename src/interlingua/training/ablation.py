"""One configuration trained again and again, each time with one thing different: what each part, or each choice, is worth.

The table of Vaswani et al. 2017 (Table 3) asks the same of sizes. Here all runs make the same number of updates on the same
pairs; only one thing differs, and the seed.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from interlingua.checkpoints.model_folder import BuildModel
from interlingua.checkpoints.weights import read_tensors
from interlingua.config import RunConfig
from interlingua.errors import ConfigError
from interlingua.model import removed_parts
from interlingua.model.building import build_encoder_decoder
from interlingua.tokenization.pair import TokenizerPair
from interlingua.training.run import train
from interlingua.training.run_folder import RunFolder
from interlingua.training.validation import Validation, read_validation

__all__ = [
    "AS_IT_IS",
    "PARTS",
    "Outcome",
    "Variant",
    "choose_parts",
    "train_variants",
    "without_parts",
]

AS_IT_IS = "as it is"
"""The name of what all others are compared with."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A configuration that differs in one thing, and what builds its model."""

    name: str
    config: RunConfig
    build_model: BuildModel = build_encoder_decoder


@dataclass(frozen=True, slots=True)
class Part:
    """How a model is made, or trained, that lacks one thing."""

    build_model: BuildModel = build_encoder_decoder
    changes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Values of the configuration, by section."""
    label: str | None = None
    """What a table calls it (None: "without" and its name)."""


PARTS = {
    "positions": Part(removed_parts.without_positions),
    "large-positions": Part(
        removed_parts.with_large_positions, label="positions ten times as large"
    ),
    "scaling": Part(removed_parts.without_scaling),
    "look-ahead-mask": Part(removed_parts.without_look_ahead_mask),
    "padding-mask": Part(removed_parts.without_padding_mask),
    "residuals": Part(removed_parts.without_residuals),
    "normalization": Part(removed_parts.without_normalization),
    "feed-forward": Part(removed_parts.without_feed_forward),
    "encoder-self-attention": Part(removed_parts.without_encoder_self_attention),
    "decoder-self-attention": Part(removed_parts.without_decoder_self_attention),
    "cross-attention": Part(removed_parts.without_cross_attention),
    "heads": Part(changes={"model": {"heads": 1}}),
    "tying": Part(changes={"model": {"tie": "none"}}),
    "dropout": Part(changes={"model": {"dropout": 0.0}}),
    "label-smoothing": Part(changes={"training": {"label_smoothing": 0.0}}),
    "warm-up": Part(changes={"training": {"warmup_steps": 1}}),
}
"""Without "heads" one is left."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run came to."""

    variant: str
    seed: int
    validation: Validation
    parameters: int
    vocabulary: int
    """Entries of the source's and the target's together; a shared one counts once."""
    seconds: float
    """Of training up to its last record, validation left out."""
    curve: tuple[tuple[int, float], ...]
    """Step, and the training loss of the updates up to it, in nats a token."""


def choose_parts(names: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of these names in the order of ``PARTS``; all without names.

    Raises:
        ConfigError: a name that is none.
    """
    for name in names:
        if name not in PARTS:
            raise ConfigError(f"--parts: there is no part {name}; take of {', '.join(PARTS)}")
    return tuple(name for name in PARTS if not names or name in names)


def without_parts(config: RunConfig, parts: Sequence[str]) -> tuple[Variant, ...]:
    """Return a configuration without each of ``parts`` in turn.

    Raises:
        ConfigError: a model that is no Transformer.
    """
    if config.model.kind != "transformer":
        raise ConfigError(
            f"model.kind: parts are taken out of a transformer, not out of {config.model.kind}"
        )
    variants = []
    for name in parts:
        part, tree = PARTS[name], config.model_dump()
        for section, values in part.changes.items():
            tree[section] |= values
        label = part.label or f"without {name.replace('-', ' ')}"
        variants.append(Variant(label, RunConfig.model_validate(tree), part.build_model))
    return tuple(variants)


def train_variants(
    config: RunConfig,
    variants: Sequence[Variant],
    output: Path,
    *,
    seeds: int,
    steps: int,
    say: Callable[[str], None],
) -> tuple[list[Outcome], int | None]:
    """Train ``config`` and each of ``variants`` with seeds 1 to ``seeds``; what was trained before is not trained again.

    Returns:
        What the runs came to, seed by seed, and the signal that stopped one, if one did.

    Raises:
        ConfigError, CorpusError, OutputError, TrainingError: see :func:`train`.
    """
    outcomes: list[Outcome] = []
    each_seed = (Variant(AS_IT_IS, config), *variants)
    total = seeds * len(each_seed)
    for seed in range(1, seeds + 1):
        for variant in each_seed:
            folder = RunFolder(output / "runs" / f"{_file_name(variant.name)}-{seed}")
            if read_validation(folder.metrics, steps) is None:
                say(f"run {len(outcomes) + 1} of {total}: {variant.name}, seed {seed}")
                changed = _for_updates(variant.config, steps, seed, folder.path)
                done = train(changed, build_model=variant.build_model, console=Console(quiet=True))
                if done.signal is not None:
                    return outcomes, done.signal
            outcomes.append(_read(folder, variant.name, seed, steps))
    return outcomes, None


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_.=" else "-" for c in name)


def _for_updates(config: RunConfig, steps: int, seed: int, run: Path) -> RunConfig:
    """Return the configuration of one run: one validation, at its end, and a warm-up of a quarter at most."""
    warmup = min(config.training.warmup_steps or steps, max(1, steps // 4))
    training = {
        "seed": seed, "steps": steps, "epochs": None, "minutes": None, "patience": None,
        "validate_every": steps, "warmup_steps": warmup, "average_last": 1,
    }  # fmt: skip
    tree = config.model_dump()
    tree["run_dir"] = str(run)
    tree["training"] |= training
    return RunConfig.model_validate(tree)


def _read(folder: RunFolder, variant: str, seed: int, steps: int) -> Outcome:
    validation = read_validation(folder.metrics, steps)
    assert validation is not None
    records = map(json.loads, folder.metrics.read_text(encoding="utf-8").splitlines())
    training = [each for each in records if each["kind"] == "training"]
    tokenizers = TokenizerPair.load(folder.tokenizer)
    weights = read_tensors(folder.model / "model.safetensors")
    sides = {id(each): each.vocabulary_size for each in (tokenizers.source, tokenizers.target)}
    return Outcome(
        variant,
        seed,
        validation,
        parameters=sum(each.numel() for each in weights.values()),
        vocabulary=sum(sides.values()),
        seconds=max((each["seconds"] for each in training), default=0.0),
        curve=tuple((each["step"], each["loss"]) for each in training),
    )
