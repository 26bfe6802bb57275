"""Words and their colours: the text itself, whatever pieces the vocabulary cut it into."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

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

TARGET = "a 😀 猫 5% & cake"


@pytest.fixture(scope="module")
def bakery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a model that spells digits and signs in bytes, and writes one sentence whatever it is given."""
    tokenizer = train_tokenizer(["a cake"], kind="char", vocabulary_size=280)
    size = tokenizer.vocabulary_size
    torch.manual_seed(1)
    architecture = Architecture(
        encoder_layers=1, decoder_layers=1, d_model=64, d_ff=64, heads=2, dropout=0.0
    )
    model = Transformer(architecture, source_vocabulary=size, target_vocabulary=size)
    ids = tokenizer.encode(TARGET).ids
    source = torch.tensor([[*tokenizer.encode("a 5% cake").ids, tokenizer.end_id]])
    target, wanted = (
        torch.tensor([[tokenizer.begin_id, *ids]]),
        torch.tensor([*ids, tokenizer.end_id]),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    for _ in range(150):
        torch.nn.functional.cross_entropy(model(source, target)[0], wanted).backward()
        optimizer.step()
        optimizer.zero_grad()
    pieces = TokenizerPair(tokenizer, tokenizer, False)
    loaded = LoadedModel(model.eval(), pieces, "ro", "en", DecodingConfig(max_length_offset=50), 64)
    folder = tmp_path_factory.mktemp("bakery") / "model"
    save_model_folder(folder, loaded, parameters_of(model), "card")
    with serving(folder) as server:
        yield server.address


def words(page: Any, side: int) -> list[str]:
    return page.locator(".pair p").nth(side).get_by_role("button").all_inner_texts()


@pytest.mark.parametrize(
    "source", ["a 5% & cake", "猫が寝る", "😀 a 猫 5%."], ids=["signs", "cat", "beyond-16-bits"]
)
def test_words_are_the_text_whatever_bytes_it_was_cut_into(
    page: Any, bakery: str, source: str
) -> None:
    page.goto(f"{bakery}/#translate?t={quote(source)}")
    page.wait_for_selector(".pair button")
    assert words(page, 0) == source.split()
    assert words(page, 1) == TARGET.split()
    assert page.locator(".output").inner_text().split() == TARGET.split()
    page.locator(".pair p").nth(1).get_by_role("button").nth(3).click()
    assert "In place of 5%" in page.get_by_role("region", name="Alternatives").inner_text()
    page.get_by_role("link", name="Attention").click()
    page.wait_for_selector(".heat-map")
    page.get_by_label("words", exact=True).check()
    shown = page.locator(".heat-map svg text.row")
    page.wait_for_function(
        "words => document.querySelectorAll('.heat-map svg text.row').length === words",
        arg=len(TARGET.split()) + 1,
    )
    assert shown.all_text_contents() == [*TARGET.split(), "</s>"]
    columns = page.locator(".heat-map svg text.column")
    assert columns.all_text_contents() == [*source.split(), "</s>"]
    page.get_by_role("radio", name="Within the target").check()
    page.locator(".heat-map svg text.column", has_text="<s>").wait_for()
    assert columns.all_text_contents() == ["<s>", *TARGET.split()]
    page.get_by_label("subwords", exact=True).check()
    page.locator(".heat-map svg text.row", has_text="<0x35>").wait_for()


def test_words_are_coloured_only_when_that_is_wanted(page: Any, bakery: str) -> None:
    page.goto(f"{bakery}/#translate?t={quote('cake 5')}")
    page.wait_for_selector(".pair button")
    tinted = page.locator('.pair [class*="doubt-"]')
    assert tinted.count() == 0
    page.get_by_label("Colour words by probability").check()
    page.wait_for_selector(".output.coloured")
    assert tinted.count() == len(TARGET.split())
    page.get_by_label("Colour words by probability").uncheck()
    page.wait_for_selector(".output:not(.coloured)")
    assert tinted.count() == 0


def test_a_text_too_long_to_be_looked_into_is_told_so_in_words(browser: Any, bakery: str) -> None:
    page = browser.new_page()
    page.goto(f"{bakery}/#steps?t={'a' * 3_000}")
    page.wait_for_selector(".message:not(:empty)")
    told = page.locator(".message").inner_text()
    assert told == (
        "Invalid request: text is too long to be looked into: it has 3,000 characters, and at most 2,000 are taken"
    )
    page.close()


def test_the_reference_of_the_api_has_the_icon_of_the_page(page: Any, bakery: str) -> None:
    page.goto(f"{bakery}/docs")
    page.wait_for_selector("h2")
    icon = page.locator('link[rel="icon"]').get_attribute("href")
    for path in (icon, "/favicon.ico"):
        answer = page.request.get(f"{bakery}{path}")
        assert answer.status == 200
        assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.text() == page.request.get(f"{bakery}/icon.svg").text()
