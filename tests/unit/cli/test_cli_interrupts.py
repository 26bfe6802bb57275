"""A signal ends a command, but not in the middle of an import, where a library might swallow what it raises."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("minds_hangup")

COMMAND = """
import signal, sys, time
from interlingua import cli
from interlingua.cli.dispatch import CommandLine
sys.argv[1:] = ["translate"]
CommandLine.run = lambda self, arguments: __import__(SYS_ARGV) and time.sleep(20)
sys.exit(cli.main())
"""
SWALLOWS = """
import os, time
try:
    os.kill(os.getpid(), {number})
    time.sleep(0.2)
except BaseException:
    print("swallowed")
print("imported")
"""


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_during_an_import_is_not_lost(tmp_path: Path, number: int, status: int) -> None:
    (tmp_path / "half.py").write_text(SWALLOWS.format(number=int(number)))
    done = subprocess.run(
        [sys.executable, "-c", COMMAND.replace("SYS_ARGV", "'half'")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert done.stdout == "imported\n"


def test_a_signal_at_any_other_moment_ends_the_command_at_once(tmp_path: Path) -> None:
    (tmp_path / "whole.py").write_text("print('imported', flush=True)\n")
    command = [sys.executable, "-c", COMMAND.replace("SYS_ARGV", "'whole'")]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "imported\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 143


WRAPS = """
import os, sys, time
from interlingua import cli
from interlingua.cli.dispatch import CommandLine
sys.argv[1:] = ["translate"]
def run(self, arguments):
    try:
        os.kill(os.getpid(), {number})
        time.sleep(20)
    except BaseException as error:
        raise RuntimeError(f"error in a function: {{error!r}}") from None
CommandLine.run = run
sys.exit(cli.main())
"""


@pytest.mark.parametrize(
    ("number", "status", "words"),
    [
        (signal.SIGINT, 130, "stopped by Ctrl-C\n"),
        (signal.SIGTERM, 143, ""),
        (signal.SIGHUP, 129, ""),
    ],
)
def test_an_error_that_a_library_makes_of_a_signal_is_the_signal(
    number: int, status: int, words: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WRAPS.format(number=int(number))],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (status, words)


def test_a_closed_terminal_that_somebody_ignores_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "whole.py").write_text(
        "import os\nos.kill(os.getpid(), 1)\nprint('went on')\nraise SystemExit(0)\n"
    )
    command = [sys.executable, "-c", COMMAND.replace("SYS_ARGV", "'whole'")]
    done = subprocess.run(["nohup", *command], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"went on\n")


HANDS_OVER = """
import time
from interlingua.cli.interrupts import leaving_when_told
from interlingua.training.stopping import listen_for_stop
with leaving_when_told():
    import interrupted
    with listen_for_stop() as stop:
        until = time.monotonic() + 5
        while not stop() and time.monotonic() < until:
            time.sleep(0.01)
        print("training was told", stop.number)
"""


def test_a_training_that_began_after_the_import_is_told_of_it(tmp_path: Path) -> None:
    """It stops in its own way; what is raised into it would come in the middle of a save."""
    kill = f"import os\nos.kill(os.getpid(), {int(signal.SIGTERM)})\n"
    (tmp_path / "interrupted.py").write_text(kill)
    done = subprocess.run(
        [sys.executable, "-c", HANDS_OVER],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.returncode) == (f"training was told {int(signal.SIGTERM)}\n", 0)


LEAVES = """
import atexit, os
from interlingua import cli
from interlingua.cli.dispatch import CommandLine
CommandLine.run = lambda self, arguments: 0
atexit.register(lambda: os.kill(os.getpid(), {number}))
raise SystemExit(cli.main())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_python_shuts_down_ends_it_in_silence(number: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAVES.format(number=int(number))],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (-number, "")


@pytest.mark.parametrize(
    ("what", "status"), [("--version >&-", 0), ("nothing-of-that-name 2>&-", 2)]
)
def test_a_stream_that_the_caller_has_closed_is_not_missed(what: str, status: int) -> None:
    done = subprocess.run(["bash", "-c", f"{sys.executable} -m interlingua {what}"], check=False)
    assert done.returncode == status
