"""A model folder of every format version still loads and still translates the same.

The folders and what they answered are beside this file in ``models/``, made by ``models/make_golden_model.py``.
"""

import json
from pathlib import Path

import pytest

from interlingua.checkpoints.manifest import FORMAT_VERSION
from interlingua.translator import Translator

MODELS = Path(__file__).parent / "models"
VERSIONS = range(1, FORMAT_VERSION + 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_old_model_translates_as_on_its_first_day(version: int) -> None:
    record = json.loads((MODELS / f"v{version}.json").read_text(encoding="utf-8"))
    expected = record["translations"]
    assert len(expected) >= 20
    translator = Translator.load(MODELS / f"v{version}", device="cpu")
    found = translator.translate([one["source"] for one in expected])
    assert [one.text for one in found] == [one["text"] for one in expected]
    assert [one.score for one in found] == pytest.approx(
        [one["score"] for one in expected], abs=1e-4
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_a_golden_model_has_learnt_its_task(version: int) -> None:
    record = json.loads((MODELS / f"v{version}.json").read_text(encoding="utf-8"))
    short = [one for one in record["translations"] if 0 < len(one["source"].split()) <= 4]
    right = sum(one["text"].split() == one["source"].split()[::-1] for one in short)
    assert right >= 0.9 * len(short)


def test_a_golden_model_weighs_little() -> None:
    assert sum(file.stat().st_size for file in MODELS.rglob("*") if file.is_file()) < 150_000
