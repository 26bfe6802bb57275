"""Nothing is lost: kill -9 and SIGTERM at random moments, and a save spoilt at each of its system calls."""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from prove_commands import describe_machine

SYSTEM_TESTS = Path(__file__).parents[1] / "tests" / "system"
sys.path.insert(0, str(SYSTEM_TESTS))
from interruption import (  # noqa: E402
    LEAVE_SECONDS,
    SETTINGS,
    Reference,
    clear,
    interrupt,
    make_reference,
)

HITS_A_RUN = 3


def main() -> None:
    """Print one line a part, and end with status 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--stops", type=int, default=40)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    asked = parser.parse_args()
    print(f"{describe_machine()}, seed {asked.seed}", flush=True)
    scratch = Path(tempfile.mkdtemp(prefix="prove-resume-"))
    references = [
        make_reference(scratch / f"untouched-{n}", setting) for n, setting in enumerate(SETTINGS)
    ]
    for each in references:
        print(f"untouched, {each.setting.name}: {each.seconds:.1f} s", flush=True)
    good = [
        hit(scratch, references, signal.SIGKILL, asked.kills, asked.seed),
        hit(scratch, references, signal.SIGTERM, asked.stops, asked.seed),
        spoil_saves(),
    ]
    if all(good):
        shutil.rmtree(scratch)
    else:
        print(f"the runs that went wrong are in {scratch}")
    sys.exit(0 if all(good) else 1)


def hit(
    scratch: Path, references: list[Reference], number: signal.Signals, times: int, seed: int
) -> bool:
    """Interrupt runs at ``times`` moments in all, and say how many of them ended as if nothing had happened."""
    dice, started = random.Random(f"{seed} {number.name}"), time.monotonic()
    hits, runs, wrong, slowest = 0, 0, 0, 0.0
    while hits < times:
        place = scratch / f"{number.name}-{runs}"
        reference = references[runs % len(references)]
        at_most = min(HITS_A_RUN, times - hits)
        found = interrupt(place, reference, dice, number=number, at_most=at_most)
        hits, runs = hits + len(found.moments), runs + 1
        slowest = max([slowest, *found.seconds_to_leave])
        if found.faults:
            wrong += 1
            moments = ", ".join(f"{moment:.2f}" for moment in found.moments)
            print(f"  {place.name}, hit after {moments} s: " + "; ".join(found.faults), flush=True)
        else:
            clear(place)
    left = f", gone after {slowest:.1f} s at most" if number == signal.SIGTERM else ""
    print(
        f"{number.name} at {hits} random moments of {runs} runs: {wrong} runs differ from an untouched one"
        f"{left} ({time.monotonic() - started:.0f} s)  {'NO' if wrong else 'yes'}",
        flush=True,
    )
    return wrong == 0 and slowest <= LEAVE_SECONDS


def spoil_saves() -> bool:
    """Kill a save before each of its system calls, and let each that touches files fail twice."""
    if not shutil.which("strace"):
        print("system calls of a save: strace is not installed  NO")
        return False
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(SYSTEM_TESTS / "faulty_saves.py")],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if not done.stdout:
        print("system calls of a save: could not be tried  NO")
        return False
    tally = json.loads(done.stdout)
    for fault in tally["faults"]:
        print(f"  {fault}")
    struck = ", ".join(f"{fault} {count}" for fault, count in sorted(tally["cases"].items()))
    ends = ", ".join(f"{count} {end}" for end, count in sorted(tally["ends"].items()))
    print(
        f"saves spoilt at each system call: {struck}; {ends}; {len(tally['faults'])} lost something "
        f"({time.monotonic() - started:.0f} s)  {'NO' if tally['faults'] else 'yes'}",
        flush=True,
    )
    return done.returncode == 0


if __name__ == "__main__":
    main()
