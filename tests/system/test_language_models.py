"""A language model through the real commands: it learns from text, writes on, samples, and is what every other model is."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_runs import FAST, SENTENCE_RUN, SENTENCE_SIZES, refused, run, sentences, write_text

from interlingua.checkpoints.model_folder import load_model_folder
from interlingua.cli import main
from interlingua.translator import Translator

SIZES = f"--model.kind decoder --model.decoder-layers 1 {SENTENCE_SIZES}"
TRAIN = f"train --text text.en {SIZES} {SENTENCE_RUN} --run-dir written"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    write_text("text.en", sentences(" today") * 4)
    return tmp_path


def test_it_writes_on_where_a_text_stops(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(f"{TRAIN} --training.steps 150 {FAST}")
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
    assert main(["doctor", "written"]) in (0, 1)
    assert "bug in this program" not in capsys.readouterr().err


def test_its_words_may_begin_as_vectors_that_others_trained(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("glove.txt").write_text("cat" + " 1.5" * 31 + " -2\n")
    run(f"{TRAIN} --start.source-vectors glove.txt --training.steps 2")
    assert "1 of" in capsys.readouterr().err
    model = load_model_folder(Path("written")).model
    table = model.embedding.table.weight
    row = table[Translator.load("written").tokenizers.source.encode("cat").ids[0]]
    assert row[-1] < 0 < row[:-1].min()


def test_a_run_resumes_to_the_bit_replays_and_is_fine_tuned(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = f"{TRAIN} --training.schedule inverse-sqrt --training.steps 40"
    run(command.replace("written", "whole"))
    run(command.replace("steps 40", "steps 20"))
    run(command)
    weights = [Path(name, "model/model.safetensors").read_bytes() for name in ("written", "whole")]
    assert weights[0] == weights[1]
    run("replay written --steps 20")
    run("plan written/config.toml --json")
    tune = f"train --init-from written --text text.en --model.kind decoder --run-dir tuned {SENTENCE_RUN}"
    run(f"{tune} --training.steps 4")


def test_its_samples_go_on_from_half_a_text_and_look_at_no_source(place: Path) -> None:
    run(f"{TRAIN} --training.steps 4")
    samples = [json.loads(line) for line in Path("written/samples.jsonl").read_text().splitlines()]
    assert samples
    for sample in samples:
        assert f"{sample['source']} {sample['reference']}" in sentences(" today")
        assert len(sample["source"].split()) == 3
        assert sample["attention"] == []


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
        run(f"{TRAIN} --training.steps 2")
        command = f"train --source text.en --target text.en --run-dir other {SENTENCE_RUN} {flags}"
    else:
        command = f"{TRAIN} {flags}"
    status, line = refused(command, capsys)
    assert (status, words in line) == (2, True), line


def test_pairs_are_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = f"train --source text.en --target text.en --run-dir written {SIZES}"
    status, line = refused(command, capsys)
    assert (status, "give corpus.text" in line) == (2, True), line
