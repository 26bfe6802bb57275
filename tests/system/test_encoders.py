"""An encoder through the real commands: it guesses hidden words, and learns tags and classes, alone or from what it guessed."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from small_runs import (
    ANIMALS,
    FAST,
    SENTENCE_RUN,
    SENTENCE_SIZES,
    refused,
    run,
    sentences,
    weights_of,
    write_text,
)

from interlingua.checkpoints.model_folder import load_model_folder
from interlingua.tokenization.pair import TokenizerPair
from interlingua.training.prepare import reopen
from interlingua.training.run_folder import RunFolder
from interlingua.translator import Translator

SIZES = f"--model.kind encoder --model.encoder-layers 1 {SENTENCE_SIZES}"
GUESS = f"train --text text.en {SIZES} {SENTENCE_RUN} --run-dir guessed"
CLASSES = f"train --source text.en --target text.class {SIZES} {SENTENCE_RUN} --run-dir classes"
TAGS = f"train --source text.en --target text.tag --model.answers tokens {SIZES} {SENTENCE_RUN} --run-dir tags"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    lines = sentences() * 4
    is_animal = [line.split()[1] in ANIMALS for line in lines]
    write_text("text.en", lines)
    write_text("text.class", ["animal" if each else "person" for each in is_animal])
    write_text("text.tag", ["D N V D N"] * len(lines))
    return tmp_path


def test_it_guesses_hidden_words_and_its_encoder_serves_another_task(place: Path) -> None:
    run(f"{GUESS} --training.steps 250 {FAST}")
    translator = Translator.load(place / "guessed", device="cpu")
    (found,) = translator.translate(["the cat eats _ fish"], beam_size=1)
    assert found.text == "the cat eats the fish"
    config = json.loads(Path("guessed/model/config.json").read_text())
    assert config["architecture"]["kind"] == "encoder"
    assert config["architecture"]["answers"] == "tokens"
    run(f"{CLASSES} --encoder-from guessed --start.freeze encoder.* --training.steps 60 {FAST}")
    before, after = weights_of("guessed"), weights_of("classes")
    for name in after:
        if name.startswith("encoder."):
            assert torch.equal(before[name], after[name]), name
    translate = f"train --source text.en --target text.tag --encoder-from guessed {SENTENCE_RUN} --run-dir on"
    run(f"{translate} --training.steps 4 --tokenization.kind word")
    assert load_model_folder(Path("on")).model.architecture.kind == "transformer"


def test_it_learns_classes_and_says_how_likely_each_is(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(f"{CLASSES} --training.steps 100 {FAST}")
    translator = Translator.load(place / "classes", device="cpu")
    best, other = translator.translate(["the dog eats the fish", "the man eats the fish"], n_best=2)
    assert (best.text, other.text) == ("animal", "person")
    assert best.alternatives[0].text == "person"
    (few,) = translator.translate(["the dog eats the fish"], n_best=5, beam_size=5)
    assert (few.text, *(each.text for each in few.alternatives)) == ("animal", "person")
    ranked = translator.score([("the dog eats the fish", each) for each in ("animal", "person")])
    assert [each.log_probabilities[0] for each in ranked] == pytest.approx(
        [few.log_probabilities[0], few.alternatives[0].log_probabilities[0]], abs=1e-5
    )
    assert best.log_probabilities[0] > best.alternatives[0].log_probabilities[0]
    capsys.readouterr()
    run("evaluate classes --source text.en --reference text.class --metrics exact --json")
    assert json.loads(capsys.readouterr().out)["scores"][0]["value"] == 100.0


def test_classes_may_have_spaces_around_them_and_those_never_seen_are_told(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    classes = Path("text.class").read_text().splitlines()
    write_text("text.class", [f"{each} " for each in classes])
    write_text("valid.en", ["the cat eats the fish", "the tea likes the man"])
    write_text("valid.class", ["animal", "thing"])
    valid = "--valid-source valid.en --valid-target valid.class"
    run(f"{CLASSES} {valid} --training.steps 4 {FAST}")
    told = capsys.readouterr().err
    assert "1 validation pairs have a class that no training pair has" in told
    vocabulary = TokenizerPair.load(Path("classes/tokenizer")).target
    assert len(vocabulary.encode("animal").ids) == 1


def test_noise_of_a_text_leaves_its_class_as_it_is(place: Path) -> None:
    classes = Path("text.class").read_text().splitlines()
    write_text("text.class", [f"{each} " for each in classes])
    run(f"{CLASSES} --corpus.noise 1 --training.steps 4 {FAST}")
    noisy = reopen(RunFolder(Path("classes"))).training
    pairs = np.arange(len(noisy.shards))
    spoiled, clean = noisy.batch(pairs, 0), replace(noisy, noise=None).batch(pairs, 0)
    assert not torch.equal(spoiled.source, clean.source)
    assert torch.equal(spoiled.target_out, clean.target_out)


@pytest.mark.parametrize(("answers", "what"), [("tokens", "tag"), ("sequence", "class")])
def test_answers_that_their_vocabulary_does_not_hold_are_refused(
    place: Path, answers: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["5 4 3 2 1" if answers == "tokens" else f"c{n % 50}" for n in range(144)]
    write_text(
        "text.tag",
        [
            " ".join(f"c{n}-{each}" for each in w.split()) if answers == "tokens" else w
            for n, w in enumerate(words)
        ],
    )
    asked = TAGS.replace("--model.answers tokens", f"--model.answers {answers}")
    asked += " --tokenization.vocabulary-size 290"
    found, line = refused(asked, capsys)
    assert found == 3
    assert f"its {what} is not in the vocabulary of answers" in line


@pytest.mark.parametrize("kind", ["word", "bpe", "char"])
def test_it_learns_a_tag_for_each_word_however_words_are_cut(place: Path, kind: str) -> None:
    run(f"{TAGS} --tokenization.kind {kind} --training.steps 100 {FAST}")
    translator = Translator.load(place / "tags", device="cpu")
    texts = ["the cat likes the tea", " the  dog sees the wug "]
    first, second = (each.text for each in translator.translate(texts, beam_size=1))
    assert first == "D N V D N"
    assert len(second.split()) == 5  # "wug" was never seen, and is several tokens


def test_an_encoder_that_guessed_words_learns_to_tag_them(place: Path) -> None:
    run(f"{GUESS} --training.steps 60 {FAST}")
    run(f"{TAGS} --encoder-from guessed --training.steps 60 {FAST}")
    translator = Translator.load(place / "tags", device="cpu")
    assert translator.translate(["the cat likes the tea"], beam_size=1)[0].text == "D N V D N"


def test_a_guessing_run_resumes_to_the_bit_and_replays(place: Path) -> None:
    command = f"{GUESS} --training.schedule inverse-sqrt --training.steps 40"
    run(command.replace("guessed", "whole"))
    run(command.replace("steps 40", "steps 20"))
    run(command)
    weights = [Path(name, "model/model.safetensors").read_bytes() for name in ("guessed", "whole")]
    assert weights[0] == weights[1]
    run("replay guessed --steps 20")


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        (f"{GUESS} --model.answers sequence", 2, "corpus.text has none"),
        (f"{GUESS} --corpus.denoise 0.3", 2, "each has an answer of its own"),
        (f"{GUESS} --model.decoder-layers 2", 2, "not encoder"),
        (f"{GUESS} --corpus.mask 0.3 --model.kind transformer", 2, "there is corpus.denoise"),
        (f"{GUESS} --tokenization.shared false", 2, "are words of the text itself"),
        (f"{TAGS} --tokenization.shared true", 2, "have a vocabulary of their own"),
        (f"{TAGS} --model.kind transformer", 2, "model.answers = "),
        (
            CLASSES.replace("text.class", "text.tag"),
            3,
            "line 1: its class has 5 tokens (",
        ),
        (TAGS.replace("text.tag", "text.class"), 3, "line 1: 1 tags for 5 words"),
        (f"{TAGS} --corpus.tags <x>", 2, "corpus.tags puts a symbol before a source"),
        (f"{CLASSES} --start.target-vectors v", 2, "give start.source_vectors"),
    ],
)
def test_what_is_no_answer_is_refused(
    command: str, status: int, words: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "--model.kind transformer" in command:
        command = command.replace("--model.kind encoder", "")
    found, line = refused(command, capsys)
    assert (found, words in line) == (status, True), line
