"""The programs that exports are opened with: Node.js and what it imports, and Chromium. Without one, a test is skipped."""

import contextlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NODE_MODULES = Path(__file__).parents[1] / "javascript" / "node_modules"
PATIENCE = 180_000  # milliseconds: a browser is many processes, and tests run on machines that have other work


def run_in_node(program: str, *arguments: str, asked: object) -> list[Any]:
    """Run a program of this folder, which reads JSON and answers in JSON."""
    if shutil.which("node") is None:
        pytest.skip("needs Node.js 18 or newer on the path")
    if not NODE_MODULES.is_dir():
        pytest.skip("needs transformers.js: make runtimes")
    path = Path(__file__).with_name(program)
    done = subprocess.run(
        ["node", str(path), str(NODE_MODULES), *arguments],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """Start a browser without a window."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: make runtimes")
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("needs Chromium on the path (Debian: apt-get install chromium)")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"], timeout=PATIENCE
        )
        yield running
        running.close()


@contextlib.contextmanager
def opened_page(browser: Any, path: Path, **settings: Any) -> Iterator[Any]:
    """Open a file without a network; the page keeps what it asked for and what it complained about."""
    context = browser.new_context(offline=True, **settings)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.complaints, page.requests = [], []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda request: page.requests.append(request.url))
    page.goto(path.as_uri())
    page.locator("#translate:enabled").wait_for()
    yield page
    context.close()


def translate_in_page(page: Any, text: str, beam_size: int) -> list[str]:
    """Type a text, translate it, and read what came out."""
    page.locator("#beam").fill(str(beam_size))
    page.locator("#source").fill(text)
    page.locator("#source").press("Enter")
    page.locator("#status").filter(has_text=" ms, ").wait_for()
    found: list[str] = page.locator("#results button > span").all_text_contents()
    return found
