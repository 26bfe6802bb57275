"""A server is not started at a port that there is not, and says when its worker dies."""

import json
import os
import signal
from pathlib import Path

import pytest
from running_server import GOLDEN, serving

from interlingua.cli import main


@pytest.mark.parametrize("port", [-1, 65_536, 99_999])
def test_a_port_that_there_is_not_is_refused_before_models_are_looked_for(
    port: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", str(tmp_path / "nothing"), f"--port={port}"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert f"flag --port: {port} is no port" in line


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the worker is found in /proc")
def test_a_worker_that_is_killed_leaves_one_line_without_a_text() -> None:
    with serving(GOLDEN) as running:
        children = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children")
        dead = int(children.read_text().split()[0])
        os.kill(dead, signal.SIGKILL)
        answer = running.post("/translate", q="3 1 2", source="digits", target="reverse")
        assert answer.json == {"translatedText": "2 1 3"}
    [line] = running.log.splitlines()
    told = json.loads(line)
    assert told.pop("time")
    assert told == {
        "event": "worker-died",
        "process": dead,
        "status": -signal.SIGKILL,
        "restarts": 1,
    }


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the worker is found in /proc")
def test_a_worker_that_is_killed_is_replaced_though_the_corrections_are_gone(
    tmp_path: Path,
) -> None:
    told = tmp_path / "told"
    told.mkdir()
    with serving(GOLDEN, flags=("--corrections", str(told))) as running:
        told.rmdir()
        children = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children")
        os.kill(int(children.read_text().split()[0]), signal.SIGKILL)
        answer = running.post("/translate", q="3 1 2", source="digits", target="reverse")
        assert answer.json == {"translatedText": "2 1 3"}
    events = {json.loads(line)["event"] for line in running.log.splitlines()}
    assert events == {"worker-died", "corrections-not-read"}
