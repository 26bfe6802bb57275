"""The checkpoints of a run: ``checkpoints/step-N/``, each whole or absent, the newest few kept.

A checkpoint is a folder of safetensors and one ``state.json``; it counts only if its manifest holds, so that a
killed run falls back on the one before. A note (``none-yet``) tells that what training has left elsewhere came before any of
them, and not after they were lost; the first one takes it away. One that was written because a run was stopped between two validations is
passing: it holds the place until the next one is written, and takes no place from those of validations, so that a run
that was stopped keeps, and averages, the same checkpoints as a run that was not.
"""

import contextlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from interlingua.checkpoints.manifest import MANIFEST, check_manifest, read_back, write_manifest
from interlingua.checkpoints.weights import read_tensors, write_tensors
from interlingua.errors import ModelError, OutputError
from interlingua.files import remove_folder, replace_folder, write_text

__all__ = ["Checkpoint", "CheckpointStore", "checkpoint_steps", "had_none", "note_if_none"]

CheckState = Callable[[Path, Mapping[str, Any]], None]

_WEIGHTS, _MOMENTS, _STATE = "model.safetensors", "optimizer.safetensors", "state.json"
_NONE_YET = "none-yet"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Everything that a resume needs: weights, the optimizer's moments, and where training stood."""

    step: int
    weights: dict[str, Tensor]
    moments: dict[str, Tensor]
    state: dict[str, Any]


def checkpoint_steps(folder: Path) -> list[int]:
    """Return the steps that have a checkpoint in ``folder``, whole or not, oldest first."""
    if not folder.is_dir():
        return []
    matches = (re.fullmatch(r"step-(\d+)", path.name) for path in folder.iterdir())
    return sorted(int(match[1]) for match in matches if match)


def note_if_none(folder: Path) -> None:
    """Note that there is no checkpoint in ``folder`` yet, if there is none.

    Raises:
        OutputError: the place cannot be written.
    """
    if not checkpoint_steps(folder):
        write_text(folder / _NONE_YET, "The run had a model before its first checkpoint.\n")


def had_none(folder: Path) -> bool:
    """Tell whether there is no checkpoint because there was never one, as far as is noted."""
    return not checkpoint_steps(folder) and (folder / _NONE_YET).exists()


class CheckpointStore:
    """The folder of checkpoints of one run.

    Args:
        folder: where they lie.
        keep: how many stay.
        check_state: raises a ModelError at the state of a checkpoint, in the folder of that name, that another run wrote; such a one is
            as good as none, whatever it is asked for.
    """

    def __init__(
        self, folder: Path, keep: int, check_state: CheckState = lambda _path, _state: None
    ) -> None:
        with contextlib.suppress(OSError):  # reading and saving tell what is wrong with the disk
            if folder.is_file():
                raise OutputError(f"{folder}: is a file where the checkpoints belong; move it away")
        self.folder = folder
        self.keep = keep
        self._check_state = check_state
        self._known_whole: set[int] = set()

    def save(
        self,
        step: int,
        weights: Mapping[str, Tensor],
        moments: Mapping[str, Tensor],
        state: Mapping[str, Any],
    ) -> Path:
        """Write ``step-N`` and, once it was read back from the disk, drop what is older than the newest ``keep`` whole ones.

        A ``state`` whose ``validated`` is not ``step`` makes a passing checkpoint, which only takes the place of one that passes:
        whoever stops a run does not wait until all others are read.

        Raises:
            OutputError: the disk is full, or the place cannot be written or does not hold what was written to it;
                nothing old is lost.
        """
        path = self.path(step)
        with replace_folder(path, check=read_back) as new:
            write_tensors(new / _WEIGHTS, weights)
            write_tensors(new / _MOMENTS, moments)
            (new / _STATE).write_text(json.dumps(dict(state), indent=2) + "\n", encoding="utf-8")
            write_manifest(new)
        self._known_whole.add(step)
        with contextlib.suppress(OSError):  # what cannot be dropped now, a later save drops
            (self.folder / _NONE_YET).unlink(missing_ok=True)
            self._drop_what_gives_way_to(step)
        return path

    def path(self, step: int) -> Path:
        """Return the folder of the checkpoint at ``step``, there or not."""
        return self.folder / f"step-{step}"

    def steps(self) -> list[int]:
        """Return the steps that have a folder, oldest first."""
        return checkpoint_steps(self.folder)

    def whole_steps(self) -> list[int]:
        """Return the steps whose checkpoint is whole and of this run, oldest first; every byte of them is read."""
        return [step for step in self.steps() if self._find_damage(step) is None]

    def latest(
        self,
        say: Callable[[str], None] | None = None,
        check: Callable[[Checkpoint], None] = lambda _: None,
    ) -> Checkpoint | None:
        """Return the newest whole checkpoint that ``check`` raises no ModelError at; ``say`` is told of each newer one that is passed over."""
        for step in reversed(self.steps()):
            try:
                found = self.load(step)
                check(found)
                return found
            except ModelError as error:
                if say:
                    say(f"the checkpoint of step {step:,} is passed over: {error}")
        return None

    def load(self, step: int) -> Checkpoint:
        """Read one checkpoint.

        Raises:
            ModelError: it is missing or damaged, or of another run.
        """
        self._check(step)
        path = self.path(step)
        return Checkpoint(
            step=step,
            weights=read_tensors(path / _WEIGHTS),
            moments=read_tensors(path / _MOMENTS),
            state=self.state(step),
        )

    def weights(self, step: int) -> dict[str, Tensor]:
        """Read only the weights of one checkpoint.

        Raises:
            ModelError: it is missing or damaged, or of another run.
        """
        self._check(step)
        return read_tensors(self.path(step) / _WEIGHTS)

    def _check(self, step: int) -> None:
        if not (self.path(step) / MANIFEST).exists():
            raise ModelError(
                f"{self.path(step)}: has no {MANIFEST}, which is written last: it is not whole"
            )
        check_manifest(self.path(step), needed=(_WEIGHTS, _MOMENTS, _STATE))
        state = self.state(step)
        if (held := state.get("step", step)) != step:
            raise ModelError(
                f"{self.path(step)}: holds step {held}; it was renamed: give it its own name back"
            )
        self._check_state(self.path(step), state)
        self._known_whole.add(step)

    def _find_damage(self, step: int) -> ModelError | None:
        try:
            self._check(step)
        except ModelError as error:
            self._known_whole.discard(step)
            return error
        return None

    def state(self, step: int) -> dict[str, Any]:
        """Read only where training stood.

        Raises:
            ModelError: it is missing or damaged.
        """
        path = self.path(step) / _STATE
        try:
            return dict(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise ModelError(f"{path}: cannot be read ({error}); copy the folder again") from error

    def _is_passing(self, step: int) -> bool:
        try:
            return self.state(step).get("validated", step) != step
        except ModelError:
            return False

    def _drop_what_gives_way_to(self, written: int) -> None:
        """Count only whole checkpoints, reading each once: one that cannot be resumed from replaces none that can."""
        steps = self.steps()
        passing = {step for step in steps if self._is_passing(step)}
        dropped = {step for step in passing if step < written}
        if written not in passing:
            validated = [step for step in steps if step not in passing and self._is_whole(step)]
            oldest_kept = min(written, *validated[-self.keep :])
            dropped |= {step for step in steps if step < oldest_kept}
        for step in dropped:
            remove_folder(self.path(step))
            self._known_whole.discard(step)

    def _is_whole(self, step: int) -> bool:
        return step in self._known_whole or self._find_damage(step) is None
