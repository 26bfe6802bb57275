"""English and Japanese: two scripts, a vocabulary for each, through the commands that a user types."""

import json
import os
from pathlib import Path

import pytest

from interlingua.cli import main
from interlingua.cli.tokenize import find_tokenizer

RECIPE = Path(__file__).parents[2] / "recipes/tanaka_en_ja.toml"


@pytest.mark.proof
def test_two_scripts_have_separate_vocabularies_from_text_to_translation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = os.environ.get("INTERLINGUA_DATA")
    if not folder:
        pytest.skip("INTERLINGUA_DATA is unset: no Tanaka corpus")
    run = tmp_path / "run"
    sizes: dict[str, object] = {
        "model.preset": "tiny",
        "model.d_ff": 256,
        "batching.batch_tokens": 512,
        "training.steps": 30,
        "training.validate_every": 30,
        "training.validate_sentences": 20,
        "training.threads": 1,
    }
    for name, side, count in (("train", "source", 4000), ("valid", "valid_source", 50)):
        for lang, flag in (("en", side), ("ja", side.replace("source", "target"))):
            lines = (Path(folder) / f"tanaka_en_ja/{name}.{lang}").read_text("utf-8").split("\n")
            (tmp_path / f"{name}.{lang}").write_text("\n".join(lines[:count]) + "\n", "utf-8")
            sizes[f"corpus.{flag}"] = str(tmp_path / f"{name}.{lang}")
    flags = [word for key, value in sizes.items() for word in (f"--{key}", str(value))]
    assert main(["train", str(RECIPE), "--run-dir", str(run), "--json", *flags]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["steps"] > 0
    source, target = (find_tokenizer(run, side) for side in ("source", "target"))
    assert sorted(path.name for path in (run / "model").glob("*tokenizer.json")) == [
        "source_tokenizer.json",
        "target_tokenizer.json",
    ]
    english, japanese = (
        "they finally acknowledged it as true .",
        "彼 は 水泳 が 得意 で は な かっ た 。",
    )
    assert source.decode(source.encode(english).ids) == english
    assert target.decode(target.encode(japanese).ids) == japanese
    assert len(target.encode(japanese).ids) < len(source.encode(japanese).ids) / 2
    for side, name in ((source, "source"), (target, "target")):
        spm = tmp_path / f"{name}.spm"
        assert main(["tokenizer", "convert", str(run), "--side", name, "--output", str(spm)]) == 0
        assert find_tokenizer(spm, "source").encode(english).ids == side.encode(english).ids
    capsys.readouterr()
    assert main(["translate", str(run), english]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
