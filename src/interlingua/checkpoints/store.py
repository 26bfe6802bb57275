"""The checkpoints of a run: ``checkpoints/step-N/``, each whole or absent, the newest few kept.

A checkpoint is a folder of safetensors and one ``state.json``; it counts only if its manifest holds, so that a
killed run falls back on the one before.
"""

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from interlingua.checkpoints.manifest import check_manifest, write_manifest
from interlingua.checkpoints.weights import read_tensors, write_tensors
from interlingua.errors import ModelError
from interlingua.files import replace_folder

__all__ = ["Checkpoint", "CheckpointStore"]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Everything that a resume needs: weights, the optimizer's moments, and where training stood."""

    step: int
    weights: dict[str, Tensor]
    moments: dict[str, Tensor]
    state: dict[str, Any]


class CheckpointStore:
    """The folder of checkpoints of one run."""

    def __init__(self, folder: Path, keep: int) -> None:
        self.folder = folder
        self.keep = keep

    def save(
        self,
        step: int,
        weights: Mapping[str, Tensor],
        moments: Mapping[str, Tensor],
        state: Mapping[str, Any],
    ) -> Path:
        """Write ``step-N`` and, once it is safe on disk, drop the oldest beyond ``keep``.

        Raises:
            OutputError: the disk is full or the place cannot be written; nothing old is lost.
        """
        path = self.folder / f"step-{step}"
        with replace_folder(path) as new:
            write_tensors(new / "model.safetensors", weights)
            write_tensors(new / "optimizer.safetensors", moments)
            (new / "state.json").write_text(
                json.dumps(dict(state), indent=2) + "\n", encoding="utf-8"
            )
            write_manifest(new)
        for old in self.steps()[: -self.keep]:
            shutil.rmtree(self.folder / f"step-{old}", ignore_errors=True)
        return path

    def steps(self) -> list[int]:
        """Return the steps that have a folder, oldest first."""
        if not self.folder.is_dir():
            return []
        matches = (re.fullmatch(r"step-(\d+)", p.name) for p in self.folder.iterdir())
        return sorted(int(match[1]) for match in matches if match)

    def latest(self) -> Checkpoint | None:
        """Return the newest whole checkpoint; damaged ones are passed over."""
        for step in reversed(self.steps()):
            try:
                return self.load(step)
            except ModelError:
                continue
        return None

    def load(self, step: int) -> Checkpoint:
        """Read one checkpoint.

        Raises:
            ModelError: it is missing or damaged.
        """
        path = self.folder / f"step-{step}"
        check_manifest(path)
        return Checkpoint(
            step=step,
            weights=read_tensors(path / "model.safetensors"),
            moments=read_tensors(path / "optimizer.safetensors"),
            state=json.loads((path / "state.json").read_text(encoding="utf-8")),
        )

    def weights(self, step: int) -> dict[str, Tensor]:
        """Read only the weights of one checkpoint.

        Raises:
            ModelError: it is missing or damaged.
        """
        return read_tensors(self.folder / f"step-{step}" / "model.safetensors")
