"""A real server, a real browser, and a run that has everything that the page can show: digits that are reversed."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running_server import GOLDEN, serving
from small_shards import write_shards

from interlingua.checkpoints.model_folder import load_model_folder
from interlingua.checkpoints.store import CheckpointStore
from interlingua.checkpoints.weights import parameters_of

WIDTHS = {"desktop": 1200, "phone": 390}


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden model as a run: with an early checkpoint that knows nothing yet, and training pairs."""
    folder = tmp_path_factory.mktemp("runs") / "digits"
    shutil.copytree(GOLDEN, folder / "model")
    loaded = load_model_folder(folder / "model")
    store, weights = CheckpointStore(folder / "checkpoints", keep=2), parameters_of(loaded.model)
    early = {name: tensor * 0.3 for name, tensor in weights.items()}
    store.save(100, early, {}, {"step": 100, "validated": 100})
    store.save(900, weights, {}, {"step": 900, "validated": 900})
    texts = [" ".join(str(n * 7919 % 10**6)) for n in range(1, 60)]
    sides = loaded.tokenizers.source, loaded.tokenizers.target
    (folder / "shards").mkdir()
    write_shards(
        folder / "shards" / "training",
        sides[0].encode_batch(texts),
        sides[1].encode_batch([text[::-1] for text in texts]),
    )
    return folder


@pytest.fixture(scope="session")
def address(run_folder: Path) -> Iterator[str]:
    """Serve a run, and a model of the same languages to lay beside it."""
    with serving(run_folder, GOLDEN) as server:
        yield server.address


@pytest.fixture(params=list(WIDTHS))
def page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A page of one width, which fails its test at the first error on its console."""
    opened = browser.new_page(viewport={"width": WIDTHS[request.param], "height": 800})
    opened.set_default_timeout(40_000)
    said: list[str] = []
    opened.on("console", lambda m: said.append(m.text) if m.type == "error" else None)
    opened.on("pageerror", lambda error: said.append(str(error)))
    yield opened
    opened.close()
    assert not said


def as_hash(view: str, **state: Any) -> str:
    """Return the address of one state of the page."""
    from urllib.parse import urlencode

    told = {k: v if isinstance(v, str) else json.dumps(v) for k, v in state.items()}
    return f"/#{view}?{urlencode(told)}"


@pytest.fixture
def look(page: Any, address: str) -> Any:
    """Open a view of a sentence and wait for what it shows."""

    def open_view(view: str, text: str = "1 2 3 4", **state: Any) -> Any:
        page.goto("about:blank")
        page.goto(address + as_hash(view, t=text, **state))
        page.wait_for_selector(f"look-{view}")
        page.wait_for_function(
            "view => document.querySelector(`look-${view}`).answer !== undefined", arg=view
        )
        return page

    return open_view
