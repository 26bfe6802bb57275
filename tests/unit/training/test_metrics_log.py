"""The figures of a run over time."""

import json
import warnings
from pathlib import Path

import pytest

from interlingua.errors import OutputError
from interlingua.training.metrics_log import MetricsLog, append_record, forget_after


def test_every_figure_is_a_line_and_a_tensorboard_curve(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what TensorBoard's own imports complain about
        log = MetricsLog(tmp_path / "metrics.jsonl", tmp_path / "tensorboard")
        log.write({"step": 20, "kind": "training", "loss": 3.5})
        log.write({"step": 40, "kind": "training", "loss": 2.5})
        log.close()
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        events = EventAccumulator(str(tmp_path / "tensorboard"))
        events.Reload()
    curve = [(event.step, event.value) for event in events.Scalars("training/loss")]
    assert curve == [(20, 3.5), (40, 2.5)]
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["loss"] for line in lines] == [3.5, 2.5]


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


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="resumes"):
        append_record(tmp_path / "absent" / "metrics.jsonl", {"step": 1})
