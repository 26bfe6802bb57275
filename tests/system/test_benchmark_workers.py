"""What `make bench-training` runs in each environment still runs: a change of the trainer must not be noticed hours later."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"
PAIRS = [([5, 6, 7], [8, 9]), ([4, 4], [7, 8, 9, 5]), ([9], [4])]


@pytest.fixture
def batches(tmp_path: Path) -> Path:
    path = tmp_path / "batches.json"
    batch = {"source": [s for s, _ in PAIRS], "target": [t for _, t in PAIRS]}
    path.write_text(json.dumps({"vocabulary": 12, "batches": [batch] * 3}))
    return path


EARLIER = 1000.0
"""Seconds by which the benchmark says that it started a process before it did."""


def measured(script: str, batches: Path) -> dict[str, Any]:
    arguments = [str(batches), "tiny", "fp32", "1", "2"]
    done = subprocess.run(
        [sys.executable, str(PEERS / script), *arguments],
        env={**os.environ, "BENCH_STARTED": str(time.time() - EARLIER)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_our_trainer_and_an_ordinary_loop_are_timed_on_the_same_tokens(batches: Path) -> None:
    ours, loop = measured("ours.py", batches), measured("torch_transformer.py", batches)
    assert ours["tokens"] == loop["tokens"] == 2 * sum(len(t) + 1 for _, t in PAIRS)
    for found in (ours, loop):
        assert found["tokens_a_second"] > 0
        assert 0 < found["loss"] < 10
        assert (
            EARLIER < found["start_seconds"] < EARLIER + 120
        )  # from the start, not from an import


def test_a_kept_system_measures_for_each_line_that_it_is_sent(batches: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(PEERS / "ours.py"), str(batches), "tiny", "fp32", "1", "2"],
        env={**os.environ, "BENCH_KEPT": "1"},
        input="\n\n\n",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    losses = [json.loads(line)["loss"] for line in done.stdout.splitlines()]
    assert len(losses) == 3
    assert losses[0] > losses[1] > losses[2]
