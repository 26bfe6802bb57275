"""All figures of quality from little data, one proof after the other, in hours; the same command goes on where it was stopped.

What is proved is not proved again, unless --again names it; with each result stand the commit, the machine and the day, and a commit that
is not the present one is pointed out. A proof that failed is tried again. Each is a script of its own, can be run by itself, and takes up
the trainings that its folder runs/prove-NAME has, of whatever commit they are: remove it for new ones. The end is one line a proof, and
status 1 if a promise was not kept.
"""

import argparse
import json
import signal
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

from prove_commands import corpora, describe_commit, describe_machine

HERE = Path(__file__).parent
PROOFS = {
    "replay": "prove_replay.py",
    "adapt": "prove_adapt.py",
    "corrections": "prove_corrections.py",
    "finetune": "prove_finetune.py",
    "robustness": "prove_robustness.py",
    "distill": "prove_distill.py",
    "many-languages": "prove_many_languages.py",
    "transfer": "prove_transfer.py",
    "comparison": "prove_comparison.py",
    "back-translation": "prove_back_translation.py",
    "learning-curve": "prove_learning_curve.py",
    "presets": "prove_presets.py",
}
"""Shortest first, so that most is known soon."""


def main() -> None:
    """Run what is not proved yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/prove-quality"))
    parser.add_argument("--only", choices=PROOFS, nargs="+", default=list(PROOFS))
    parser.add_argument("--again", choices=PROOFS, nargs="+", default=[], help="proved or not")
    flags = parser.parse_args()
    corpora()  # before anything is begun
    machine, commit = describe_machine(), describe_commit()
    print(machine, flush=True)
    kept = flags.runs / "results.json"
    flags.runs.mkdir(parents=True, exist_ok=True)
    proved: dict[str, dict[str, Any]] = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    failed = []
    for name in flags.only:
        if name in proved and name not in flags.again:
            print(f"{name}: proved already, {in_words(proved[name], commit)}", flush=True)
            continue
        proved.pop(name, None)  # whatever becomes of it now
        kept.write_text(json.dumps(proved, indent=2) + "\n", encoding="utf-8")
        seconds, status = prove(name, flags.runs / f"{name}.txt")
        if status == 0:
            proved[name] = {
                "seconds": round(seconds),
                "commit": commit,
                "machine": machine,
                "date": date.today().isoformat(),
            }
            kept.write_text(json.dumps(proved, indent=2) + "\n", encoding="utf-8")
        else:
            failed.append(name)
    for name in flags.only:
        told = "NOT proved" if name in failed else f"proved {in_words(proved[name], commit)}"
        print(f"{name}: {told} ({flags.runs / name}.txt)")
    sys.exit(1 if failed else 0)


def in_words(found: dict[str, Any], commit: str | None) -> str:
    """Tell when, where and of what code a proof is, and whether that is another code than the present one of ``commit``."""
    told = (
        f"in {found['seconds'] / 60:,.0f} minutes on {found['date']}, at commit {found['commit'] or 'unknown'}, on "
        f"{found['machine']}"
    )
    if commit is None or found["commit"] != commit:
        told += f"; the present commit is {commit or 'unknown'}"
    elif commit.endswith("-dirty"):
        told += "; files may have changed since"
    return told


def prove(name: str, log: Path) -> tuple[float, int]:
    """Run one proof; what it prints is shown, and kept."""
    print(f"== {name}: {PROOFS[name]}", flush=True)
    started = time.monotonic()
    command = [sys.executable, "-u", str(HERE / PROOFS[name])]
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            file.write(line)
            file.flush()
    return time.monotonic() - started, process.returncode


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:  # the proof itself says how to go on
        sys.exit(128 + signal.SIGINT)
