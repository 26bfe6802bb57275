"""The run folder: everything that a run writes, and the lock that keeps a second trainer out."""

import hashlib
import json
import os
import platform
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch

from interlingua import __version__
from interlingua.checkpoints.store import checkpoint_steps
from interlingua.errors import ModelError, OutputError, TrainingError
from interlingua.files import clear_left_overs, hold_folder, write_text
from interlingua.tokenization.pair import SHARED_NAME, SOURCE_NAME, TARGET_NAME

__all__ = ["MACHINE", "TOKENIZER_FILES", "RunFolder", "not_prepared", "other_machine"]

MACHINE = (
    *("interlingua", "torch", "processor", "vectors", "threads", "processes"),
    *("device", "dtype", "kernels", "cuda"),
)
"""What the last bit of a loss depends on, of all that ``environment.json`` tells."""

TOKENIZER_FILES = (SOURCE_NAME, TARGET_NAME, SHARED_NAME)
"""Names of what a run reads in ``tokenizer/``."""

_OF_NO_LOSS = {"keep_checkpoints", "average_last", "patience", "worker_timeout"}
"""Settings of training that change no loss of an update."""


class RunFolder:
    """Paths of one run; see ``docs/architecture.md`` for what each holds."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.config = self.path / "config.toml"
        self.environment = self.path / "environment.json"
        self.settings = self.path / "settings.jsonl"
        self.corpus = self.path / "corpus"
        self.corpus_lock = self.path / "corpus.lock"
        self.start = self.path / "start"
        self.tokenizer = self.path / "tokenizer"
        self.shards = self.path / "shards"
        self.checkpoints = self.path / "checkpoints"
        self.metrics = self.path / "metrics.jsonl"
        self.tensorboard = self.path / "tensorboard"
        self.samples = self.path / "samples.jsonl"
        self.model = self.path / "model"
        self.adapter = self.path / "adapter"
        self.corrections = self.path / "corrections"
        self.comparison = self.path / "comparison.json"
        self.validation = self.path / "validation.json"

    def tokenizer_checksums(self) -> dict[str, str]:
        """Return the SHA-256 of each file of the tokenizers; what an editor or a file browser leaves beside them is none."""
        files = [self.tokenizer / name for name in TOKENIZER_FILES]
        return {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
            if path.is_file()
        }

    def has_checkpoints(self) -> bool:
        """Tell whether training has begun here."""
        return bool(checkpoint_steps(self.checkpoints))

    def is_run(self) -> bool:
        """Tell whether this is a run, or nothing yet, and not a folder with other things in it."""
        if not self.path.exists():
            return True
        if not self.path.is_dir():
            return False
        names = {path.name for path in self.path.iterdir()}
        if self.config.name in names and (self.corpus_lock.name in names or self.has_checkpoints()):
            return True
        begun_anew = {".lock", self.corpus.name, self.corrections.name}
        return not names - begun_anew or self._is_half_prepared(names)

    def _is_half_prepared(self, names: set[str]) -> bool:
        """Tell whether a run was killed here before it had a configuration: our lock, and only what comes first."""
        first = (
            *(".lock", self.corpus, self.start, self.tokenizer, self.shards),
            *(self.config, self.corpus_lock, self.corrections),
        )
        ours = {Path(each).name for each in first}
        temporary = re.compile(r"\.(corpus|tokenizer|config\.toml|corpus\.lock)\.(tmp|old)-\d+")
        return ".lock" in names and all(temporary.fullmatch(name) for name in names - ours)

    def _lacks(self) -> str:
        """Say what a folder lacks that is nearly a run."""
        if self.config.is_file():
            return f" ({self.config.name} is there, and no {self.corpus_lock.name})"
        if self.has_checkpoints():
            return f" (checkpoints are there, and no {self.config.name}, which a copy of the run would have: put it back)"
        return ""

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for this process, and clear away what writers left in it that were killed.

        Raises:
            OutputError: the folder cannot be made, or is not a run.
            TrainingError: another process is training in it.
        """
        if not self.is_run():
            raise OutputError(
                f"{self.path}: is not a run but something else, which training would overwrite{self._lacks()}; choose another --run-dir"
            )
        busy = TrainingError(
            f"{self.path}: another process is training in this folder; "
            "wait for it, or name another run"
        )
        with hold_folder(self.path, busy=busy, remedy="choose another --run-dir"):
            for place in (self.path, self.corpus, self.start, self.shards, self.checkpoints):
                clear_left_overs(place)
            yield

    def held(self) -> AbstractContextManager[None]:
        """Hold a run as :meth:`locked` does; a folder that no training has begun in is left alone."""
        return self.locked() if self.checkpoints.is_dir() and self.is_run() else nullcontext()

    def write_environment(
        self,
        kernels: str | None = None,
        started_from: dict[str, str] | None = None,
        *,
        device: torch.device | None = None,
        arithmetic: str | None = None,
        processes: int = 1,
    ) -> dict[str, Any]:
        """Record what the numbers of this run depend on, and return it.

        Args:
            kernels: what computes between matrix products.
            started_from: the model that the weights were taken from, and its checksum.
            device: where matrices are multiplied.
            arithmetic: of their products, as ``training.dtype`` names it.
            processes: how many train the model together.
        """
        content = {
            "interlingua": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "system": platform.platform(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "vectors": torch.backends.cpu.get_cpu_capability(),
            "threads": torch.get_num_threads(),
            "processes": processes,
            "device": str(device) if device else None,
            "dtype": arithmetic,
            "kernels": kernels,
            "cuda": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        } | ({"started_from": started_from} if started_from else {})
        write_text(self.environment, json.dumps(content, indent=2) + "\n")
        return content

    def keep_settings(
        self,
        step: int,
        training: dict[str, Any],
        environment: dict[str, Any],
        fixed: dict[str, Any],
    ) -> list[str]:
        """Record by what settings, and where, training goes on after update ``step``, if that has changed; return in what the machine has.

        ``config.toml`` and ``environment.json`` tell the newest; these lines tell those of every update. ``fixed`` is what no
        update may change; of a run of an earlier version more may be told of it now.
        """
        now = {
            "training": {name: training[name] for name in training.keys() - _OF_NO_LOSS},
            "environment": {name: environment[name] for name in MACHINE},
        }
        try:
            every = self.read_settings()
        except ModelError:
            every = []
        before = [each for each in every if each["after"] < step]
        changed = other_machine(before[-1]["environment"], environment) if before else []
        if before and {name: before[-1].get(name) for name in now} == now:
            after = before.pop()["after"]
        else:
            after = step
        kept = [*before, {"after": after, "fixed": fixed, **now}]
        if kept != every:  # what was recorded since came to no update that is kept
            lines = [json.dumps(each, sort_keys=True) for each in kept]
            write_text(self.settings, "".join(f"{line}\n" for line in lines))
        return changed

    def read_settings(self) -> list[dict[str, Any]]:
        """Return what :meth:`keep_settings` recorded, in the order of updates; nothing of a run of an earlier version.

        Raises:
            ModelError: it cannot be read.
        """
        if not self.settings.exists():
            return []
        try:
            lines = self.settings.read_text(encoding="utf-8").splitlines()
            found = [json.loads(line) for line in lines]
            if not found:
                raise ValueError("it is empty")
            for each in found:
                dict(each["training"]), dict(each["environment"])
            found.sort(key=lambda each: int(each["after"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(
                f"{self.settings}: cannot be read ({error}); take a whole copy of the run"
            ) from error
        return found


def other_machine(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Say in what the machine, or what computes on it, is another one than was written down, as far as it was."""
    return [
        f"{name} was {before[name]}, and is {now.get(name)}"
        for name in MACHINE
        if name in before and before[name] != now.get(name)
    ]


def not_prepared(path: Path) -> TrainingError:
    """Say that a process found another state of the folder than the one that prepared it."""
    return TrainingError(
        f"{path}: was not prepared by the first process as this one sees it; all processes must see the same folder and files"
    )


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        return platform.processor()
    return platform.processor()
