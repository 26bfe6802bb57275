"""A model that learns from text of one language, by the real commands: gaps are filled, and translation begins from there."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_runs import FAST, SENTENCE_RUN, SENTENCE_SIZES, refused, run, sentences, write_text

from interlingua.config import RunConfig
from interlingua.config_files import load_config
from interlingua.training.prepare import prepare
from interlingua.translator import Translator

SIZES = f"--model.encoder-layers 1 --model.decoder-layers 1 {SENTENCE_SIZES}"
PRETRAIN = f"train --text text.en {SIZES} {SENTENCE_RUN} --corpus.denoise 0.3 --run-dir filled"
COPYING = PRETRAIN.replace("--corpus.denoise 0.3", "")
PAIRS = "--source pairs.en --target pairs.xx"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    lines = sentences(" today")
    write_text("text.en", lines * 4)
    write_text("pairs.en", lines)
    write_text("pairs.xx", map(str.upper, lines))
    return tmp_path


def test_gaps_are_filled_and_a_translator_begins_from_there(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(f"{PRETRAIN} --training.steps 300 {FAST}")
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
    tune = f"{PAIRS} --run-dir tuned --start.new-language true"
    tune += " --start.new-pieces 40"
    run(f"train --init-from filled {tune} {SENTENCE_RUN} --training.steps 5")
    told = capsys.readouterr()
    assert "against the starting model" not in told.out  # which fills gaps and does not translate
    assert "as it is another task" in told.err
    copying = "train --init-from filled --text text.en --run-dir copied"
    assert "to copy and no more" in refused(copying, capsys)[1]
    fills = [
        json.loads(Path(f"{name}/model/config.json").read_text()).get("fills_gaps")
        for name in ("filled", "tuned")
    ]
    assert fills == [True, None]


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


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (f"{PRETRAIN} {PAIRS}", "corpus.text and corpus.source are both given; take one"),
        (COPYING, "teaches an encoder-decoder to copy and no more"),
        (f"{PRETRAIN} --corpus.noise 0.2", "both say how a source is spoiled"),
        (f"{COPYING} --corpus.denoise-span 2", "needs corpus.denoise"),
        (f"train {PAIRS} --valid-text text.en", "corpus.valid_text is given without corpus.text"),
    ],
)
def test_what_does_not_go_together_is_refused(
    command: str, words: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, line = refused(command, capsys)
    assert (status, words in line) == (2, True), line
    assert not (place / "filled").exists()


def test_text_of_several_languages_names_none(place: Path) -> None:
    Path("text.de").write_text("ein Hund\n" * 30)
    overrides = {"corpus.text": ("text.en", "text.de"), "corpus.denoise": "0.3"}
    prepared = prepare(load_config(None, overrides | {"run_dir": "both"}))
    assert (prepared.source_lang, prepared.target_lang) == ("source", "target")
    assert len(prepared.training.shards.parts) == 2
