"""Nobody is left out, and no text becomes a program."""

from typing import Any

import pytest

pytestmark = [pytest.mark.runtime, pytest.mark.proof]

VIEWS = ("translate", "attention", "tree", "steps", "how", "map", "file")
TAGS = (
    "<script>{}</script>",
    "<img src=x onerror={}>",
    "<svg onload={}>",
    "<iframe srcdoc='<script>{}</script>'>",
    "<a href='javascript:{}'>a</a>",
    "<body onload={}>",
    "<input autofocus onfocus={}>",
    "<details open ontoggle={}>",
    "<math><mtext></mtext><script>{}</script></math>",
    "<style>@import 'javascript:{}';</style>",
)
AROUND = (
    "{}", "\"'>{}", "</textarea>{}", "</script>{}", "--><!--{}", "1 2 3 {}", "{}\n{}", "`${{{}}}`", "]]>{}", "&lt;{}",
    "{}<", "</title>{}", "</style>{}", "<!--{}", "<{}", "\\u003c{}", "%3Cscript%3E{}", "{{{{{}}}}}", "\u202e{}", "\u0000{}",
)  # fmt: skip
HOSTILE = [
    around.replace("{}", tag).replace("{}", "window.bad=1") for tag in TAGS for around in AROUND
]


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing(look: Any, page: Any, view: str) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="needs axe-playwright-python"
    )
    if view == "file":
        page = look("translate")
        page.get_by_role("link", name="Test set").click()
        page.get_by_label("Sentences, one a line").fill("1 2 3\n4 5\n")
        page.get_by_role("button", name="Translate all").click()
        page.wait_for_selector("tbody tr")
    else:
        page = look(view, probs=True, slope=True, cmp={"w": 2} if view == "tree" else None)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = axe.Axe().run(page, options={"resultTypes": ["violations"]})
        assert found.violations_count == 0, found.generate_report()


def test_two_hundred_hostile_texts_stay_texts(browser: Any, address: str) -> None:
    assert len(HOSTILE) == 200
    page = browser.new_page()
    page.set_default_timeout(40_000)
    page.on("dialog", lambda dialog: pytest.fail("a dialog was opened"))
    page.goto(f"{address}/#translate")
    page.wait_for_selector("look-translate")
    for text in HOSTILE:
        page.evaluate(
            """async (text) => {
                const view = document.querySelector('look-translate');
                view.answer = undefined;
                view.input.value = text;
                view.input.dispatchEvent(new Event('input'));
                const until = performance.now() + 30000;
                while (view.answer === undefined && performance.now() < until) await new Promise((go) => setTimeout(go, 20));
            }""",
            text,
        )
        assert page.evaluate("window.bad") is None, text
    elements = "script:not([src]), iframe, img, [onerror], [onload], [onfocus], [ontoggle]"
    assert page.locator(elements).count() == 0
    page.close()


def test_hostile_addresses_are_states_and_no_programs(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.set_default_timeout(40_000)
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    for view in VIEWS:
        for query in (
            "t=<img src=x onerror=window.bad=1>",
            "m=99",
            'sw={"edited":3}',
            "pin=[[1]]",
            "row=-5&column=1e9",
            "__proto__=1",
        ):
            page.goto("about:blank")
            page.goto(f"{address}/#{view}?{query}")
            page.wait_for_selector("main")
            page.wait_for_timeout(50)
            assert page.evaluate("window.bad") is None
    assert not said
    page.close()
