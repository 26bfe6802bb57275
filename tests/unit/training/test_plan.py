"""The reckoning of a run: what is counted, where, and what is said when there is too little of it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from interlingua.batching.batch import Batch
from interlingua.config import CorpusConfig, ModelConfig, RunConfig, TrainingConfig
from interlingua.hardware import total_memory
from interlingua.training.expected_bleu import BleuBand
from interlingua.training.gradients import Measured
from interlingua.training.loop import Trainer
from interlingua.training.plan import Plan, _free_disk, _share_without, _steps, plan

PLAN = Plan(
    parameters=1000,
    training_pairs=10,
    target_tokens_an_epoch=100,
    steps=10,
    epochs=1.0,
    seconds_a_step=1.0,
    tokens_a_second=10.0,
    seconds_to_prepare=1.0,
    validations=1,
    seconds_a_validation=1.0,
    seconds=12.0,
    memory=8 * 10**9,
    total_memory=16 * 10**9,
    disk=10**9,
    free_disk=2 * 10**9,
    chosen=(),
    bleu=None,
)


@pytest.fixture(autouse=True)
def _short_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlingua.training.plan.PROBE_SECONDS", 0.1)


def config_of(folder: Path, **training: object) -> RunConfig:
    """A tiny run on sentences of very different lengths."""
    lines = ["unu doi trei " * (1 + (i % 7 == 0) * 9) + str(i) for i in range(80)]
    for side in ("ro", "en"):
        (folder / f"train.{side}").write_text("".join(f"{line}\n" for line in lines))
    model = ModelConfig(encoder_layers=1, decoder_layers=1, d_model=16, d_ff=16, heads=2)
    return RunConfig(
        run_dir=folder / "runs" / "x",
        corpus=CorpusConfig(source=(folder / "train.ro",), target=(folder / "train.en",)),
        model=model,
        training=TrainingConfig.model_validate({"threads": 1, "device": "cpu", **training}),
    )


def test_a_limit_in_minutes_alone_gives_the_updates_that_fit(tmp_path: Path) -> None:
    said: list[str] = []
    found = plan(config_of(tmp_path, minutes=1.0, validate_sentences=1), say=said.append)
    assert [line.split()[0] for line in said] == ["preparing", "trying", "an"]
    assert found.steps > 1
    assert found.seconds == pytest.approx(60.0, rel=0.2)
    assert not (tmp_path / "runs").exists()


def test_an_epoch_without_a_pair_is_passed_over(tmp_path: Path) -> None:
    config = config_of(tmp_path, steps=3, validate_sentences=1)
    corpus = config.corpus.model_copy(update={"weights": (0.01,)})
    assert plan(config.model_copy(update={"corpus": corpus})).steps == 3


def test_steps_end_by_number_or_by_time_whichever_is_first() -> None:
    assert _steps(TrainingConfig(steps=50), 1.0) == 50
    assert _steps(TrainingConfig(minutes=1), 2.0) == 30
    assert _steps(TrainingConfig(steps=50, minutes=1), 2.0) == 30
    assert _steps(TrainingConfig(steps=20, minutes=1), 2.0) == 20
    assert _steps(TrainingConfig(minutes=1e-9), 2.0) == 1


@pytest.mark.parametrize(
    ("accumulate", "longest", "updates"), [(1, 90.0, 23), (5, 90.0, 5), (1, 0.0, 4), (5, 0.0, 2)]
)
def test_large_updates_are_tried_less_often(
    accumulate: int,
    longest: float,
    updates: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []
    update = Trainer.update

    def counted(self: Trainer, batches: list[Batch]) -> Measured:
        made.append(len(batches))
        return update(self, batches)

    monkeypatch.setattr(Trainer, "update", counted)
    monkeypatch.setattr("interlingua.training.plan.PROBE_SECONDS", 0.0)
    monkeypatch.setattr("interlingua.training.plan.LONGEST_PROBE", longest)
    plan(config_of(tmp_path, steps=9, accumulate=accumulate, validate_sentences=1))
    assert made == [accumulate] * updates


def test_the_largest_batch_is_tried_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    padded: list[int] = []
    update = Trainer.update

    def watched(self: Trainer, batches: list) -> tuple[float, float]:  # type: ignore[type-arg]
        padded.append(sum(b.source.numel() + b.target_in.numel() for b in batches))
        return update(self, batches)

    monkeypatch.setattr(Trainer, "update", watched)
    config = config_of(tmp_path, steps=5, validate_sentences=1)
    batching = config.batching.model_copy(update={"batch_tokens": 100})
    found = plan(config.model_copy(update={"batching": batching}))
    assert padded[0] == max(padded)
    assert len(set(padded)) > 1
    checkpoint = 3 * 4 * found.parameters
    assert found.disk > 2 * checkpoint + 2 * 4 * found.parameters
    assert found.total_memory == total_memory(torch.device("cpu"))


def test_the_disk_is_that_of_the_run_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    class Usage:
        free = 5

    def disk_usage(path: Path) -> Usage:
        asked.append(path)
        return Usage()

    monkeypatch.setattr("shutil.disk_usage", disk_usage)
    assert _free_disk(tmp_path / "not" / "yet") == 5
    assert asked == [tmp_path]


def test_too_little_memory_or_disk_is_said_in_words() -> None:
    assert "memory: 8.00 GB at the peak, of 16.00 GB" in PLAN.to_text()
    assert "too small" not in PLAN.to_text()
    assert (
        "the memory is too small: lower batching.batch-tokens"
        in replace(PLAN, total_memory=8 * 10**9).to_text()
    )
    assert "memory: 8.00 GB at the peak\n" in replace(PLAN, total_memory=None).to_text()
    assert "the disk is too small" in replace(PLAN, free_disk=10**8).to_text()


def test_bleu_is_told_where_it_can_be() -> None:
    told = replace(PLAN, bleu=BleuBand(12.4, 17.6))
    assert "BLEU: 12 to 18 on the validation text after a training to its end" in told.to_text()
    assert "BLEU: nothing is foretold" in PLAN.to_text()
    assert json.loads(told.to_json())["bleu"] == {"low": 12.4, "high": 17.6}


def test_a_busy_machine_is_told() -> None:
    assert "was busy" not in PLAN.to_text()
    assert "was busy" not in replace(PLAN, waited=0.02).to_text()
    told = replace(PLAN, waited=0.314)
    assert "other programs had the processor for 31% of the time" in told.to_text()
    assert json.loads(told.to_json())["waited"] == 0.314
    assert _share_without((100, 50), (160, 90)) == 0.4
    assert _share_without(None, (160, 90)) is None
    assert _share_without((100, 50), (100, 50)) is None


def test_this_machine_has_memory() -> None:
    total = total_memory(torch.device("cpu"))
    assert total is None or total > 10**8
