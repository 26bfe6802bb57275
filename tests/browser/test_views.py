"""Each view by what a person does and sees, on a desk and on a phone."""

import re
from typing import Any

import pytest

pytestmark = [pytest.mark.runtime, pytest.mark.proof]

TEXT = "1 2 3 4"


def wait_text(page: Any, selector: str, wanted: str) -> None:
    page.wait_for_function(
        "([selector, wanted]) => [...document.querySelectorAll(selector)].some((each) => each.textContent.includes(wanted))",
        arg=[selector, wanted],
    )


def told(page: Any) -> str:
    return page.locator(".told").first.inner_text()


def fits(page: Any) -> bool:
    """Whether nothing sticks out to the side: wide pictures scroll in frames of their own."""
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_who_types_reads_the_translation(look: Any) -> None:
    page = look("translate")
    wait_text(page, ".output", "4 3 2 1")
    page.get_by_label("Text to translate").fill("7 8 9")
    wait_text(page, ".output", "9 8 7")
    page.get_by_label("Colour words by probability").check()
    assert page.locator(".output.coloured .word").count() == 3
    page.locator(".pair p").first.get_by_role("button").first.focus()
    marked = page.locator(".pair .marked")
    assert marked.count() >= 2
    assert {"7"} <= {marked.nth(n).inner_text() for n in range(marked.count())}
    page.get_by_text("History").click()
    assert "7 8 9" in page.locator(".past").inner_text()
    assert fits(page)


def test_a_word_opens_what_else_could_stand_there(look: Any) -> None:
    page = look("translate")
    wait_text(page, ".output", "4 3 2 1")
    page.locator(".pair p").nth(1).get_by_role("button").first.click()
    others = page.get_by_role("region", name="Alternatives").locator(".chip")
    other = others.nth(1).inner_text().split()[0]
    others.nth(1).click()
    page.wait_for_function(
        "word => document.querySelector('.output').textContent.trim().startsWith(word)", arg=other
    )
    assert page.locator(".output").inner_text().strip() != "4 3 2 1"


def test_a_dropped_file_is_translated(look: Any) -> None:
    page = look("translate")
    page.locator("#source-file").set_input_files(
        {"name": "digits.txt", "mimeType": "text/plain", "buffer": b"4 4 2\n1 9\n"}
    )
    wait_text(page, ".output", "2 4 4")
    wait_text(page, ".output", "9 1")


def test_attention_is_shown_by_layer_head_and_word(look: Any) -> None:
    page = look("attention")
    assert page.locator(".heat-map svg text.row").count() >= 5
    page.get_by_role("button", name="head 2").click()
    wait_text(page, "h3", "head 2")
    page.get_by_label("Gradient × input beside it").check()
    wait_text(page, "h3", "gradient × input")
    page.get_by_label("words", exact=True).check()
    frame = page.locator(".heat-map .scroll").first
    frame.focus()
    page.keyboard.press("ArrowDown")
    first = told(page)
    page.keyboard.press("ArrowRight")
    assert re.search(r"→ .*: \d\.\d", told(page))
    assert told(page) != first
    page.get_by_role("radio", name="Within the target").check()
    wait_text(page, ".heat-map .column", "<s>")
    assert "not an explanation" in page.locator("main").inner_text()
    assert fits(page)


def best(page: Any) -> str:
    return page.locator("tr.best td").first.inner_text()


def test_the_tree_is_pinned_cut_and_undone(look: Any) -> None:
    page = look("tree")
    assert best(page) == "4 3 2 1"
    pruned = page.locator(".beam .node.pruned")
    assert pruned.count() > 0
    kept = page.locator(".beam .node.best")
    page.locator(".beam g.node.best").nth(1).click()
    page.get_by_role("button", name="Cut this branch").click()
    page.wait_for_function("() => document.querySelector('tr.best td').textContent !== '4 3 2 1'")
    assert not best(page).startswith("4")
    assert page.locator(".beam .node.forbidden").count() >= 1
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function("() => document.querySelector('tr.best td').textContent === '4 3 2 1'")
    assert kept.count() >= 5
    pruned.first.dispatch_event("click")
    page.get_by_role("button", name="Pin up to here").click()
    page.wait_for_function("() => document.querySelector('tr.best td').textContent !== '4 3 2 1'")
    assert fits(page)


def test_words_are_typed_forced_and_banned_and_two_trees_compared(look: Any, browser: Any) -> None:
    page = look("tree")
    page.get_by_role("button", name="Keep this tree to compare").click()
    wait_text(page, "h3", "The tree that was kept")
    page.get_by_label("Begins with").fill("2 2")
    page.get_by_label("Begins with").press("Enter")
    page.wait_for_function(
        "() => document.querySelector('tr.best td').textContent.startsWith('2 2')"
    )
    assert page.locator(".beam").count() == 2
    page.get_by_label("Must hold", exact=True).fill("9")
    page.get_by_label("Must hold", exact=True).press("Enter")
    page.wait_for_function("() => document.querySelector('tr.best td').textContent.includes('9')")
    page.get_by_label("Must not hold").fill("3")
    page.get_by_label("Must not hold").press("Enter")
    page.wait_for_function("() => !document.querySelector('tr.best td').textContent.includes('3')")
    shown = best(page)
    other = browser.new_page()
    other.goto(page.url)
    other.wait_for_selector("tr.best td")
    assert best(other) == shown
    other.close()


def test_the_tree_can_be_walked_with_the_keyboard(look: Any) -> None:
    page = look("tree")
    page.locator(".beam g.node").last.wait_for(state="attached")
    page.locator('.beam g[tabindex="0"]').focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    assert "3" in page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("Enter")
    wait_text(page, ".node h3", "4 3")


def test_beam_size_and_length_penalty_are_heard(look: Any) -> None:
    page = look("tree")
    few = page.locator(".beam g.node").count()
    page.get_by_role("slider", name="Beam size").fill("8")
    page.wait_for_function("few => document.querySelectorAll('.beam g.node').length > few", arg=few)
    before = page.locator("tr.best td").nth(1).inner_text()
    page.get_by_role("slider", name="Length penalty").fill("2")
    page.wait_for_function(
        "before => document.querySelectorAll('tr.best td')[1].textContent !== before", arg=before
    )


def test_each_step_tells_candidates_entropy_and_layers(look: Any) -> None:
    page = look("steps")
    rows = page.locator("table.steps tbody tr")
    assert rows.count() == 5
    page.locator("table.steps tbody button").nth(2).click()
    wait_text(page, "h3", "Step 3: “2”")
    assert page.locator(".lens section").count() >= 2
    page.get_by_label("Look at another translation").fill("1 1")
    page.get_by_label("Look at another translation").press("Enter")
    page.wait_for_function("() => document.querySelectorAll('table.steps tbody tr').length === 3")
    assert fits(page)


def test_the_walk_shows_numbers_that_add_up(look: Any) -> None:
    page = look("how")
    page.wait_for_selector(".part")
    assert page.locator(".part").count() == 9
    summary = page.locator(".part details summary").last.inner_text()
    numbers = page.locator(".part details").last.locator(".numbers span")
    products = [
        float(numbers.nth(n).inner_text().split("=")[1].replace("−", "-"))
        for n in range(numbers.count())
    ]
    wanted = float(summary.rsplit("=", 1)[1].replace("−", "-"))
    assert sum(products) == pytest.approx(wanted, abs=0.02)
    assert fits(page)


def test_parts_are_switched_off_everywhere_and_put_back(look: Any) -> None:
    page = look("how")
    page.wait_for_selector(".part")
    page.get_by_role("checkbox", name="positions").uncheck()
    wait_text(page, ".off", "One thing is switched off")
    page.wait_for_function(
        "() => !document.querySelector('.verdict strong').textContent.includes('4 3 2 1')"
    )
    page.get_by_role("link", name="Beam tree").click()
    page.wait_for_selector("tr.best td")
    assert best(page) != "4 3 2 1"
    page.get_by_role("button", name="Put everything back").click()
    page.wait_for_function("() => document.querySelector('tr.best td').textContent === '4 3 2 1'")
    page.get_by_role("link", name="How it works").click()
    page.wait_for_selector(".switches")
    page.get_by_role("button", name="Source token 1, 1").click()
    wait_text(page, ".off", "One thing is switched off")
    page.get_by_role("button", name=re.compile("Layer 1, decoder, to the source, head 1")).click()
    wait_text(page, ".off", "2 things are switched off")


def test_an_edited_weight_is_used(look: Any) -> None:
    page = look("how")
    page.wait_for_selector(".part")
    page.get_by_label("Edit the weight of").fill("0.5")
    page.get_by_role("button", name="Use it").click()
    wait_text(page, ".off", "One thing is switched off or edited")
    wait_text(page, ".switches", "= 0.5")


def test_the_slider_goes_back_to_earlier_checkpoints(look: Any) -> None:
    page = look("how")
    wait_text(page, "section p", "4 3 2 1")
    page.get_by_role("slider", name="Checkpoint").fill("0")
    wait_text(page, ".label", "Checkpoint at step 100")
    page.wait_for_function(
        "() => [...document.querySelectorAll('section p')].some((p) => p.textContent.startsWith('Then it translated') && !p.textContent.includes('4 3 2 1'))"
    )


def test_a_token_is_found_on_the_map_with_its_neighbours(look: Any) -> None:
    page = look("map")
    assert page.locator(".map circle").count() >= 10
    page.get_by_label("Find a token").fill("7")
    page.get_by_label("Find a token").press("Enter")
    wait_text(page, "h3", "Nearest to “7”")
    page.locator(".near button").first.click()
    page.wait_for_function(
        "() => !document.querySelector('.beside h3').textContent.includes('“7”')"
    )
    assert "10000" in page.locator("main").inner_text()
    assert fits(page)


def test_a_test_set_is_scored_opened_and_compared(look: Any) -> None:
    page = look("translate")
    page.get_by_role("link", name="Test set").click()
    page.get_by_label("Sentences, one a line").fill("1 2 3\t3 2 1\n4 5\t5 4\n7 7 1 2\t1 1 1 1\n")
    page.get_by_role("button", name="Translate all").click()
    page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 3")
    assert page.locator(".curve circle").count() == 3
    assert "chrF" in page.locator("main").inner_text()
    page.get_by_label("worst first").check()
    page.wait_for_function("() => document.querySelector('tbody button').textContent === '7 7 1 2'")
    page.get_by_label("beside").select_option(index=1)
    wait_text(page, "thead th", "The other model")
    page.locator("tbody button").first.click()
    wait_text(page, "h4", "Nearest of 59 training pairs")
    assert fits(page)
    page.get_by_role("region", name="The chosen sentence").get_by_role(
        "button", name="Attention"
    ).click()
    page.wait_for_selector(".heat-map")
