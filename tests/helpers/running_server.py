"""A real server, started by the command that a user types, and what tests ask it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from interlingua.checkpoints.manifest import write_manifest

GOLDEN = Path(__file__).parents[1] / "golden/models/v1"
"""A model that reverses digits: every text has an answer of its own, and no model is trained for these tests."""


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class RunningServer:
    process: subprocess.Popen[str]
    port: int
    log: str = ""
    """What it wrote to standard error after it began, once it has ended."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, names, answer.read())
        finally:
            connection.close()

    def post(self, path: str, **fields: Any) -> Answer:
        return self.ask("POST", path, json.dumps(fields), {"Content-Type": "application/json"})

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)


@contextmanager
def serving(
    *models: Path, flags: tuple[str, ...] = (), threads: int = 1
) -> Iterator[RunningServer]:
    """Serve ``models`` at a free port until the block ends; then stop as a service manager does."""
    command = [sys.executable, "-m", "interlingua", "serve", *map(str, models)]
    process = subprocess.Popen(
        [*command, "--port", "0", "--threads", str(threads), *flags],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stderr is not None
        first = process.stderr.readline()
        found = re.search(r" at http://127\.0\.0\.1:(\d+)$", first.strip())
        assert found, first + process.stderr.read()
        running = RunningServer(process, int(found[1]))
        yield running
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            log = process.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
    running.log = log


def model_between(source: str, target: str, folder: Path) -> Path:
    """Return a copy of the golden model that says it is of other languages."""
    shutil.copytree(GOLDEN, folder)
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(config | {"source_lang": source, "target_lang": target}))
    write_manifest(folder)
    return folder
