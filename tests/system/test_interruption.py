"""A run that is killed or told to stop at any moment ends as one that nobody touched, to the last bit."""

import random
import shutil
import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from interruption import SETTINGS, Interrupted, Reference, clear, interrupt, make_reference

from interlingua.cli import main

ReferenceOf = Callable[[int], Reference]


@pytest.fixture(scope="module")
def reference_of(tmp_path_factory: pytest.TempPathFactory) -> ReferenceOf:
    """Return what runs without interruption by one of the settings, when it is first asked for."""
    place = tmp_path_factory.mktemp("untouched")
    return cache(lambda number: make_reference(place / str(number), SETTINGS[number]))


def hit(
    place: Path, reference_of: ReferenceOf, number: signal.Signals, times: int, at_most: int
) -> list[Interrupted]:
    """Interrupt runs, of each setting in turn, until ``times`` moments were hit."""
    dice, done = random.Random(f"{number.name} {times}"), 0
    found: list[Interrupted] = []
    while done < times:
        reference = reference_of(len(found) % len(SETTINGS))
        run = place / str(len(found))
        found.append(
            interrupt(run, reference, dice, number=number, at_most=min(at_most, times - done))
        )
        done += len(found[-1].moments)
        assert found[-1].faults == [], (run, found[-1].moments)
        clear(run)
    return found


def test_a_killed_run_ends_as_if_nothing_had_happened(
    tmp_path: Path, reference_of: ReferenceOf
) -> None:
    found = hit(tmp_path, reference_of, signal.SIGKILL, times=3, at_most=2)
    assert sum(len(each.moments) for each in found) == 3


@pytest.mark.slow
def test_twenty_kills_leave_no_trace(tmp_path: Path, reference_of: ReferenceOf) -> None:
    found = hit(tmp_path, reference_of, signal.SIGKILL, times=20, at_most=3)
    assert sum(len(each.moments) for each in found) == 20


@pytest.mark.slow
def test_a_stopped_run_has_lost_nothing_and_is_gone_in_time(
    tmp_path: Path, reference_of: ReferenceOf
) -> None:
    found = hit(tmp_path, reference_of, signal.SIGTERM, times=5, at_most=2)
    assert sum(len(each.moments) for each in found) == 5


def test_a_corpus_that_changed_under_the_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source, target = Path("train.ro"), Path("train.en")
    source.write_text("".join(f"casa {n}\n" for n in range(60)))
    target.write_text("".join(f"house {n}\n" for n in range(60)))
    command = (
        "train --source train.ro --target train.en --run-dir run --model.preset tiny "
        "--training.threads 1 --training.validate-sentences 1 --training.steps"
    )
    assert main([*command.split(), "1"]) == 0
    before = {path: path.read_bytes() for path in Path("run/checkpoints").rglob("*.*")}
    target.write_text(target.read_text().replace("house 7\n", "house 8\n"))
    assert main([*command.split(), "2"]) == 2
    told = capsys.readouterr().err
    assert "another text than train.en holds now" in told
    assert "--fresh" in told
    assert {path: path.read_bytes() for path in Path("run/checkpoints").rglob("*.*")} == before


def test_a_model_folder_that_is_gone_or_damaged_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.ro").write_text("".join(f"casa {n}\n" for n in range(60)))
    Path("train.en").write_text("".join(f"house {n}\n" for n in range(60)))
    command = [
        "train",
        "--source",
        "train.ro",
        "--target",
        "train.en",
        "--run-dir",
        "run",
        "--model.preset",
        "tiny",
        "--training.threads",
        "1",
        "--training.validate-sentences",
        "1",
        "--training.validate-every",
        "1",
        "--training.steps",
        "3",
    ]
    assert main(command) == 0
    weights = Path("run/model/model.safetensors")
    before = weights.read_bytes()
    shutil.rmtree("run/model")
    assert main(command) == 0
    assert weights.read_bytes() == before
    assert "run/model: does not exist; it is written again" in capsys.readouterr().err
    weights.write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
    assert main(command) == 0
    assert weights.read_bytes() == before
    assert "it is written again, with the weights of step" in capsys.readouterr().err
