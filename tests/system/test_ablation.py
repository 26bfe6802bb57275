"""``interlingua ablate`` as a person types it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from interlingua.cli import main
from interlingua.config_files import load_config
from interlingua.training.ablation import (
    PARTS,
    Variant,
    _for_updates,
    _Job,
    choose_parts,
    without_parts,
)
from interlingua.training.run_folder import RunFolder

SMALL = (
    "--model.encoder-layers=1", "--model.decoder-layers=1", "--model.d-model=16", "--model.d-ff=16", "--model.heads=2",
    "--training.threads=1", "--training.validate-sentences=4",
)  # fmt: skip


def write_pairs(folder: Path) -> list[str]:
    for side in ("aa", "bb"):
        texts = [f"{n} {n * 7 % 50} {n * 3 % 41}\n" for n in range(120)]
        (folder / f"train.{side}").write_text("".join(texts))
    return ["--source", str(folder / "train.aa"), "--target", str(folder / "train.bb")]


def test_parts_are_compared_over_seeds_and_nothing_is_trained_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "ablation"
    command = ["ablate", *write_pairs(tmp_path), "--output", str(output), *SMALL]
    command += [
        word for part in ("positions", "residuals", "warm-up") for word in ("--parts", part)
    ]
    command += ["--seeds", "2", "--steps", "4"]
    assert main([*command, "--json"]) == 0
    told = capsys.readouterr()
    assert told.err.count("run ") == 8
    rows = json.loads(told.out)
    names = [row["variant"] for row in rows]
    assert names == ["as it is", "without positions", "without residuals", "without warm up"]
    assert all(len(row["losses"]) == 2 for row in rows)
    names = {each.name for each in output.iterdir()}
    assert names == {"runs", "settings.json", "table.md", "table.tex", "curves.png", "curves.svg"}
    assert r"\toprule" in (output / "table.tex").read_text()
    assert main(command) == 0
    again = capsys.readouterr()
    assert "run " not in again.err
    assert again.out == (output / "table.md").read_text()


def test_a_folder_of_other_runs_is_refused_and_stays_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "ablation"
    command = ["ablate", *write_pairs(tmp_path), "--output", str(output), *SMALL]
    command += ["--parts", "heads", "--seeds", "1"]
    assert main([*command, "--steps", "4"]) == 0
    table = (output / "table.md").read_text()
    capsys.readouterr()
    for others, told in (
        (["--steps", "2"], "its runs have steps = 4, not 2"),
        (["--steps", "4", "--model.d-ff=32"], "its runs have model.d_ff = 16, not 32"),
    ):
        assert main([*command, *others]) == 2
        assert told in capsys.readouterr().err
    with (tmp_path / "train.bb").open("a") as file:
        file.write("1 2 3\n")
    with (tmp_path / "train.aa").open("a") as file:
        file.write("1 2 3\n")
    assert main([*command, "--steps", "4"]) == 2
    assert "its runs have text of" in capsys.readouterr().err
    assert (output / "table.md").read_text() == table


def test_what_a_configuration_does_not_have_is_not_taken_out() -> None:
    config = load_config(None, {"model.tie": "none", "model.dropout": "0"})
    names = [each.part for each in without_parts(config, ("positions", "tying", "dropout"))]
    assert names == ["positions"]
    whole = without_parts(load_config(None, {}), choose_parts(()))
    assert [each.part for each in whole] == list(PARTS)


def test_what_nobody_set_is_left_to_a_starting_model() -> None:
    config = load_config(None, {"start.init_from": "base", "model.dropout": "0.2"})
    job = _Job(Variant("x", config), 2, RunFolder(Path("x")))
    for made in (without_parts(config, ["label-smoothing"])[0].config, _for_updates(job, 4, None)):
        assert made.model.model_fields_set == {"dropout"}
        assert not made.tokenization.model_fields_set
    assert _for_updates(job, 4, None).training.seed == 2


def test_all_runs_have_one_highest_learning_rate(tmp_path: Path) -> None:
    output = tmp_path / "ablation"
    command = ["ablate", *write_pairs(tmp_path), "--output", str(output), *SMALL, "--steps=4"]
    assert main([*command, "--parts", "warm-up", "--seeds", "1"]) == 0
    rates = {
        each.parent.name: tomllib.loads(each.read_text())["training"]["peak_learning_rate"]
        for each in output.glob("runs/*/config.toml")
    }
    assert rates == {"as-it-is-1": 0.0079, "without-warm-up-1": 0.0079}


def test_values_are_compared_in_the_order_given_and_each_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "values"
    command = ["ablate", *write_pairs(tmp_path), "--output", str(output), *SMALL, "--steps=4"]
    command += ["--vary", "model.heads=4,1", "--vary", "tokenization.kind=char", "--seeds", "1"]
    assert main([*command, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    names = [row["variant"] for row in rows]
    assert names == ["as it is", "model.heads = 4", "model.heads = 1", "tokenization.kind = char"]
    assert rows[3]["vocabulary"] < rows[0]["vocabulary"]
    assert rows[1]["losses"] != rows[2]["losses"]
    head = (output / "table.md").read_text().splitlines()[0]
    assert "parameters" in head
    assert "vocabulary" in head


def one_part_less(folder: Path, output: Path, *, steps: int) -> list[str]:
    command = ["ablate", *write_pairs(folder), "--output", str(output), *SMALL]
    return [*command, "--parts", "positions", "--seeds", "1", "--steps", str(steps)]


@contextmanager
def under_way(command: list[str], output: Path) -> Iterator["subprocess.Popen[str]"]:
    """Start a command, and go on when its first run has learnt something."""
    interlingua = str(Path(sys.executable).with_name("interlingua"))
    with subprocess.Popen([interlingua, *command], stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        while not [*output.glob("runs/*/metrics.jsonl")]:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield process


def test_sigterm_stops_the_runs_side_by_side_and_the_same_command_goes_on(tmp_path: Path) -> None:
    output = tmp_path / "ablation"
    command = one_part_less(tmp_path, output, steps=600)
    with under_way(command, output) as stopped:
        stopped.send_signal(signal.SIGTERM)
        _, told = stopped.communicate(timeout=60)  # ends when no process holds the pipe any more
    assert (stopped.returncode, "Traceback" in told) == (128 + signal.SIGTERM, False)
    assert not (output / "table.md").exists()
    assert [*output.glob("runs/*/checkpoints/step-*")]
    assert main(command) == 0
    assert (output / "table.md").exists()


def test_a_run_that_was_validated_and_not_saved_is_not_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "ablation"
    command = ["ablate", *write_pairs(tmp_path), "--output", str(output), *SMALL, "--steps=4"]
    command += ["--parts", "positions", "--seeds", "1"]
    assert main(command) == 0
    table = (output / "table.md").read_text()
    shutil.rmtree(output / "runs/as-it-is-1/model")
    shutil.rmtree(output / "runs/without-positions-1/checkpoints/step-4")
    shutil.rmtree(output / "runs/without-positions-1/model")
    capsys.readouterr()
    assert main(command) == 0
    assert capsys.readouterr().err.count("run ") == 2
    losses = [
        [row.split("|")[2:4] for row in text.splitlines()]
        for text in (table, (output / "table.md").read_text())
    ]
    assert losses[0] == losses[1]


def test_a_value_that_is_given_twice_is_trained_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["ablate", *write_pairs(tmp_path), "--output", str(tmp_path / "o"), *SMALL]
    command += ["--steps=2", "--seeds=1", "--vary", "model.heads=1,2", "--vary", "model.heads=2,4"]
    assert main([*command, "--json"]) == 0
    names = [row["variant"] for row in json.loads(capsys.readouterr().out)]
    assert names == ["as it is", *(f"model.heads = {heads}" for heads in (1, 2, 4))]


def test_a_run_that_the_system_ends_is_told_in_one_line(tmp_path: Path) -> None:
    output = tmp_path / "ablation"
    with under_way(one_part_less(tmp_path, output, steps=60_000), output) as ended:
        children = Path(f"/proc/{ended.pid}/task/{ended.pid}/children").read_text().split()
        for child in children:
            if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text():
                os.kill(int(child), signal.SIGKILL)
                break
        _, told = ended.communicate(timeout=60)
    assert ended.returncode == 7
    assert "Traceback" not in told
    assert "the system ended a run, mostly for want of memory" in told


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--parts", "wheels"], "there is no part wheels"),
        (["--seeds", "0"], "--seeds must be at least 1, not 0"),
        (["--steps", "0"], "--steps must be at least 1, not 0"),
        (["--vary", "model.heads"], "--vary model.heads: write SECTION.KEY=VALUE,VALUE"),
        (["--vary", "model.heads=2,"], "--vary model.heads=2,: write SECTION.KEY=VALUE,VALUE"),
        (["--vary", "training.seed=1,2"], "every run has the same training.seed"),
        (["--vary", "training.average-last=1,5"], "every run has the same training.average_last"),
        (["--vary", "training.warmup-steps=9,400"], "at most a quarter of the updates, 50 of 200"),
        (["--vary", "model.heads=2,three"], "model.heads"),
        (["--vary", "model.wheels=2"], "no such key"),
        (["--model.kind", "gru"], "parts are taken out of a transformer, not out of gru"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], told: str
) -> None:
    output = tmp_path / "ablation"
    assert main(["ablate", *write_pairs(tmp_path), "--output", str(output), *flags]) != 0
    assert told in capsys.readouterr().err
    assert not output.exists()
