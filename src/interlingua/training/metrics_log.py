"""The figures of a run over time: ``metrics.jsonl``, and TensorBoard for whoever has it installed."""

import contextlib
import importlib.util
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from interlingua.errors import OutputError
from interlingua.files import write_text

__all__ = ["MetricsLog", "append_record", "forget_after"]


class MetricsLog:
    """Takes one record at a time; every figure in it becomes a curve named after its kind.

    Args:
        path: the file of records.
        tensorboard: the folder of curves; nothing is made there before the first record.
        step: where training stands; curves drop what an earlier process drew beyond it.
        say: told once if TensorBoard is installed and cannot be used, or fails later; the curves then end.
    """

    def __init__(
        self, path: Path, tensorboard: Path, step: int = 0, say: Callable[[str], None] | None = None
    ) -> None:
        self.path = path
        self._tensorboard = tensorboard
        self._step = step
        self._say = say
        self._writer: Any = None
        self._is_open = False

    def write(self, record: Mapping[str, Any]) -> None:
        """Add ``record``, which has a ``step`` and a ``kind``.

        Raises:
            OutputError: the disk is full or the file cannot be written.
        """
        append_record(self.path, record)
        if not self._is_open:
            self._open_curves()
        if self._writer is None:
            return
        try:
            for name, value in record.items():
                if name not in ("step", "kind") and isinstance(value, int | float):
                    self._writer.add_scalar(f"{record['kind']}/{name}", value, record["step"])
        except Exception as error:  # it raises what went wrong in its own thread
            self._miss_curves("fails", error)

    def close(self) -> None:
        """Put every record on the disk, and write what TensorBoard still holds back."""
        with contextlib.suppress(OSError), self.path.open("rb") as file:
            os.fsync(file.fileno())
        if self._writer is None:
            return
        try:
            self._writer.close()
        except Exception as error:
            self._miss_curves("fails", error)

    def _open_curves(self) -> None:
        self._is_open = True
        if not importlib.util.find_spec("tensorboard"):
            return
        try:
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(self._tensorboard), purge_step=self._step + 1)
        except Exception as error:  # an installation that does not fit fails in any way
            self._miss_curves("is installed but cannot be used", error)

    def _miss_curves(self, what: str, error: Exception) -> None:
        """Go on without curves, which can be missed, and say so."""
        self._writer = None
        if self._say:
            reason = str(error).partition("\n")[0]
            self._say(
                f"TensorBoard {what} ({type(error).__name__}: {reason}); every figure is in {self.path}"
            )


def append_record(path: Path, record: Mapping[str, Any]) -> None:
    """Add one line of JSON to ``path``.

    It is on the disk when this returns, so that no checkpoint outlives a power cut that the records before it do not;
    records of training, which are many, wait for the next one of another kind, or for :meth:`MetricsLog.close`.

    Raises:
        OutputError: the disk is full or the file cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(dict(record), ensure_ascii=False) + "\n")
            if record.get("kind") != "training":
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be written ({error.strerror}); make room, then run the same command "
            "again: it resumes from the last checkpoint"
        ) from error


def forget_after(path: Path, step: int, validated: int | None = None) -> None:
    """Drop the records that a resumed run will write again, and a line cut off by a crash.

    Args:
        path: a file of records.
        step: where training stands.
        validated: the step of the last validation, if it is not ``step``: what a validation at ``step`` left is
            dropped too, as a run that was stopped in the middle of one makes it up.
    """
    is_made_up = validated not in (None, step)
    if not path.exists():
        return
    kept = []
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]:
        try:
            record = json.loads(line)
            by_validation = record.get("kind", "validation") == "validation"  # a sample has no kind
            again = is_made_up and record["step"] == step and by_validation
            if record["step"] <= step and not again:
                kept.append(line + "\n")
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    write_text(path, "".join(kept))
