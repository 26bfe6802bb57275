"""Averaging of checkpoints: Vaswani et al. 2017, section 6.1."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from interlingua.checkpoints.model_card import card_of_other_weights
from interlingua.checkpoints.model_folder import load_model_folder, save_model_folder
from interlingua.checkpoints.store import CheckpointStore
from interlingua.checkpoints.weights import check_tensors, parameters_of
from interlingua.errors import ConfigError, ModelError

__all__ = ["average_run", "average_weights"]


def average_weights(
    store: CheckpointStore, steps: list[int], like: Mapping[str, Tensor] | None = None
) -> dict[str, Tensor]:
    """Return the mean of the weights at ``steps``, added up in double precision.

    Args:
        store: the checkpoints of a run.
        steps: which of them.
        like: the names and shapes that each must have, by default those of the first.

    Raises:
        ModelError: a checkpoint is missing or damaged, of another shape, or holds NaN or infinity.
    """
    total: dict[str, Tensor] = {}
    for step in steps:
        weights = store.weights(step)
        check_tensors(store.path(step), weights, like or total or weights)
        for name, tensor in weights.items():
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    return {name: (tensor / len(steps)).to(torch.float32) for name, tensor in total.items()}


def average_run(run: Path, last: int) -> Path:
    """Replace the weights of ``run``'s model folder by the mean of its ``last`` checkpoints, which its card then says.

    Nobody chose a damaged checkpoint away: it is an error, not an average of others.

    Raises:
        ConfigError: ``last`` is less than one.
        ModelError: the run has no model, or fewer than ``last`` checkpoints, or one that is damaged or of another
            model or run; the model folder is then as it was.
    """
    run = Path(run)
    if last < 1:
        raise ConfigError(f"--last {last}: at least one checkpoint is needed")
    if not run.is_dir():
        raise ModelError(f"{run}: there is no such run folder")
    store = CheckpointStore(run / "checkpoints", keep=max(last, 2))
    steps = store.steps()
    if last > len(steps):
        raise ModelError(
            f"{run}: has {len(steps)} checkpoints, so the last {last} cannot be averaged; "
            f"choose 1 to {len(steps)}, or train with --training.keep-checkpoints {last}"
            if steps
            else f"{run}: has no checkpoints; give the folder of a run, such as runs/ro-en"
        )
    loaded = load_model_folder(run)
    card = (run / "model" / "README.md").read_text(encoding="utf-8")
    if (run / "adapter").is_dir():
        raise ModelError(
            f"{run}: trained an adapter, and the mean of several is none of their rank; train longer, or with "
            "training.ema"
        )
    averaged = steps[-last:]
    _refuse_several_runs(store, averaged)
    weights = average_weights(store, averaged, like=parameters_of(loaded.model))
    made_of = f"the mean of the last {last} checkpoints (steps {averaged[0]} to {averaged[-1]})"
    card = card_of_other_weights(card, made_of, "not validated")
    save_model_folder(run / "model", loaded, weights, card)
    return run / "model"


def _refuse_several_runs(store: CheckpointStore, steps: Sequence[int]) -> None:
    """Raise a ModelError if checkpoints tell different values of a setting; those of earlier versions tell fewer, or none."""
    told = {step: store.state(step).get("settings") for step in steps}
    known = {step: each for step, each in told.items() if isinstance(each, dict)}
    for step, settings in known.items():
        newest = known[max(known)]
        for name, value in settings.items():
            if (other := newest.get(name, value)) != value:
                raise ModelError(
                    f"{store.path(step)}: was learnt with {name} = {value}, and step {max(known)} with {other}; they are of two runs: "
                    "move those away that are not of this one"
                )
