"""Ctrl-C and SIGTERM, from the first moment of a command; training listens for itself while it runs."""

import signal
from types import FrameType

__all__ = ["leave_when_told"]

_AGAIN = 0.05
"""Seconds until a signal that came during an import is looked at again."""


def leave_when_told() -> None:
    """Unwind on SIGTERM as on Ctrl-C, so that no temporary file stays behind; the status is 143 or 130."""
    signal.signal(signal.SIGTERM, _leave)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else somebody ignores it
        signal.signal(signal.SIGINT, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    """Raise what ends the command; while a module is being imported, wait until it is there.

    An exception in the middle of an import may be swallowed by a library that can do without that module, and leaves half a
    module behind: torch went on without numpy, and numpy then lacked a part of itself.
    """
    if _is_importing(frame) and hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda _, later: _leave(number, later))
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        return
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False
