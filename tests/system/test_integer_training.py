"""Training with products in 8-bit integers, asked for on the command line: it learns, goes on to the last bit, or says why it cannot be had."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlingua.checkpoints.model_folder import load_model_folder
from interlingua.cli import main
from interlingua.kernels.matrix_products import has_integers
from interlingua.training import gradients

NUMBERS = {"unu": "one", "doi": "two", "trei": "three", "patru": "four", "cinci": "five"}
TRAIN = (
    "train --source train.ro --target train.en --model.encoder-layers 1 --model.decoder-layers 1 --model.d-model 32 "
    "--model.d-ff 64 --model.heads 2 --model.dropout 0.1 --batching.batch-tokens 200 --training.threads 1 "
    "--training.validate-every 20 --training.validate-sentences 4 --training.schedule inverse-sqrt --training.warmup-steps 10"
)
here = pytest.mark.skipif(not has_integers(), reason="no such products for this processor")

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder with a corpus, current while the test runs."""
    before = Path.cwd()
    os.chdir(tmp_path)
    pairs = [(a, b, c) for a in NUMBERS for b in NUMBERS for c in NUMBERS]
    for lang, words in (("ro", {word: word for word in NUMBERS}), ("en", NUMBERS)):
        text = "".join(" ".join(words[word] for word in pair) + "\n" for pair in pairs)
        Path(f"train.{lang}").write_text(text)
    yield tmp_path
    os.chdir(before)


def train(run: str, steps: int, *flags: str) -> int:
    command = [*TRAIN.split(), "--run-dir", run, "--training.steps", str(steps), *flags]
    return main(command)


def losses_of(run: str) -> list[float]:
    lines = Path(run, "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [record["loss"] for record in map(json.loads, lines) if "loss" in record]


@here
def test_a_run_in_int8_is_told_goes_on_to_the_last_bit_and_is_replayed(capsys: Capture) -> None:
    assert train("whole", 40, "--training.dtype", "int8") == 0
    assert "bfloat16 with products in int8 on cpu" in capsys.readouterr().err
    assert train("parts", 20, "--training.dtype", "int8") == 0
    assert train("parts", 40, "--training.dtype", "int8") == 0
    assert "to the last bit" not in capsys.readouterr().err
    assert json.loads(Path("whole/environment.json").read_text())["dtype"] == "int8"
    assert losses_of("parts") == losses_of("whole")
    models = [load_model_folder(Path(run)).model.state_dict() for run in ("whole", "parts")]
    assert all(models[0][name].equal(models[1][name]) for name in models[0])
    assert main(["replay", "whole", "--steps", "40"]) == 0
    assert train("parts", 60, "--training.dtype", "bfloat16") == 0
    assert "last bit from here on: dtype was int8, and is bfloat16" in capsys.readouterr().err
    assert train("exact", 40, "--training.dtype", "bfloat16") == 0
    assert losses_of("exact") != losses_of("whole")
    # Later a model this small may or may not have found out where to look, in any arithmetic.
    assert losses_of("exact")[0] == pytest.approx(losses_of("whole")[0], rel=0.02)


def test_where_there_are_no_such_products_nothing_is_begun(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gradients, "has_integers", lambda: False)
    for command in (TRAIN, TRAIN.replace("train ", "plan ", 1)):
        flags = ["--run-dir", "run", "--training.dtype", "int8"]
        assert main([*command.split(), *flags]) == 2
        told = capsys.readouterr().err
        assert "there are no products in int8 on this processor" in told
        assert "take auto" in told
    assert not Path("run").exists()


def test_the_plain_references_have_no_int8(capsys: Capture) -> None:
    flags = ("--training.dtype", "int8", "--training.plain", "true")
    assert train("run", 20, *flags) == 2
    assert "training.plain" in capsys.readouterr().err
    assert not Path("run").exists()


@here
def test_a_model_that_kernels_do_not_take_over_is_refused(capsys: Capture) -> None:
    command = (
        "train --source train.ro --target train.en --model.kind lstm --training.dtype int8 "
        "--training.steps 20 --run-dir run"
    )
    assert main(command.split()) == 2
    assert "for the paper's Transformer" in capsys.readouterr().err
