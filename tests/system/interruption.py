"""A small run that is interrupted at any moment and then finished, and what must then be as if nothing had happened.

Shared by ``test_interruption.py`` and ``benchmarks/prove_resume.py``.
"""

import hashlib
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interlingua.checkpoints.store import CheckpointStore

__all__ = [
    "LEAVE_SECONDS",
    "SETTINGS",
    "Interrupted",
    "Reference",
    "Setting",
    "clear",
    "interrupt",
    "make_reference",
]

LEAVE_SECONDS = 10.0
"""A run that is told to stop has gone after this time, and what it did is on the disk."""

RUN = "run"
NUMBERS = {"unu": "one", "doi": "two", "trei": "three", "patru": "four", "cinci": "five"}
COMMON = (
    f"train --json --run-dir {RUN} --source train.ro --target train.en --valid-source valid.ro "
    "--valid-target valid.en --model.encoder-layers 1 --model.decoder-layers 1 --model.d-model 16 "
    "--model.d-ff 32 --model.heads 2 --model.dropout 0.1 --batching.batch-tokens 128 "
    "--training.threads 1 --training.device cpu --training.dtype float32 --training.steps 48 "
    "--training.validate-every 7 --training.validate-sentences 4 --training.patience 1000 "
    "--training.keep-checkpoints 3 --training.average-last 3"
)


@dataclass(frozen=True)
class Setting:
    """One way of training."""

    name: str
    flags: str


SETTINGS = (
    Setting("words", "--tokenization.kind word"),
    Setting(
        "sampled subwords, two batches an update",
        "--tokenization.kind bpe --tokenization.vocabulary-size 320 --tokenization.sampling 0.2 "
        "--training.accumulate 2",
    ),
    # A processor without bfloat16 computes it too, in more time.
    Setting("bfloat16", "--tokenization.kind word --training.dtype bfloat16"),
    Setting("two threads", "--tokenization.kind word --training.threads 2"),
)


@dataclass(frozen=True)
class Reference:
    """What a run that nobody touches leaves, and how long it takes."""

    setting: Setting
    outcome: dict[str, str]
    seconds: float


@dataclass
class Interrupted:
    """What happened to one run until it was finished."""

    moments: list[float] = field(default_factory=list)
    """Seconds after each start at which it was hit."""
    seconds_to_leave: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def write_corpus(place: Path) -> None:
    """Write 125 pairs that nobody needs to learn, every tenth of them for validation."""
    place.mkdir(parents=True, exist_ok=True)
    pairs = [
        (" ".join(words), " ".join(NUMBERS[word] for word in words))
        for words in itertools.product(NUMBERS, repeat=3)
    ]
    held_back = pairs[::10]
    for name, some in (("valid", held_back), ("train", [p for p in pairs if p not in held_back])):
        (place / f"{name}.ro").write_text("".join(f"{source}\n" for source, _ in some))
        (place / f"{name}.en").write_text("".join(f"{target}\n" for _, target in some))


def make_reference(place: Path, setting: Setting) -> Reference:
    """Run without interruption in the new folder ``place``."""
    write_corpus(place)
    started = time.monotonic()
    finish(place, setting)
    return Reference(setting, outcome(place / RUN), time.monotonic() - started)


def interrupt(
    place: Path,
    reference: Reference,
    dice: random.Random,
    *,
    number: signal.Signals,
    at_most: int,
) -> Interrupted:
    """Run in the new folder ``place``, send ``number`` at up to ``at_most`` moments, and let the run finish.

    Each moment is drawn evenly from the time that the whole run takes, the start of the program included.
    """
    write_corpus(place)
    found = Interrupted()
    while len(found.moments) < at_most:
        process = start(place, reference.setting)
        delay = dice.uniform(0.0, reference.seconds)
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            found.moments.append(delay)
            process.send_signal(number)
            found.faults += _leave(place, process, number, found)
        else:
            break
    finish(place, reference.setting)
    found.faults += differences(place / RUN, reference)
    return found


def start(place: Path, setting: Setting) -> "subprocess.Popen[str]":
    """Start the command; what it prints goes to files beside the run."""
    with (place / "out").open("w") as out, (place / "err").open("w") as err:
        return subprocess.Popen(
            [sys.executable, "-m", "interlingua", *COMMON.split(), *setting.flags.split()],
            cwd=place,
            stdout=out,
            stderr=err,
            text=True,
            # A thread that waits for another one sleeps: where both share a core, it would only keep that one from working.
            env={**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"},
        )


def finish(place: Path, setting: Setting) -> None:
    """Run the command to its end, which must be a good one."""
    process = start(place, setting)
    if process.wait(300) != 0:
        raise AssertionError(f"status {process.returncode}: {(place / 'err').read_text()}")


def _leave(
    place: Path, process: "subprocess.Popen[str]", number: signal.Signals, found: Interrupted
) -> list[str]:
    """Wait until an interrupted run has gone, and say what it did wrong."""
    sent = time.monotonic()
    try:
        status = process.wait(LEAVE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return [f"was still there {LEAVE_SECONDS:g} seconds after {number.name}"]
    found.seconds_to_leave.append(time.monotonic() - sent)
    if number == signal.SIGKILL:
        return []
    faults, words = [], (place / "err").read_text()
    if status not in (0, 128 + number, -number):  # it may have finished first, or hardly begun
        faults.append(f"ended with status {status}: {words}")
    if "Traceback" in words or "ignored" in words:
        faults.append(f"did not leave in silence: {words}")
    printed = (place / "out").read_text()
    if status == 128 + number and printed:
        newest = CheckpointStore(place / RUN / "checkpoints", keep=3).whole_steps()[-1:]
        done = json.loads(printed)["steps"]
        if done and newest != [done]:
            faults.append(f"had done {done} steps, and the newest checkpoint is {newest}")
    return faults


def differences(run: Path, reference: Reference) -> list[str]:
    """Name every file of ``run`` that is not what it is in a run that nobody touched, to the last bit."""
    expected, found = reference.outcome, outcome(run)
    oldest = min(map(_step_of, filter(_is_checkpoint, expected)))
    too_old = {name for name in found if _is_checkpoint(name) and _step_of(name) < oldest}
    names = sorted((found.keys() - too_old) | expected.keys())
    return [
        f"{name}: {_what_differs(found.get(name), expected.get(name))}"
        for name in names
        if found.get(name) != expected.get(name)
    ]


def outcome(run: Path) -> dict[str, str]:
    """Return what every file of ``run`` holds, without what is measured by the clock."""
    return {
        path.relative_to(run).as_posix(): _content(path)
        for path in sorted(run.rglob("*"))
        if path.is_file()
        and path.name not in (".lock", "environment.json", "seen.json")
        and path.parent.name != "tensorboard"
    }


def _content(path: Path) -> str:
    """Return text as it is, and the digest of what is no text."""
    if path.name == "state.json":
        return json.dumps(_without(json.loads(path.read_text()), "seconds"))
    if path.name == "manifest.json" and path.parent.name.startswith("step-"):
        manifest = json.loads(path.read_text())
        del manifest["files"]["state.json"]  # holds seconds, whose number of digits varies
        return json.dumps(manifest)
    if path.name == "metrics.jsonl":
        lines = path.read_text().splitlines()
        records = [_without(json.loads(line), "seconds", "tokens_per_second") for line in lines]
        return "\n".join(map(json.dumps, records))
    if path.name in ("samples.jsonl", "corpus.json"):
        return path.read_text()
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _without(record: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


def _is_checkpoint(name: str) -> bool:
    return name.startswith("checkpoints/step-")


def _step_of(name: str) -> int:
    return int(name.split("/")[1].removeprefix("step-"))


def _what_differs(found: str | None, expected: str | None) -> str:
    if found is None or expected is None:
        return "is missing" if found is None else "should not be there"
    for one, other in itertools.zip_longest(found.splitlines(), expected.splitlines()):
        if one != other:
            return f"{one} instead of {other}"
    return "differs"


def clear(place: Path) -> None:
    """Remove a run that ended well."""
    shutil.rmtree(place)
