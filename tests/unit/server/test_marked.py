"""Corrections of text that stands in a document with markup."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from interlingua.server.engine import Engine, ServedModel
from interlingua.server.marked import translate_markup
from interlingua.server.markup import HTML

TOLD = {
    "Tom & Jerry run.": "Tom & Jerry rennen.",
    "It is 5 > 3.": "Es ist 5 > 3.",
    'A "man" runs.': 'Ein "Mann" rennt.',
    "AT&T runs.": "ATT läuft.",
    "A \u201cman\u201d": "Ein \u201cMann\u201d",
}
"""What a text was told to be in the other language."""


class Corrected:
    """In place of the engine: knows corrections, and no model."""

    settings = SimpleNamespace(corrections="told")

    async def ask(self, asked: dict[str, Any]) -> list[str | None]:
        """Return what was told of each text."""
        return [TOLD.get(text) for text in asked["texts"]]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("<p>Tom &amp; Jerry run.</p>", "<p>Tom &amp; Jerry rennen.</p>"),
        ("<p>It is 5 &gt; 3.</p>", "<p>Es ist 5 &gt; 3.</p>"),
        ("<p>A &quot;man&quot; runs.</p>", "<p>Ein &quot;Mann&quot; rennt.</p>"),
        ('<p> A "man" runs.\n</p>', '<p> Ein "Mann" rennt.\n</p>'),
        ("<p>A &ldquo;man&rdquo;&nbsp;</p>", "<p>Ein &ldquo;Mann&rdquo;&nbsp;</p>"),
        ("<p>Tom &amp Jerry run.</p>", "<p>Tom &amp; Jerry rennen.</p>"),
        ("<p>AT&amp;T runs.</p>", "<p>ATT läuft.</p>"),
    ],
)
def test_a_correction_is_of_the_text_that_a_reader_sees(document: str, expected: str) -> None:
    engine = cast(Engine, Corrected())
    model = ServedModel(0, "en", "de", 4, True, True)
    assert asyncio.run(translate_markup(engine, [model], [document], HTML)) == [expected]
