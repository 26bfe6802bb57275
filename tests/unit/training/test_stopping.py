"""When training ends."""

import itertools
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from interlingua.training.schedule import learning_rate
from interlingua.training.stopping import BestSoFar, listen_for_stop
from interlingua.training.validation import Validation

pytestmark = pytest.mark.usefixtures("minds_hangup")


def validation(bleu: float, loss: float, exact: float = 0.0, sentences: int = 200) -> Validation:
    return Validation(loss=loss, bleu=bleu, chrf=bleu, exact=exact, sentences=sentences)


def test_the_best_translations_are_those_with_the_highest_bleu() -> None:
    best = BestSoFar()
    assert best.update(1, validation(10.0, 3.0))
    assert not best.update(2, validation(9.0, 2.0))
    assert best.update(3, validation(11.0, 2.5))
    assert (best.bleu, best.loss, best.step) == (11.0, 2.0, 3)


def test_where_no_reference_has_four_words_the_loss_decides() -> None:
    best = BestSoFar()
    assert best.update(1, replace(validation(0.5, 3.0), too_short_for_bleu=True))
    assert best.update(2, replace(validation(0.0, 1.0), too_short_for_bleu=True))
    assert best.step == 2


def test_patience_is_used_up_only_when_neither_bleu_nor_loss_gets_better() -> None:
    best = BestSoFar()
    best.update(1, validation(10.0, 3.0))
    best.update(2, validation(9.0, 2.9))
    assert best.reason_to_stop(patience=1) is None
    best.update(3, validation(9.5, 2.9))
    assert "no better validation" in (best.reason_to_stop(patience=1) or "")


def test_perfect_validations_in_a_row_end_the_training() -> None:
    best = BestSoFar()
    for step, exact in enumerate((100.0, 100.0, 99.0, 100.0, 100.0), start=1):
        best.update(step, validation(100.0, 1.0 / step, exact))
        assert best.reason_to_stop(patience=99) is None
    best.update(6, validation(100.0, 0.1, 100.0))
    assert "exact" in (best.reason_to_stop(patience=99) or "")


def test_two_perfect_sentences_prove_nothing() -> None:
    best = BestSoFar()
    for step in range(1, 9):
        best.update(step, validation(100.0, 1.0 / step, 100.0, sentences=2))
    assert best.reason_to_stop(patience=99) is None


def test_a_mean_serves_only_where_both_measures_are_next_to_the_best() -> None:
    best = BestSoFar()
    best.update(1, validation(20.0, 2.0))
    assert best.is_matched_by(validation(19.6, 2.01))
    assert not best.is_matched_by(validation(19.4, 2.0))
    # of all pairs it knows more than any single one, of the few that are decoded a little less
    assert best.is_matched_by(validation(19.4, 1.9))
    assert not best.is_matched_by(validation(17.9, 1.9))
    assert not best.is_matched_by(validation(20.1, 2.03))  # a weak model's BLEU tells nothing


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_sets_a_flag_and_the_old_handler_comes_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with listen_for_stop() as stop:
        assert not stop()
        os.kill(os.getpid(), number)
        assert stop()
        assert stop.number == number
    assert signal.getsignal(number) is before


def test_what_is_ignored_on_purpose_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with listen_for_stop() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop()
    finally:
        signal.signal(signal.SIGHUP, before)


BUSY = """
import pathlib, sys, threading, time
from interlingua.errors import OutputError
from interlingua.training import stopping

def save():
    pathlib.Path("saved").write_text(said[-1])
    if sys.argv[1] == "full":
        raise OutputError("the disk is full")
    if sys.argv[1] == "defect":
        raise ValueError("a defect")

stopping.RESCUE_SECONDS = 1.0
changing, said = threading.RLock(), ["nothing"]
with stopping.listen_for_stop() as stop, stop.rescued_by(save, changing):
    with changing:
        print("busy", flush=True)
        while not stop():
            time.sleep(0.01)
        time.sleep(1.5)
        said.append("a whole update")
    time.sleep(0.0 if sys.argv[1] == "quick" else 60.0)
print(stop, said[-1])
"""


@pytest.mark.parametrize(
    ("how", "number", "status", "out", "err"),
    [
        ("quick", signal.SIGTERM, 0, "SIGTERM a whole update", ""),
        ("slow", signal.SIGTERM, 143, "", "stopped by SIGTERM in the middle of its work"),
        ("slow", signal.SIGINT, 130, "", "stopped by Ctrl-C in the middle of its work"),
        ("slow", signal.SIGHUP, 129, "", "stopped by SIGHUP in the middle of its work"),
        ("full", signal.SIGTERM, 6, "", "error: the disk is full"),
        ("defect", signal.SIGTERM, 70, "", "error: ValueError('a defect') while the run was saved"),
    ],
)
def test_a_run_that_is_too_busy_to_stop_is_saved_and_ended(
    tmp_path: Path, how: str, number: signal.Signals, status: int, out: str, err: str
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY, how],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "busy\n"
    process.send_signal(number)
    told = process.communicate(timeout=30)
    assert (process.returncode, told[0].strip()) == (status, out), told[1]
    assert told[1].startswith(err)
    assert bool(told[1]) == bool(err)
    saved = tmp_path / "saved"
    assert saved.exists() == (how != "quick")
    assert not saved.exists() or saved.read_text() == "a whole update"


def test_a_run_whose_reader_is_gone_is_ended_too(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY, "slow"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "busy\n"
    process.stderr.close()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    process.stdout.close()
    assert (tmp_path / "saved").exists()


TALKS = """
import signal, sys, threading, time
from contextlib import nullcontext
from interlingua.training import stopping

with stopping.listen_for_stop() as stop:
    with stop.rescued_by(lambda: None, nullcontext()):
        if sys.argv[1] == "before":
            signal.raise_signal(signal.SIGTERM)
            time.sleep(0.2)
    with stop.last_words():
        if sys.argv[1] == "meanwhile":
            threading.Timer(0.2, signal.raise_signal, [signal.SIGTERM]).start()
        print("the end", file=sys.stderr, flush=True)
"""


@pytest.mark.parametrize(
    ("program", "how", "status"),
    [(BUSY, "slow", 143), (BUSY, "full", 6), (TALKS, "before", 143), (TALKS, "meanwhile", 143)],
)
def test_a_run_whose_words_nobody_reads_is_ended_too(
    tmp_path: Path, program: str, how: str, status: int
) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, b"." * 4096)
    os.set_blocking(writing, True)
    command = [sys.executable, "-c", program, how]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=writing)
    try:
        if program == BUSY:
            assert process.stdout is not None
            assert process.stdout.readline() == b"busy\n"
            process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == status
    finally:
        process.kill()
        process.communicate()
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_a_decay_reaches_zero_at_the_end_without_a_jump(schedule: str) -> None:
    rates = [
        learning_rate(step, peak=1.0, warmup_steps=100, schedule=schedule, progress=step / 1000)
        for step in range(1, 1001)
    ]
    assert rates[-1] == pytest.approx(0.0, abs=1e-12)
    assert max(rates) <= 1.0
    assert max(abs(a - b) for a, b in itertools.pairwise(rates)) < 0.011
