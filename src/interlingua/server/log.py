"""What the server writes to standard error: lines of its own, and never what an error or another package says.

A text of a client may be quoted in the message of an error, in the lines of a traceback, or in a warning of a parser. So an
error is told by its kind and its places, and loggers of other packages are not heard.
"""

import asyncio
import json
import logging
import sys
import threading
import time
import traceback
from types import TracebackType
from typing import Any

__all__ = ["hear_only_ourselves", "hear_the_loop", "tell_error", "tell_event", "timestamp"]

_LOG = logging.getLogger("interlingua.server")
_OTHERS = ("asyncio", "multipart", "python_multipart", "uvicorn")
_MOST_PLACES = 4


def tell_error(error: BaseException) -> None:
    """Write one line about an error: its kind, and where it broke."""
    places = [f"{each.name}:{each.lineno}" for each in traceback.extract_tb(error.__traceback__)]
    _LOG.error("%s at %s", type(error).__name__, " > ".join(places[-_MOST_PLACES:]) or "nowhere")


def tell_event(event: str, **facts: str | int | float) -> None:
    """Write one line of JSON about something that happened to the server; ``facts`` hold nothing of a client's."""
    _LOG.warning("%s", json.dumps({"time": timestamp(), "event": event} | facts))


def timestamp() -> str:
    """Return the time of now as every line of JSON has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def hear_only_ourselves() -> None:
    """Silence the loggers of other packages in this process, and tell of what nobody caught in one line."""
    for name in _OTHERS:
        logger = logging.getLogger(name)
        logger.propagate = False  # what its children say ends here, too
        logger.handlers = [logging.NullHandler()]
    threading.excepthook = _tell_of_thread
    sys.excepthook = _tell_of_process


def hear_the_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Tell of what a callback or a task of ``loop`` left uncaught in one line."""
    loop.set_exception_handler(_tell_of_loop)


def _tell_of_loop(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    if isinstance(error, BaseException):
        tell_error(error)


def _tell_of_thread(broken: threading.ExceptHookArgs) -> None:
    if broken.exc_value is not None:
        tell_error(broken.exc_value)


def _tell_of_process(
    kind: type[BaseException], error: BaseException, places: TracebackType | None
) -> None:
    tell_error(error)
