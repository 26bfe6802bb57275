"""An encoder through the real commands: it guesses hidden words, and learns tags and classes, alone or from what it guessed."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from interlingua.checkpoints.model_folder import load_model_folder
from interlingua.checkpoints.weights import parameters_of
from interlingua.cli import main
from interlingua.translator import Translator

SMALL = (
    "--training.threads 1 --training.device cpu --training.dtype float32 --batching.batch-tokens 256 "
    "--training.validate-every 50 --training.validate-sentences 20 --training.patience 1000"
)
SIZES = (
    "--model.kind encoder --model.encoder-layers 1 --model.d-model 32 --model.d-ff 64 --model.heads 2 "
    "--model.dropout 0 --tokenization.kind word"
)
RATE = "--training.peak-learning-rate 0.01 --training.warmup-steps 20"
GUESS = f"train --text text.en {SIZES} {SMALL} --run-dir guessed"
CLASSES = f"train --source text.en --target text.class {SIZES} {SMALL} --run-dir classes"
TAGS = f"train --source text.en --target text.tag --model.answers tokens {SIZES} {SMALL} --run-dir tags"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    who, does, what = (
        ("cat", "dog", "man", "girl"),
        ("eats", "sees", "likes"),
        ("fish", "bread", "tea"),
    )
    lines = [f"the {a} {b} the {c}" for a, b, c in itertools.product(who, does, what)] * 4
    files = {
        "text.en": lines,
        "text.class": ["animal" if line.split()[1] in who[:2] else "person" for line in lines],
        "text.tag": ["D N V D N" for _ in lines],
    }
    for name, content in files.items():
        Path(name).write_text("".join(f"{line}\n" for line in content))
    return tmp_path


def refused(command: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    status = main(command.split())
    (line,) = [each for each in capsys.readouterr().err.splitlines() if each.startswith("error")]
    return status, line


def test_it_guesses_hidden_words_and_its_encoder_serves_another_task(place: Path) -> None:
    assert main(f"{GUESS} --training.steps 250 {RATE}".split()) == 0
    translator = Translator.load(place / "guessed", device="cpu")
    (found,) = translator.translate(["the cat eats _ fish"], beam_size=1)
    assert found.text == "the cat eats the fish"
    config = json.loads(Path("guessed/model/config.json").read_text())
    assert config["architecture"]["kind"] == "encoder"
    assert config["architecture"]["answers"] == "tokens"
    taken = f"{CLASSES} --encoder-from guessed --start.freeze encoder.* --training.steps 60 {RATE}"
    assert main(taken.split()) == 0
    before, after = (
        parameters_of(load_model_folder(Path(name)).model) for name in ("guessed", "classes")
    )
    for name in after:
        if name.startswith("encoder."):
            assert torch.equal(before[name], after[name]), name
    translate = (
        f"train --source text.en --target text.tag --encoder-from guessed {SMALL} --run-dir on"
    )
    assert main(f"{translate} --training.steps 4 --tokenization.kind word".split()) == 0
    assert load_model_folder(Path("on")).model.architecture.kind == "transformer"


def test_it_learns_classes_and_says_how_likely_each_is(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(f"{CLASSES} --training.steps 100 {RATE}".split()) == 0
    translator = Translator.load(place / "classes", device="cpu")
    best, other = translator.translate(["the dog eats the fish", "the man eats the fish"], n_best=2)
    assert (best.text, other.text) == ("animal", "person")
    assert best.alternatives[0].text == "person"
    assert best.log_probabilities[0] > best.alternatives[0].log_probabilities[0]
    capsys.readouterr()
    evaluated = "evaluate classes --source text.en --reference text.class --metrics exact --json"
    assert main(evaluated.split()) == 0
    assert json.loads(capsys.readouterr().out)["scores"][0]["value"] == 100.0


def test_it_learns_a_tag_for_each_token(place: Path) -> None:
    assert main(f"{TAGS} --training.steps 80 {RATE}".split()) == 0
    translator = Translator.load(place / "tags", device="cpu")
    assert translator.translate(["the cat likes the tea"], beam_size=1)[0].text == "D N V D N"


def test_a_guessing_run_resumes_to_the_bit_and_replays(place: Path) -> None:
    command = f"{GUESS} --training.schedule inverse-sqrt --training.steps 40"
    assert main(command.replace("guessed", "whole").split()) == 0
    assert main(command.replace("steps 40", "steps 20").split()) == 0
    assert main(command.split()) == 0
    weights = [Path(name, "model/model.safetensors").read_bytes() for name in ("guessed", "whole")]
    assert weights[0] == weights[1]
    assert main(["replay", "guessed", "--steps", "20"]) == 0


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        (f"{GUESS} --model.answers sequence", 2, "corpus.text has none"),
        (f"{GUESS} --corpus.denoise 0.3", 2, "each has an answer of its own"),
        (f"{GUESS} --model.decoder-layers 2", 2, "not encoder"),
        (f"{GUESS} --tokenization.shared false", 2, "are words of the text itself"),
        (f"{TAGS} --model.kind transformer", 2, "model.answers = "),
        (
            CLASSES.replace("text.class", "text.tag"),
            3,
            "line 1: its class has 5 tokens (",
        ),
        (TAGS.replace("text.tag", "text.class"), 3, "line 1: 1 tags for 5 tokens"),
    ],
)
def test_what_is_no_answer_is_refused(
    command: str, status: int, words: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "--model.kind transformer" in command:
        command = command.replace("--model.kind encoder", "")
    found, line = refused(command, capsys)
    assert (found, words in line) == (status, True), line
