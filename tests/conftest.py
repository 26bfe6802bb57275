"""What every test shares: shapes are checked, slow tests wait to be asked for, torch keeps to one thread.

The import hook must be in place before a test module imports ``interlingua``; pytest reads this file first.
From then on every annotated function and dataclass of the package checks its arguments, tensor shapes included.
"""

import signal
import sys

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from jaxtyping import install_import_hook

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
    max_examples=150,
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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if asks_for_slow(config):
        for item in items:
            if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj):
                item.add_marker(pytest.mark.slow)
        items[:] = [item for item in items if not item.get_closest_marker("proof")]
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
