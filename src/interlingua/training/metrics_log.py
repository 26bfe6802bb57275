"""The figures of a run over time: ``metrics.jsonl``, and TensorBoard for whoever has it installed."""

import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from interlingua.errors import OutputError
from interlingua.files import write_text

__all__ = ["MetricsLog", "append_record", "forget_after"]


class MetricsLog:
    """Takes one record at a time; every figure in it becomes a curve named after its kind."""

    def __init__(self, path: Path, tensorboard: Path) -> None:
        self.path = path
        self.writer: Any = None
        if importlib.util.find_spec("tensorboard"):
            from torch.utils.tensorboard import SummaryWriter

            self.writer = SummaryWriter(str(tensorboard))

    def write(self, record: Mapping[str, Any]) -> None:
        """Add ``record``, which has a ``step`` and a ``kind``.

        Raises:
            OutputError: the disk is full or the file cannot be written.
        """
        append_record(self.path, record)
        if self.writer is None:
            return
        for name, value in record.items():
            if name not in ("step", "kind") and isinstance(value, int | float):
                self.writer.add_scalar(f"{record['kind']}/{name}", value, record["step"])

    def close(self) -> None:
        """Write what TensorBoard still holds back."""
        if self.writer is not None:
            self.writer.close()


def append_record(path: Path, record: Mapping[str, Any]) -> None:
    """Add one line of JSON to ``path``.

    Raises:
        OutputError: the disk is full or the file cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(dict(record), ensure_ascii=False) + "\n")
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be written ({error.strerror}); make room, then run the same command "
            "again: it resumes from the last checkpoint"
        ) from error


def forget_after(path: Path, step: int) -> None:
    """Drop the records beyond ``step``, which a resumed run will write again, and a line cut off by a crash."""
    if not path.exists():
        return
    kept = []
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]:
        try:
            if json.loads(line)["step"] <= step:
                kept.append(line + "\n")
        except (ValueError, KeyError, TypeError):
            continue
    write_text(path, "".join(kept))
