"""Corrections of text that stands in a document with markup."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from interlingua.server.engine import Engine, ServedModel
from interlingua.server.marked import translate_markup
from interlingua.server.markup import HTML, XML, Dialect

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

    def __init__(self) -> None:
        self.batcher = self
        self.asked: list[str] = []

    async def translate(self, model: int, sentences: list[str], options: object) -> list[Any]:
        """Translate nothing, and keep what was asked for."""
        self.asked += sentences
        return [(sentence, [], False) for sentence in sentences]

    async def ask(self, asked: dict[str, Any], *, is_let_in: bool) -> list[str | None]:
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


@pytest.mark.parametrize(
    ("document", "dialect", "asked"),
    [
        ("<p>\n  A man\n  runs.\n</p>", HTML, ["A man   runs."]),
        ("<p>A man runs.\nA dog\r\nsleeps.</p>", HTML, ["A man runs.", "A dog  sleeps."]),
        ("<pre>A man\nruns.</pre>A dog\nsleeps.", HTML, ["A man", "runs.", "A dog sleeps."]),
        ("<PRE><div>A man\nruns.</div></PRE>", HTML, ["A man", "runs."]),
        ("A man\nruns.", XML, ["A man", "runs."]),
    ],
)
def test_a_line_break_is_a_blank_where_a_reader_sees_one(
    document: str, dialect: Dialect, asked: list[str]
) -> None:
    engine = Corrected()
    model = ServedModel(0, "en", "de", 4, True, True)
    way = cast(Engine, engine), [model]
    [done] = asyncio.run(translate_markup(*way, [document], dialect))
    assert engine.asked == asked
    assert done.split() == document.split()


def test_white_space_around_sentences_stays() -> None:
    engine = Corrected()
    model = ServedModel(0, "en", "de", 4, True, True)
    document = "<p>\n\tA man runs.\nA dog sleeps.\r\n</p>"
    assert asyncio.run(translate_markup(cast(Engine, engine), [model], [document], HTML)) == [
        document
    ]
