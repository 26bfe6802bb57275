"""A run goes on with what it was begun with: what somebody changed in its folder is told, and nothing of it is lost."""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from interruption import outcome
from small_runs import REPEATABLE, refused, run, sentences, write_text
from torch.distributed import TCPStore

from interlingua.checkpoints.manifest import write_manifest
from interlingua.checkpoints.model_folder import load_model_folder
from interlingua.checkpoints.store import CheckpointStore
from interlingua.checkpoints.weights import read_tensors, write_tensors
from interlingua.cli import main
from interlingua.config_files import load_config
from interlingua.errors import OutputError
from interlingua.training import automatic
from interlingua.training.gradients import GradientOfUpdate
from interlingua.training.prepare import prepare, prepare_locked
from interlingua.training.run_folder import RunFolder
from interlingua.training.validation import Validator

SIZES = "--model.d-model 16 --model.d-ff 16 --model.heads 2 --model.encoder-layers 1 --model.decoder-layers 1 --model.dropout 0"
TRAIN = (
    f"train --source text.en --target text.fr {SIZES} {REPEATABLE} --tokenization.kind word --batching.batch-tokens 300 "
    "--training.validate-every 4 --training.validate-sentences 2 --training.ema 0.9 --run-dir run"
)
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of eight updates, which would go on to twelve."""
    monkeypatch.chdir(tmp_path)
    write_text("text.en", sentences())
    write_text("text.fr", [line[::-1] for line in sentences()])
    run(f"{TRAIN} --training.steps 8")
    return tmp_path


@pytest.mark.parametrize(
    ("setting", "other"),
    [
        ("batch_tokens = 300", "batch_tokens = 200"),
        ("label_smoothing = 0.1", "label_smoothing = 0.0"),
        ("d_model = 16", "d_model = 32"),
        ("\nseed = 1", "\nseed = 2"),
    ],
)
def test_a_configuration_that_was_edited_in_the_run_is_refused_with_both_values(
    begun: Path, setting: str, other: str, capsys: Capture
) -> None:
    config = Path("run/config.toml")
    text = config.read_text(encoding="utf-8")
    assert text.count(setting) == 1
    config.write_text(text.replace(setting, other), encoding="utf-8")
    before = {path: path.read_bytes() for path in Path("run").rglob("*.*") if path.is_file()}
    name, value = other.strip().split(" = ")
    for command in ("train run/config.toml --training.steps 12", f"{TRAIN} --training.steps 12"):
        status, line = refused(command, capsys)
        assert status == 2
        assert f"{name} is {value}, and the run was started with {setting.split(' = ')[1]}" in line
    assert {p: p.read_bytes() for p in Path("run").rglob("*.*") if p.is_file()} == before


@pytest.mark.parametrize(
    ("setting", "other"),
    [
        ("weights = [1.0, 2.0]", "weights = [0.25, 10.0]"),
        ('tags = ["", "<bt>"]', 'tags = ["<bt>", ""]'),
        ('freeze = ["encoder.*"]', "freeze = []"),
    ],
)
def test_an_edited_mixture_or_start_is_refused_with_both_values(
    begun: Path, setting: str, other: str, capsys: Capture
) -> None:
    flags = (
        "--corpus.weights 1,2 --corpus.tags ,<bt> --start.init-from run --start.freeze encoder.* "
        f"--training.validate-every 4 --training.steps 4 {REPEATABLE} --run-dir mixed"
    )
    run(f"train --source text.en text.en --target text.fr text.fr {flags}")
    config = Path("mixed/config.toml")
    text = config.read_text(encoding="utf-8")
    assert text.count(f"\n{setting}\n") == 1
    config.write_text(text.replace(setting, other), encoding="utf-8")
    status, line = refused("train mixed/config.toml --training.steps 8", capsys)
    (name, was), now = setting.split(" = "), other.split(" = ")[1]
    told = f"{name} is {now}, and the run was started with {was}".replace('"', "'")
    assert (status, told in line) == (2, True)


def test_the_languages_of_a_run_stay_what_they_were(begun: Path, capsys: Capture) -> None:
    more = f"{TRAIN} --training.steps 12"
    status, line = refused(f"{more} --target-lang zh", capsys)
    assert (status, "was started with corpus.target_lang = fr, not zh" in line) == (2, True)
    for name in ("text.en", "text.fr"):
        Path(name).rename(f"{name}.txt")  # which tells no language, as the run knows its own
    moved = more.replace("text.en", "text.en.txt").replace("text.fr", "text.fr.txt")
    run(f"{moved} --source-lang en")
    config = Path("run/config.toml")
    edited = config.read_text().replace('target_lang = "fr"', 'target_lang = "zh"')
    config.write_text(edited)
    status, line = refused(f"{moved} --training.steps 16", capsys)
    told = "target_lang is zh, and the run was started with fr"
    assert (status, told in line) == (2, True)


def test_one_that_torchrun_starts_anew_sets_the_earlier_run_aside_if_none_before_it_did(
    begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept_by_torchrun = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(kept_by_torchrun.port)}
    launch = {"RANK": "0", "WORLD_SIZE": "1", "TORCHELASTIC_USE_AGENT_STORE": "True", **address}
    for name, value in launch.items():
        monkeypatch.setenv(name, value)

    def start(number: int, steps: int) -> int:
        monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", str(number))
        return main(f"{TRAIN} --training.steps {steps} --fresh".split())

    with monkeypatch.context() as patch:
        patch.setattr("interlingua.training.run.read_corpus", died)
        assert start(0, 4) != 0
    assert steps() == [4, 8]
    assert start(1, 4) == 0
    assert steps() == [4]
    assert start(2, 12) == 0
    assert steps() == [4, 8, 12]
    assert sorted(path.name for path in begun.glob("run*")) == ["run", "run.1"]


def died(*_: object, **__: object) -> None:
    raise RuntimeError("as if it had been killed here")


def test_a_run_of_an_earlier_version_that_kept_less_goes_on_as_the_same_run(begun: Path) -> None:
    folder = RunFolder(Path("run"))
    (known,) = folder.read_settings()
    whole = dict(known["fixed"])
    for name in ("corpus.weights", "corpus.tags", "corpus.source_lang", "start.freeze"):
        del known["fixed"][name]
    write_text("run/settings.jsonl", [json.dumps(known)])
    run(f"{TRAIN} --training.steps 8")
    (kept,) = folder.read_settings()
    assert (kept["after"], kept["fixed"]) == (0, whole)


def test_a_tokenizer_that_changed_or_is_gone_is_refused(begun: Path, capsys: Capture) -> None:
    path = Path("run/tokenizer/tokenizer.json")
    if not path.exists():
        path = next(Path("run/tokenizer").glob("*.json"))
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"cat", b"cet", 1))
    assert path.read_bytes() != whole
    status, line = refused(f"{TRAIN} --training.steps 12", capsys)
    assert (status, "is not what the run learnt with (changed); copy it from" in line) == (2, True)
    path.unlink()
    assert (
        "is not what the run learnt with (gone)"
        in refused(f"{TRAIN} --training.steps 12", capsys)[1]
    )
    shutil.copyfile(Path("run/model") / path.name, path)
    run(f"{TRAIN} --training.steps 12")


def test_what_others_leave_beside_a_tokenizer_is_nothing_to_the_run(begun: Path) -> None:
    folder = RunFolder(Path("run"))
    (known,) = folder.read_settings()
    known["fixed"]["tokenizer/.tokenizer.json.swp"] = "0" * 64  # as earlier versions had it
    write_text("run/settings.jsonl", [json.dumps(known)])
    ids = Path("run/shards/training/source_ids")
    cut = ids.stat().st_ino
    (folder.tokenizer / ".DS_Store").write_bytes(b"\0")
    (folder.tokenizer / ".ipynb_checkpoints").mkdir()
    run(f"{TRAIN} --training.steps 12")
    assert steps()[-1] == 12
    assert ids.stat().st_ino == cut
    assert not [name for name in folder.read_settings()[-1]["fixed"] if "/." in name]


def test_none_switches_off_or_is_refused_like_any_other_value(begun: Path, capsys: Capture) -> None:
    status, line = refused(f"{TRAIN} --training.steps 12 --training.ema none", capsys)
    assert (status, "training.ema = 0.9, not None" in line) == (2, True)
    run(f"{TRAIN} --training.steps 12 --training.clip-norm none")
    assert load_config(Path("run/config.toml")).training.clip_norm is None


def test_where_no_checkpoint_is_whole_nothing_begins_over_the_run(
    begun: Path, capsys: Capture
) -> None:
    for path in Path("run/checkpoints").glob("step-*/model.safetensors"):
        path.write_bytes(path.read_bytes()[:-1])
    kept = {p: p.read_bytes() for p in (Path("run/metrics.jsonl"), *Path("run/model").iterdir())}
    capsys.readouterr()
    assert main(f"{TRAIN} --training.steps 12".split()) == 5
    told = capsys.readouterr().err
    assert told.count("is passed over") == 2
    assert "checkpoints is whole and of this run, and the model folder is not to be lost" in told
    assert {path: path.read_bytes() for path in kept} == kept


def _spoil(kind: str, folder: Path) -> None:
    """Change what a checkpoint holds, with a manifest that agrees."""
    weights = read_tensors(folder / "model.safetensors")
    moments = read_tensors(folder / "optimizer.safetensors")
    state = json.loads((folder / "state.json").read_text())
    name = min(weights)
    if kind == "a weight is missing":
        del weights[name]
    elif kind == "a weight has another shape":
        weights[name] = weights[name][:1].clone()
    elif kind == "no moments":
        moments = {key: each for key, each in moments.items() if key.startswith("mean/")}
    elif kind == "moments have another shape":
        moments[f"exp_avg/{name}"] = moments[f"exp_avg/{name}"][:1].clone()
    elif kind == "no mean":
        moments = {key: each for key, each in moments.items() if not key.startswith("mean/")}
    elif kind == "no place":
        del state["cursor"]
    elif kind == "another best":
        state["best"] = {"x": 1}
    else:
        state["settings"] = [kind]
    for file, tensors in (("model", weights), ("optimizer", moments)):
        (folder / f"{file}.safetensors").unlink()  # which the tensors may lie in
        write_tensors(folder / f"{file}.safetensors", tensors)
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "manifest.json").unlink()
    write_manifest(folder)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("a weight is missing", "it is of another model"),
        ("a weight has another shape", "it is of another model"),
        ("no moments", "lacks the moments of the optimizer"),
        ("moments have another shape", "has shape"),
        ("no mean", "lacks 'mean/"),
        ("no place", "does not tell where training stood (KeyError('cursor'))"),
        ("another best", "does not tell where training stood (TypeError("),
        ("settings that are none", "no list of settings"),
    ],
)
def test_a_whole_checkpoint_that_no_training_goes_on_from_is_passed_over(
    begun: Path, capsys: Capture, kind: str, words: str
) -> None:
    _spoil(kind, Path("run/checkpoints/step-8"))
    capsys.readouterr()
    run(f"{TRAIN} --training.steps 12")
    told = " ".join(capsys.readouterr().err.split())
    assert "the checkpoint of step 8 is passed over: run/checkpoints/step-8: " in told
    assert words in told
    assert "continues after step 4" in told


def test_a_checkpoint_of_another_run_is_passed_over_whatever_its_size(
    begun: Path, capsys: Capture
) -> None:
    run(f"{TRAIN.replace('--run-dir run', '--run-dir again')} --training.steps 8")
    for difference in ("--training.seed 2", "--corpus.noise 0.5", "--model.d-model 32"):
        run(
            f"{TRAIN.replace('--run-dir run', '--run-dir other')} {difference} --fresh --training.steps 12"
        )
        shutil.copytree("other/checkpoints/step-12", "again/checkpoints/step-12")
        name, value = difference.removeprefix("--").replace("d-m", "d_m").split()
        capsys.readouterr()
        run(f"{TRAIN.replace('--run-dir run', '--run-dir again')} --training.steps 12")
        told = " ".join(capsys.readouterr().err.split())
        assert (
            f"the checkpoint of step 12 is passed over: again/checkpoints/step-12: is of another run, with {name} = {value}, not"
            in told
        )
        shutil.rmtree("again")
        shutil.copytree("run", "again")


@pytest.mark.parametrize("difference", ["--training.seed 2", "--model.d-model 32"])
def test_a_checkpoint_of_another_run_is_not_averaged(
    begun: Path, capsys: Capture, difference: str
) -> None:
    plain = f"{TRAIN.replace(' --training.ema 0.9', '')} --training.average-last 3"
    train_in = {name: plain.replace("--run-dir run", f"--run-dir {name}") for name in "abc"}
    for name, other, steps in (("a", "", 8), ("b", "", 8), ("c", difference, 16)):
        run(f"{train_in[name]} {other} --training.steps {steps}")
    shutil.copytree("c/checkpoints/step-16", "b/checkpoints/step-16")
    means = []
    for name in "ab":
        capsys.readouterr()
        run(f"{train_in[name]} --training.steps 12")
        told = " ".join(capsys.readouterr().err.split())
        assert ("the checkpoint of step 16 is passed over" in told) == (name == "b")
        means.append(re.findall(r"mean of the last 3 checkpoints: [^;:]*", told))
    assert len(means[0]) == 1
    assert means[0] == means[1]


def test_a_run_that_was_moved_does_not_begin_anew_elsewhere(begun: Path, capsys: Capture) -> None:
    Path("run").rename("moved")
    status, line = refused("train moved/config.toml --training.steps 12", capsys)
    assert (status, "was it moved? --run-dir moved goes on with it" in line) == (2, True)
    assert not Path("run").exists()
    run("train moved/config.toml --training.steps 12 --run-dir moved")
    assert CheckpointStore(Path("moved/checkpoints"), keep=5).steps()[-1] == 12


def test_a_configuration_that_was_moved_with_its_text_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("moved").mkdir()
    for lang in ("ro", "en"):
        Path(f"moved/pairs.{lang}").write_text("a b c\n")
    Path("moved/train.toml").write_text(
        '[corpus]\nsource = ["more/pairs.ro"]\ntarget = ["more/pairs.en"]\n'
    )
    status, line = refused("train moved/train.toml", capsys)
    assert status == 2
    assert "names more/pairs.ro" in line
    assert "moved/pairs.ro is there; was it moved?" in line


def test_a_signal_in_the_last_validation_loses_no_update(
    begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = Validator.measure

    def stop_at_the_end(self: Validator, *judged: object) -> object:
        os.kill(os.getpid(), signal.SIGTERM)
        found = measure(self, *judged)  # type: ignore[arg-type]
        assert found is None
        return found

    monkeypatch.setattr(Validator, "measure", stop_at_the_end)
    assert main(f"{TRAIN} --training.steps 11 --training.validate-every 100".split()) == 143
    assert CheckpointStore(Path("run/checkpoints"), keep=5).steps()[-1] == 11


LEARNS = f"{TRAIN} --model.dropout 0.2 --training.validate-every 100 --training.steps 45"
"""Recorded at updates 20 and 40, validated at the end only."""


BUSY = """
import itertools, os, signal, sys, time
from interlingua.cli import main
from interlingua.training import stopping
from interlingua.training.gradients import GradientOfUpdate

compute, count = GradientOfUpdate.compute, itertools.count(1)

def computed(*asked):
    if next(count) == 27:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60.0)
    return compute(*asked)

stopping.RESCUE_SECONDS = 1.0
GradientOfUpdate.compute = computed
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("how", ["an error", "a stop while it is busy"])
def test_what_ends_a_run_in_the_middle_of_an_update_loses_none_before(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    write_text("text.en", sentences())
    write_text("text.fr", [line[::-1] for line in sentences()])
    run(LEARNS)
    Path("run").rename("whole")
    if how == "an error":
        fail_at(27, monkeypatch)
        assert main(LEARNS.split()) != 0
        assert "something broke" in capsys.readouterr().err
    else:
        command = [sys.executable, "-c", BUSY, *LEARNS.split()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=50)
        assert done.returncode == 143, done.stderr
        assert "stopped by SIGTERM in the middle of its work" in done.stderr
    assert steps() == [26]
    run(LEARNS)
    found, wanted = outcome(Path("run")), outcome(Path("whole"))
    assert found["metrics.jsonl"].count('"kind": "training"') == 2
    for name in ("metrics.jsonl", "samples.jsonl", "model/model.safetensors"):
        assert found[name] == wanted[name]


UNREAD = """
import os, signal, sys, threading
from contextlib import suppress
from interlingua.cli import main
from interlingua.training import stopping
from interlingua.training.validation import Validator

samples = Validator.samples

def sampled(*asked):
    os.set_blocking(2, False)
    with suppress(BlockingIOError):
        while True:
            os.write(2, b"." * 4096)
    os.set_blocking(2, True)
    threading.Timer(1.0, os.kill, [os.getpid(), signal.SIGTERM]).start()
    return samples(*asked)

stopping.RESCUE_SECONDS = 1.0
Validator.samples = sampled
sys.exit(main(sys.argv[1:]))
"""


def test_a_run_whose_words_nobody_reads_is_stopped_and_loses_nothing(begun: Path) -> None:
    command = [sys.executable, "-c", UNREAD, *TRAIN.split(), "--training.steps", "20"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.wait(timeout=50) == 143  # blocked in the line of a validation
        finally:
            process.kill()
    assert steps()[-1] == 12


def test_an_error_before_anything_is_learnt_leaves_nothing_to_go_on_with(
    begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_at(1, monkeypatch)
    assert main(f"{TRAIN} --fresh".split()) != 0
    assert steps() == []


def test_what_an_infinite_loss_led_to_is_not_saved(
    begun: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    be_infinite_at(3, monkeypatch)
    status, line = refused(f"{TRAIN} --training.steps 12 --training.non-finite stop", capsys)
    assert (status, "step 11: the loss is inf" in line) == (7, True)
    assert steps()[-1] == 8


@pytest.mark.parametrize("every", [1, 4])
def test_weights_that_a_validation_finds_spoilt_are_not_saved(
    begun: Path, every: int, capsys: Capture
) -> None:
    rate = "--training.peak-learning-rate 1e20 --training.warmup-steps 1"
    status, line = refused(
        f"{TRAIN} --training.steps 12 {rate} --training.validate-every {every}", capsys
    )
    assert (status, f"step {8 + every}: the model gives no probability" in line) == (7, True)
    assert "delete the newest folder in the run's checkpoints" in line
    assert steps() == [4, 8]
    run(f"{TRAIN} --training.steps 12 {rate.replace('1e20', '0.01')}")


def test_an_error_just_after_an_update_was_left_out_saves_nothing(
    begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_at(4, monkeypatch)
    be_infinite_at(3, monkeypatch)
    assert main(f"{TRAIN} --training.steps 20 --training.validate-every 20".split()) != 0
    assert steps() == [4, 8]


def test_a_disk_that_failed_is_not_asked_again_and_the_error_is_told(
    begun: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    asked = []

    def full(*_: object) -> None:
        asked.append(1)
        raise OutputError("run/checkpoints: no space left")

    monkeypatch.setattr(CheckpointStore, "save", full)
    status, line = refused(f"{TRAIN} --training.steps 12", capsys)
    assert (status, "no space left" in line, len(asked)) == (6, True, 1)
    fail_at(2, monkeypatch)
    assert main(f"{TRAIN} --training.steps 12".split()) != 0
    told = capsys.readouterr().err
    assert "could not be saved either: run/checkpoints: no space left" in told
    assert "something broke" in told


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs Linux")
def test_a_run_that_goes_on_lets_go_of_the_checkpoint_that_it_began_from(
    begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mapped = []
    measure = Validator.measure

    def watched(*asked: object) -> object:
        maps = Path("/proc/self/maps").read_text().splitlines()
        mapped.append([line for line in maps if "/run/checkpoints/" in line])
        return measure(*asked)  # type: ignore[arg-type]

    monkeypatch.setattr(Validator, "measure", watched)
    run(f"{TRAIN} --training.steps 12")
    assert mapped == [[]]  # a file that is deleted keeps its place on the disk while it is mapped


def fail_at(update: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have one update of this process break, counted from 1, and those after it go on."""
    compute, count = GradientOfUpdate.compute, iter(range(1, 10_000))

    def computed(self: GradientOfUpdate, *asked: object) -> object:
        if next(count) == update:
            raise RuntimeError("something broke")
        return compute(self, *asked)  # type: ignore[arg-type]

    monkeypatch.setattr(GradientOfUpdate, "compute", computed)


def be_infinite_at(update: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the loss of one update of this process be infinite, counted from 1."""
    compute, count = GradientOfUpdate.compute, iter(range(1, 10_000))

    def computed(self: GradientOfUpdate, *asked: object) -> object:
        found = compute(self, *asked)  # type: ignore[arg-type]
        return replace(found, loss=math.inf, suspects=(1,)) if next(count) == update else found

    monkeypatch.setattr(GradientOfUpdate, "compute", computed)


def steps() -> list[int]:
    return CheckpointStore(Path("run/checkpoints"), keep=5).steps()


@pytest.mark.parametrize("limit", ["256", "9000"])
def test_a_line_of_five_thousand_words_does_not_stop_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, limit: str
) -> None:
    monkeypatch.chdir(tmp_path)
    long = " ".join(f"w{number % 97}" for number in range(5_000))
    write_text("text.en", [*sentences(), long])
    write_text("text.fr", [*(line[::-1] for line in sentences()), long])
    write_text("valid.en", [*sentences()[:3], long])
    write_text("valid.fr", [*sentences()[:3], long])
    run(
        f"{TRAIN} --training.steps 30 --batching.max-length {limit} --model.max-positions 9000 --valid-source valid.en "
        "--valid-target valid.fr"
    )
    told = capsys.readouterr().err
    assert ("1 source sentences were cut to batching.max_length = 256 tokens" in told) == (
        limit == "256"
    )
    seen = {
        json.loads(line)["kind"]: json.loads(line)
        for line in Path("run/metrics.jsonl").read_text().splitlines()
    }
    assert math.isfinite(seen["training"]["loss"])
    assert math.isfinite(seen["validation"]["loss"])


@pytest.mark.parametrize("left", [None, "{"])
def test_a_run_whose_corpus_lock_was_taken_for_a_stale_one_goes_on_and_writes_it_anew(
    begun: Path, left: str | None, capsys: Capture
) -> None:
    lock = Path("run/corpus.lock")
    whole = lock.read_bytes()

    def damage() -> None:
        lock.unlink() if left is None else lock.write_text(left)

    damage()
    write_text("other.en", [*sentences()[1:], "another line"])
    status, line = refused(f"{TRAIN.replace('text.en', 'other.en')} --training.steps 12", capsys)
    assert (status, "was started with another text than other.en holds now" in line) == (2, True)
    run(f"{TRAIN} --training.steps 12")
    assert lock.read_bytes() == whole
    damage()
    kept = Path("run/shards/corpus.json")
    kept.unlink()
    status, line = refused(f"{TRAIN} --training.steps 16", capsys)
    assert f"{lock}: cannot be read" in line
    assert f"nor can {kept}, so that nothing tells whether this is the text of the run" in line
    assert steps()[-1] == 12
    run(f"{TRAIN} --training.steps 4 --fresh")
    assert Path("run.1/checkpoints/step-12").exists()


def test_a_model_searches_as_a_later_start_says(begun: Path, capsys: Capture) -> None:
    weights = Path("run/model/model.safetensors").read_bytes()
    assert load_model_folder(Path("run/model")).decoding.beam_size != 7
    capsys.readouterr()
    run(f"{TRAIN} --training.steps 8 --decoding.beam-size 7")
    told = capsys.readouterr().err
    assert "nothing is left to train; larger training.steps, patience would go on" in told
    assert load_model_folder(Path("run/model")).decoding.beam_size == 7
    assert Path("run/model/model.safetensors").read_bytes() == weights


def test_preparing_a_run_again_leaves_what_it_was_trained_with(begun: Path) -> None:
    before = Path("run/environment.json").read_text()
    run(f"{TRAIN} --training.steps 8".replace("train ", "prepare ", 1))
    assert Path("run/environment.json").read_text() == before


@pytest.mark.parametrize("kind", ["transformer", "gru"])
def test_no_model_is_trained_whose_table_nothing_would_read(
    begun: Path, capsys: Capture, kind: str
) -> None:
    sizes = "--model.d-model 128 --model.encoder-layers 1 --model.decoder-layers 1 --model.max-positions 600000"
    command = (
        f"train --source text.en --target text.fr {sizes} --model.kind {kind} {REPEATABLE} --training.steps 1 "
        "--training.validate-every 1 --training.validate-sentences 2 --tokenization.kind word --run-dir large"
    )
    if kind == "gru":  # it has no table
        run(command)
        assert load_model_folder(Path("large/model")).max_length
        return
    status, line = refused(command, capsys)
    assert status == 2
    assert "model.max_positions: 600,000 of width 128 would be a table" in line


def test_a_limit_of_epochs_is_lifted(begun: Path, capsys: Capture) -> None:
    short = f"{TRAIN} --training.epochs 1 --fresh"
    run(short)
    first = steps()[-1]
    run(f"{TRAIN} --training.epochs none --training.steps {first + 5}")
    assert steps()[-1] == first + 5


def test_the_file_of_a_run_takes_it_on_for_more_epochs(begun: Path) -> None:
    run("train run/config.toml --training.epochs 20")
    assert steps()[-1] > 8
    assert load_config(Path("run/config.toml")).training.steps == steps()[-1]


def test_a_trained_model_without_checkpoints_is_not_written_over(
    begun: Path, capsys: Capture
) -> None:
    shutil.rmtree("run/checkpoints")
    kept = {p: p.read_bytes() for p in (Path("run/metrics.jsonl"), *Path("run/model").iterdir())}
    status, line = refused(f"{TRAIN} --training.steps 12", capsys)
    assert (status, "holds a trained model, and no checkpoints" in line) == (2, True)
    assert {path: path.read_bytes() for path in kept} == kept


@pytest.mark.parametrize("lost", ["removed", "renamed"])
def test_a_model_of_one_validation_is_not_written_over_either(
    begun: Path, lost: str, capsys: Capture
) -> None:
    once = f"{TRAIN} --training.validate-every 100 --training.steps 12"
    run(f"{once} --fresh")
    (only,) = Path("run/checkpoints").iterdir()
    only.rename("step-12" if lost == "removed" else "run/checkpoints/step-12.old")
    kept = {p: p.read_bytes() for p in (Path("run/metrics.jsonl"), *Path("run/model").iterdir())}
    status, line = refused(once, capsys)
    assert (status, "holds a trained model, and no checkpoints" in line) == (2, True)
    assert {path: path.read_bytes() for path in kept} == kept


def test_a_run_that_ended_between_its_first_model_and_checkpoint_begins_again(
    begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object) -> None:
        raise OutputError("as if it had been killed here")

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointStore, "save", ended)
        assert main(f"{TRAIN} --training.steps 12 --fresh".split()) == 6
    assert Path("run/model/model.safetensors").exists()
    assert steps() == []
    run(f"{TRAIN} --training.steps 12")
    assert [path.name for path in Path("run/checkpoints").iterdir()].count("none-yet") == 0
    assert steps() == [4, 8, 12]


def test_where_a_run_computes_is_kept_where_nothing_is_said(begun: Path, capsys: Capture) -> None:
    said = TRAIN.replace(REPEATABLE, "")
    torch.set_num_threads(3)
    run(f"{said} --training.steps 12")
    assert json.loads(Path("run/environment.json").read_text())["threads"] == 1
    assert '"threads": 2' not in Path("run/settings.jsonl").read_text()
    assert "to the last bit" not in capsys.readouterr().err
    run(f"{said} --training.steps 16 --training.threads 2")
    remark = "need not be equal to the last bit from here on: threads was 1, and is 2\n"
    assert remark in capsys.readouterr().err
    assert json.loads(Path("run/environment.json").read_text())["threads"] == 2
    torch.set_num_threads(1)


def test_settings_that_no_update_that_is_kept_was_made_with_are_forgotten(begun: Path) -> None:
    folder = RunFolder(Path("run"))
    first = folder.read_settings()
    training, environment = first[0]["training"], first[0]["environment"]
    machine = {**environment, "started_from": None}
    whole = {**load_config(folder.config).training.model_dump(mode="json")}
    fixed = first[0]["fixed"]
    folder.keep_settings(8, {**whole, "peak_learning_rate": 9.0}, machine, fixed)
    assert [each["after"] for each in folder.read_settings()] == [0, 8]
    folder.keep_settings(8, whole, machine, fixed)
    assert [each["after"] for each in folder.read_settings()] == [0]
    assert training == folder.read_settings()[0]["training"]


def test_the_rate_that_is_recorded_is_the_one_that_was_used(begun: Path) -> None:
    flags = (
        "--training.schedule linear --training.peak-learning-rate 0.001 --training.warmup-steps 1"
    )
    run(f"{TRAIN} {flags} --training.steps 20 --training.validate-every 20 --fresh")
    records = [json.loads(line) for line in Path("run/metrics.jsonl").read_text().splitlines()]
    (rate,) = [each["learning_rate"] for each in records if each["kind"] == "training"]
    assert rate == pytest.approx(0.001 / 20)


def test_a_run_that_was_set_aside_keeps_its_own_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    learn = TRAIN.replace("--source text.en --target text.fr", "--pairs text.tsv")
    write_text("text.tsv", [f"{line}\t{line[::-1]}" for line in sentences()])
    for _ in range(2):
        run(f"{learn} --training.steps 20 --fresh")
    for folder in ("run", "run.1"):
        locked = json.loads(Path(folder, "corpus.lock").read_text())
        assert {Path(name).parent for name in locked} == {Path(folder, "corpus")}
        run(f"replay {folder}")
    assert capsys.readouterr().out.count("to the last bit") == 2


def test_what_the_first_process_chose_counts_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_text("text.en", sentences())
    write_text("text.fr", [line[::-1] for line in sentences()])
    asked = {"corpus.source": "text.en", "corpus.target": "text.fr", "training.minutes": "0.01"}
    config = load_config(None, {**asked, "run_dir": "run", "training.device": "cpu"})
    monkeypatch.setattr(automatic, "num_cores", lambda: 2)
    first = prepare(config).config
    monkeypatch.setattr(automatic, "num_cores", lambda: 64)
    folder, device = RunFolder(Path("run")), torch.device("cpu")
    found = prepare_locked(
        config, folder, None, device=device, say=lambda _: None, writes=False
    ).config
    assert found == first
    assert prepare(config, say=lambda _: None).config.model.dropout != first.model.dropout
