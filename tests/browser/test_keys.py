"""The page of a server that wants a key."""

from pathlib import Path
from typing import Any

import pytest
from running_server import GOLDEN, serving

from interlingua.cli import main

pytestmark = [pytest.mark.runtime, pytest.mark.proof]


def test_who_has_the_key_comes_in_and_stays_in(browser: Any, tmp_path: Path, capsys: Any) -> None:
    keys = tmp_path / "keys"
    assert main(["serve", "--new-key", "ana", "--api-keys", str(keys)]) == 0
    key = capsys.readouterr().out.strip()
    with serving(GOLDEN, flags=("--api-keys", str(keys))) as server:
        page = browser.new_page()
        page.set_default_timeout(40_000)
        page.goto(f"{server.address}/#translate?t=1+2+3+4")
        page.get_by_label("API key").fill("a-wrong-one")
        page.get_by_role("button", name="Open").click()
        page.wait_for_function(
            "() => document.querySelector('[role=alert]').textContent === 'Invalid API key'"
        )
        page.get_by_label("API key").fill(key)
        page.get_by_label("API key").press("Enter")
        reversed_text = "() => document.querySelector('.output')?.textContent.includes('4 3 2 1')"
        page.wait_for_function(reversed_text)
        assert page.get_by_label("API key").count() == 0
        page.reload()
        page.wait_for_function(reversed_text)
        assert key not in page.url
        subtitles = b"1\n00:00:01,000 --> 00:00:02,000\n1 2 3\n"
        page.locator("#source-file").set_input_files(
            {"name": "film.srt", "mimeType": "text/plain", "buffer": subtitles}
        )
        with page.expect_download() as started:
            page.get_by_role("button", name="Download film_").click()
        assert "3 2 1" in Path(started.value.path()).read_text()
        page.close()
