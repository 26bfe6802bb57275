"""What is saved is whole: pictures, numbers, and the page as one file that opens without a network."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

pytestmark = [pytest.mark.runtime, pytest.mark.proof]


def save(page: Any, name: str) -> bytes:
    with page.expect_download() as started:
        page.get_by_role("button", name=name, exact=True).click()
    return Path(started.value.path()).read_bytes()


def test_a_view_is_saved_as_picture_and_numbers(look: Any) -> None:
    page = look("tree")
    picture = ElementTree.fromstring(save(page, "SVG"))
    assert picture.tag.endswith("svg")
    assert len(list(picture.iter())) > 20
    assert save(page, "PNG").startswith(b"\x89PNG")
    assert json.loads(save(page, "JSON"))["tree"]["finished"][0]["text"] == "4 3 2 1"


@pytest.mark.parametrize(("view", "wanted"), [("translate", {"1", "4"}), ("steps", {"Layer 1"})])
def test_a_view_of_words_is_saved_as_a_picture(look: Any, view: str, wanted: set[str]) -> None:
    page = look(view)
    picture = ElementTree.fromstring(save(page, "SVG"))
    texts = [each.text or "" for each in picture.iter() if each.tag.endswith("text")]
    assert all(any(text.startswith(want) for text in texts) for want in wanted)
    fills = {each.get("fill") for each in picture.iter() if each.tag.endswith("rect")}
    assert len(fills - {"none"}) >= 3
    assert save(page, "PNG").startswith(b"\x89PNG")
    assert page.locator("body > .hidden").count() == 0


def opened_offline(browser: Any, path: Path) -> tuple[Any, list[str]]:
    context = browser.new_context(offline=True)
    page, said = context.new_page(), []
    page.set_default_timeout(40_000)
    page.on(
        "console", lambda message: said.append(message.text) if message.type == "error" else None
    )
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector("look-page nav a")
    return page, said


def test_the_saved_page_opens_without_a_network(look: Any, browser: Any, tmp_path: Path) -> None:
    page = look("tree")
    path = tmp_path / "saved.html"
    path.write_bytes(save(page, "one HTML page"))
    saved, said = opened_offline(browser, path)
    saved.wait_for_selector("tr.best td")
    assert saved.locator("tr.best td").first.inner_text() == "4 3 2 1"
    assert "A saved page" in saved.locator("body").inner_text()
    assert not said
    saved.context.close()


ASK_MUCH = """async () => {
    const {ask} = await import("/api.js");
    for (let n = 0; n < 300; n++) await ask("detect", {q: `1 2 3 4 ${n}`});
}"""


def test_a_page_that_was_asked_much_is_saved_whole(look: Any, browser: Any, tmp_path: Path) -> None:
    page = look("tree")
    page.route("**/detect", lambda route: route.fulfill(json=[]))
    page.evaluate(ASK_MUCH)
    path = tmp_path / "saved.html"
    path.write_bytes(save(page, "one HTML page"))
    saved, said = opened_offline(browser, path)
    saved.wait_for_selector("tr.best td")
    assert saved.locator("tr.best td").first.inner_text() == "4 3 2 1"
    assert not said
    saved.context.close()


def test_a_saved_page_keeps_what_it_shows_and_offers_nothing_that_needs_a_server(
    look: Any, browser: Any, tmp_path: Path
) -> None:
    page = look("how")
    page.wait_for_selector(".part")
    page.get_by_role("link", name="Beam tree").click()
    page.wait_for_selector("tr.best td")
    path = tmp_path / "saved.html"
    path.write_bytes(save(page, "one HTML page"))
    saved, said = opened_offline(browser, path)
    saved.wait_for_selector("tr.best td")
    for name in ("Beam size", "Length penalty"):
        assert saved.get_by_role("slider", name=name).is_disabled()
    for name in ("Begins with", "Must hold", "Must not hold", "Sentence"):
        assert saved.get_by_label(name, exact=True).is_disabled()
    assert saved.get_by_role("button", name="Begin anew").is_disabled()
    assert saved.get_by_label("Show what was pruned").is_enabled()
    saved.locator(".beam g.node.best").nth(1).click()
    assert saved.get_by_role("button", name="Cut this branch").is_disabled()
    saved.evaluate("""() => {
        const slider = document.querySelector('#beam');
        slider.value = 7;
        slider.dispatchEvent(new Event('change'));
    }""")
    message = """() => [...document.querySelectorAll('.message, .panes [role=alert]')].some(
        (each) => each.textContent.includes('Open the live page'))"""
    saved.wait_for_function(message)
    assert saved.locator("tr.best td").first.inner_text() == "4 3 2 1"
    assert saved.locator("#beam").input_value() != "7"
    saved.get_by_role("link", name="How it works").click()
    saved.wait_for_selector(".part")
    assert saved.get_by_role("checkbox", name="positions").is_disabled()
    assert saved.get_by_role("button", name="Use it").is_disabled()
    head = saved.locator("label.field", has_text="Head").locator("select")
    head.select_option("2")
    saved.wait_for_function(message)
    assert saved.locator(".part").count() == 9
    assert head.input_value() == "1"
    assert not said
    saved.context.close()


DROP = """element => {
    const carried = new DataTransfer();
    carried.items.add(new File(["4 5\\n"], "digits.txt"));
    element.dispatchEvent(new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: carried}));
}"""


def test_a_saved_page_takes_no_file_and_no_other_model(
    look: Any, browser: Any, tmp_path: Path
) -> None:
    page = look("translate")
    page.get_by_role("link", name="Test set").click()
    page.get_by_label("Sentences, one a line").fill("1 2 3\n7 8\n")
    page.get_by_role("button", name="Translate all").click()
    page.wait_for_selector("tbody tr")
    path = tmp_path / "saved.html"
    path.write_bytes(save(page, "one HTML page"))
    saved, said = opened_offline(browser, path)
    saved.wait_for_selector("tbody tr")
    assert saved.get_by_label("Model", exact=True).is_disabled()
    message = """() => [...document.querySelectorAll('.message, .panes [role=alert]')].some(
        (each) => each.textContent.includes('Open the live page'))"""
    for view, button, place, text in (
        ("Test set", "#lines-file", "#lines", "1 2 3\n7 8\n"),
        ("Translate", "#source-file", "#source", "1 2 3 4"),
    ):
        saved.get_by_role("link", name=view).click()
        saved.wait_for_selector(place)
        assert saved.locator(button).is_disabled()
        faded = saved.locator(f"{button} + label").evaluate(
            "each => getComputedStyle(each).opacity"
        )
        assert float(faded) < 1
        saved.locator(place).evaluate(DROP)
        saved.wait_for_function(message)
        assert saved.locator(place).input_value() == text
    saved.get_by_role("link", name="Test set").click()
    assert saved.locator("tbody tr").count() == 2
    assert not said
    saved.context.close()


def test_the_command_writes_a_page_with_every_view_of_a_sentence(
    browser: Any, run_folder: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "interlingua", "inspect", str(run_folder), "1 2 3"]
    subprocess.run([*command, "--output", str(tmp_path)], check=True, capture_output=True)
    page, said = opened_offline(browser, tmp_path / "look.html")
    for name, wanted in (
        ("Translate", ".output"),
        ("Attention", ".heat-map"),
        ("Beam tree", "tr.best"),
        ("Each step", "table.steps"),
        ("How it works", ".part"),
        ("Embeddings & positions", ".map"),
    ):
        page.get_by_role("link", name=name).click()
        page.wait_for_selector(wanted)
    page.get_by_role("link", name="Translate").click()
    page.locator(".pair p").nth(1).get_by_role("button").first.click()
    page.wait_for_function(
        "() => document.querySelector('.message').textContent.includes('Open the live page')"
    )
    assert not said
    page.context.close()
