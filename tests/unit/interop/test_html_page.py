"""The exported page, opened from the disk in Chromium: it translates, draws, and asks nobody for anything."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from programs import opened_page, translate_in_page

from interlingua.cli import main
from interlingua.translator import Translator

pytestmark = [pytest.mark.slow, pytest.mark.runtime]

TEXTS = ["pisica doarme în grădina noastră", "câinele aleargă", "nu știu", "x 日本 <b>y</b>"]
HOSTILE = '<img src=x onerror="document.title=1"></textarea><script>document.title=2</script> </s>'


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    with ExitStack() as opened:
        yield lambda path, **settings: opened.enter_context(opened_page(browser, path, **settings))


@pytest.fixture
def exported(make_folder: Callable[..., Path], tmp_path: Path) -> tuple[Path, Path]:
    folder, out = make_folder("tied"), tmp_path / "out"
    arguments = ["export", str(folder), "--format", "html", "--quantization", "float32"]
    assert main([*arguments, "--output", str(out)]) == 0
    return folder, out / "index.html"


def test_it_writes_what_the_command_writes_and_asks_nobody(
    exported: tuple[Path, Path], open_page: Callable[..., Any]
) -> None:
    folder, path = exported
    page = open_page(path)
    translator = Translator.load(folder)
    for beam_size in (1, 4):
        wanted = [each.text for each in translator.translate(TEXTS, beam_size=beam_size)]
        assert translate_in_page(page, "\n".join(TEXTS), beam_size) == wanted
    assert page.requests == [path.as_uri()]
    assert page.complaints == []


def test_the_heat_map_has_a_row_a_token_that_sums_to_one(
    exported: tuple[Path, Path], open_page: Callable[..., Any]
) -> None:
    folder, path = exported
    page = open_page(path)
    translate_in_page(page, TEXTS[0], 1)
    translator = Translator.load(folder)
    source = translator.tokenizers.source
    pieces = [*source.tokens(source.encode(TEXTS[0]).ids), "</s>"]
    assert page.locator("#heat-map thead th").count() == len(pieces)
    rows = page.locator("#heat-map tbody tr")
    (ours,) = translator.translate([TEXTS[0]], beam_size=1)
    assert rows.count() == len(ours.log_probabilities)
    for choice in ("mean", "0", "1"):
        page.locator("#layer").select_option(choice)
        weights = rows.first.locator("td").evaluate_all(
            "cells => cells.map(cell => Number(cell.title.split(': ').pop()))"
        )
        assert sum(weights) == pytest.approx(1, abs=0.01)
    colours = rows.first.locator("td").evaluate_all(
        "cells => cells.map(cell => getComputedStyle(cell).backgroundColor)"
    )
    assert len(set(colours)) > 1


def test_hostile_text_stays_text(
    exported: tuple[Path, Path], open_page: Callable[..., Any]
) -> None:
    page = open_page(exported[1])
    title = page.title()
    translate_in_page(page, HOSTILE, 2)
    assert page.title() == title == "ro to en"
    assert page.locator("img").count() == 0
    assert page.locator("main script").count() == 0
    assert page.complaints == []


def test_it_works_from_the_keyboard_on_a_phone_in_the_dark(
    exported: tuple[Path, Path], open_page: Callable[..., Any]
) -> None:
    page = open_page(
        exported[1], viewport={"width": 360, "height": 740}, color_scheme="dark", has_touch=True
    )
    page.keyboard.type("nu știu")  # the text field has the focus at once
    page.keyboard.press("Enter")
    page.locator("#status").filter(has_text=" ms, ").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="light")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark
    reached = []
    for _ in range(6):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert reached[:3] == ["translate", "beam", "BUTTON"]
    assert "layer" in reached


def test_every_name_of_the_page_is_described(exported: tuple[Path, Path]) -> None:
    text = exported[1].read_text(encoding="utf-8")
    policy = text.split('Content-Security-Policy" content="')[1].split('"')[0]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http://" not in text
    assert "https://" not in text
    model = json.loads(text.split('id="model">')[1].split("</script>")[0])
    assert model["source_lang"] == "ro"
