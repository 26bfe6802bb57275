"""What `make bench-training` concludes of what it measured: its exit status must not pass over what failed or was left out."""

import json
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
OURS = ("Interlingua", "bf16")
FAILED = {"tokens_a_second": 0.0, "failed": "ValueError: no such layer"}
MET, UNMET = {"met": True}, {"met": False}

Runs = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test import the benchmark."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")


def ran(*speeds: float) -> Runs:
    return [{"tokens_a_second": speed} for speed in speeds]


def judged(ours: Runs, others: dict[tuple[str, str], Runs] | None = None) -> dict[str, Any]:
    """A row of three rounds that asks for twice the best peer, which is Eole in bfloat16 with 100 tokens a second or so."""
    from training_rows import Row
    from training_verdict import summarise

    peers = {
        ("Eole", "fp32"): ran(50.0),
        ("Eole", "bf16"): ran(100.0, 110.0, 90.0),
        ("JoeyNMT", "bf16"): ran(70.0),
    }
    row = Row("small", "small", "bf16", "all", must=2.0, reach=3.0)
    rounds = {**peers, **(others or {}), OURS: ours}
    return summarise(row, rounds, ran(500.0, 500.0, 500.0), [0.5, 0.5, 0.5], near=0.8)


def written(row: dict[str, Any]) -> str:
    from training_verdict import table_of

    return table_of([row], [])


def test_a_row_is_met_by_the_median_ratio_to_the_best_peer() -> None:
    row = judged(ran(190.0, 231.0, 190.0))
    assert row["best_peer"] == "Eole bf16"
    assert row["ratio"]["median"] == pytest.approx(2.1)
    assert row["met"]
    assert not row["failures"]
    assert "| Eole bf16 | 2.0 | yes |" in written(row)


def test_a_row_below_its_ratio_is_not_met() -> None:
    row = judged(ran(190.0, 190.0, 170.0))
    assert not row["met"]
    assert "| Eole bf16 | 2.0 | NO |" in written(row)


def test_a_peer_that_failed_altogether_leaves_its_row_unmet() -> None:
    row = judged(ran(300.0, 300.0, 300.0), {("JoeyNMT", "bf16"): [FAILED]})
    assert row["ratio"]["median"] > 2.0
    assert not row["met"]
    assert (
        "* small: JoeyNMT failed in every arithmetic: ValueError: no such layer"
        in written(row).splitlines()
    )


def test_a_peer_that_failed_in_one_arithmetic_is_told_and_counts_in_the_other() -> None:
    row = judged(ran(300.0, 300.0, 300.0), {("Eole", "fp32"): [FAILED]})
    assert row["met"]
    assert "| small | Eole fp32 | failed: ValueError: no such layer |" in written(row)


def test_what_everybody_gets_stands_beside_what_may_be_asked_for() -> None:
    from training_rows import Row
    from training_verdict import summarise

    rounds = {
        ("Interlingua", "int8"): ran(300.0, 300.0),
        ("Interlingua", "bf16"): ran(180.0, 190.0),
        ("Eole", "bf16"): ran(100.0, 100.0),
    }
    row = Row("small", "small", "int8", "all", must=2.0, reach=3.0, default="bf16")
    found = summarise(row, rounds, ran(500.0, 500.0), [0.5, 0.5], near=0.8)
    assert found["best_peer"] == "Eole bf16"
    assert found["met"]
    assert "| small: Interlingua int8 | 3.00 (3.00 to 3.00) | Eole bf16 | 2.0 | yes |" in written(
        found
    )
    by_default = (
        "| small, by default: Interlingua bf16 | 1.85 (1.80 to 1.90) | Eole bf16 | 2.0 | NO |"
    )
    assert by_default in written(found)
    rounds["Interlingua", "bf16"] = [FAILED, *ran(190.0)]
    assert not summarise(row, rounds, ran(500.0, 500.0), [0.5, 0.5], near=0.8)["met"]


def test_ours_may_not_fail_in_any_round() -> None:
    row = judged([*ran(300.0, 300.0), FAILED])
    assert row["ratio"]["median"] > 2.0
    assert not row["met"]
    assert row["failures"] == ["Interlingua bf16 failed in a round: ValueError: no such layer"]


def test_the_best_peer_is_the_fastest_even_if_it_mostly_fails_and_it_may_not() -> None:
    rarely = [*ran(120.0), FAILED, *ran(120.0)]
    row = judged(ran(260.0, 260.0, 260.0), {("Marian", "fp32"): rarely})
    assert row["best_peer"] == "Marian fp32"
    mostly = [*ran(120.0), FAILED, FAILED]
    row = judged(ran(260.0, 260.0, 260.0), {("Marian", "fp32"): mostly})
    assert row["best_peer"] == "Marian fp32"
    assert not row["met"]
    assert row["failures"] == ["Marian fp32 failed in a round: ValueError: no such layer"]
    slower = [*ran(85.0), FAILED, FAILED]
    assert judged(ran(260.0, 260.0, 260.0), {("Marian", "fp32"): slower})["met"]


def test_where_no_peer_ran_nothing_is_met() -> None:
    every = [("Eole", "fp32"), ("Eole", "bf16"), ("JoeyNMT", "bf16")]
    row = judged(ran(300.0, 300.0, 300.0), {system: [FAILED] for system in every})
    assert row["best_peer"] == "none ran"
    assert not row["met"]
    assert len(row["failures"]) == 2
    assert "the limit" not in written(row)


@pytest.mark.parametrize(
    ("rows", "others", "missing", "is_met"),
    [
        ([MET, MET], [MET], [], True),
        ([], [MET], [], True),
        ([MET, UNMET], [MET], [], False),
        ([MET], [UNMET], [], False),
        ([MET], [MET], ["base"], False),
        ([], [], [], False),
    ],
)
def test_all_is_met_if_everything_was_measured_and_is_met(
    rows: Runs, others: Runs, missing: list[str], is_met: bool
) -> None:
    from training_verdict import all_met

    assert all_met(rows, others, missing) is is_met


def test_two_processes_may_not_fail_in_any_round() -> None:
    from training_verdict import requirement_of_processes, table_of

    assert requirement_of_processes([1.9, 1.9, 1.7], [])["met"]
    assert not requirement_of_processes([1.7, 1.9, 1.7], [])["met"]
    failed = requirement_of_processes([1.9, 1.9, 0.0], ["RuntimeError: no port"])
    assert not failed["met"]
    assert "| failed: RuntimeError: no port | 1.8 | NO |" in table_of([], [failed])


def test_the_reason_of_a_process_is_told_not_what_torchrun_says_of_it() -> None:
    from training_systems import error_of

    told = (
        "[rank1]: Traceback (most recent call last):\n"
        '[rank1]:   File "ours.py", line 3, in <module>\n'
        "[rank1]: RuntimeError: no memory\n"
        "    raise ChildFailedError(\n"
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
        "ours.py FAILED\n"
    )
    assert error_of(told) == "RuntimeError: no memory"
    assert error_of("advice\nKilled\n") == "Killed"
    assert error_of("") == "no message"


COUNTS = """
import os, sys
count = 0
for _ in sys.stdin if os.environ.get("BENCH_KEPT") else [None]:
    count += 1
    print("a library says something")
    print(float(count), flush=True)
"""


SYSTEM = """
import json, os, sys
speed = {first} / (1 + 9 * ("fp32" in sys.argv))
for _ in sys.stdin if os.environ.get("BENCH_KEPT") else [None]:
    if "peak.py" in sys.argv[0]:
        print(speed, flush=True)
        continue
    found = dict.fromkeys(("seconds", "loss", "start_seconds", "warmup_seconds", "peak_bytes"), 1.0)
    print(json.dumps(found | dict(tokens_a_second=speed)), flush=True)
    speed += 1
"""


def program(text: str, *, is_kept: bool, patience: float = 60.0) -> Any:
    from training_systems import System

    return System([sys.executable, "-c", text], {}, patience, is_kept=is_kept)


def test_a_program_is_started_for_each_round_or_kept() -> None:
    anew, kept = program(COUNTS, is_kept=False), program(COUNTS, is_kept=True)
    assert [anew.measure() for _ in range(2)] == [1, 1]
    assert anew.process is None
    assert [kept.measure() for _ in range(3)] == [1, 2, 3]
    kept.end()
    assert [kept.measure() for _ in range(2)] == [1, 2]
    kept.end()
    kept.end()  # which may be said again


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_program_that_fails_says_why(is_kept: bool) -> None:
    from training_systems import SystemFailed

    failing = program("raise ValueError('no such layer')", is_kept=is_kept)
    with pytest.raises(SystemFailed, match="no such layer"):
        failing.measure()
    slow = program("import time; time.sleep(60)", is_kept=is_kept, patience=0.5)
    with pytest.raises(SystemFailed, match="stopped after"):
        slow.measure()
    assert slow.process is None


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int | str | None]:
    """Start the benchmark with flags and return its exit status; each row that it measures is met."""
    import training

    def measured(asked: list[str], arguments: Namespace) -> tuple[Runs, Runs]:
        return [{"name": name, "met": True} for name in asked], []

    def start(*flags: str, has_bfloat16: bool = True) -> int | str | None:
        monkeypatch.setattr(training, "measure", measured)
        monkeypatch.setattr(training, "has_bfloat16", lambda: has_bfloat16)
        monkeypatch.setattr("sys.argv", ["training.py", *flags, "--json"])
        with pytest.raises(SystemExit) as ended:
            training.main()
        return ended.value.code

    return start


def test_the_status_speaks_of_every_row_or_of_those_asked_for(
    started: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert started() == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["met"] is True
    assert "not measured" not in err
    assert started("--rows", "small", "base, fp32") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["command"] == ("benchmarks/training.py --rows small 'base, fp32' --json")
    assert "not measured, and not in the exit status: base; tiny; small, AVX2; " in err


def test_a_processor_without_bfloat16_cannot_meet_the_row_base(
    started: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert started(has_bfloat16=False) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["met"] is False
    assert json.loads(out)["not_measured"] == ["base"]
    assert "not met, as this processor has no instructions for bfloat16: row base" in err
    assert started("--rows", "base", has_bfloat16=False) == 2
    assert "'base' needs a processor with instructions for bfloat16" in capsys.readouterr().err
    assert started("--rows", "small", has_bfloat16=False) == 0


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--device", "cuda", "--rows", "two processes"), "no row 'two processes' with --device"),
        (("--rows", "huge"), "no row 'huge' with --device cpu; there are base; small; tiny; "),
        (("--rounds", "0"), "--rounds must be at least 1"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    flags: tuple[str, ...],
    told: str,
    started: Callable[..., Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert started(*flags) == 2
    assert told in capsys.readouterr().err


def test_the_record_names_the_command() -> None:
    from training import command_of

    assert command_of([]) == "make bench-training"
    assert command_of(["--rows", "small"]) == "benchmarks/training.py --rows small"


def test_a_changed_package_is_installed_and_the_same_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from peer_environments import TORCH, environment_of

    installed: list[list[str]] = []

    def run(command: list[str], check: bool) -> None:
        assert check
        (tmp_path / "joey").mkdir(exist_ok=True)
        if "pip" in command:
            installed.append(command[command.index("--quiet") + 1 :])

    monkeypatch.setattr(subprocess, "run", run)
    for package in ("joeynmt==2", "joeynmt==2", "joeynmt==3"):
        python = environment_of("JoeyNMT", (TORCH, package), tmp_path / "joey")
        assert python == tmp_path / "joey" / "bin" / "python"
    assert installed == [[TORCH, "joeynmt==2"], [TORCH, "joeynmt==3"]]
    assert f"installing JoeyNMT and {TORCH}" in capsys.readouterr().err


def test_a_system_that_takes_too_long_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import training

    (tmp_path / "peers").mkdir()
    (tmp_path / "peers" / "slow.py").write_text("import time; time.sleep(60)\n")
    monkeypatch.setattr(training, "HERE", tmp_path)
    monkeypatch.setattr("sys.argv", ["training.py", "--patience", "0.1"])
    row, arguments = training.ROWS[0], training._read_arguments()
    system = training.system_of(Path(sys.executable), "slow.py", row, "bf16", tmp_path, arguments)
    found = training.run("Slow", row, "bf16", system)
    assert found == {"tokens_a_second": 0.0, "failed": "stopped after 0.1 s"}


def test_two_processes_alone_need_no_peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import training

    monkeypatch.setenv("INTERLINGUA_DATA", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["training.py", "--rows", training.PROCESSES])
    monkeypatch.setattr(training, "write_batches", lambda *_: None)
    monkeypatch.setattr(
        training, "measure_processes", lambda *_: {**MET, "name": "", "value": "", "must": ""}
    )
    monkeypatch.setattr(training, "record", lambda *_: None)
    monkeypatch.setattr(training, "environment_of", lambda *_: pytest.fail("a peer is installed"))
    arguments = training._read_arguments()
    rows, others = training.measure(arguments.rows, arguments)
    assert rows == []
    assert [one["met"] for one in others] == [True]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_row_is_measured_round_by_round(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import training
    from training_rows import Peer, Row

    (tmp_path / "peers").mkdir()
    for name, first in (("peak", 1e12), ("products", 900.0), ("ours", 500.0), ("eole", 200.0)):
        (tmp_path / "peers" / f"{name}.py").write_text(SYSTEM.format(first=first))
    monkeypatch.setattr(training, "HERE", tmp_path)
    monkeypatch.setattr(training, "PEERS", {"Eole": Peer("eole.py", (), ("fp32", "bf16"))})
    monkeypatch.setattr("sys.argv", ["training.py", "--rounds", "3", "--device", device])
    batches = tmp_path / "batches.json"
    batches.write_text(json.dumps({"vocabulary": 12, "batches": []}))
    row = Row("some", "small", "bf16", "all", must=2.0, reach=3.0)
    python = {"Eole": Path(sys.executable)}
    found = training.measure_row(row, batches, python, training._read_arguments())
    assert found["met"]
    assert found["best_peer"] == "Eole bf16"
    # One that is kept counts on; the others begin anew each time.
    assert found["ratio"]["median"] == pytest.approx(2.5 if device == "cpu" else 501 / 201)
    assert found["systems"]["Eole fp32"]["runs"] == 1
    assert found["systems"]["Eole bf16"]["runs"] == 3


def test_without_a_compiler_ours_and_only_ours_is_taken_from_the_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import training
    from training_rows import Peer, Row

    (tmp_path / "peers").mkdir()
    for name in ("peak", "products", "ours", "eole"):
        told = SYSTEM.format(first=500.0)
        needed = "import os, sys\nif (os.environ.get('FROM') == 'wheel') != {}: sys.exit('the other environment')\n"
        ours = name in ("products", "ours")
        (tmp_path / "peers" / f"{name}.py").write_text(needed.format(ours) + told)
    monkeypatch.setattr(training, "HERE", tmp_path)
    monkeypatch.setattr(training, "PEERS", {"Eole": Peer("eole.py", (), ("bf16",))})
    monkeypatch.setattr(training, "environment_of_wheel", lambda *_: (("FROM", "wheel"),))
    monkeypatch.setattr("sys.argv", ["training.py", "--rounds", "1"])
    batches = tmp_path / "batches.json"
    batches.write_text(json.dumps({"vocabulary": 12, "batches": []}))
    row = Row("some", "small", "bf16", "all", must=1.0, reach=3.0, is_from_wheel=True)
    python = {"Eole": Path(sys.executable)}
    found = training.measure_row(row, batches, python, training._read_arguments())
    assert found["failures"] == []
    assert found["products_alone"]["failed"] is None
    assert found["met"]


def test_large_products_that_fail_in_a_round_are_told_and_end_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import training
    from training_rows import Row

    (tmp_path / "peers").mkdir()
    (tmp_path / "peers" / "peak.py").write_text("raise ValueError('no such layer')\n")
    for name in ("products", "ours"):
        (tmp_path / "peers" / f"{name}.py").write_text(SYSTEM.format(first=500.0))
    monkeypatch.setattr(training, "HERE", tmp_path)
    monkeypatch.setattr("sys.argv", ["training.py", "--rounds", "1"])
    batches = tmp_path / "batches.json"
    batches.write_text(json.dumps({"vocabulary": 12, "batches": []}))
    row = Row("some", "small", "bf16", "all", must=2.0, reach=3.0)
    found = training.measure_row(row, batches, {}, training._read_arguments())
    assert found["share_of_peak"]["median"] == 0.0
    assert "large products: failed: ValueError: no such layer" in capsys.readouterr().err


def test_two_processes_that_take_too_long_are_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import training

    (tmp_path / "peers").mkdir()
    (tmp_path / "peers" / "ours.py").write_text("import time; time.sleep(60)\n")
    monkeypatch.setattr(training, "HERE", tmp_path)
    monkeypatch.setattr("sys.argv", ["training.py", "--patience", "0.1", "--rounds", "1"])
    found = training.measure_processes(tmp_path / "batches.json", training._read_arguments())
    assert found["value"] == "failed: stopped after 0.1 s"
    assert not found["met"]
