"""The ``align`` command, on a model that writes its source backwards."""

import json
from pathlib import Path
from typing import Any

import pytest
from running_server import model_between

from interlingua.cli import align, main
from interlingua.directions import Direction
from interlingua.evaluation.alignment import HEURISTICS
from interlingua.translator import Translator

GOLDEN = str(Path(__file__).parents[2] / "golden" / "models" / "v1")
SOURCE = ["4 9 7", "0 6 9 7", "1 2 9 7"]
LINKS = ["0-2 1-1 2-0", "0-3 1-2 2-1 3-0", "0-3 1-2 2-1 3-0"]
GOLD = ["1-3 2p2 3-1", "1-4 2-3 3-2 4-1", "1-4 2-3 3-2 4-1"]


@pytest.fixture
def texts(tmp_path: Path) -> list[str]:
    (tmp_path / "source").write_text("\n".join(SOURCE) + "\n", encoding="utf-8")
    mirrored = [" ".join(reversed(line.split())) for line in SOURCE]
    (tmp_path / "target").write_text("\n".join(mirrored) + "\n", encoding="utf-8")
    (tmp_path / "gold").write_text("\n".join(GOLD) + "\n", encoding="utf-8")
    return ["--source", str(tmp_path / "source"), "--target", str(tmp_path / "target")]


def test_links_are_written_as_pharaoh_does(
    texts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["align", GOLDEN, *texts]) == 0
    out, err = capsys.readouterr()
    assert out.split("\n")[:-1] == LINKS
    assert "layer 1" in err


def test_with_gold_the_error_rate_is_told_and_links_go_to_a_file(
    texts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold, output = str(tmp_path / "gold"), tmp_path / "links"
    assert main(["align", GOLDEN, *texts, "--gold", gold, "--output", str(output)]) == 0
    assert output.read_text(encoding="utf-8").split("\n")[:-1] == LINKS
    header, row = capsys.readouterr().out.split("\n")[:-1]
    assert header.split() == ["alignment", "AER", "precision", "recall", "links"]
    assert row.split() == ["forward", "0.00", "100.00", "100.00", "11"]


def test_json_holds_views_links_and_scores(
    texts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["align", GOLDEN, *texts, "--gold", str(tmp_path / "gold"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["links"] == LINKS
    assert [each["alignment"] for each in record["scores"]] == ["forward"]
    assert record["scores"][0]["aer"] == 0.0


def test_two_models_are_told_alone_together_and_joined(
    texts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = str(model_between("reverse", "digits", tmp_path / "other"))
    gold = str(tmp_path / "gold")
    command = ["align", GOLDEN, "--reverse-model", other, *texts]
    assert main([*command, "--gold", gold, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["links"] == LINKS
    names = [each["alignment"] for each in record["scores"]]
    assert names[:4] == ["forward alone", "reverse alone", "forward", "reverse"]
    assert names[4:] == list(HEURISTICS)
    assert {each["aer"] for each in record["scores"]} == {0.0}
    assert len(record["views"]) == 2


@pytest.mark.parametrize(
    ("flags", "status", "said"),
    [
        (["--heuristic", "grow"], 2, "'grow' is none of intersection, union"),
        (["--layer", "2"], 2, "2 is none of the layers of the decoder, 1 to 1"),
        (["--gold", "nowhere"], 3, "nowhere"),
        (["--reverse-model", "nowhere"], 5, "nowhere"),
        (["--output", "no/folder/links"], 6, "no/folder"),
        (["--reverse-model", GOLDEN], 2, "give one of the opposite direction"),
    ],
)
def test_wrong_flags_are_refused(
    texts: list[str], flags: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["align", GOLDEN, *texts, *flags]) == status
    out, err = capsys.readouterr()
    assert not out
    assert said in err


def test_a_reverse_model_of_several_pairs_is_asked_for_the_opposite_one(
    texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = str(model_between("reverse", "digits", tmp_path / "other"))
    asked: list[object] = []
    load = Translator.load

    def loaded(path: Path, **options: Any) -> Translator:
        asked.append(options["to"])
        return load(path, **options)

    monkeypatch.setattr(Translator, "load", loaded)
    monkeypatch.setattr(align, "read_directions", lambda _: (Direction("reverse", "digits"),))
    assert main(["align", GOLDEN, "--reverse-model", other, *texts]) == 0
    assert asked == [None, "reverse-digits"]


def test_unequal_texts_are_refused(
    texts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "target").write_text("7 9 4\n", encoding="utf-8")
    assert main(["align", GOLDEN, *texts]) == 3
    assert "3 lines but" in capsys.readouterr().err
