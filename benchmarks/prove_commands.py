"""Running the commands that a user types, measuring them, and writing down how fast they are: shared by the scripts here."""

import json
import os
import platform
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import torch

__all__ = ["Timed", "cleaned", "corpora", "describe_machine", "evaluate", "record", "run"]

RECORD = Path(__file__).parent / "RESULTS.md"
_PREFACE = """# How fast

Written by `make bench-training`, `make bench-decoding`, `make bench-serving` and `make bench-page`: each replaces its own sections. Whoever
is compared in a section ran side by side in one run. What limits each is told in [docs/results.md](../docs/results.md).
"""


@dataclass(frozen=True)
class Timed:
    """One command: what it printed, how long it took, how much memory it held at most."""

    output: str
    seconds: float
    peak_bytes: int


def run(*arguments: str) -> Timed:
    """Run ``interlingua`` with ``arguments``; end the proof if it fails."""
    command = [str(Path(sys.executable).with_name("interlingua")), *arguments]
    print("$ interlingua " + " ".join(arguments), flush=True)
    started = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - started
    if process.returncode != 0:
        sys.exit(f"the command ended with status {process.returncode}")
    return Timed(output, seconds, usage.ru_maxrss * 1024)


def evaluate(model: str, source: Path, reference: Path, *flags: str) -> dict[str, Any]:
    """Evaluate ``model`` and return its report."""
    timed = run(
        "evaluate", model, "--source", str(source), "--reference", str(reference), "--json", *flags
    )
    report: dict[str, Any] = json.loads(timed.output)
    return report


def corpora() -> Path:
    """Return the folder of real corpora, or end with the reason."""
    folder = os.environ.get("INTERLINGUA_DATA")
    if not folder:
        sys.exit("set INTERLINGUA_DATA to the folder of the corpora first")
    return Path(folder)


def cleaned(corpus: Path, place: Path, source: str, target: str) -> Path:
    """Clean the training part of a corpus, so that nothing of its validation and test parts is in it; return the two files but
    for their suffixes. What is cleaned already is not cleaned again."""
    if not (place / f"train.{target}").exists():
        held_out = [
            word
            for part in ("valid", "test")
            for side, code in (("source", source), ("target", target))
            for word in (f"--{part}-{side}", str(corpus / f"{part}.{code}"))
        ]
        sides = ("--source", str(corpus / f"train.{source}"))
        sides += ("--target", str(corpus / f"train.{target}"))
        print(run("clean", *sides, *held_out, "--output", str(place)).output)
    return place / "train"


def describe_machine() -> str:
    """Say what the numbers depend on."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, torch {torch.__version__}"


def record(title: str, command: str, table: str) -> None:
    """Put a section into ``RESULTS.md``, in place of an earlier one of that title."""
    asked = ["git", "describe", "--always", "--dirty"]
    commit = subprocess.run(asked, cwd=RECORD.parent, capture_output=True, text=True).stdout.strip()
    told = f"{date.today().isoformat()}, `{command}`, commit {commit}; {describe_machine()}."
    section = f"## {title}\n\n{told}\n\n{table.strip()}\n"
    before = RECORD.read_text(encoding="utf-8") if RECORD.exists() else _PREFACE
    _, *others = re.split(r"^(?=## )", before, flags=re.MULTILINE)
    kept = [each.strip() + "\n" for each in others if not each.startswith(f"## {title}\n")]
    RECORD.write_text("\n".join([_PREFACE, *sorted([*kept, section])]), encoding="utf-8")
