"""Which weights a run leaves in its model folder: those that translate best, or a mean that is no worse."""

import errno
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from small_runs import REPEATABLE, refused, run, sentences, weights_of, write_text

from interlingua.checkpoints import manifest
from interlingua.checkpoints.average import average_weights
from interlingua.checkpoints.model_folder import add_to_model_folder
from interlingua.checkpoints.store import CheckpointStore
from interlingua.cli import main
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.requests.confidence import CALIBRATION
from interlingua.training.validation import Validation, Validator

TRAIN = (
    "train --source text.en --target text.fr --model.d-model 16 --model.d-ff 16 --model.heads 2 --model.encoder-layers 1 "
    f"--model.decoder-layers 1 {REPEATABLE} --tokenization.kind word --batching.batch-tokens 300 --training.steps 12 "
    "--training.validate-every 4 --training.validate-sentences 2 --training.keep-checkpoints 5 --run-dir run"
)
SINGLE = f"{TRAIN} --training.keep-checkpoints 2 --training.average-last 1"


@pytest.mark.parametrize(
    ("flags", "bleu_of_mean", "kept"),
    [
        ("--training.average-last 1", None, "step 8"),
        ("--training.average-last 3", 15.0, "step 8"),
        ("--training.average-last 3", 31.0, "mean of three"),
        ("--training.average-last 3 --training.ema 0.9", None, "running mean of step 8"),
    ],
)
def test_the_model_is_the_best_of_the_run_and_is_written_again_where_it_is_gone(
    flags: str,
    bleu_of_mean: float | None,
    kept: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_text("text.en", sentences())
    write_text("text.fr", [line[::-1] for line in sentences()])
    at_end = [] if bleu_of_mean is None else [bleu_of_mean]
    for bleu in ([10.0, 30.0, 20.0, *at_end], at_end):
        with monkeypatch.context() as patch:
            left = script(bleu, patch)
            run(f"{TRAIN} {flags}")
        assert not left
        found, wanted = weights_of("run"), kept_weights(kept)
        assert found.keys() == wanted.keys()
        for name, tensor in wanted.items():
            torch.testing.assert_close(found[name], tensor, rtol=0.0, atol=0.0, msg=name)
        shutil.rmtree("run/model")


@pytest.fixture
def best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The best weights of a run, of step 4, which only its model folder has."""
    monkeypatch.chdir(tmp_path)
    write_text("text.en", sentences())
    write_text("text.fr", [line[::-1] for line in sentences()])
    with monkeypatch.context() as patch:
        script([30.0, 10.0, 20.0], patch)
        run(SINGLE)
    add_to_model_folder(Path("run"), CALIBRATION, "{}")
    assert CheckpointStore(Path("run/checkpoints"), keep=2).steps() == [8, 12]
    return Path("run/model/model.safetensors").read_bytes()


@pytest.mark.parametrize(
    "name", ["README.md", "generation_config.json", "config.json", "tokenizer", CALIBRATION]
)
def test_what_is_beside_the_best_weights_is_mended_around_them(best: bytes, name: str) -> None:
    model = Path("run/model")
    path = next(model.glob("*tokenizer.json")) if name == "tokenizer" else model / name
    before = path.read_bytes()
    path.write_bytes(before + b"\n")
    run(SINGLE)
    assert (model / "model.safetensors").read_bytes() == best
    assert weights_of("run")
    if name == "README.md":
        assert path.read_bytes() == before + b"\n"
    elif name == CALIBRATION:
        assert not path.exists()
    else:
        assert path.read_bytes() == before
    assert (model / CALIBRATION).exists() == (name != CALIBRATION)
    (model / "README.md").unlink()
    run(SINGLE)
    assert (model / "model.safetensors").read_bytes() == best
    assert "those that this folder had when its card was lost" in (model / "README.md").read_text()


def test_weights_that_are_damaged_and_kept_nowhere_else_go_aside(
    best: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = best[:-1] + bytes([best[-1] ^ 1])
    Path("run/model/model.safetensors").write_bytes(damaged)
    run(SINGLE)
    told = capsys.readouterr().err
    assert "the folder is now run/model.1; it is written again, with the weights of step 12" in told
    assert Path("run/model.1/model.safetensors").read_bytes() == damaged
    newest = CheckpointStore(Path("run/checkpoints"), keep=2).load(12)
    for name, tensor in weights_of("run").items():
        torch.testing.assert_close(tensor, newest.weights[name], rtol=0.0, atol=0.0, msg=name)


def test_a_model_that_the_disk_does_not_give_is_not_mended(
    best: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    compute = manifest._sha256

    def fail(file: Path) -> str:
        if file.name == "model.safetensors" and file.parent.name == "model":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return compute(file)

    with monkeypatch.context() as patch:
        patch.setattr(manifest, "_sha256", fail)
        status, line = refused(SINGLE, capsys)
    assert (status, "model.safetensors: cannot be read (Input/output error)" in line) == (5, True)
    assert Path("run/model/model.safetensors").read_bytes() == best


def end_with_a_mean(last: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Train until the mean of the ``last`` checkpoints was judged better than the best; return the command."""
    monkeypatch.chdir(tmp_path)
    write_text("text.en", sentences())
    write_text("text.fr", [line[::-1] for line in sentences()])
    means = f"{TRAIN} --training.average-last {last} --training.keep-checkpoints 2"
    with monkeypatch.context() as patch:
        script([30.0, 10.0, 20.0, 31.0], patch)
        run(means)
    return means


@pytest.mark.parametrize("is_there", [True, False])
def test_a_mean_that_an_earlier_end_kept_is_not_taken_for_the_best_of_a_longer_run(
    is_there: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A run that was not ended before holds the best single weights, as its last mean is worse."""
    means = end_with_a_mean(5 if is_there else 2, tmp_path, monkeypatch)
    mean = weights_of("run")
    capsys.readouterr()
    with monkeypatch.context() as patch:
        left = script([11.0, 12.0, 5.0], patch)
        run(f"{means} --training.steps 20")
    assert not left
    found, told = weights_of("run"), capsys.readouterr()
    wanted = (
        dict(CheckpointStore(Path("run/checkpoints"), keep=5).load(4).weights) if is_there else mean
    )
    for name, tensor in wanted.items():
        torch.testing.assert_close(found[name], tensor, rtol=0.0, atol=0.0, msg=name)
    stays = "step 4" if is_there else "what run/model holds"
    assert f"BLEU 5.00; {stays} is better and stays" in told.err
    assert ("validation: loss 2.000, BLEU 30.00" in told.out) == is_there


@pytest.mark.parametrize("of_before", ["the run", "average"])
def test_a_mean_whose_making_was_interrupted_is_made_at_the_next_start(
    of_before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    means = end_with_a_mean(2, tmp_path, monkeypatch)
    if of_before == "average":
        run("average run --last 2")
    longer = f"{means} --training.steps 16"
    with monkeypatch.context() as patch:
        script([11.0], patch)
        # There is no figure for the mean: as if it had been killed.
        assert main(longer.split()) != 0
    card = Path("run/model/README.md")
    assert "16" not in card.read_text().partition("The weights are ")[2].partition("\n")[0]
    with monkeypatch.context() as patch:
        left = script([31.0], patch)
        run(longer)
    assert not left
    assert "The weights are the mean of 2 checkpoints up to step 16.\n" in card.read_text()


def test_a_start_with_nothing_left_to_train_leaves_a_mean_and_what_is_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_text("text.en", sentences())
    write_text("text.fr", [line[::-1] for line in sentences()])

    def train(last: int, bleu: list[float]) -> None:
        with monkeypatch.context() as patch:
            left = script(bleu, patch)
            run(f"{TRAIN} --training.average-last {last}")
        assert not left

    train(3, [10.0, 30.0, 20.0, 31.0])
    train(2, [31.0])  # another mean is asked for
    for made_of in ("2 checkpoints", "the last 3 checkpoints"):
        add_to_model_folder(Path("run"), CALIBRATION, "{}")
        train(2, [])
        assert (Path("run/model") / CALIBRATION).exists()
        assert f"The weights are the mean of {made_of}" in Path("run/model/README.md").read_text()
        run("average run --last 3")


def test_a_start_with_nothing_left_to_train_knows_how_good_a_mean_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_text("text.en", sentences())
    write_text("text.fr", [line[::-1] for line in sentences()])
    for bleu in ([10.0, 30.0, 20.0, 31.0], []):
        with monkeypatch.context() as patch:
            left = script(bleu, patch)
            run(f"{TRAIN} --training.average-last 3")
        assert not left
        assert "validation: loss 2.000, BLEU 31.00" in capsys.readouterr().out
    run("average run --last 2")  # which are not validated
    capsys.readouterr()
    run(f"{TRAIN} --training.average-last 3")
    assert "validation: " not in capsys.readouterr().out


def script(bleu: list[float], monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Have validations come to such BLEU, one after the other, and to one loss; return those that are still to come."""
    measure, left = Validator.measure, list(bleu)

    def measured(self: Validator, model: EncoderDecoder) -> tuple[Validation, list[str]]:
        found = measure(self, model)
        assert found is not None
        figures = {"bleu": left.pop(0), "loss": 2.0, "too_short_for_bleu": False}
        return replace(found[0], **figures), found[1]  # type: ignore[arg-type]

    monkeypatch.setattr(Validator, "measure", measured)
    return left


def kept_weights(kept: str) -> dict[str, torch.Tensor]:
    store = CheckpointStore(Path("run/checkpoints"), keep=5)
    assert store.steps() == [4, 8, 12]
    if kept == "mean of three":
        return average_weights(store, [4, 8, 12])
    best = store.load(8)
    if kept == "step 8":
        return dict(best.weights)
    return {name: best.moments[f"mean/{name}"] for name in best.weights}
