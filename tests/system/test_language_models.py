"""A language model through the real commands: it learns from text, writes on, samples, and is what every other model is."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlingua.cli import main
from interlingua.translator import Translator

SMALL = (
    "--training.threads 1 --training.device cpu --training.dtype float32 --batching.batch-tokens 256 "
    "--training.validate-every 50 --training.validate-sentences 20 --training.patience 1000"
)
SIZES = (
    "--model.kind decoder --model.decoder-layers 1 --model.d-model 32 --model.d-ff 64 --model.heads 2 "
    "--model.dropout 0 --tokenization.kind word"
)
TRAIN = f"train --text text.en {SIZES} {SMALL} --run-dir written"
RATE = "--training.peak-learning-rate 0.01 --training.warmup-steps 20"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    who, does, what = (
        ("cat", "dog", "man", "girl"),
        ("eats", "sees", "likes"),
        ("fish", "bread", "tea"),
    )
    lines = [f"the {a} {b} the {c} today" for a, b, c in itertools.product(who, does, what)]
    Path("text.en").write_text("".join(f"{line}\n" for line in lines * 4))
    return tmp_path


def refused(command: str, capsys: pytest.CaptureFixture[str], status: int = 2) -> str:
    capsys.readouterr()
    assert main(command.split()) == status
    (line,) = [each for each in capsys.readouterr().err.splitlines() if each.startswith("error")]
    return line


def test_it_writes_on_where_a_text_stops(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(f"{TRAIN} --training.steps 150 {RATE}".split()) == 0
    config = json.loads(Path("written/model/config.json").read_text())
    assert config["architecture"]["kind"] == "decoder"
    assert "encoder_layers" not in config["architecture"]
    assert "Writes on where a text stops." in Path("written/model/README.md").read_text()
    translator = Translator.load(place / "written", device="cpu")
    (found,) = translator.translate(["the cat eats"], beam_size=1)
    assert found.text.startswith(" the ")
    assert found.text.split()[-1] == "today"
    assert "".join(translator.stream("the cat eats", beam_size=1)) == found.text
    (whole,) = translator.translate([""], beam_size=1)
    assert whole.text.split()[0] == "the"
    assert whole.text.split()[-1] == "today"

    drawn = [
        translator.translate([""], sample=True, beam_size=1, seed=seed)[0].text
        for seed in (1, 2, 3, 4, 5, 6, 6)
    ]
    assert len(set(drawn)) > 2
    assert drawn[-1] == drawn[-2]
    capsys.readouterr()
    assert (
        main(["translate", "written", "the dog", "the man likes the tea", "--beam-size", "1"]) == 0
    )
    first, second = capsys.readouterr().out.splitlines()
    assert len(first.split()) == 4
    assert second.split() == ["today"]


def test_a_run_resumes_to_the_bit_replays_and_is_fine_tuned(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = f"{TRAIN} --training.schedule inverse-sqrt --training.steps 40"
    assert main(command.replace("written", "whole").split()) == 0
    assert main(command.replace("steps 40", "steps 20").split()) == 0
    assert main(command.split()) == 0
    weights = [Path(name, "model/model.safetensors").read_bytes() for name in ("written", "whole")]
    assert weights[0] == weights[1]
    assert main(["replay", "written", "--steps", "20"]) == 0
    assert main(["plan", "written/config.toml", "--json"]) == 0
    tune = f"train --init-from written --text text.en --model.kind decoder --run-dir tuned {SMALL}"
    assert main(f"{tune} --training.steps 4".split()) == 0


def test_the_loss_counts_every_token_of_a_text_and_no_source(place: Path) -> None:
    assert main(f"{TRAIN} --training.steps 4".split()) == 0
    samples = [json.loads(line) for line in Path("written/samples.jsonl").read_text().splitlines()]
    assert samples[0]["reference"].startswith(("the ", "eats ", "sees ", "likes "))
    assert samples[0]["attention"] == []


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--corpus.denoise 0.3", "model.kind decoder reads none"),
        ("--corpus.tags <x>", "model.kind decoder reads none"),
        ("--tokenization.shared false", "has one vocabulary"),
        ("--batching.max-length 600", "holds no prompt and continuation"),
        ("--model.encoder-layers 2", "not decoder"),
        ("--encoder-from written", "is a language model, which has no encoder"),
    ],
)
def test_what_a_language_model_has_not_is_refused(
    flags: str, words: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "encoder-from" in flags:
        assert main(f"{TRAIN} --training.steps 2".split()) == 0
        command = f"train --source text.en --target text.en --run-dir other {SMALL} {flags}"
    else:
        command = f"{TRAIN} {flags}"
    assert words in refused(command, capsys)


def test_pairs_are_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = f"train --source text.en --target text.en --run-dir written {SIZES}"
    assert "give corpus.text" in refused(command, capsys)
