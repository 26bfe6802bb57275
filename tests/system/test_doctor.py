"""The ``doctor`` command on files, as a user types it."""

import gzip
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


def test_every_form_of_a_corpus_tells_the_same(tmp_path: Path, capsys: Capture) -> None:
    sources = [f"propoziția cu numărul {n}" for n in range(30)] + ["Da.", "&quot;x", "Da."]
    targets = [f"the sentence with number {n}" for n in range(30)] + ["Yes.", "x", "Yes."]
    source, target = write(tmp_path, "a.ro", sources), write(tmp_path, "a.en", targets)
    write(tmp_path, "a.tsv", [f"{a}\t{b}" for a, b in zip(sources, targets, strict=True)])
    for path in (source, target):
        packed = Path(f"{path}.gz")
        packed.write_bytes(gzip.compress(Path(path).read_bytes()))
    languages = ["--source-lang", "ro", "--target-lang", "en"]
    forms = [
        ["--source", source, "--target", target],
        ["--source", f"{source}.gz", "--target", f"{target}.gz"],
        ["--pairs", str(tmp_path / "a.tsv"), *languages],
        ["--pairs", str(tmp_path / "a"), *languages],
    ]
    told = []
    for form in forms:
        assert main(["doctor", *form, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["findings"]
        told.append([(each["code"], each["severity"], each["lines"]) for each in found])
    assert ("encoding", "warning", [32]) in told[0]
    assert ("duplicate", "warning", [33]) in told[0]
    assert all(each == told[0] for each in told)


def test_standard_input_holds_one_corpus(capsys: Capture) -> None:
    assert main(["doctor", "--pairs", "-", "--test-pairs", "-"]) == 2
    assert "holds one corpus" in capsys.readouterr().err
    assert main(["doctor", "--pairs", "a.tsv", "--source", "b"]) == 2
    assert "not both" in capsys.readouterr().err
