"""What several rooms need to be tested."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest


@pytest.fixture
def pipe_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bytes], None]]:
    """Return what pipes some bytes into the standard input of this process; fewer than a pipe holds."""
    with ExitStack() as opened:

        def put(data: bytes) -> None:
            end, start = os.pipe()
            os.write(start, data)
            os.close(start)
            monkeypatch.setattr(sys, "stdin", opened.enter_context(os.fdopen(end)))

        yield put
