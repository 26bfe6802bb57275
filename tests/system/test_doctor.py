"""The ``doctor`` command on files, as a user types it."""

import json
from pathlib import Path

import pytest

from interlingua.cli import main

Capture = pytest.CaptureFixture[str]


def write(folder: Path, name: str, lines: list[str]) -> str:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def test_nothing_to_examine_is_said_in_one_line(capsys: Capture) -> None:
    assert main(["doctor", "--source", "only-one-side.ro"]) == 2
    told = capsys.readouterr().err
    assert "error:" in told
    assert told.count("\n") == 1


def test_a_missing_file_is_no_finding(tmp_path: Path, capsys: Capture) -> None:
    target = write(tmp_path, "a.en", ["one"])
    assert main(["doctor", "--source", str(tmp_path / "a.ro"), "--target", target]) == 3
    assert "no such file" in capsys.readouterr().err


def test_unequal_sides_are_an_error_and_the_remedy_works(tmp_path: Path, capsys: Capture) -> None:
    source = write(tmp_path, "a.ro", ["unu", "doi", "trei"])
    target = write(tmp_path, "a.en", ["one", "two"])
    page = tmp_path / "report.html"
    asked = ["doctor", "--source", source, "--target", target, "--html", str(page), "--json"]
    assert main(asked) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    (unequal,) = [finding for finding in found if finding["code"] == "unequal-lines"]
    assert (unequal["severity"], unequal["lines"]) == ("error", [3])
    assert "unequal-lines" in page.read_text(encoding="utf-8")
