"""The figures of a run over time."""

import contextlib
import json
import shutil
import sys
import threading
import warnings
from pathlib import Path

import pytest

from interlingua.errors import OutputError
from interlingua.training.metrics_log import MetricsLog, append_record, forget_after


def curve_in(folder: Path) -> list[tuple[int, float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return [(event.step, event.value) for event in events.Scalars("training/loss")]


def write_losses(log: MetricsLog, losses: dict[int, float]) -> None:
    for step, loss in losses.items():
        log.write({"step": step, "kind": "training", "loss": loss})
    log.close()


def test_every_figure_is_a_line_and_a_tensorboard_curve(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what TensorBoard's own imports complain about
        log = MetricsLog(tmp_path / "metrics.jsonl", tmp_path / "tensorboard")
        write_losses(log, {20: 3.5, 40: 2.5})
        assert curve_in(tmp_path / "tensorboard") == [(20, 3.5), (40, 2.5)]
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["loss"] for line in lines] == [3.5, 2.5]


@pytest.mark.parametrize(
    ("resumed_after", "left"), [(0, [(20, 1.0)]), (20, [(20, 3.5), (40, 1.0)])]
)
def test_the_curves_of_a_resumed_run_do_not_double_back(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    resumed_after: int,
    left: list[tuple[int, float]],
) -> None:
    pytest.importorskip("tensorboard")
    place = tmp_path / "metrics.jsonl", tmp_path / "tensorboard"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tensorboard.summary.writer import event_file_writer

        # Files are read in the order of their names: the second, the process, and their number in it as text, where 10
        # comes before 9. A run that is resumed has another second.
        monkeypatch.setattr(event_file_writer, "_global_uid", event_file_writer.AtomicCounter(0))
        write_losses(MetricsLog(*place), {20: 3.5, 40: 2.5, 60: 2.25})
        write_losses(MetricsLog(*place, step=resumed_after), {resumed_after + 20: 1.0})
        assert curve_in(tmp_path / "tensorboard") == left


def test_a_log_that_nothing_is_written_to_leaves_nothing(tmp_path: Path) -> None:
    MetricsLog(tmp_path / "metrics.jsonl", tmp_path / "tensorboard").close()
    assert list(tmp_path.iterdir()) == []


def test_a_broken_tensorboard_costs_the_curves_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tensorboard.py").write_text("raise ImportError('not for this release')")
    for name in [name for name in sys.modules if "tensorboard" in name.split(".")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    said: list[str] = []
    log = MetricsLog(tmp_path / "metrics.jsonl", tmp_path / "curves", say=said.append)
    write_losses(log, {20: 3.5, 40: 2.5})
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 2
    assert len(said) == 1
    assert "not for this release" in said[0]
    assert not (tmp_path / "curves").exists()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("noticed", ["by a record", "at the end"])
def test_curves_that_can_no_longer_be_written_cost_no_record(tmp_path: Path, noticed: str) -> None:
    pytest.importorskip("tensorboard")
    said: list[str] = []
    others = set(threading.enumerate())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what TensorBoard's own imports complain about
        log = MetricsLog(tmp_path / "metrics.jsonl", tmp_path / "curves", say=said.append)
        log.write({"step": 20, "kind": "training", "loss": 3.5})
    log._writer.flush()
    shutil.rmtree(tmp_path / "curves")
    log.write({"step": 40, "kind": "training", "loss": 2.5})
    if noticed == "by a record":
        with contextlib.suppress(OSError):
            log._writer.flush()
        log.write({"step": 60, "kind": "training", "loss": 2.25})
        assert said
    log.close()
    for thread in set(threading.enumerate()) - others:
        thread.join(10)  # what it ends with would be taken for a failure of the next test
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert len(lines) == (3 if noticed == "by a record" else 2)
    assert len(said) == 1
    assert "TensorBoard fails (" in said[0]


def test_a_resumed_run_forgets_what_it_will_write_again(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    for step in (10, 20, 30):
        append_record(path, {"step": step})
    with path.open("a") as file:
        file.write('{"step": 40, "lo')
    forget_after(path, 20)
    assert path.read_text() == '{"step": 10}\n{"step": 20}\n'
    forget_after(tmp_path / "absent.jsonl", 20)
    assert not (tmp_path / "absent.jsonl").exists()


@pytest.mark.parametrize(
    ("validated", "kept"),
    [(10, ["left-out", "training"]), (20, ["left-out", "training", "validation"])],
)
def test_what_a_validation_left_is_forgotten_if_it_is_made_up(
    tmp_path: Path, validated: int, kept: list[str]
) -> None:
    path = tmp_path / "metrics.jsonl"
    for kind in ("left-out", "training", "validation"):
        append_record(path, {"step": 20, "kind": kind})
    forget_after(path, 20, validated=validated)
    assert [json.loads(line)["kind"] for line in path.read_text().splitlines()] == kept


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="resumes"):
        append_record(tmp_path / "absent" / "metrics.jsonl", {"step": 1})
