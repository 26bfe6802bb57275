"""Each view by what a person does and sees, on a desk and on a phone."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from running_server import serving

from interlingua.checkpoints.model_folder import LoadedModel, save_model_folder
from interlingua.checkpoints.weights import parameters_of
from interlingua.config import DecodingConfig
from interlingua.model.architecture import Architecture
from interlingua.model.transformer import Transformer
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer

pytestmark = [pytest.mark.runtime, pytest.mark.proof]

TEXT = "1 2 3 4"


def wait_text(page: Any, selector: str, wanted: str) -> None:
    page.wait_for_function(
        "([selector, wanted]) => [...document.querySelectorAll(selector)].some((each) => each.textContent.includes(wanted))",
        arg=[selector, wanted],
    )


def wait_until_held(page: Any, held: list[Any], number: int) -> None:
    """Wait until so many requests were made that a test answers later."""
    for _ in range(500):
        if len(held) == number:
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"{len(held)} requests were made, not {number}")


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


def test_who_skips_to_the_view_keeps_what_is_looked_at(look: Any) -> None:
    page = look("attention", "7 8 9", layer=1)
    before = page.url
    page.locator(".skip").press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.url == before
    assert page.get_by_label("Sentence", exact=True).input_value() == "7 8 9"


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
    chosen = page.locator(".output").inner_text().strip()
    assert chosen != "4 3 2 1"
    page.get_by_label("Colour words by probability").check()
    page.wait_for_selector(".output.coloured")
    assert page.locator(".output").inner_text().strip() == chosen
    page.get_by_role("link", name="Beam tree").click()
    page.wait_for_selector("tr.best td")
    assert best(page) == chosen
    page.get_by_role("link", name="Attention").click()
    wait_text(page, "main strong", chosen)
    page.get_by_role("link", name="Translate").click()
    wait_text(page, ".output", chosen)
    page.reload()
    wait_text(page, ".output", chosen)
    page.get_by_role("button", name="Let the model choose again").click()
    wait_text(page, ".output", "4 3 2 1")
    page.go_back()
    wait_text(page, ".output", chosen)


WORDS_OF = """async ([text, tokens]) => {
    const {wordsOf} = await import("/tokens.js");
    return wordsOf(text, tokens.map(([text, start, end]) => ({text, start, end})));
}"""


def test_the_tag_of_a_language_is_no_part_of_the_first_word(look: Any) -> None:
    page = look("translate")
    tag, *tokens = [["<2ro>", 0, 0], ["▁go", 0, 2], ["od", 2, 4], ["▁dog", 4, 8], ["</s>", 8, 8]]
    assert page.evaluate(WORDS_OF, ["good dog", [tag, *tokens]]) == [[0], [1, 2], [3], [4]]
    marked = [["▁", 0, 0], ["go", 0, 2], *tokens[1:]]
    assert page.evaluate(WORDS_OF, ["good dog", marked]) == [[0, 1, 2], [3], [4]]


def test_a_text_that_is_read_from_the_right_is_laid_out_so(look: Any) -> None:
    page = look("translate", "שלום לך")
    page.wait_for_selector(".pair")
    for selector in ("#source", ".pair p"):
        way = page.locator(selector).first.evaluate("each => getComputedStyle(each).direction")
        assert way == "rtl", selector
    page.get_by_label("Text to translate").fill("1 2 3")
    wait_text(page, ".output", "3 2 1")
    assert page.locator(".output").evaluate("each => getComputedStyle(each).direction") == "ltr"


def has_focus(page: Any, name: str) -> bool:
    """Whether the element of this name, or whose text begins so, goes on having the focus."""
    page.wait_for_timeout(100)
    return page.evaluate(
        "name => [document.activeElement.ariaLabel, document.activeElement.textContent].some((each) => each?.startsWith(name))",
        name,
    )


def test_whoever_closes_the_other_words_goes_on_at_the_word(look: Any) -> None:
    page = look("translate")
    wait_text(page, ".output", "4 3 2 1")
    panel = page.get_by_role("region", name="Alternatives")
    second = page.locator(".pair p").nth(1).get_by_role("button").nth(1)
    second.press("Enter")
    page.get_by_role("button", name="Close").press("Enter")
    assert has_focus(page, "3")
    second.press("Enter")
    panel.locator(".chip").nth(1).wait_for()
    other = panel.locator(".chip").nth(1).inner_text().split()[0]
    panel.locator(".chip").nth(1).press("Enter")
    page.get_by_role("button", name="Let the model choose again").wait_for()
    assert has_focus(page, f"{other}, ")


def test_the_keyboard_stays_where_something_is_switched_or_chosen(look: Any) -> None:
    page = look("how", layer=1, head=1)
    page.wait_for_selector(".part")
    switch = "Layer 1, decoder, to the source, head 2"
    page.get_by_role("button", name=switch).press("Enter")
    page.wait_for_selector('.switch[aria-pressed="false"]')
    assert has_focus(page, switch)
    head = page.locator(".result select").nth(1)
    head.focus()
    for number in ("2", "1"):
        head.select_option(number)
        page.wait_for_function("n => location.hash.includes(`head=${n}`)", arg=number)
        page.wait_for_timeout(300)
        assert head.evaluate("each => each === document.activeElement")


def test_the_keyboard_stays_at_the_second_of_two_equal_tokens(look: Any) -> None:
    page = look("steps", "5 5 1")
    tokens = page.locator("table.steps tbody button")
    assert tokens.nth(1).inner_text() == tokens.nth(2).inner_text()
    tokens.nth(2).press("Enter")
    wait_text(page, "h3", "Step 3")
    page.wait_for_timeout(100)
    assert tokens.nth(2).evaluate("each => each === document.activeElement")


def test_the_keyboard_goes_on_in_the_tree_after_an_edit(look: Any) -> None:
    page = look("tree")
    page.locator('.beam g[tabindex="0"]').focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Cut this branch").press("Enter")
    page.wait_for_selector(".beam .node.forbidden")
    assert has_focus(page, "4, ")


def test_the_order_of_a_test_set_is_chosen_by_key(look: Any) -> None:
    page = look("file")
    page.get_by_label("Sentences, one a line").fill("1 2 3\n4 5 6 7\n")
    page.get_by_role("button", name="Translate all").click()
    page.get_by_label("as in the file").focus()
    for order in ("worst", "longest"):
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.value") == order


ANIMALS = ("cat", "calf", "dog", "horse")


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a model that cuts words into letters, and has learnt that any of four animals may sleep."""
    targets = [f"the {animal} sleeps" for animal in ANIMALS]
    tokenizer = train_tokenizer(targets, kind="char", vocabulary_size=280)
    size = tokenizer.vocabulary_size
    torch.manual_seed(1)
    architecture = Architecture(
        encoder_layers=1, decoder_layers=1, d_model=64, d_ff=64, heads=2, dropout=0.0
    )
    model = Transformer(architecture, source_vocabulary=size, target_vocabulary=size)
    source = torch.tensor([[*tokenizer.encode("sleeps").ids, tokenizer.end_id]])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    for _ in range(200):
        for target in targets:
            ids = tokenizer.encode(target).ids
            logits = model(source, torch.tensor([[tokenizer.begin_id, *ids]]))
            wanted = torch.tensor([*ids, tokenizer.end_id])
            torch.nn.functional.cross_entropy(logits[0], wanted).backward()
        optimizer.step()
        optimizer.zero_grad()
    pieces, decoding = (
        TokenizerPair(tokenizer, tokenizer, False),
        DecodingConfig(max_length_offset=50),
    )
    loaded = LoadedModel(model.eval(), pieces, "ro", "en", decoding, 64)
    folder = tmp_path_factory.mktemp("zoo") / "model"
    save_model_folder(folder, loaded, parameters_of(model), "card")
    with serving(folder) as server:
        yield server.address


def test_whole_words_are_offered_and_the_chosen_one_is_written(browser: Any, zoo: str) -> None:
    page = browser.new_page()
    page.set_default_timeout(40_000)
    for animal in ANIMALS:
        page.goto("about:blank")
        page.goto(f"{zoo}/#translate?t=sleeps")
        page.wait_for_selector(".pair")
        page.locator(".pair p").nth(1).get_by_role("button").nth(1).click()
        others = page.get_by_role("region", name="Alternatives").locator(".chip")
        others.first.wait_for()
        words = [each.split()[0] for each in others.all_inner_texts()]
        assert set(words[:4]) == set(ANIMALS)
        others.nth(words.index(animal)).click()
        page.wait_for_function(
            "wanted => document.querySelector('.output').textContent.trim() === wanted",
            arg=f"the {animal} sleeps",
        )
    page.close()


def test_words_that_arrive_late_leave_whoever_writes_alone(look: Any) -> None:
    page = look("translate")
    wait_text(page, ".output", "4 3 2 1")
    held: list[Any] = []
    page.route("**/inspect/steps", lambda route: held.append(route))
    page.locator(".pair p").nth(1).get_by_role("button").first.click()
    page.get_by_label("Text to translate").press("ControlOrMeta+a")
    wait_until_held(page, held, 1)
    with page.expect_response("**/inspect/steps"):
        held[0].continue_()
    page.keyboard.type("7 8 9")
    wait_text(page, ".output", "9 8 7")
    assert page.evaluate("document.activeElement.id") == "source"
    assert not page.get_by_role("region", name="Alternatives").is_visible()


def test_a_word_is_chosen_in_one_of_two_sentences(look: Any) -> None:
    page = look("translate", "1 2 3\n7 8 9")
    wait_text(page, ".output", "9 8 7")
    page.locator(".pair").nth(1).locator("p").nth(1).get_by_role("button").first.click()
    others = page.get_by_role("region", name="Alternatives").locator(".chip")
    others.nth(1).click()
    page.wait_for_function(
        "() => { const text = document.querySelector('.output').textContent; return text.includes('3 2 1') && !text.includes('9 8 7'); }"
    )
    chosen = page.locator(".output").inner_text()
    page.reload()
    page.wait_for_selector(".pair")
    assert page.locator(".output").inner_text() == chosen


def test_what_was_translated_is_remembered_in_every_view(look: Any) -> None:
    page = look("translate")
    for text, translated in (("7 8 9", "9 8 7"), ("5 5 1", "1 5 5")):
        page.get_by_label("Text to translate").fill(text)
        wait_text(page, ".output", translated)
    page.get_by_role("link", name="Attention").click()
    page.wait_for_selector(".heat-map")
    page.get_by_role("link", name="Translate").click()
    wait_text(page, ".output", "1 5 5")
    page.get_by_text("History").click()
    assert page.locator(".past li").count() == 3
    page.locator(".past button", has_text="7 8 9").click()
    wait_text(page, ".output", "9 8 7")
    assert page.locator(".past li").count() == 3


def test_a_dropped_file_is_translated(look: Any) -> None:
    page = look("translate")
    page.locator("#source-file").set_input_files(
        {"name": "digits.txt", "mimeType": "text/plain", "buffer": b"4 4 2\n1 9\n"}
    )
    wait_text(page, ".output", "2 4 4")
    wait_text(page, ".output", "9 1")


SUBTITLES = b"1\n00:00:01,000 --> 00:00:02,000\n1 2 3\n\n2\n00:00:03,000 --> 00:00:04,000\n4 5\n"
DROP = """([element, name, text]) => {
    const carried = new DataTransfer();
    carried.items.add(new File([text], name));
    element.dispatchEvent(new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: carried}));
}"""


def drop(page: Any, selector: str, name: str, text: str) -> None:
    page.evaluate(DROP, [page.locator(selector).element_handle(), name, text])


def test_a_file_of_subtitles_is_translated_as_a_file(look: Any) -> None:
    page = look("translate")
    drop(page, ".output", "film.srt", SUBTITLES.decode())
    button = page.get_by_role("button", name=re.compile("Download film_.*srt"))
    with page.expect_download() as started:
        button.click()
    translated = Path(started.value.path()).read_text()
    assert "3 2 1" in translated
    assert "00:00:03,000 --> 00:00:04,000" in translated
    assert page.get_by_label("Text to translate").input_value() == TEXT
    wait_text(page, ".output", "4 3 2 1")
    assert button.count() == 1
    page.get_by_label("Text to translate").fill("7 8 9")
    wait_text(page, ".output", "9 8 7")
    assert "film" not in page.locator(".panes").inner_text()


DROP_UTF16 = """element => {
    const carried = new DataTransfer();
    const bytes = new Uint8Array([0xFF, 0xFE, ...[..."1 2 3\\n"].flatMap((each) => [each.charCodeAt(0), 0])]);
    carried.items.add(new File([bytes], 'wide.txt'));
    element.dispatchEvent(new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: carried}));
}"""


def test_a_text_in_another_encoding_is_left_to_the_server(look: Any) -> None:
    page = look("translate")
    page.evaluate(DROP_UTF16, page.locator("#source").element_handle())
    with page.expect_download() as started:
        page.get_by_role("button", name=re.compile("Download wide_.*txt")).click()
    assert Path(started.value.path()).read_text() == "3 2 1\n"
    assert page.get_by_label("Text to translate").input_value() == TEXT


def test_what_is_wrong_with_a_file_is_said_where_it_was_dropped(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}/#translate?t=1+2+3+4")
    wait_text(page, ".output", "4 3 2 1")
    alert = page.locator(".panes section").first.locator("[role=alert]")
    drop(page, "#source", "film.docx", "no archive")
    wait_text(page, ".panes [role=alert]", "Invalid request: ")
    box, pane = alert.bounding_box(), page.locator("#source").bounding_box()
    assert 0 < box["y"] - pane["y"] - pane["height"] < 120
    page.get_by_label("Text to translate").fill("7 8 9")
    wait_text(page, ".output", "9 8 7")
    assert not alert.inner_text()
    page.close()


def test_what_is_no_text_is_refused_and_said(look: Any) -> None:
    page = look("translate")
    page.locator("#source-file").set_input_files(
        {"name": "a.zip", "mimeType": "application/zip", "buffer": b"PK\x03\x04\xff\x00"}
    )
    wait_text(page, ".panes [role=alert]", "a.zip is no text")
    assert page.get_by_label("Text to translate").input_value() == TEXT
    page.get_by_role("link", name="Test set").click()
    drop(page, "#lines", "b.docx", "PK\x00")
    wait_text(page, ".message", "b.docx is no text")
    assert page.get_by_label("Sentences, one a line").input_value() == ""


def test_a_long_text_is_taken_whole_or_said_to_be_cut(look: Any) -> None:
    page = look("translate")
    drop(page, ".output", "long.txt", "1 2 3 4\n" * 400 + "7 8 9\n")
    wait_text(page, ".output", "9 8 7")
    assert page.locator(".output").inner_text().count("4 3 2 1") == 400
    assert "cut" not in page.locator(".panes").inner_text()
    drop(page, "#source", "longer.txt", "1 2\n" * 1500)
    wait_text(page, ".panes", "of 6,000 characters the first 5,000 are here")
    page.get_by_role("button", name="Translate the whole file").click()
    with page.expect_download() as started:
        page.get_by_role("button", name="Download longer_").click()
    assert Path(started.value.path()).read_text().count("2 1") == 1500


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


@pytest.mark.parametrize("wrong", ["zzz", "toString", "__proto__"])
def test_a_kind_that_there_is_not_becomes_the_usual_one(look: Any, wrong: str) -> None:
    page = look("attention", kind=wrong)
    wait_text(page, ".heat-map text", "4")
    assert page.get_by_role("radio", name="Target to source").is_checked()
    page = look("how", kind=wrong)
    page.wait_for_selector(".part")
    assert page.get_by_role("radio", name="the decoder, to the source").is_checked()
    page = look("map", side=wrong, token=5)
    wait_text(page, "h3", "Nearest to")


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


def test_a_length_penalty_of_nothing_is_nothing(look: Any) -> None:
    page = look("tree")
    page.get_by_role("slider", name="Length penalty").fill("0")
    page.wait_for_function(
        """() => {
            const [, score, sum] = document.querySelectorAll('tr.best td');
            return score.textContent === sum.textContent;
        }"""
    )
    assert "Length penalty 0.0" in page.locator(".controls").inner_text()
    look("map", token=0)
    wait_text(page, "h3", "Nearest to")


def test_two_compared_trees_have_names_of_their_own(look: Any) -> None:
    page = look("tree")
    page.get_by_role("button", name="Keep this tree to compare").click()
    wait_text(page, "h3", "The tree that was kept")
    kept = page.get_by_role("region", name="Finished targets of the tree that was kept")
    assert kept.count() == 1
    assert page.get_by_role("region", name="Finished targets", exact=True).count() == 1


def test_the_tree_that_was_kept_stays_as_it_was(look: Any) -> None:
    page = look("tree")
    page.get_by_role("button", name="Keep this tree to compare").click()
    wait_text(page, "h3", "The tree that was kept")
    page.get_by_role("link", name="How it works").click()
    page.get_by_role("checkbox", name="positions").uncheck()
    wait_text(page, ".off", "One thing is switched off")
    page.get_by_role("link", name="Beam tree").click()
    page.wait_for_selector("tr.best td")
    kept = page.locator("tr.best").nth(1).locator("td").first.inner_text()
    assert kept.startswith("4 3 2 1")
    assert not best(page).startswith("4 3 2 1")
    page.get_by_label("Sentence", exact=True).fill("7 8 9")
    page.get_by_role("button", name="Keep this tree to compare").wait_for()
    assert page.locator(".beam").count() == 1
    page.get_by_label("Model", exact=True).select_option("1")
    page.wait_for_function("() => !location.hash.includes('sw=')")
    wait_text(page, "tr.best td", "9 8 7")


def test_edits_of_another_sentence_cannot_be_undone(look: Any) -> None:
    page = look("tree")
    page.get_by_label("Must hold", exact=True).fill("9")
    page.get_by_label("Must hold", exact=True).press("Enter")
    page.wait_for_function("() => document.querySelector('tr.best td').textContent.includes('9')")
    undo = page.get_by_role("button", name="Undo")
    assert undo.is_enabled()
    page.get_by_label("Sentence", exact=True).fill("7 8")
    page.wait_for_function("() => document.querySelector('tr.best td').textContent === '8 7'")
    assert undo.is_disabled()


def test_a_server_that_is_gone_is_said(browser: Any, address: str) -> None:
    page = browser.new_page()
    thrown: list[str] = []
    page.on("pageerror", lambda error: thrown.append(str(error)))
    page.goto(f"{address}/#translate?t=1+2+3+4")
    wait_text(page, ".output", "4 3 2 1")
    page.route("**/inspect/**", lambda route: route.abort())
    page.locator(".pair p").nth(1).get_by_role("button").first.click()
    wait_text(page, ".message", "The server does not answer")
    assert page.locator(".output").inner_text() == "4 3 2 1"
    assert not thrown
    page.close()


def test_the_mean_of_all_heads_is_marked_where_it_aligns_best(look: Any) -> None:
    page = look("translate")
    best_view = {"layer": 1, "head": None, "step": "writing", "score": 0.9, "sentences": 50}
    page.route("**/inspect/best-view", lambda route: route.fulfill(json=best_view))
    page = look("attention")
    wait_text(page, ".head span", "mean ★")
    assert "the mean of its heads aligns best" in page.locator("main").inner_text()


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


def test_the_walk_shows_the_mask_and_the_weights_that_the_model_has_now(look: Any) -> None:
    page = look("how", kind="decoder", layer=1, sw={"mask_off": True})
    wait_text(page, ".part p", "The look-ahead mask is switched off")
    page = look("how", kind="cross", layer=1, sw={"hidden_source": [0]})
    wait_text(page, ".part p", "The words of the source that are switched off are hidden")
    edit = {"kind": "cross", "layer": 1, "head": 1, "row": 0, "column": 0, "weight": 0.5}
    page = look("how", kind="cross", layer=1, sw={"edited": [edit]})
    wait_text(page, ".part title", "→ 1: 0.50")


def test_an_edited_weight_is_used(look: Any) -> None:
    page = look("how")
    page.wait_for_selector(".part")
    page.get_by_label("Edit the weight of").fill("0.5")
    page.get_by_role("button", name="Use it").click()
    wait_text(page, ".off", "One thing is switched off or edited")
    wait_text(page, ".switches", "= 0.5")


@pytest.mark.parametrize(("written", "used"), [("7", "1"), ("-1", "0")])
def test_a_weight_out_of_range_is_said_to_be_changed(look: Any, written: str, used: str) -> None:
    page = look("how")
    page.wait_for_selector(".part")
    for _ in range(2):  # the second time nothing changes, and it is said again
        page.get_by_label("Edit the weight of").fill(written)
        page.get_by_role("button", name="Use it").click()
        wait_text(page, ".part button", "Take it back")
        wait_text(page, ".switches", f"= {used}")
        wait_text(page, ".part output", f"A weight is 0 to 1, so {used} is used")
        assert page.get_by_label("Edit the weight of").input_value() == used
    page.get_by_label("Edit the weight of").fill("")
    page.get_by_role("button", name="Use it").click()
    wait_text(page, ".part output", "Write a number from 0 to 1")
    page.get_by_label("Edit the weight of").fill("0.5")
    page.get_by_role("button", name="Use it").click()
    wait_text(page, ".switches", "= 0.5")
    assert page.locator(".part output", has_text="0 to 1").count() == 0


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


def test_lines_without_a_reference_are_counted_and_the_others_scored(look: Any) -> None:
    page = look("translate")
    page.get_by_role("link", name="Test set").click()
    page.get_by_label("Sentences, one a line").fill("1 2 3\t3 2 1\n4 5\n7 7 1 2\t1 1 1 1\n8 9\t \n")
    page.get_by_role("button", name="Translate all").click()
    page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 4")
    wait_text(page, ".result p", "of the 2 that have a reference; 2 have none")
    assert page.locator(".curve circle").count() == 2
    page.get_by_label("worst first").check()
    page.wait_for_function("() => document.querySelector('tbody button').textContent === '7 7 1 2'")
    scores = page.locator("tbody tr td:nth-last-child(2)").all_inner_texts()
    assert scores[1] == "100.00"
    assert scores[2:] == ["–", "–"]


def test_a_line_that_is_too_long_is_said_to_be_cut_and_not_scored(look: Any) -> None:
    page = look("translate")
    page.get_by_role("link", name="Test set").click()
    lines = page.get_by_label("Sentences, one a line")
    half = "x" * 1999 + "😀"  # the cut would go through the last character
    lines.fill(f"1 2 3\t3 2 1\n{'1 2 ' * 600}\t2 1\n{half}\n4 5\n")
    page.get_by_role("button", name="Translate all").click()
    page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 4")
    wait_text(page, ".note", "2 lines are longer than 2,000 characters")
    wait_text(page, ".note", "the beginning is translated, and not scored")
    wait_text(page, ".result p", "of the 1 that are scored; 1 has none")
    shown = page.locator("tbody button").all_inner_texts()
    assert [len(text) for text in shown[1:3]] == [len(("1 2 " * 500).strip()), 1999]
    lines.fill("1 2 3\n")
    page.get_by_role("button", name="Translate all").click()
    page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 1")
    assert "longer than" not in page.locator("main").inner_text()


def test_the_nearest_pairs_of_one_sentence_are_not_shown_under_another(look: Any) -> None:
    page = look("file")
    page.get_by_label("Sentences, one a line").fill("1 2 3\n7 8 9\n")
    page.get_by_role("button", name="Translate all").click()
    page.wait_for_selector("tbody tr")
    held: list[Any] = []
    page.route("**/inspect/nearest", lambda route: held.append(route))
    for place in (0, 1):
        page.locator("tbody button").nth(place).click()
    wait_until_held(page, held, 2)
    for route in reversed(held):
        with page.expect_response("**/inspect/nearest"):
            route.continue_()
    chosen = page.get_by_role("region", name="The chosen sentence")
    chosen.locator("h4").first.wait_for()
    page.wait_for_timeout(100)
    assert chosen.locator("h4").count() == 1
    assert chosen.locator("h3").inner_text() == "7 8 9"


def test_a_test_set_is_translated_without_what_is_switched_off(look: Any) -> None:
    page = look("file", sw={"positions_off": True, "hidden_source": [0]})
    page.get_by_label("Sentences, one a line").fill("1 2 3\n")
    page.get_by_role("button", name="Translate all").click()
    page.wait_for_selector("tbody tr")
    assert page.locator("tbody td").nth(1).inner_text() != "3 2 1"
    page.get_by_role("button", name="Put everything back").click()
    wait_text(page, "tbody td", "3 2 1")


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
    page.go_back()
    page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 3")
    assert page.get_by_label("Sentences, one a line").input_value().startswith("1 2 3\t3 2 1")
    assert page.get_by_label("worst first").is_checked()
