"""One save of a checkpoint, spoilt at each of its system calls in turn: killed before the call, or the call fails.

``python tests/system/faulty_saves.py`` needs strace, goes through all of them, and prints one JSON object. The child
that saves is forked from a process that has everything loaded, and stops itself until strace has hold of it, so that
the calls are those of the save alone.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch

from interlingua.checkpoints.store import CheckpointStore
from interlingua.errors import OutputError
from interlingua.files import clear_left_overs

__all__ = ["main"]

REFUSED, BUG = 6, 70
TOUCHES_FILES = re.compile(
    r"open|creat|read|write|close|sync|fadvise|truncate|fallocate|rename|mkdir|unlink|rmdir|stat|lseek"
    r"|getdents|access|fcntl|ioctl|chmod|copy_file_range|sendfile"
)
"""Calls that a full or a failing disk can make fail."""

SCENARIOS = {"a new checkpoint": 3, "a checkpoint written again": 2}
"""The step that is saved over checkpoints of steps 1 and 2, of which two are kept."""


@dataclass
class Tally:
    """What all the spoilt saves came to."""

    calls: dict[str, dict[str, int]] = field(default_factory=dict)
    cases: Counter[str] = field(default_factory=Counter)
    """How often each fault struck; a call that this save did not make again is not counted."""
    ends: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def save(folder: Path, step: int, value: float) -> None:
    """Save a small checkpoint whose every number is ``value``."""
    weights = {"a": torch.full((40, 30), value), "b": torch.full((7,), value)}
    moments = {f"{kind}/a": torch.full((40, 30), value) for kind in ("exp_avg", "exp_avg_sq")}
    state = {"step": step, "validated": step, "value": value}
    CheckpointStore(folder, keep=2).save(step, weights, moments, state)


def main() -> None:
    """Spoil every call, or every ``--stride``-th, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stride", type=int, default=1, help="spoil every so many-th call only")
    stride = parser.parse_args().stride
    torch.set_num_threads(1)
    tally = Tally()
    with tempfile.TemporaryDirectory() as scratch:
        before = Path(scratch, "before")
        for step in (1, 2):
            save(before, step, float(step))
        for name, step in SCENARIOS.items():
            log = Path(scratch, "log")
            status = _save_traced(_copy(before), step, log, "trace=all")
            assert status == 0, status
            counts = Counter(re.findall(r"^(\w+)\(", log.read_text(), re.MULTILINE))
            tally.calls[name] = dict(counts)
            for number, (call, nth, fault) in enumerate(_cases(counts)):
                if number % stride == 0:
                    _spoil(before, name, step, log, (call, nth, fault), tally)
    print(json.dumps(vars(tally), indent=2))
    sys.exit(1 if tally.faults else 0)


def _cases(counts: Counter[str]) -> Iterator[tuple[str, int, str]]:
    for call, count in counts.items():
        for nth in range(1, count + 1):
            yield call, nth, "signal=KILL"
            if TOUCHES_FILES.search(call):
                yield call, nth, "error=ENOSPC"
                yield call, nth, "error=EIO"


def _spoil(
    before: Path, name: str, step: int, log: Path, case: tuple[str, int, str], tally: Tally
) -> None:
    call, nth, fault = case
    folder = _copy(before)
    rule = f"inject={call}:{fault}:when={nth}"
    status = _save_traced(folder, step, log, f"trace={call}", rule)
    struck = status == -signal.SIGKILL if "KILL" in fault else "INJECTED" in log.read_text()
    tally.cases[fault] += struck
    tally.ends[{0: "saved", REFUSED: "refused", -signal.SIGKILL: "killed"}.get(status, "bug")] += 1
    wrong = _find_fault(folder, step, status)
    if wrong:
        tally.faults.append(f"{name}, {rule}: {wrong}")


def _find_fault(folder: Path, step: int, status: int) -> str | None:
    """Look at what is left as the next process would; a save of that process must then leave all in order."""
    if status not in (0, REFUSED, -signal.SIGKILL):
        return f"ended with status {status}"
    said: list[str] = []
    newest = CheckpointStore(folder, keep=2).latest(said.append)
    if newest is None or newest.step < 2:
        return f"the newest checkpoint is {newest and newest.step}: {said}"
    value = newest.state["value"]
    numbers = {*newest.weights.values(), *newest.moments.values()}
    if not all((tensor == value).all() for tensor in numbers):
        return "the newest checkpoint is a mixture"
    old, new = (newest.step, value) == (2, 2.0), (newest.step, value) == (step, 9.0)
    if not new and (status == 0 or not old):
        return f"step {newest.step} holds {value} after status {status}"
    if said:
        return f"something was damaged: {said}"
    clear_left_overs(folder)
    save(folder, 4, 4.0)
    names = sorted(path.name for path in folder.iterdir())
    if len(names) != 2 or any(name.startswith(".") for name in names) or "step-4" not in names:
        return f"the next save leaves {names}"
    return None


def _copy(before: Path) -> Path:
    folder = before.with_name("checkpoints")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(before, folder)
    return folder


def _save_traced(folder: Path, step: int, log: Path, *rules: str) -> int:
    """Save in a child under strace and return its status, negative for a signal."""
    child = os.fork()
    if child == 0:
        _save_and_exit(folder, step)
    os.waitpid(child, os.WUNTRACED)
    flags = [part for rule in rules for part in ("-e", rule)]
    command = ["strace", "-p", str(child), "-o", str(log), *flags]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
        assert strace.stderr is not None
        line = strace.stderr.readline()
        if "attached" not in line:
            os.kill(child, signal.SIGKILL)
            sys.exit(f"strace cannot be used here: {line}")
        os.kill(child, signal.SIGCONT)
        _, status = os.waitpid(child, 0)
        strace.communicate()
    return os.waitstatus_to_exitcode(status)


def _save_and_exit(folder: Path, step: int) -> None:
    status = BUG
    try:
        os.kill(os.getpid(), signal.SIGSTOP)
        save(folder, step, 9.0)
        status = 0
    except OutputError:
        status = REFUSED
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
