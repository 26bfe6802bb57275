"""The examples of ``deploy/``: what can be said of them without a container engine, or a machine that systemd runs."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from interlingua.cli import main

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy/interlingua.service"
CONTAINER = ROOT / "deploy/Containerfile"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    unit.write_text(re.sub(r"=/opt/\S+", f"={sys.executable}", UNIT.read_text()))
    found = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout + found.stderr) == (0, "")


def test_what_they_start_is_a_command_with_flags_of_ours(
    capsys: pytest.CaptureFixture[str],
) -> None:
    started = re.search(r"^ExecStart=(.*)$", UNIT.read_text(), re.MULTILINE)[1]
    in_container = re.search(r"exec (interlingua[^\"]*)", CONTAINER.read_text())[1]
    assert main(["serve", "--help"]) == 0
    told = capsys.readouterr().out
    for command in (started, in_container):
        program, verb, *rest = shlex.split(command)
        assert (Path(program).name, verb) == ("interlingua", "serve")
        assert all(flag in told for flag in rest if flag.startswith("--"))


def test_what_the_container_copies_is_there() -> None:
    for line in re.findall(r"^COPY (.*) \S+$", CONTAINER.read_text(), re.MULTILINE):
        for name in line.split():
            assert (ROOT / name).exists(), name
