"""Whether a checkpoint that is whole is one that this run can go on from: of its model and its settings, with all that a resume needs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from interlingua.checkpoints.store import Checkpoint
from interlingua.errors import ModelError
from interlingua.training.resuming import changed_settings
from interlingua.training.stopping import BestSoFar
from interlingua.training.train_state import TrainState

__all__ = ["check_checkpoint", "refuse_another_run"]

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def refuse_another_run(
    place: Path, state: Mapping[str, Any], *, settings: Mapping[str, Any]
) -> None:
    """Refuse a checkpoint in the folder ``place`` that was written with other ``settings``; one of an earlier version tells none.

    Raises:
        ModelError: the settings that its ``state`` tells are others.
    """
    theirs = state.get("settings", {})
    if not isinstance(theirs, dict):
        raise ModelError(f"{place}: 'settings' in its state.json is no list of settings")
    for name, value in changed_settings(theirs, settings):
        raise ModelError(
            f"{place}: is of another run, with {name} = {value}, not {settings.get(name)}; move it away"
        )


def check_checkpoint(
    place: Path,
    checkpoint: Checkpoint,
    *,
    parameters: Mapping[str, Tensor],
    trained: frozenset[str],
    has_mean: bool,
) -> None:
    """Refuse a checkpoint of another model than this, or one that no training goes on from.

    Args:
        place: its folder, for the message.
        checkpoint: what it holds.
        parameters: those of the model, for names and shapes.
        trained: the names of those that learn, which have moments once there was an update.
        has_mean: there is a running mean of the weights.

    Raises:
        ModelError: it is of another model, or something is missing.
    """
    state = _check_state(place, checkpoint)
    _check_tensors(place, checkpoint.weights, parameters)
    if has_mean:
        _check_tensors(place, checkpoint.moments, {f"mean/{n}": p for n, p in parameters.items()})
    with_moments = {name for name in trained if f"exp_avg/{name}" in checkpoint.moments}
    if trained and not with_moments and state.step > state.skipped:
        raise ModelError(f"{place}: lacks the moments of the optimizer")
    for name in with_moments:
        like = parameters[name]
        shapes = {f"{key}/{name}": like for key in _MOMENTS if key != "step"}
        _check_tensors(place, checkpoint.moments, {**shapes, f"step/{name}": like.new_zeros(())})


def _check_state(place: Path, checkpoint: Checkpoint) -> TrainState:
    try:
        BestSoFar(**checkpoint.state["best"])
        return TrainState.read(checkpoint.step, checkpoint.state)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"{place}: its state.json does not tell where training stood ({error!r})"
        ) from error


def _check_tensors(
    place: Path, found: Mapping[str, Tensor], expected: Mapping[str, Tensor]
) -> None:
    for name, like in expected.items():
        if name not in found:
            raise ModelError(f"{place}: lacks {name!r}; it is of another model")
        if found[name].shape != like.shape:
            raise ModelError(
                f"{place}: {name!r} has shape {tuple(found[name].shape)} instead of {tuple(like.shape)}; it is of another model"
            )
