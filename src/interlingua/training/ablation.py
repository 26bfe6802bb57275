"""One configuration trained again and again, each time without one part: what each part is worth.

The table of Vaswani et al. 2017 (Table 3) asks the same of sizes. Here all runs make the same number of updates on the same
batches in the same order; only the part differs, and the seed.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from interlingua.checkpoints.model_folder import BuildModel
from interlingua.config import RunConfig
from interlingua.errors import ConfigError
from interlingua.model import removed_parts
from interlingua.model.building import build_encoder_decoder
from interlingua.training.run import train
from interlingua.training.run_folder import RunFolder
from interlingua.training.validation import Validation, read_validation

__all__ = ["REMOVALS", "WHOLE", "Outcome", "Removal", "ablate", "choose_removals"]


@dataclass(frozen=True, slots=True)
class Removal:
    """A model, or a way to train it, that lacks one thing."""

    name: str
    """What is not there."""
    build_model: BuildModel = build_encoder_decoder
    changes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Values of the configuration, by section."""


WHOLE = Removal("nothing")
REMOVALS = (
    WHOLE,
    Removal("positions", removed_parts.without_positions),
    Removal("scaling", removed_parts.without_scaling),
    Removal("look-ahead-mask", removed_parts.without_look_ahead_mask),
    Removal("padding-mask", removed_parts.without_padding_mask),
    Removal("residuals", removed_parts.without_residuals),
    Removal("normalization", removed_parts.without_normalization),
    Removal("feed-forward", removed_parts.without_feed_forward),
    Removal("encoder-self-attention", removed_parts.without_encoder_self_attention),
    Removal("decoder-self-attention", removed_parts.without_decoder_self_attention),
    Removal("cross-attention", removed_parts.without_cross_attention),
    Removal("heads", changes={"model": {"heads": 1}}),
    Removal("tying", changes={"model": {"tie": "none"}}),
    Removal("dropout", changes={"model": {"dropout": 0.0}}),
    Removal("label-smoothing", changes={"training": {"label_smoothing": 0.0}}),
    Removal("warm-up", changes={"training": {"warmup_steps": 1}}),
)
"""The whole first; "heads" leaves one."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run came to."""

    removed: str
    seed: int
    validation: Validation
    curve: tuple[tuple[int, float], ...]
    """Step, and the training loss of the updates up to it, in nats a token."""


def choose_removals(names: Sequence[str]) -> tuple[Removal, ...]:
    """Return the removals of these names, the whole model first; all without names.

    Raises:
        ConfigError: a name that is none.
    """
    known = {each.name: each for each in REMOVALS}
    for name in names:
        if name not in known:
            raise ConfigError(f"--parts: there is no part {name}; take of {', '.join(known)}")
    return tuple(each for each in REMOVALS if not names or each is WHOLE or each.name in names)


def ablate(
    config: RunConfig,
    output: Path,
    removals: Sequence[Removal],
    *,
    seeds: int,
    steps: int,
    say: Callable[[str], None],
) -> tuple[list[Outcome], int | None]:
    """Train each of ``removals`` with seeds 1 to ``seeds``; what was trained before is not trained again.

    Returns:
        What the runs came to, seed by seed, and the signal that stopped one, if one did.

    Raises:
        ConfigError: a model that is no Transformer; see also :func:`train`.
    """
    if config.model.kind != "transformer":
        raise ConfigError(
            f"model.kind: parts are taken out of a transformer, not out of {config.model.kind}"
        )
    outcomes: list[Outcome] = []
    total = seeds * len(removals)
    for seed in range(1, seeds + 1):
        for removal in removals:
            run = output / "runs" / f"{removal.name}-{seed}"
            changed = _changed(config, removal, run, seed, steps)
            folder = RunFolder(run)
            if read_validation(folder.metrics, steps) is None:
                what = "the whole model" if removal is WHOLE else f"without {removal.name}"
                say(f"run {len(outcomes) + 1} of {total}: {what}, seed {seed}")
                quiet = Console(quiet=True)
                done = train(changed, build_model=removal.build_model, console=quiet)
                if done.signal is not None:
                    return outcomes, done.signal
            outcomes.append(_read(folder, removal, seed, steps))
    return outcomes, None


def _changed(config: RunConfig, removal: Removal, run: Path, seed: int, steps: int) -> RunConfig:
    """Return the configuration of one run: one validation, at its end, and a warm-up of a quarter at most."""
    warmup = min(config.training.warmup_steps or steps, max(1, steps // 4))
    training = {
        "seed": seed, "steps": steps, "epochs": None, "minutes": None, "patience": None,
        "validate_every": steps, "warmup_steps": warmup, "average_last": 1,
    }  # fmt: skip
    tree = config.model_dump()
    tree["run_dir"] = str(run)
    tree["training"] |= training
    for section, values in removal.changes.items():
        tree[section] |= values
    return RunConfig.model_validate(tree)


def _read(folder: RunFolder, removal: Removal, seed: int, steps: int) -> Outcome:
    validation = read_validation(folder.metrics, steps)
    assert validation is not None
    records = map(json.loads, folder.metrics.read_text(encoding="utf-8").splitlines())
    curve = tuple((each["step"], each["loss"]) for each in records if each["kind"] == "training")
    return Outcome(removal.name, seed, validation, curve)
