"""What happens around the compilers that make the kernels."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

import pytest

from interlingua.kernels import native


class Told(Exception):
    """Stands for what a signal raises in the main thread."""


def test_whoever_is_told_to_stop_does_not_wait_for_the_compilers(tmp_path: Path) -> None:
    def tell(number: int, frame: FrameType | None) -> None:
        raise Told

    alive = tmp_path / "alive"  # what a compiler has started must end with it
    child = f"import pathlib, time; time.sleep(4); pathlib.Path({str(alive)!r}).touch()"
    slow = ["sh", "-c", f'{sys.executable} -c "{child}" & wait']
    before = signal.signal(signal.SIGALRM, tell)
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    started = time.monotonic()
    try:
        with pytest.raises(Told):
            native._run_together([slow, ["sleep", "60"]])
    finally:
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - started < 4
    time.sleep(5)
    assert not alive.exists()


def test_a_compiler_that_fails_says_why() -> None:
    with pytest.raises(subprocess.CalledProcessError) as told:
        native._run_together([["true"], ["sh", "-c", "echo no room >&2; exit 3"]])
    assert (told.value.returncode, told.value.stderr) == (3, b"no room\n")
