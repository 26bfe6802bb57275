"""What every decoder under measurement shares: the same task, the same clock, one line of JSON at the end.

Runs in the environment of a peer, so it imports neither Interlingua nor the peer. Called as
``python search_PEER.py TASK MODEL WAY``: TASK and WAY are JSON; MODEL is the folder of the same weights in the peer's form.
"""

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STARTED = time.perf_counter()


@dataclass(frozen=True)
class Task:
    """One measurement: what to translate, how, and how often."""

    sentences: list[Any]
    """Token lists where every output has one length, texts otherwise."""
    kind: str
    """``tokens`` and ``text``: all at once; ``single``: one at a time."""
    beam: int
    length: int
    """Tokens that every output has exactly, so that a model of random weights stops; 0 lets the model end."""
    threads: int
    runs: int


def read_task() -> tuple[Task, Path, dict[str, Any]]:
    """Read the command line."""
    task = Task(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    return task, Path(sys.argv[2]), json.loads(sys.argv[3])


def measure(task: Task, translate: Callable[[list[Any]], list[Any]], **more: object) -> None:
    """Translate a few sentences to warm up, then all of them ``task.runs`` times; report the medians.

    ``translate`` takes sentences and returns their outputs: token lists, or texts.
    """
    before = time.perf_counter()
    first = translate(task.sentences[:1])
    started = time.perf_counter() - STARTED
    translate(
        task.sentences[:16]
        if task.kind == "single"
        else task.sentences[: len(task.sentences) // 4 + 1]
    )
    seconds, latencies, outputs = [], [], first
    for _ in range(task.runs):
        begun = time.perf_counter()
        if task.kind == "single":
            outputs = []
            for sentence in task.sentences:
                at = time.perf_counter()
                outputs += translate([sentence])
                latencies.append(time.perf_counter() - at)
        else:
            outputs = translate(task.sentences)
        seconds.append(time.perf_counter() - begun)
    latencies.sort()
    print(
        json.dumps(
            {
                "seconds": statistics.median(seconds),
                "outputs": [len(each) for each in outputs] if task.length else outputs,
                "median_latency": statistics.median(latencies) if latencies else 0.0,
                "p99_latency": latencies[int(0.99 * len(latencies))] if latencies else 0.0,
                "start_seconds": started,
                "first_seconds": started - (before - STARTED),
                "resident_bytes": resident_bytes(),
                "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                **more,
            }
        )
    )


def resident_bytes() -> int:
    """Return the memory that the process has now."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0
