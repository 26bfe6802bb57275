"""``interlingua doctor`` with a model, a run, or nothing, as a user types it."""

import json
import shutil
from pathlib import Path

import pytest

from interlingua.cli import main

GOLDEN = Path(__file__).parents[2] / "golden" / "models" / "v1"


def codes(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [finding["code"] for finding in json.loads(capsys.readouterr().out)["findings"]]


def test_a_healthy_model_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", str(GOLDEN)]) == 0
    assert "nothing found" in capsys.readouterr().out


def test_a_damaged_model_ends_with_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(GOLDEN, tmp_path / "model")
    (tmp_path / "model" / "config.json").write_text("{}", encoding="utf-8")
    page = tmp_path / "report.html"
    assert main(["doctor", str(tmp_path / "model"), "--json", "--html", str(page)]) == 1
    assert "corrupt-file" in codes(capsys)
    assert "corrupt-file" in page.read_text(encoding="utf-8")


def test_text_beside_a_model_is_what_it_is_tried_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {"source": "это не цифры", "target": "это не цифры тоже"}
    flags = []
    for side, line in texts.items():
        (tmp_path / side).write_text(f"{line}\n" * 6, encoding="utf-8")
        flags += [f"--{side}", str(tmp_path / side)]
    assert main(["doctor", str(GOLDEN), *flags, "--json"]) == 1
    assert "unknown-vocabulary" in codes(capsys)
    assert main(["doctor", str(GOLDEN), *flags[:2]]) == 2
    assert "--source and --target go together" in capsys.readouterr().err


def test_without_anything_the_machine_is_examined(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--json"])
    assert "torch" in codes(capsys)


def test_a_folder_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "nowhere"]) == 5
    assert "does not exist" in capsys.readouterr().err
