"""The scripts of `make prove-quality`: what is done is not done again, and what is asked otherwise does not go on from it.

With corpora of numbers in words; what the proofs say of real text takes hours to tell.
"""

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
DIGITS = {"en": "one two three four five six", "de": "eins zwei drei vier fünf sechs"}
DIGITS["ro"] = "unu doi trei patru cinci șase"
PARTS = {
    "multi30k_en_de": (("en", "de"), ("train", "valid", "test_2016_flickr")),
    "tatoeba_en_de": (("en", "de"), ("train", "valid", "test")),
    "ro_en/sts": (("ro", "en"), ("train", "valid", "test")),
}
"""The languages of each corpus, and its parts."""
FEW = {"valid": slice(0, None, 59), "test": slice(30, None, 59), "train": slice(1, None, 2)}

PROOFS = [
    pytest.param(
        "prove_transfer",
        "--preset tiny --base-updates 20 --updates 20 --seeds 1 --pairs 200",
        "from-preset-tiny-updates-20/pairs-200-updates-20/seed-1/transfer",
        id="transfer",
    ),
    pytest.param(
        "prove_learning_curve",
        "--updates 20 --only captions --most-pairs 1000 --figure curve.png",
        "updates-20/captions-1000/run",
        id="learning-curve",
    ),
]
"""Each script, flags that make it small, and where one of its runs is. The others' models are too large for a test, or write nothing of use
after so few updates."""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The corpora, small."""
    folder = tmp_path / "data"
    words = {lang: said.split() for lang, said in DIGITS.items()}
    every = list(itertools.product(range(6), repeat=4))
    for corpus, (langs, parts) in PARTS.items():
        (folder / corpus).mkdir(parents=True)
        for part in parts:
            some = every[FEW[part.split("_")[0]]] * (2 if part == "train" else 1)
            for lang in langs:
                lines = [" ".join(words[lang][digit] for digit in each) for each in some]
                text = "".join(f"{line}\n" for line in lines)
                (folder / corpus / f"{part}.{lang}").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INTERLINGUA_DATA", str(folder))
    return folder


@pytest.fixture
def proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a test import the scripts."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")


def prove(script: str, flags: str) -> subprocess.CompletedProcess[str]:
    """Run a script; its promises cannot be kept by so little."""
    command = [sys.executable, str(ROOT / f"benchmarks/{script}.py"), "--runs", "runs"]
    done = subprocess.run(
        [*command, *flags.split()],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert "the command ended with status" not in done.stderr
    return done


def table(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return what is told after the last command."""
    told = done.stdout.rpartition("$ interlingua")[2].splitlines()
    return [line for line in told if "BLEU" in line or line.startswith("|")]


def weights() -> dict[Path, bytes]:
    """Return the weights of every run, without the copies of a checkpoint."""
    return {path: path.read_bytes() for path in Path("runs").rglob("model/model.safetensors")}


@pytest.mark.slow
@pytest.mark.parametrize(("script", "flags", "run"), PROOFS)
def test_what_is_trained_is_not_trained_again(
    script: str, flags: str, run: str, data: Path
) -> None:
    first = prove(script, flags)
    trained = weights()
    assert Path("runs", run, "model/model.safetensors") in trained
    second = prove(script, flags)
    assert weights() == trained
    assert table(second) == table(first) != []
    again = re.findall(r"^\$ interlingua (train|translate|evaluate) ", second.stdout, re.MULTILINE)
    assert set(again) <= {"train"}
    assert len(again) == second.stderr.count("nothing is left to train")


@pytest.mark.slow
def test_another_number_of_updates_begins_anew(data: Path) -> None:
    flags = "--only captions --most-pairs 1000 --figure curve.png"
    prove("prove_learning_curve", f"--updates 10 {flags}")
    short = weights()
    told = prove("prove_learning_curve", f"--updates 20 {flags}")
    assert {path: weights()[path] for path in short} == short
    assert "| 20, " in told.stdout
    assert sorted(path.name for path in Path("runs").glob("updates-*")) == [
        "updates-10",
        "updates-20",
    ]


def test_every_setting_names_its_folder(proofs: None) -> None:
    from prove_commands import settings_folder

    asked = [
        {"updates": 2_000},
        {"updates": 6_000},
        {"updates": 6_000, "pairs": 300},
        {"minutes": 10.0, "updates": None},
        {"minutes": 2.5, "updates": None},
    ]
    names = [str(settings_folder(Path("runs"), **each)) for each in asked]
    assert names == [
        "runs/updates-2000",
        "runs/updates-6000",
        "runs/updates-6000-pairs-300",
        "runs/minutes-10",
        "runs/minutes-2.5",
    ]
    assert settings_folder(Path("runs"), updates=None) == Path("runs")


def test_a_search_of_too_few_trials_proves_nothing(
    proofs: None, capsys: pytest.CaptureFixture[str]
) -> None:
    from prove_presets import Task, tell

    task = Task("multi30k-1000", Path("a"), Path("b"), Path("c"), "en", "de", 1_000, 3.0)
    found = {"bleu": 10.0, "low": 9.0, "high": 11.0, "validation": 10.0, "options": ""}
    found["signature"] = ""
    assert tell(task, found, [found] * 20, 20)
    assert not tell(task, found, [found] * 19, 20)
    assert "only 19 of 20 trials count" in capsys.readouterr().out
    assert not tell(task, found, [], 20)


def test_bands_that_do_not_hold_are_counted(
    proofs: None, capsys: pytest.CaptureFixture[str]
) -> None:
    from prove_learning_curve import Corpus, Point, judge

    counted = {
        "pairs": 2_000,
        "measured": 2_000,
        "source_words": 20_000,
        "target_words": 20_000,
        "word_types": 4_000,
        "characters": 60,
        "shared_script": 0.9,
        "familiarity": None,
    }
    corpus = Corpus("captions", Path("a"), Path("b"), Path("c"), ("en", "de"))

    def point(bleu: float) -> Point:
        return Point(corpus, 2_000, 0.25, {"validation_bleu": bleu, "statistics": counted})

    band = point(0.0).band
    good, bad = point((band.low + band.high) / 2), point(band.high + 1)
    assert judge([good, good, good, good, bad])
    assert not judge([good, good, good, bad])
    assert "held 3 of 4 times" in capsys.readouterr().out


@pytest.fixture
def quality(
    proofs: None, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    """The script of all proofs, with one proof that writes down each time that it is run."""
    import prove_quality

    (tmp_path / "proof.py").write_text("open('times', 'a').write('I')\nprint('BLEU 42')\n")
    monkeypatch.setattr(prove_quality, "PROOFS", {"some": str(tmp_path / "proof.py")})
    monkeypatch.setattr(prove_quality, "describe_commit", lambda: "abc1234")
    return prove_quality


def times_proved(quality: ModuleType, monkeypatch: pytest.MonkeyPatch, *flags: str) -> int:
    monkeypatch.setattr(sys, "argv", ["prove_quality.py", *flags])
    with pytest.raises(SystemExit) as ended:
        quality.main()
    assert ended.value.code == 0
    return len(Path("times").read_text())


def test_what_is_proved_says_at_which_commit_and_when(
    quality: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert times_proved(quality, monkeypatch) == 1
    kept = json.loads(Path("runs/prove-quality/results.json").read_text())["some"]
    assert kept["commit"] == "abc1234"
    assert kept["machine"] == quality.describe_machine()
    capsys.readouterr()
    assert times_proved(quality, monkeypatch) == 1
    told = capsys.readouterr().out
    assert f"some: proved already, in 0 minutes on {kept['date']}, at commit abc1234" in told
    assert "the present commit" not in told


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ("def5678", "the present commit is def5678"),
        (None, "the present commit is unknown"),
    ],
)
def test_a_proof_of_another_commit_is_pointed_out_and_stays(
    now: str | None,
    said: str,
    quality: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    times_proved(quality, monkeypatch)
    monkeypatch.setattr(quality, "describe_commit", lambda: now)
    assert times_proved(quality, monkeypatch) == 1
    assert said in capsys.readouterr().out
    assert times_proved(quality, monkeypatch, "--again", "some") == 2


def test_changed_files_may_be_others_than_those_that_were_proved(
    quality: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(quality, "describe_commit", lambda: "abc1234-dirty")
    times_proved(quality, monkeypatch)
    capsys.readouterr()
    times_proved(quality, monkeypatch)
    assert "files may have changed since" in capsys.readouterr().out


def test_without_git_no_commit_is_known(
    proofs: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prove_commands import describe_commit

    monkeypatch.setenv("PATH", str(tmp_path))
    assert describe_commit() is None


def test_a_row_that_was_just_written_does_not_make_the_next_one_of_changed_files(
    proofs: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import prove_commands

    def git(*words: str) -> None:
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    record, source = tmp_path / "benchmarks/RESULTS.md", tmp_path / "source.py"
    record.parent.mkdir()
    for file in (record, source):
        file.write_text("before\n")
    git("init")
    git("add", ".")
    git("commit", "--message", "Begin")
    monkeypatch.setattr(prove_commands, "RECORD", record)
    record.write_text("a row\n")
    commit = prove_commands.describe_commit()
    assert commit is not None
    assert "dirty" not in commit
    source.write_text("after\n")
    assert prove_commands.describe_commit() == f"{commit}-dirty"
