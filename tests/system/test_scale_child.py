"""The process that ``benchmarks/prove_scale.py`` measures still does what the program does."""

import json
import runpy
import subprocess
import sys
import time
from pathlib import Path

import pytest
from interruption import COMMON, write_corpus

from interlingua.batching import encoding
from interlingua.tokenization import piece_tokenizer

CHILD = Path(__file__).parents[2] / "benchmarks/scale_child.py"


def test_a_run_tells_when_its_first_update_begins_and_ends_there(tmp_path: Path) -> None:
    write_corpus(tmp_path)
    command = [sys.executable, str(CHILD), "off", "start", str(time.time()), *COMMON.split()]
    told = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
    )
    begins, ends = map(float, told.stdout.split())
    assert 0 < begins < ends
    assert json.loads((tmp_path / "run/shards/corpus.json").read_text())["parts"] == [112]
    assert not (tmp_path / "run/checkpoints").exists()


def test_workers_forget_each_word_before_they_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "WORKER_COMMAND", encoding.WORKER_COMMAND)
    monkeypatch.setattr(piece_tokenizer, "_CACHED_CHARACTERS", 1)
    runpy.run_path(str(CHILD))["turn_cache_off"]()
    assert piece_tokenizer._CACHED_CHARACTERS == -1
    compile(encoding.WORKER_COMMAND, "command", "exec")
    before, _, after = encoding.WORKER_COMMAND.partition(
        "piece_tokenizer._CACHED_CHARACTERS = -1; "
    )
    assert "serve()" not in before
    assert after == "serve()"
