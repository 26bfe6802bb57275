"""An averaged model says that it is one, and a checkpoint that cannot be averaged changes nothing."""

from pathlib import Path

import pytest
import torch

from interlingua.checkpoints.average import average_run
from interlingua.checkpoints.model_folder import (
    LoadedModel,
    build,
    load_model_folder,
    save_model_folder,
)
from interlingua.checkpoints.store import CheckpointStore
from interlingua.checkpoints.weights import parameters_of
from interlingua.cli import main
from interlingua.config import DecodingConfig, RunConfig
from interlingua.directions import Direction
from interlingua.errors import ModelError
from interlingua.model.architecture import Architecture
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer
from interlingua.training.model_card import write_card
from interlingua.training.run_folder import RunFolder
from interlingua.training.validation import Validation

SIZES = Architecture(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=16, heads=2)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run folder with checkpoints of steps 10, 20 and 30, all zeros, ones and twos."""
    tokenizer = train_tokenizer(["o casă mare"], kind="word", vocabulary_size=300)
    tokenizers = TokenizerPair(tokenizer, tokenizer, shared=True)
    model = build(SIZES, tokenizers)
    loaded = LoadedModel(model, tokenizers, "ro", "en", DecodingConfig(), 64)
    card = write_card(
        RunConfig(),
        directions=(Direction("ro", "en"),),
        parameters=1234,
        corpus=["train.ro", "train.en"],
        pairs=7,
        validation=Validation(loss=1.0, bleu=40.0, chrf=50.0, exact=0.0, sentences=5),
        made_of="those of step 30",
    )
    save_model_folder(tmp_path / "model", loaded, parameters_of(model), card)
    store = CheckpointStore(tmp_path / "checkpoints", keep=3)
    for step in (10, 20, 30):
        weights = {n: torch.full_like(t, step / 10 - 1) for n, t in parameters_of(model).items()}
        store.save(step, weights, {}, {})
    return tmp_path


def content_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_the_card_of_an_average_makes_no_claim_of_one_step(run: Path) -> None:
    average_run(run, last=2)
    card = (run / "model" / "README.md").read_text()
    assert "The weights are the mean of the last 2 checkpoints (steps 20 to 30)." in card
    assert card.endswith("## Quality\n\nnot validated.\n")
    assert "BLEU" not in card
    assert "7 sentence pairs" in card
    model = load_model_folder(run).model
    assert all(torch.all(tensor == 1.5) for tensor in parameters_of(model).values())


def test_a_run_that_is_being_trained_is_not_averaged(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = content_of(run / "model")
    for name in ("config.toml", "corpus.lock"):
        (run / name).touch()
    with RunFolder(run).locked():
        assert main(["average", str(run), "--last", "2"]) == 7
    assert "another process is training in this folder" in capsys.readouterr().err
    assert content_of(run / "model") == before


def test_averaging_twice_replaces_the_sentences_again(run: Path) -> None:
    average_run(run, last=2)
    average_run(run, last=3)
    card = (run / "model" / "README.md").read_text()
    assert card.count("The weights are") == card.count("## Quality") == 1
    assert "the last 3 checkpoints (steps 10 to 30)" in card


def test_a_damaged_checkpoint_is_named_and_the_model_stays(run: Path) -> None:
    before = content_of(run / "model")
    damaged = run / "checkpoints" / "step-20" / "model.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.raises(ModelError, match="step-20"):
        average_run(run, last=2)
    assert content_of(run / "model") == before


def test_checkpoints_of_another_model_are_refused(run: Path) -> None:
    before = content_of(run / "model")
    store = CheckpointStore(run / "checkpoints", keep=3)
    for step in (40, 50):
        store.save(step, {"w": torch.zeros(2)}, {}, {})
    with pytest.raises(ModelError, match="step-40"):
        average_run(run, last=2)
    assert content_of(run / "model") == before


def test_checkpoints_of_two_runs_are_refused(run: Path) -> None:
    before = content_of(run / "model")
    store = CheckpointStore(run / "checkpoints", keep=5)
    weights = parameters_of(load_model_folder(run).model)
    for step, seed in ((40, 1), (50, 2)):
        store.save(step, weights, {}, {"settings": {"training.seed": seed}})
    told = r"step-40: was learnt with training.seed = 1, and step 50 with 2; they are of two runs"
    with pytest.raises(ModelError, match=told):
        average_run(run, last=3)
    assert content_of(run / "model") == before
