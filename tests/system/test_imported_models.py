"""Models of other programs, brought in and then used as if they had been trained here, through the real commands."""

import json
from pathlib import Path

import pytest
import torch
from marian_folders import ENGLISH, GERMAN, make_marian_folder
from marian_npz_folders import make_npz_folder
from safetensors.torch import load_file

from interlingua.checkpoints.model_folder import load_model_folder
from interlingua.checkpoints.weights import parameters_of
from interlingua.cli import main

SMALL = (
    "--training.threads 1 --training.device cpu --training.dtype float32 --batching.batch-tokens 128 "
    "--training.steps 6 --training.validate-every 3 --training.peak-learning-rate 0.01"
)


def run(command: str) -> None:
    assert main(command.split()) == 0


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, texts in (("train.en", ENGLISH), ("train.de", GERMAN)):
        Path(name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    for name, texts in (("valid.en", ENGLISH[:2]), ("valid.de", GERMAN[:2])):
        Path(name).write_text("".join(f"{text} .\n" for text in texts), encoding="utf-8")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("program", ["marianmt", "marian"])
def test_an_imported_model_is_fine_tuned_translates_and_is_looked_into(
    place: Path, capsys: pytest.CaptureFixture[str], program: str
) -> None:
    if program == "marianmt":
        make_marian_folder(place / "theirs")
    else:
        make_npz_folder(place / "theirs", listed=True)
    run("import theirs --output model --source-lang en --target-lang de")
    tune = (
        "train --init-from model --source train.en --target train.de --valid-source valid.en "
        f"--valid-target valid.de --run-dir tuned {SMALL}"
    )
    for _ in ("at first", "again"):
        run(tune)
        told = capsys.readouterr()
        assert "against the starting model (paired bootstrap):" in told.out
    before, after = load_model_folder(Path("model")), load_model_folder(Path("tuned"))
    assert after.tokenizers.source.encode(ENGLISH[0]) == before.tokenizers.source.encode(ENGLISH[0])
    assert after.model.architecture.d_model == before.model.architecture.d_model
    first = json.loads((place / "tuned/metrics.jsonl").read_text().splitlines()[0])
    assert (first["kind"], first["step"]) == ("validation", 0)

    last = max((place / "tuned/checkpoints").iterdir(), key=lambda each: int(each.name[5:]))
    assert last.name == "step-6"
    learnt, start = load_file(last / "model.safetensors"), parameters_of(before.model)
    moved = [name for name in start if not torch.equal(learnt[name], start[name])]
    assert len(moved) == len(start)
    assert all(torch.isfinite(each).all() for each in learnt.values())

    run("translate tuned --json the.cat")
    assert json.loads(capsys.readouterr().out)
    run("inspect tuned the.cat --output figures")
    assert any((place / "figures").iterdir())
    # What came in goes out again, fine-tuned.
    run("export tuned --format ctranslate2 --output ct2 --verify valid.en")
    assert (place / "ct2/model.bin").exists()


@pytest.mark.slow
def test_an_imported_model_learns_new_words_and_goes_back(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_marian_folder(place / "theirs")
    run("import theirs --output model --source-lang en --target-lang de")
    for name, word in (("new.en", "snowboarder"), ("new.de", "Schneefahrer")):
        Path(name).write_text(f"{word} {word}\n{word}\n" * 8, encoding="utf-8")
    run(
        "train --init-from model --source new.en --target new.de --valid-source valid.en --valid-target valid.de "
        f"--start.new-pieces 6 --corpus.tags <bt> --tokenization.sampling 0.1 --run-dir tuned {SMALL}"
    )
    before, after = load_model_folder(Path("model")), load_model_folder(Path("tuned"))
    old, new = before.tokenizers.source, after.tokenizers.source
    pieces = new.tokens(range(new.vocabulary_size))
    assert pieces[: old.vocabulary_size] == old.tokens(range(old.vocabulary_size))
    assert pieces == after.tokenizers.target.tokens(range(new.vocabulary_size))
    assert "<bt>" in pieces[old.vocabulary_size :]
    assert len(new.encode("snowboarder").ids) < len(old.encode("snowboarder").ids)

    capsys.readouterr()
    run("translate tuned snowboarder")
    assert capsys.readouterr().out
    for name in ("marian", "ctranslate2"):  # the proof compares both programs, new pieces included
        run(f"export tuned --format {name} --output {name} --verify new.en")
