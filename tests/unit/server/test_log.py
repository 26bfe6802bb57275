"""An error is told in one line, without a word of what it says."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from interlingua.server import log
from interlingua.server.worker import Worker

SECRET = "nobody may read this"


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave the hooks and loggers of the test process as they are."""
    monkeypatch.setattr("sys.excepthook", log._tell_of_process)
    monkeypatch.setattr("threading.excepthook", log._tell_of_thread)
    kept = [(each, each.propagate, each.handlers) for each in map(logging.getLogger, log._OTHERS)]
    yield
    for logger, propagate, handlers in kept:
        logger.propagate, logger.handlers = propagate, handlers


def break_down() -> None:
    raise RuntimeError(SECRET)


def lines_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    assert not any(record.exc_info for record in caplog.records)
    assert SECRET not in caplog.text
    return [record.getMessage() for record in caplog.records]


def test_what_the_loop_a_thread_or_the_worker_left_uncaught(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    log.hear_only_ourselves()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        log.hear_the_loop(loop)
        loop.call_soon(break_down)
        await asyncio.sleep(0)

    asyncio.run(main())
    thread = Thread(target=break_down)
    thread.start()
    thread.join()
    with open(tmp_path / "answers", "wb") as answers:
        Worker(answers)._step(1, (break_down() for _ in range(1)))
    found = lines_of(caplog)
    assert len(found) == 3
    assert all(line.startswith("RuntimeError at ") and "break_down:" in line for line in found)


def test_other_packages_and_their_children_are_not_heard(caplog: pytest.LogCaptureFixture) -> None:
    log.hear_only_ourselves()
    for name in ("python_multipart.multipart", "uvicorn.error", "asyncio"):
        logging.getLogger(name).error(SECRET)
    assert lines_of(caplog) == []
