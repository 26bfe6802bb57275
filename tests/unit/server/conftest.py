"""A real server between three languages, of which no model knows both ends."""

from collections.abc import Iterator

import pytest
from running_server import RunningServer, model_between, serving


@pytest.fixture(scope="session")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Romanian to English, and English to German; what is translated are digits, what is found out are the languages."""
    folder = tmp_path_factory.mktemp("bridge")
    models = (
        model_between("ro", "en", folder / "ro-en"),
        model_between("en", "de", folder / "en-de"),
    )
    with serving(*models, flags=("--deadline", "300")) as running:
        yield running
