"""A run trained again from its own folder: the same losses, or where they part, and which text has been changed."""

import itertools
import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interlingua.cli import main
from interlingua.training.gradients import GradientOfUpdate

Capture = pytest.CaptureFixture[str]

NUMBERS = {"unu": "one", "doi": "two", "trei": "three", "patru": "four", "cinci": "five"}
TRAIN = (
    "train --source train.ro --target train.en --model.encoder-layers 1 --model.decoder-layers 1 --model.d-model 16 "
    "--model.d-ff 16 --model.heads 2 --model.dropout 0.1 --batching.batch-tokens 60 --training.threads 1 "
    "--training.steps 60 --training.validate-every 30 --training.validate-sentences 4 --run-dir run"
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus and a run of it."""
    folder = tmp_path_factory.mktemp("replay")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        pairs = [(a, b, c) for a in NUMBERS for b in NUMBERS for c in NUMBERS]
        for lang, words in (("ro", {word: word for word in NUMBERS}), ("en", NUMBERS)):
            text = "".join(" ".join(words[word] for word in pair) + "\n" for pair in pairs)
            Path(f"train.{lang}").write_text(text)
        assert main(TRAIN.split()) == 0
    return folder


@pytest.fixture
def place(trained: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of it, current while the test runs."""
    before = Path.cwd()
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_comes_out_again_to_the_last_bit_without_its_text(
    place: Path, capsys: Capture
) -> None:
    Path("train.ro").unlink()
    shutil.move("run", "elsewhere")
    before = files_of(Path("elsewhere"))
    assert main(["replay", "elsewhere", "--steps", "41", "--json"]) == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert found["equal"]
    assert found["signal"] is None
    assert found["reasons"] == []
    assert [(pair["kind"], pair["step"]) for pair in found["losses"]] == [
        ("training", 20),
        ("validation", 30),
        ("training", 40),
        ("training", 60),
    ]
    assert "train.ro: is not there any more" in told.err
    assert files_of(Path("elsewhere")) == before


@pytest.mark.parametrize("way", ["--init-from", "--start.encoder-from"])
def test_a_run_that_began_with_a_model_comes_out_again_without_it(
    way: str, place: Path, capsys: Capture
) -> None:
    tuned = f"train {way} run --source train.ro --target train.en --training.steps 20 --training.threads 1 --run-dir tuned"
    small = (
        "--training.validate-every 20 --training.validate-sentences 4 --batching.batch-tokens 60"
    )
    assert main([*tuned.split(), *small.split()]) == 0
    shutil.rmtree("run")
    shutil.move("tuned", "elsewhere")
    assert main(["replay", "elsewhere"]) == 0
    assert "the first 20 updates give the same losses" in (told := capsys.readouterr().out)
    assert "to the last bit" in told
    weights = Path("elsewhere/start/model/model.safetensors")
    weights.write_bytes(weights.read_bytes()[:-1])
    assert main(["replay", "elsewhere"]) == 5
    assert f"{weights}: has " in capsys.readouterr().err


def test_it_is_told_where_the_losses_part(place: Path, capsys: Capture) -> None:
    metrics = Path("run/metrics.jsonl")
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    second = next(line for line in lines if line["step"] == 20)
    second["loss"] *= 1 + 1e-15
    metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["replay", "run", "--steps", "20"]) == 1
    out = capsys.readouterr().out
    assert "differs first at one of the updates 1 to 20" in out
    # On another machine so little says nothing, but two in a hundred do.
    settings = json.loads(Path("run/settings.jsonl").read_text())
    settings["environment"]["torch"] = "1.0"
    Path("run/settings.jsonl").write_text(json.dumps(settings) + "\n")
    assert main(["replay", "run", "--steps", "20"]) == 0
    out = capsys.readouterr().out
    assert "torch was 1.0, and is" in out
    second["loss"] *= 1.03
    metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["replay", "run", "--steps", "20"]) == 1


def test_a_run_of_before_has_its_environment_only(place: Path, capsys: Capture) -> None:
    Path("run/settings.jsonl").unlink()
    assert main(["replay", "run", "--steps", "20"]) == 0
    Path("run/environment.json").write_text("")
    assert main(["replay", "run", "--steps", "20"]) == 5
    assert "environment.json: cannot be read" in capsys.readouterr().err


def test_what_a_run_was_resumed_with_does_not_count_for_its_beginning(
    place: Path, capsys: Capture
) -> None:
    longer = TRAIN.replace("--training.steps 60", "--training.steps 100 --training.schedule linear")
    longer = longer.replace("--run-dir run", "--run-dir other --training.peak-learning-rate 0.01")
    assert main(longer.replace("steps 100", "steps 50").split()) == 0
    assert main(longer.replace("every 30", "every 25").split()) == 0
    assert main(longer.replace("threads 1", "threads 2").split()) == 0
    settings = [json.loads(line) for line in Path("other/settings.jsonl").read_text().splitlines()]
    assert [each["after"] for each in settings] == [0, 50, 100]
    capsys.readouterr()
    assert main(["replay", "other", "--steps", "90", "--json"]) == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert found["equal"]
    assert found["steps"] == 40
    said = "50 updates were made before it went on with training.steps = 100, training.validate_every = 25"
    assert said in told.err


def test_a_beginning_whose_settings_were_not_kept_is_replayed_with_those_of_what_followed(
    place: Path, capsys: Capture
) -> None:
    settings = json.loads(Path("run/settings.jsonl").read_text())
    settings |= {"after": 40}  # a run that an earlier version began
    settings["environment"]["torch"] = "1.0"
    Path("run/settings.jsonl").write_text(json.dumps(settings) + "\n")
    assert main(["replay", "run", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    reason = found["reasons"][0]
    assert reason.startswith("settings.jsonl does not tell where the first 40 updates were made")
    assert (found["steps"], found["equal"]) == (40, True)


def test_a_run_on_a_device_that_is_not_here_is_replayed_on_what_is(
    place: Path, capsys: Capture
) -> None:
    settings = json.loads(Path("run/settings.jsonl").read_text())
    for section in ("training", "environment"):
        settings[section]["device"] = "cuda:77"
    Path("run/settings.jsonl").write_text(json.dumps(settings) + "\n")
    assert main(["replay", "run", "--steps", "20"]) == 0
    assert "device was cuda:77, and is " in capsys.readouterr().out


def test_the_clock_does_not_end_a_replay(place: Path, capsys: Capture) -> None:
    assert main(TRAIN.replace("--run-dir run", "--run-dir timed --training.minutes 5").split()) == 0
    lines = Path("timed/settings.jsonl").read_text().replace('"minutes": 5.0', '"minutes": 0.0001')
    Path("timed/settings.jsonl").write_text(lines)
    assert main(["replay", "timed", "--steps", "60"]) == 0
    assert "the first 60 updates give the same losses" in capsys.readouterr().out


def test_rates_that_the_clock_decided_are_those_of_the_run(place: Path, capsys: Capture) -> None:
    timed = TRAIN.replace("--run-dir run", "--run-dir timed --training.minutes 0.05")
    timed = timed.replace("steps 60", "steps 100000")  # so that the clock is what decides
    assert (
        main(f"{timed} --training.schedule linear --training.peak-learning-rate 0.01".split()) == 0
    )
    lines = Path("timed/metrics.jsonl").read_text().splitlines()
    rates = [rate for line in lines for rate in json.loads(line).get("learning_rates", ())]
    assert len(set(rates)) > 2  # how many updates fit is up to the machine
    capsys.readouterr()
    assert main(["replay", "timed", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["equal"]
    assert found["reasons"] == []
    Path("timed/metrics.jsonl").write_text(
        "".join(f"{line}\n" for line in lines).replace("learning_rates", "unknown")
    )
    assert main(["replay", "timed", "--json"]) in (0, 1)  # as the clock has it
    assert "an earlier version did not" in json.loads(capsys.readouterr().out)["reasons"][0]


@pytest.mark.parametrize(("stopped_in", "compared_to", "losses"), [(5, 0, 0), (33, 30, 2)])
def test_a_replay_that_was_stopped_says_nothing_of_the_rest(
    place: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    stopped_in: int,
    compared_to: int,
    losses: int,
) -> None:
    compute = GradientOfUpdate.compute

    def stop_once(count: Iterator[int]) -> None:
        def computed(*asked: Any) -> Any:
            if next(count) == stopped_in:
                os.kill(os.getpid(), signal.SIGTERM)
            return compute(*asked)

        monkeypatch.setattr(GradientOfUpdate, "compute", computed)

    stop_once(itertools.count(1))
    assert main(["replay", "run", "--steps", "60"]) == 143
    out = capsys.readouterr().out
    assert f"stopped by SIGTERM; nothing is said of what follows update {compared_to}" in out
    assert "the same losses" not in out
    stop_once(itertools.count(1))
    assert main(["replay", "run", "--steps", "60", "--json"]) == 143
    found = json.loads(capsys.readouterr().out)
    assert (found["steps"], found["equal"], found["signal"]) == (compared_to, None, "SIGTERM")
    assert len(found["losses"]) == losses


def test_a_changed_text_is_refused_by_name_where_it_was(
    place: Path, trained: Path, capsys: Capture
) -> None:
    Path("train.en").write_text(Path("train.en").read_text().replace("five", "fife", 1))
    # From another folder the names of a run may mean other files, and its ids decide.
    assert main(["replay", "run", "--steps", "20"]) == 0
    assert "train.en: is another text than the one" in capsys.readouterr().err
    seen = Path("run/shards/seen.json")
    seen.write_text(seen.read_text().replace(str(trained), str(place)))
    assert main(["replay", "run"]) == 3
    told = capsys.readouterr().err
    assert "train.en: is not the text that run was trained on" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "break_it", "status", "message"),
    [
        ("replay nowhere", "", 5, "nowhere: is no run"),
        ("replay run --steps 0", "", 2, "--steps must be at least 1"),
        ("replay run", "metrics.jsonl", 5, "has no loss of training"),
        ("replay run", "corpus.lock", 3, "corpus.lock: cannot be read"),
        ("replay run", "settings.jsonl", 5, "settings.jsonl: cannot be read"),
        ("replay run", "shards/corpus.json", 3, "corpus.json: cannot be read"),
        ("replay run", "shards/training/source_ids", 3, "source_ids: "),
        ("replay run", "tokenizer/tokenizer.json", 4, "tokenizer"),
    ],
)
def test_what_cannot_be_replayed_is_told_in_one_line(
    place: Path, capsys: Capture, command: str, break_it: str, status: int, message: str
) -> None:
    if break_it:
        Path("run", break_it).write_text("")
    assert main(command.split()) == status
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1


def test_torchrun_starts_no_replay(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(["replay", "run"]) == 2
    assert "start it without torchrun" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("size", "rank", "told"), [("2", "", "RANK="), ("two", "0", "WORLD_SIZE=two"), ("", "0", "")]
)
def test_a_variable_of_torchrun_alone_is_told(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
    size: str,
    rank: str,
    told: str,
) -> None:
    monkeypatch.setenv("WORLD_SIZE", size)
    monkeypatch.setenv("RANK", rank)
    assert main(["train", "run/config.toml"]) == 2
    err = capsys.readouterr().err
    assert f"the environment has WORLD_SIZE={size} and {told}" in err
    assert "torchrun sets them all: start with it, or unset WORLD_SIZE" in err
