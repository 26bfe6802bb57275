"""What every test shares: shapes are checked, slow tests wait to be asked for, torch keeps to one thread.

With INTERLINGUA_REQUIRE_RUNTIMES set, as CI does, a test that opens an export in the program that it is for, and a file of tests
that needs an optional package, fail where they would be skipped.

Tests compute on the CPU, also where there is a graphics card; CUDA_VISIBLE_DEVICES=0 shows it to those that are about it.

The import hook must be in place before a test module imports ``interlingua``; pytest reads this file first.
From then on every annotated function and dataclass of the package checks its arguments, tensor shapes included. Not so in
``tests/system``, where commands run as a user runs them: there the checks cost more than all else, and the other tests
have called the same functions. A test elsewhere with millions of calls is marked ``unchecked``.
"""

import fcntl
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")  # before torch is imported

import jaxtyping
import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from jaxtyping import install_import_hook
from programs import chromium

install_import_hook("interlingua", "beartype.beartype")

# Under nohup, or in the background of a shell, Ctrl-C is ignored, also by the commands that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A law that holds only by luck should fail for everyone or for no one: the fast run draws the same cases
# every time, the full run draws new ones.
_HEALTH = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile(
    "fast",
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=_HEALTH,
)
settings.register_profile(
    "full",
    max_examples=50,
    deadline=None,
    print_blob=True,
    suppress_health_check=_HEALTH,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--slow", action="store_true", help="everything: slow tests, and laws on many more cases"
    )


def asks_for_slow(config: pytest.Config) -> bool:
    """``-m slow`` is what ``--slow`` adds to a plain run: slow tests, and every law on more cases."""
    return config.getoption("--slow") or config.getoption("markexpr").strip() == "slow"


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--hypothesis-profile"):
        settings.load_profile("full" if asks_for_slow(config) else "fast")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: what was packed names the second that it was packed in, and workers must agree."""
    return argname if isinstance(val, bytes) else None


MAKES_STOCK = "[docs/guides/decoding.md]"
"""The page that needs the two models, trained for minutes, which many other pages share."""


def _place(item: pytest.Item) -> int:
    """Tell whether a test comes first, where it stands, or last: pages would wait for what the first one makes."""
    if item.nodeid.endswith(MAKES_STOCK):
        return 0
    return 2 if item.path.name in ("test_documents_run.py", "test_book_figures.py") else 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if asks_for_slow(config):
        for item in items:
            if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj):
                item.add_marker(pytest.mark.slow)
        items[:] = [item for item in items if not item.get_closest_marker("proof")]
        items.sort(key=_place)
        return
    if config.getoption("markexpr"):
        return
    waiting = [item for item in items if _waits(item)]
    if waiting:
        config.hook.pytest_deselected(items=waiting)
        items[:] = [item for item in items if not _waits(item)]


def _waits(item: pytest.Item) -> bool:
    """Slow tests and proofs run when their marker is asked for."""
    return any(item.get_closest_marker(name) for name in ("slow", "proof"))


def pytest_collection_finish() -> None:
    # Models in tests are so small that a second thread costs more than it brings.
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


SYSTEM = Path(__file__).parent / "system"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    unchecked = item.path.is_relative_to(SYSTEM) or item.get_closest_marker("unchecked") is not None
    jaxtyping.config.update("jaxtyping_disable", unchecked)
    return (yield)


RUNTIMES_REQUIRED = bool(os.environ.get("INTERLINGUA_REQUIRE_RUNTIMES"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if RUNTIMES_REQUIRED and report.skipped and item.get_closest_marker("runtime"):
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if RUNTIMES_REQUIRED and report.skipped:
        _fail(report)
    return report


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    report.outcome = "failed"
    report.longrepr = f"INTERLINGUA_REQUIRE_RUNTIMES is set, and this would be skipped: {reason}"


@pytest.fixture
def minds_hangup() -> Iterator[None]:
    """Whoever runs the tests may ignore SIGHUP, as nohup does, and what they start would inherit that."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return what fills a folder once for all processes of a run of tests; nobody may change it afterwards."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def make(name: str, fill: Callable[[Path], None]) -> Path:
        folder, done = shared / f"once-{name}", shared / f"once-{name}.done"
        with (shared / f"once-{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                fill(folder)
                done.touch()
        return folder

    return make


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One Chromium without a window: a process can drive no second one.

    No longer than for one module: while it is there asyncio.run refuses to work, and the next module may need it.
    """
    with chromium() as running:
        yield running
