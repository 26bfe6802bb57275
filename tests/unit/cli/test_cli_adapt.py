"""What the ``adapt`` command says before and after the training."""

from dataclasses import replace
from pathlib import Path

import pytest
from random_models import SHAPES, random_model

from interlingua.cli.adapt import _into, _usable
from interlingua.corpus.corrections import (
    CORRECTIONS,
    Correction,
    add_corrections,
    append_correction,
)
from interlingua.directions import Direction

MANY = replace(
    random_model(SHAPES["tied"]), directions=(Direction("ro", "en"), Direction("en", "ro"))
)


def test_corrections_of_other_pairs_of_languages_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = [Correction("cine", "who", "ro", "en"), Correction("who", "cine", "en", "ro")]
    add_corrections(tmp_path, known)
    assert _usable(tmp_path, MANY) == known
    assert capsys.readouterr().err == ""
    add_corrections(tmp_path, [Correction("cine", "qui", "ro", "fr")])
    assert _usable(tmp_path, MANY) == known
    told = capsys.readouterr().err
    assert "1 of 3 corrections are of none of the pairs of languages that the model was" in told
    assert "ro-en, en-ro; they are left out" in told


def test_of_two_spellings_that_are_one_source_for_the_model_the_later_is_learnt(
    tmp_path: Path,
) -> None:
    for source, target in (("cine ești", "who"), ("nu", "no"), ("cine\u00a0ești", "you")):
        told = Correction(source, target, "ro", "en")  # as a server keeps it
        assert append_correction(tmp_path / CORRECTIONS, told, most_bytes=10**9)
    assert sorted(each.target for each in _usable(tmp_path, MANY)) == ["no", "you"]


def test_what_to_type_next_chooses_a_language_where_there_are_several() -> None:
    corrections = [Correction("who", "cine", "en", "ro")]
    assert _into(MANY, corrections) == ["--to", "ro"]
    assert _into(replace(MANY, directions=()), corrections) == []
