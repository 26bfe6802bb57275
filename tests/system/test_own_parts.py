"""The guide to replacing a part is run as it is written: train, translate, inspect, hold to the laws."""

import json
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlingua.config_files import load_config
from interlingua.errors import ModelError
from interlingua.training.run import train
from interlingua.translator import Translator

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "replace-a-part.md"
RUN = Path("runs") / "copy-my-parts"


@pytest.fixture
def blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """The guide's second and third block of code, in a folder that holds the first as ``my_parts.py``."""
    parts, use, laws = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)
    (tmp_path / "my_parts.py").write_text(parts, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield use, laws
    sys.modules.pop("my_parts", None)


def run(code: str) -> dict[str, object]:
    """Run ``code`` as a script in the current folder."""
    script = Path("script.py")
    script.write_text(code, encoding="utf-8")
    return runpy.run_path(str(script))


def shorten(code: str, steps: int) -> str:
    """The same program with fewer updates."""
    code, found = re.subn(
        r'"steps": \d+, "peak_learning_rate": [\d.]+, "warmup_steps": \d+',
        f'"steps": {steps}, "warmup_steps": 10, "validate_sentences": 10',
        code,
    )
    assert found == 1
    return code


def test_a_variant_of_one_s_own_is_trained_translated_and_inspected(
    blocks: tuple[str, str],
) -> None:
    names = run(shorten(blocks[0], steps=40))
    assert names["result"].steps == 40
    model = names["translator"].model
    attentions = [layer.self_attention for layer in model.encoder.layers]
    assert [type(each).__name__ for each in attentions] == ["CosineAttention"] * 2
    assert type(model.source_embedding.positions).__name__ == "BinaryPositions"
    # Its own parameter has been trained, saved and loaded.
    assert all((each.sharpness != 8.0).all() for each in attentions)

    lines = (RUN / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    losses = [row["loss"] for row in map(json.loads, lines) if row["kind"] == "training"]
    assert losses[-1] < losses[0]

    files = [Path(file) for file in names["files"]]
    assert Path("my-parts-inspected/heat-map.png") in files
    assert all(file.stat().st_size > 0 for file in files)

    with pytest.raises(ModelError, match="build_model"):
        Translator.load(RUN)
    before = (RUN / "model" / "manifest.json").read_bytes()
    with pytest.raises(ModelError, match="build_model"):
        train(load_config(RUN / "config.toml", {"training.steps": "1000"}))
    assert (RUN / "model" / "manifest.json").read_bytes() == before


def test_the_laws_that_the_guide_asks_of_a_variant_hold_for_its_own(
    blocks: tuple[str, str],
) -> None:
    tests = [value for name, value in run(blocks[1]).items() if name.startswith("test_")]
    assert tests
    for test in tests:
        test()


def test_the_parts_of_the_guide_fit_in_thirty_lines(blocks: tuple[str, str]) -> None:
    code = Path("my_parts.py").read_text(encoding="utf-8")
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) <= 30


@pytest.mark.slow
def test_the_variant_of_the_guide_learns_to_copy(
    blocks: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    names = run(blocks[0])
    assert capsys.readouterr().out.splitlines()[-1] == "3 1 4 1 5"
    texts = ["7", "0 0 1", "9 8 7 6 5 4 3 2 1 0", "2 2 2 2"]
    assert [each.text for each in names["translator"].translate(texts)] == texts
