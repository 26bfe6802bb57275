"""Folders of text through the command: here, on Ray, and stopped on the way."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from interlingua.checkpoints.model_folder import add_to_model_folder
from interlingua.cli import main
from interlingua.requests.confidence import CALIBRATION, FEATURES, Calibration

NUMBERS = {"unu": "one", "doi": "two", "trei": "three", "patru": "four", "cinci": "five"}
TRAIN = (
    "train --source train.ro --target train.en --model.encoder-layers 1 --model.decoder-layers 1 --model.d-model 32 "
    "--model.d-ff 32 --model.heads 2 --model.dropout 0 --training.threads 1 --training.steps 150 --training.warmup-steps 20 "
    "--training.validate-every 150 --training.validate-sentences 4 --run-dir run"
)
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bulk")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        pairs = [(a, b, c) for a in NUMBERS for b in NUMBERS for c in NUMBERS]
        for lang, words in (("ro", {word: word for word in NUMBERS}), ("en", NUMBERS)):
            text = "".join(" ".join(words[word] for word in pair) + "\n" for pair in pairs)
            Path(f"train.{lang}").write_text(text)
        assert main(TRAIN.split()) == 0
    return folder / "run"


def test_a_folder_becomes_a_folder(model: Path, tmp_path: Path, capsys: Capture) -> None:
    texts = tmp_path / "in"
    texts.mkdir()
    (texts / "a").write_text("unu doi trei\n\npatru cinci unu\n")
    (texts / "b").write_text("doi doi doi\n")
    command = ["translate", str(model), "--input", str(texts), "--output", str(tmp_path / "out")]
    command += ["--part-lines", "2"]
    assert main(command) == 0
    main(["translate", str(model), "--input", str(texts / "a")])
    assert (tmp_path / "out/a").read_text() == capsys.readouterr().out
    assert (tmp_path / "out/b").read_text().count("\n") == 1
    changed = (tmp_path / "out/a").stat().st_mtime_ns
    assert main(command) == 0
    assert "4 of 4 lines were translated before" in capsys.readouterr().err
    assert (tmp_path / "out/a").stat().st_mtime_ns == changed
    (texts / "sub").mkdir()
    assert main(command) == 0
    assert "1 folder inside it is left out (sub)" in capsys.readouterr().err
    (texts / "a").write_bytes(b"unu\r\ndoi\n")
    assert main([*command[:-4], "--output", str(tmp_path / "other")]) == 0
    assert "a: 1 of 2 lines end in CR, which is read as text" in capsys.readouterr().err
    (texts / "a").write_text("unu doi trei\n\npatru cinci unu\n")
    assert main([*command, "--beam-size", "1"]) == 2
    assert "was begun with another" in capsys.readouterr().err


def test_a_calibration_voids_what_tells_a_confidence_and_nothing_else(
    model: Path, tmp_path: Path, capsys: Capture
) -> None:
    own = tmp_path / "own"
    shutil.copytree(model / "model", own)
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "in").write_text("unu doi trei\n")

    def status(name: str, *flags: str) -> int:
        capsys.readouterr()
        into = ("--output", str(tmp_path / name))
        return main(["translate", str(own), "--input", str(texts), *into, *flags])

    def calibrate(median: float) -> None:
        zeros, ones = (0.0,) * len(FEATURES), (1.0,) * len(FEATURES)
        fitted = Calibration(zeros, ones, zeros, 0.0, median, 100)
        add_to_model_folder(own, CALIBRATION, fitted.to_json())

    calibrate(50.0)
    assert status("plain") == status("sure", "--confidence", "--json") == 0
    record = tmp_path / "plain/.interlingua/in.json"
    told = json.loads(record.read_text())
    told["request"]["model"] = hashlib.sha256((own / "manifest.json").read_bytes()).hexdigest()
    record.write_text(json.dumps(told, sort_keys=True))  # as earlier versions told it
    assert status("plain") == 0
    calibrate(60.0)
    assert status("plain") == 0
    assert "1 of 1 lines were translated before" in capsys.readouterr().err
    assert status("sure", "--confidence", "--json") == 2
    assert "was begun with another text, model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--output out --stream", "without --stream"),
        ("--output out --n-best 2", "needs --json"),
        ("--output out --part-lines 0", "--part-lines must be at least 1"),
        ("--output out --ray --ray-workers 0", "--ray-workers must be at least 1"),
        ("", "give both"),
        ("--output in", "holds the text itself"),
        ("--output in/a", "must be a folder"),
    ],
)
def test_what_cannot_be_done_is_said(
    model: Path,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    flags: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    Path("in/a").write_text("unu\n")
    assert main(["translate", str(model), "--input", "in", *flags.split()]) in (2, 6)
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert Path("in/a").read_text() == "unu\n"


def test_a_number_of_lines_is_refused_for_one_file_too(
    model: Path, tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "text"
    file.write_text("unu\n")
    assert main(["translate", str(model), "--input", str(file), "--part-lines", "0"]) == 2
    assert "--part-lines must be at least 1" in capsys.readouterr().err


@pytest.mark.slow
def test_ten_thousand_lines_on_ray_with_a_worker_killed(model: Path) -> None:
    script = Path(__file__).parents[2] / "benchmarks" / "prove_ray.py"
    flags = ["--lines", "10000", "--part-lines", "500", "--model", str(model), "--words"]
    done = subprocess.run(
        [sys.executable, str(script), *flags, " ".join(NUMBERS)],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10,000 lines, in order" in done.stdout


def test_a_file_may_be_called_as_the_record_of_another(model: Path, tmp_path: Path) -> None:
    texts = tmp_path / "in"
    texts.mkdir()
    for name in ("talk", "talk.json"):
        (texts / name).write_text("unu doi trei\n")
    command = ["translate", str(model), "--input", str(texts), "--output", str(tmp_path / "out")]
    assert main(command) == 0
    assert (tmp_path / "out/talk").read_text() == (tmp_path / "out/talk.json").read_text()
