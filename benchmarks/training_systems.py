"""A program under measurement: started anew for each round, or once, and then told when to measure."""

import json
import os
import re
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

__all__ = ["System", "SystemFailed", "error_of"]


class SystemFailed(Exception):
    """A program that ended without a result; the message is its own last word."""


@dataclass
class System:
    """A program that prints what it measured as a line of JSON.

    On a graphics card each is kept: importing, building and compiling would take most of the time that one has there, and
    whoever waits takes nothing but memory. On a processor each round has a process of its own, and the next one its memory.

    Attributes:
        command: what is run.
        environment: variables beside those of this process.
        patience: seconds that a round may take, a start included.
        is_kept: the program waits for the next round.
    """

    command: list[str]
    environment: dict[str, str]
    patience: float
    is_kept: bool
    process: subprocess.Popen[str] | None = None
    told: list[str] = field(default_factory=list)
    """Lines of its standard error."""
    listener: threading.Thread | None = None

    def measure(self) -> Any:
        """Have it measure once, and return what it printed.

        Raises:
            SystemFailed: it ended with an error, or took too long; a program that is kept is started anew next time.
        """
        process = self.process or self._start()
        is_over = threading.Event()

        def stop() -> None:
            is_over.set()
            _kill(process)

        timer = threading.Timer(self.patience, stop)
        timer.start()
        try:
            found = self._ask(process)
        finally:
            timer.cancel()
        if is_over.is_set():
            self.end()
            raise SystemFailed(f"stopped after {self.patience:g} s")
        if found is None or (not self.is_kept and process.wait() != 0):
            self.end()
            raise SystemFailed(error_of("".join(self.told)))
        if not self.is_kept:
            self.end()
        return found

    def end(self) -> None:
        """Let a program that was kept go."""
        process, self.process = self.process, None
        if process is None:
            return
        assert process.stdin is not None
        with suppress(OSError):  # it may have ended, with the last line unread
            process.stdin.close()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            _kill(process)
            process.wait()
        if self.listener:
            self.listener.join()
        assert process.stdout is not None
        process.stdout.close()

    def _start(self) -> subprocess.Popen[str]:
        more = {"BENCH_STARTED": str(time.time())} | ({"BENCH_KEPT": "1"} if self.is_kept else {})
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | self.environment | more,
            start_new_session=True,
        )
        self.told.clear()
        self.listener = threading.Thread(target=self._listen, args=(self.process.stderr,))
        self.listener.start()
        return self.process

    def _listen(self, told: IO[str]) -> None:
        """Read what a program says beside its results, so that it never waits for a reader."""
        with told:
            self.told += told

    def _ask(self, process: subprocess.Popen[str]) -> Any | None:
        """Return the next result of a running program; None if it has none any more."""
        assert process.stdin is not None
        assert process.stdout is not None
        if self.is_kept:
            try:
                process.stdin.write("\n")
                process.stdin.flush()
            except OSError:  # it has ended
                return None
        for line in process.stdout:
            with suppress(ValueError):  # a library of a peer said something
                found = json.loads(line)
                if isinstance(found, dict | float):
                    return found
        return None


def _kill(process: subprocess.Popen[str]) -> None:
    """End a program and what it has started, which would hold its output open.

    It is asked first: the processes of torchrun are in sessions of their own, and it ends them itself, within 30 seconds.
    """
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=40)
        os.killpg(process.pid, signal.SIGKILL)


def error_of(stderr: str) -> str:
    """Return the last error that a program told of, or its last line; what torchrun says of its processes is no reason."""
    told = re.findall(r"^(?:\[rank\d+\]: )?([\w.]*Error\b.*)", stderr, re.MULTILINE)
    reasons = [line for line in told if "ChildFailedError" not in line]
    return (reasons or stderr.strip().splitlines() or ["no message"])[-1]
