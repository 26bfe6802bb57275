"""What ``doctor`` must find in corpora that real people made, and what it must not."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

Findings = list[dict[str, Any]]

DATA = os.environ.get("INTERLINGUA_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="INTERLINGUA_DATA names no folder of corpora")


def examine(folder: str, stem: str, languages: str, *parts: str) -> Findings:
    """Return the findings on DATA/folder/stem.{languages}, and on other parts beside it.

    In a process of its own, as a user runs it.
    """
    source, target = languages.split()
    root = Path(DATA or "") / folder
    asked = [sys.executable, "-m", "interlingua", "doctor", "--json"]
    asked += [
        "--source",
        str(root / f"{stem}.{source}"),
        "--target",
        str(root / f"{stem}.{target}"),
    ]
    for part in parts:
        flag, _, name = part.partition("=")
        asked += [f"--{flag}-source", str(root / f"{name or flag}.{source}")]
        asked += [f"--{flag}-target", str(root / f"{name or flag}.{target}")]
    done = subprocess.run(asked, capture_output=True, check=False)
    findings: Findings = json.loads(done.stdout)["findings"]
    assert done.returncode == any(finding["severity"] == "error" for finding in findings)
    return findings


def of(findings: Findings, code: str, words: str = "") -> Findings:
    return [each for each in findings if each["code"] == code and words in each["message"]]


def test_the_duplicates_and_leaks_of_ro_sts() -> None:
    found = examine("ro_en/sts", "train", "ro en", "valid", "test")
    (duplicates,) = of(found, "duplicate")
    assert len(duplicates["lines"]) == 664
    (valid,) = of(found, "leakage", "sources of 3,000 in the validation part")
    (test,) = of(found, "leakage", "sources of 2,758 in the test part")
    assert "159 of them letter by letter" in valid["message"]
    assert "196 of them letter by letter" in test["message"]
    assert valid["severity"] == test["severity"] == "error"


@pytest.mark.slow
def test_the_leaks_of_tanaka() -> None:
    found = examine("tanaka_en_ja", "train", "en ja", "valid", "test")
    (valid,) = of(found, "leakage", "sources of 500 in the validation part")
    (test,) = of(found, "leakage", "sources of 500 in the test part")
    assert "77 of them letter by letter" in valid["message"]
    assert "60 of them letter by letter" in test["message"]


@pytest.mark.slow
def test_the_empty_line_and_the_duplicates_of_noisy() -> None:
    found = examine("noisy_en_de", "train", "en de")
    (empty,) = of(found, "empty")
    assert empty["lines"] == [5]
    (duplicates,) = of(found, "duplicate")
    assert len(duplicates["lines"]) == 42
    assert of(found, "encoding", "HTML entities")


def test_the_line_end_that_is_none_of_newstest2009() -> None:
    found = examine("news_en_de", "newstest2009", "en de")
    (line_end,) = of(found, "encoding", "end a line")
    assert 1368 in line_end["lines"]


@pytest.mark.slow
def test_multi30k_has_no_error_and_every_warning_is_true() -> None:
    found = examine("multi30k_en_de", "train", "en de", "valid", "test=test_2016_flickr")
    assert not [each for each in found if each["severity"] == "error"]
    warnings = [each for each in found if each["severity"] == "warning"]
    # One validation source is also in training.
    assert [each["code"] for each in warnings] == ["leakage"]


@pytest.mark.slow
def test_tatoeba_has_no_error_and_several_translations_are_a_note() -> None:
    found = examine("tatoeba_en_de", "train", "en de", "valid", "test")
    assert not [each for each in found if each["severity"] == "error"]
    (several,) = of(found, "repeated-source")
    assert several["severity"] == "note"
    # Sentences that differ from a held-out one only in case or punctuation.
    assert {each["code"] for each in found if each["severity"] == "warning"} == {"leakage"}


@pytest.mark.slow
def test_faults_that_are_put_into_pieces_of_real_corpora_are_found() -> None:
    """Twenty-four of the four hundred of ``make prove-doctor``, on at most 400 pairs each, drawn anew each time."""
    script = Path(__file__).parents[2] / "benchmarks" / "prove_doctor.py"
    asked = [sys.executable, str(script), "--faults", "24", "--largest", "400"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    count = re.search(r"(\d+) of 24 faults found", done.stdout)
    assert count, done.stdout + done.stderr
    # One in fifty may be missed; so many by chance once in seven thousand times.
    assert int(count[1]) >= 20, done.stdout
