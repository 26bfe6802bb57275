"""A model that learns from text of one language, by the real commands: gaps are filled, and translation begins from there."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlingua.cli import main
from interlingua.config import RunConfig
from interlingua.config_files import load_config
from interlingua.training.prepare import prepare
from interlingua.translator import Translator

SMALL = (
    "--training.threads 1 --training.device cpu --training.dtype float32 --batching.batch-tokens 256 "
    "--training.validate-every 50 --training.validate-sentences 20 --training.patience 1000"
)
SIZES = (
    "--model.encoder-layers 1 --model.decoder-layers 1 --model.d-model 32 --model.d-ff 64 --model.heads 2 "
    "--model.dropout 0 --tokenization.kind word"
)
PRETRAIN = f"train --text text.en {SIZES} {SMALL} --corpus.denoise 0.3 --run-dir filled"


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
    Path("pairs.en").write_text("".join(f"{line}\n" for line in lines))
    Path("pairs.xx").write_text("".join(f"{line.upper()}\n" for line in lines))
    return tmp_path


def refused(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(command.split()) == 2
    (line,) = [each for each in capsys.readouterr().err.splitlines() if each.startswith("error")]
    return line


def test_gaps_are_filled_and_a_translator_begins_from_there(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rate = "--training.peak-learning-rate 0.01 --training.warmup-steps 20"
    assert main(f"{PRETRAIN} --training.steps 300 {rate}".split()) == 0
    translator = Translator.load(place / "filled", device="cpu")
    (found,) = translator.translate(["the cat _ the fish today"], beam_size=1)
    words = found.text.split()
    assert words[:2] == ["the", "cat"]
    assert words[-3:] == ["the", "fish", "today"]
    assert words[2:-3]
    assert (translator.source_lang, translator.target_lang) == ("en", "en")
    records = [json.loads(line) for line in Path("filled/samples.jsonl").read_text().splitlines()]
    assert any("_" in record["source"].split() for record in records)
    assert all("_" not in record["reference"] for record in records)
    capsys.readouterr()
    tune = "--source pairs.en --target pairs.xx --run-dir tuned --start.new-language true"
    tune += " --start.new-pieces 40"
    assert main(f"train --init-from filled {tune} {SMALL} --training.steps 5".split()) == 0
    assert "against the starting model" in capsys.readouterr().out


def test_an_epoch_has_other_gaps_and_a_validation_the_same_ones(place: Path) -> None:
    overrides = {
        "corpus.text": "text.en",
        "corpus.denoise": "0.3",
        "tokenization.kind": "word",
        "run_dir": "prepared",
    }
    config: RunConfig = load_config(None, overrides)
    prepared = prepare(config)
    first, again, later = (
        [batch.source.tolist() for batch in _epoch(prepared.training, epoch)] for epoch in (0, 0, 1)
    )
    assert first == again
    assert first != later
    once = [[batch.source.tolist() for batch in prepared.validation.once()] for _ in range(2)]
    assert once[0] == once[1]
    shown = prepared.validation.shown
    assert len(shown) == len(prepared.validation.pairs)
    assert all("_" not in pair.source for pair in prepared.validation.pairs)
    assert any("_" in pair.source.split() for pair in shown)
    assert shown[:2] == [shown[0], shown[1]]
    assert load_config(Path("prepared/config.toml")) == prepared.config


def _epoch(data, epoch):  # type: ignore[no-untyped-def]
    return [data.batch(indices, epoch) for indices in data.order(0)]


def test_what_does_not_go_together_is_refused(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = refused(f"{PRETRAIN} --source pairs.en --target pairs.xx", capsys)
    assert "corpus.text and corpus.source are both given; take one" in both
    copies = refused(PRETRAIN.replace("--corpus.denoise 0.3", ""), capsys)
    assert "teaches an encoder-decoder to copy and no more" in copies
    spoilt = refused(f"{PRETRAIN} --corpus.noise 0.2", capsys)
    assert "both say how a source is spoiled" in spoilt
    alone = refused(
        f"{PRETRAIN.replace('--corpus.denoise 0.3', '')} --corpus.denoise-span 2", capsys
    )
    assert "needs corpus.denoise" in alone
    held = "train --source pairs.en --target pairs.xx --valid-text text.en"
    assert "corpus.valid_text is given without corpus.text" in refused(held, capsys)
    assert not (place / "filled").exists()


def test_text_of_several_languages_names_none(place: Path) -> None:
    Path("text.de").write_text("ein Hund\n" * 30)
    overrides = {"corpus.text": ("text.en", "text.de"), "corpus.denoise": "0.3"}
    prepared = prepare(load_config(None, overrides | {"run_dir": "both"}))
    assert (prepared.source_lang, prepared.target_lang) == ("source", "target")
    assert len(prepared.training.shards.parts) == 2
