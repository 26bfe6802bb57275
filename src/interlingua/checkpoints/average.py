"""Averaging of checkpoints: Vaswani et al. 2017, section 6.1."""

from pathlib import Path

import torch
from torch import Tensor

from interlingua.checkpoints.model_folder import load_model_folder, save_model_folder
from interlingua.checkpoints.store import CheckpointStore
from interlingua.errors import ModelError

__all__ = ["average_run", "average_weights"]


def average_weights(store: CheckpointStore, steps: list[int]) -> dict[str, Tensor]:
    """Return the mean of the weights at ``steps``, added up in double precision.

    Raises:
        ModelError: a checkpoint is missing or damaged.
    """
    total: dict[str, Tensor] = {}
    for step in steps:
        for name, tensor in store.weights(step).items():
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    return {name: (tensor / len(steps)).to(torch.float32) for name, tensor in total.items()}


def average_run(run: Path, last: int) -> Path:
    """Replace the weights of ``run``'s model folder by the mean of its ``last`` checkpoints.

    Raises:
        ModelError: the run has no model, or fewer than ``last`` checkpoints.
    """
    run = Path(run)
    store = CheckpointStore(run / "checkpoints", keep=max(last, 2))
    steps = store.steps()
    if not 1 <= last <= len(steps):
        raise ModelError(
            f"{run}: has {len(steps)} checkpoints, so the last {last} cannot be averaged; "
            f"choose 1 to {len(steps)}, or train with --training.keep-checkpoints {last}"
            if steps
            else f"{run}: has no checkpoints; give the folder of a run, such as runs/ro-en"
        )
    loaded = load_model_folder(run)
    card = (run / "model" / "README.md").read_text(encoding="utf-8")
    save_model_folder(run / "model", loaded, average_weights(store, steps[-last:]), card)
    return run / "model"
