"""Ctrl-C, SIGTERM and SIGHUP, from the first moment of a command; training listens for itself while it runs."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

__all__ = ["Told", "leaving_when_told"]

_AGAIN = 0.05
"""Seconds until a signal that came during an import is looked at again."""


@dataclass
class Told:
    """Which signal a command was told to end by, if one came."""

    number: int | None = None


@contextmanager
def leaving_when_told() -> Iterator[Told]:
    """Unwind on SIGTERM and SIGHUP as on Ctrl-C, so that no temporary file or process stays behind; the status is 143, 129 or 130.

    A signal that somebody ignores on purpose, as ``nohup`` does, stays ignored.

    A library that calls back from another language may make an error of its own of what the handler raises: whoever meets an
    error looks first whether a signal came.

    After the block a signal ends the process at once: while Python shuts down nobody catches what a handler raises.
    """
    ours = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        ours.append(signal.SIGINT)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        ours.append(signal.SIGHUP)
    told = Told()

    def leave(number: int, frame: FrameType | None) -> None:
        _leave(number, frame, told)

    for number in ours:
        signal.signal(number, leave)
    try:
        yield told
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _leave(number: int, frame: FrameType | None, told: Told) -> None:
    """Raise what ends the command; while a module is being imported, wait until it is there.

    An exception in the middle of an import may be swallowed by a library that can do without that module, and leaves half a
    module behind: torch went on without numpy, and numpy then lacked a part of itself.
    """
    if _is_importing(frame) and hasattr(signal, "setitimer"):
        # Whoever listens by then hears it: a training that has begun in the meantime stops in its own way.
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(number))
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        return
    told.number = number
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False
