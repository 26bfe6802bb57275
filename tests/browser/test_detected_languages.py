"""Which languages: found out, chosen, and reached through another, by what a person does and sees."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from running_server import model_between, serving

pytestmark = [pytest.mark.runtime, pytest.mark.proof]

ROMANIAN = "Unde este gara din acest oraș frumos?"
GERMAN = "Wo ist der Bahnhof in dieser schönen Stadt?"
ENGLISH = "Where is the station in this beautiful town?"
VIEWS = {
    "Attention": ".heat-map",
    "Beam tree": "tr.best",
    "Each step": "table.steps",
    "How it works": ".part",
    "Embeddings & positions": ".map",
    "Test set": "#lines",
}
"""Those that look into one model, and what each then shows."""
WHY = (
    "From Romanian to German the text goes through English, by 2 models, "
    "and this view shows the inside of one: Romanian → English English → German"
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve three models, all of which reverse digits; none leads from Romanian to German."""
    folder = tmp_path_factory.mktemp("models")
    pairs = [("ro", "en"), ("de", "en"), ("en", "de")]
    models = [model_between(*pair, folder / "-".join(pair)) for pair in pairs]
    with serving(*models) as server:
        yield server.address


@pytest.fixture
def look(page: Any, address: str) -> Any:
    def open_view(view: str, **state: str) -> Any:
        page.goto("about:blank")
        page.goto(f"{address}/#{view}?{urlencode(state)}")
        page.wait_for_selector(f"look-{view}")
        return page

    return open_view


def shows(page: Any, text: str, within: str = "main") -> None:
    """Wait until some text is shown."""
    page.locator(within).get_by_text(text).first.wait_for()


def output_is(page: Any, text: str) -> None:
    page.wait_for_function(
        "text => document.querySelector('.output')?.textContent.trim() === text", arg=text
    )


def chosen_model(page: Any) -> str:
    return page.locator("#model option:checked").inner_text()


def fits(page: Any) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def is_for_everyone(page: Any) -> None:
    """Let axe look at the page as it is, if it is installed."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="needs axe-playwright-python"
    )
    found = axe.Axe().run(page, options={"resultTypes": ["violations"]})
    assert found.violations_count == 0, found.generate_report()


def test_the_language_of_a_text_is_found_and_its_model_used_in_every_view(look: Any) -> None:
    page = look("translate", t="1 2 3", m="0")
    output_is(page, "3 2 1")
    page.get_by_label("From", exact=True).select_option(label="Detect language")
    shows(page, "None of the languages here was found; taken as Romanian.")
    text = page.get_by_label("Text to translate")
    text.fill(GERMAN)
    shows(page, "German was found")
    page.wait_for_function("() => document.querySelector('#model').value === '1'")
    assert chosen_model(page).startswith("German → English")
    page.get_by_role("link", name="Attention").click()
    page.wait_for_selector(".heat-map")
    assert chosen_model(page).startswith("German → English")
    page.get_by_label("Sentence", exact=True).fill(ROMANIAN)
    page.wait_for_function("() => document.querySelector('#model').value === '0'")
    page.get_by_role("link", name="Translate").click()
    shows(page, "Romanian was found")
    assert text.input_value() == ROMANIAN
    assert fits(page)
    is_for_everyone(page)
    page.reload()
    shows(page, "Romanian was found")
    assert page.get_by_label("From", exact=True).input_value() == "auto"
    assert page.get_by_label("To", exact=True).input_value() == "en"


def test_the_last_of_two_chosen_models_is_used_though_the_first_answers_later(look: Any) -> None:
    page = look("attention", t="1 2 3", m="0")
    page.wait_for_selector(".heat-map")
    held: list[Any] = []
    first = '{"model":1}'
    page.route(
        "**/inspect/about",
        lambda route: held.append(route) if route.request.post_data == first else route.continue_(),
    )
    page.get_by_label("Model", exact=True).select_option("1")
    page.get_by_label("Model", exact=True).select_option("2")
    page.wait_for_function("() => location.hash.includes('m=2')")
    with page.expect_response("**/inspect/about"):
        held[0].continue_()
    page.wait_for_timeout(100)
    assert "m=2" in page.url
    assert chosen_model(page).startswith("English → German")


def test_a_text_in_the_wanted_language_already_is_said_to_be(look: Any) -> None:
    page = look("translate", **{"from": "auto", "to": "en", "t": ENGLISH})
    shows(page, "The text is in English already: choose another language")
    assert chosen_model(page) == "No model: the text is in English already"
    page.get_by_label("To", exact=True).select_option(label="German")
    shows(page, "English was found")
    page.wait_for_function("() => document.querySelector('#model').value === '2'")


def test_few_letters_are_taken_for_a_language_that_can_be_translated(look: Any, page: Any) -> None:
    ranked = [{"language": "en", "confidence": 70.0}, {"language": "ro", "confidence": 12.0}]
    page.route("**/detect", lambda route: route.fulfill(json=ranked))
    look("translate", **{"from": "auto", "to": "en", "t": "da"})
    shows(page, "Perhaps Romanian (12 %).")
    page.unroute("**/detect")
    ranked[1]["confidence"] = 2.0
    page.route("**/detect", lambda route: route.fulfill(json=ranked))
    look("translate", **{"from": "auto", "to": "en", "t": "do"})
    shows(page, "English was found (70 %).")
    shows(page, "The text is in English already")


def test_a_pair_without_a_model_goes_through_another_language_and_says_so(look: Any) -> None:
    page = look("translate", t="1 2 3 4", m="0")
    output_is(page, "4 3 2 1")
    page.get_by_label("To", exact=True).select_option(label="German")
    output_is(page, "1 2 3 4")
    shows(page, "Translated through English")
    assert page.get_by_text("through English", exact=True).is_visible()
    assert chosen_model(page) == "Romanian → German, through English"
    assert page.get_by_label("Colour words by probability").is_disabled()
    assert fits(page)
    is_for_everyone(page)
    page.get_by_label("Text to translate").fill("7 8 9")
    output_is(page, "7 8 9")
    page.reload()
    output_is(page, "7 8 9")
    page.get_by_label("From", exact=True).select_option(label="English")
    output_is(page, "9 8 7")
    page.go_back()
    output_is(page, "7 8 9")


def test_each_view_of_one_model_says_why_it_is_empty_and_what_fills_it(look: Any) -> None:
    page = look("translate", **{"from": "ro", "to": "de", "t": "1 2 3 4"})
    output_is(page, "1 2 3 4")
    for name, shown in VIEWS.items():
        page.get_by_role("link", name=name).click()
        shows(page, "From Romanian to German")
        assert " ".join(page.locator("main .note").inner_text().split()) == WHY
        assert page.locator(f"main {shown}").filter(visible=True).count() == 0
        assert fits(page)
    page.get_by_role("link", name="Attention").click()
    is_for_everyone(page)
    page.get_by_role("button", name="English → German").click()
    page.wait_for_selector(".heat-map")
    assert page.get_by_label("Sentence", exact=True).input_value() == "4 3 2 1"
    assert chosen_model(page).startswith("English → German")
    page.go_back()
    shows(page, "From Romanian to German")
    page.get_by_role("button", name="Romanian → English").click()
    page.wait_for_selector(".heat-map")
    assert page.get_by_label("Sentence", exact=True).input_value() == "1 2 3 4"


def test_languages_that_are_not_here_are_said_not_to_lead_anywhere(look: Any) -> None:
    page = look("translate", **{"from": "<img src=x>", "to": "en", "t": "1 2 3"})
    shows(page, "No way leads from <img src=x> to English through the models here")
    assert chosen_model(page) == "No model: none leads from <img src=x> to English"
    page.get_by_label("From", exact=True).select_option(label="German")
    output_is(page, "3 2 1")


def test_a_file_goes_the_way_that_is_chosen(look: Any) -> None:
    page = look("translate", **{"from": "ro", "to": "de", "t": "1 2 3"})
    output_is(page, "1 2 3")
    subtitles = b"1\n00:00:01,000 --> 00:00:02,000\n4 5 6\n"
    page.locator("#source-file").set_input_files(
        {"name": "film.srt", "mimeType": "text/plain", "buffer": subtitles}
    )
    with page.expect_download() as started:
        page.get_by_role("button", name="Download film_de.srt").click()
    assert "4 5 6" in Path(started.value.path()).read_text()


def test_a_saved_page_holds_what_was_found_and_the_way(
    look: Any, browser: Any, tmp_path: Path
) -> None:
    page = look("translate", **{"from": "auto", "to": "de", "t": ROMANIAN})
    shows(page, "Romanian was found")
    shows(page, "Translated through English")
    path = tmp_path / "saved.html"
    with page.expect_download() as started:
        page.get_by_role("button", name="one HTML page", exact=True).click()
    path.write_bytes(Path(started.value.path()).read_bytes())
    shown = page.locator(".output").inner_text()
    context = browser.new_context(offline=True)
    saved = context.new_page()
    said: list[str] = []
    saved.on("console", lambda m: said.append(m.text) if m.type == "error" else None)
    saved.on("pageerror", lambda error: said.append(str(error)))
    saved.goto(path.as_uri())
    shows(saved, "Romanian was found")
    shows(saved, "Translated through English")
    assert saved.locator(".output").inner_text() == shown
    for label in ("From", "To", "Model"):
        assert saved.get_by_label(label, exact=True).is_disabled()
    assert saved.get_by_role("button", name="English → German").is_disabled()
    saved.get_by_role("link", name="Attention").click()
    shows(saved, "From Romanian to German the text goes through English")
    assert not said
    context.close()
