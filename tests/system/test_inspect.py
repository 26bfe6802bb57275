"""``interlingua inspect`` on a model folder, as a user runs it."""

import json
from pathlib import Path

import pytest
import torch

from interlingua.checkpoints.model_folder import LoadedModel, save_model_folder
from interlingua.checkpoints.weights import parameters_of
from interlingua.cli import main
from interlingua.config import DecodingConfig
from interlingua.model.architecture import Architecture
from interlingua.model.transformer import Transformer
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer

SENTENCES = [f"pisica {verb} {noun}." for verb in ("vede", "aude") for noun in ("fata", "școala")]


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer = train_tokenizer(SENTENCES, kind="word", vocabulary_size=280)
    size = tokenizer.vocabulary_size
    architecture = Architecture(encoder_layers=1, decoder_layers=2, d_model=8, d_ff=8, heads=2)
    torch.manual_seed(0)
    model = Transformer(architecture, source_vocabulary=size, target_vocabulary=size)
    loaded = LoadedModel(
        model=model,
        tokenizers=TokenizerPair(tokenizer, tokenizer, True),
        source_lang="ro",
        target_lang="en",
        decoding=DecodingConfig(max_length_factor=1.0, max_length_offset=1),
        max_length=32,
    )
    folder = tmp_path_factory.mktemp("inspect") / "model"
    save_model_folder(folder, loaded, parameters_of(model), "A model with random weights.\n")
    return folder


def test_it_prints_the_files_that_it_wrote(
    model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "figures"
    arguments = ["inspect", str(model_folder), SENTENCES[0], "--output", str(output), "--json"]
    assert main([*arguments, "--device", "cpu"]) == 0
    files = [Path(name) for name in json.loads(capsys.readouterr().out)["files"]]
    assert sorted(files) == sorted(output.iterdir())
    assert files[0].name == "heat-map.png"
    assert {file.suffix for file in files} == {".png", ".svg", ".json", ".html"}
    trace = json.loads((output / "trace.json").read_text(encoding="utf-8"))
    assert trace["source"] == SENTENCES[0]
    assert {entry["kind"] for entry in trace["attention"]} == {"encoder", "decoder", "cross"}


def test_what_cannot_be_drawn_is_told_in_one_line(
    model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine", encoding="utf-8")
    assert main(["inspect", str(model_folder), SENTENCES[0], "--output", str(taken)]) == 6
    message = capsys.readouterr().err
    assert "is a file; give the name of a folder" in message
    assert "Traceback" not in message
    assert main(["inspect", str(model_folder), " ", "--output", str(tmp_path / "new")]) == 2
    assert "the text is empty" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_probe_tells_each_layer_on_a_line_of_its_own(
    model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, tags = tmp_path / "text.ro", tmp_path / "text.tags"
    text.write_text("".join(f"{each}\n" for each in SENTENCES * 75), encoding="utf-8")
    tags.write_text("n v n\n" * 300, encoding="utf-8")
    asked = ["probe", str(model_folder), "--input", str(text), "--device", "cpu"]
    assert main([*asked, "--tags", str(tags)]) == 0
    told = capsys.readouterr().out
    assert told.endswith("\n")
    first, *layers, last = told.splitlines()
    assert first.startswith("900 words of 300 sentences")
    assert [line.split("  ")[0] for line in layers] == ["embeddings", "layer 1"]
    assert last.startswith("without the model: order 50 %")
