"""Paragraphs of Word documents: what has a format of its own goes with its words, whole.

A paragraph is a row of pieces (``w:r``, or a link around some), each with its format. Pieces between two breaks are translated
as one text, and stand afterwards in the order of their translations.
"""

import html
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from interlingua.server.markup import Node, Run

__all__ = ["translate_word"]

_PARAGRAPH_TAG = re.compile(r"<(/?)w:p(?=[ />])[^<>]*>")
_PIECE = re.compile(
    r"<w:hyperlink\b(?:(?!<w:hyperlink\b).)*?</w:hyperlink>|<w:r[ >](?:(?!<w:r[ >]).)*?</w:r>",
    re.DOTALL,
)
_TEXT = re.compile(r"(<w:t)(?: [^<>]*)?>([^<]*)</w:t>")
_BREAK = re.compile(r"<w:(?:br|tab|cr|drawing|pict|object|fldChar|footnoteReference)\b|<mc:")
_MARKS = re.compile("[\ue000-\ue002]")
_MARK = re.compile("\ue000(\\d+)\ue001|\ue002")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece of a paragraph, and where it stands in the document."""

    start: int
    end: int
    raw: str

    @property
    def text(self) -> str:
        """What it shows."""
        shown = "".join(text for _, text in _TEXT.findall(self.raw))
        return html.unescape(_MARKS.sub("", shown))

    def with_text(self, escaped: str) -> str:
        """Return it with another text, all of it in the first place that has some."""
        left = [f'<w:t xml:space="preserve">{escaped}</w:t>']
        return _TEXT.sub(lambda found: left.pop() if left else f"{found[1]}></w:t>", self.raw)


async def translate_word(
    document: str, translate: Callable[[Sequence[Run]], Awaitable[list[str]]]
) -> str:
    """Translate the paragraphs of a part of a Word document.

    Args:
        document: its XML.
        translate: writes runs in the other language, with their elements.
    """
    groups = [
        group
        for start, end in _stretches(document)
        for group in _groups(document[start:end], start)
    ]
    texts = await translate([_as_run(group) for group in groups])
    changes = [
        change
        for group, text in zip(groups, texts, strict=True)
        for change in _changes(group, text)
    ]
    pieces, at = [], 0
    for slot, raw in sorted(changes, key=lambda change: change[0].start):
        pieces += [document[at : slot.start], raw]
        at = slot.end
    return "".join([*pieces, document[at:]])


def _stretches(document: str) -> Iterator[tuple[int, int]]:
    """Yield where paragraphs have text of their own; one that holds a text box, which is paragraphs, goes on behind it anew."""
    depth = at = 0
    for tag in _PARAGRAPH_TAG.finditer(document):
        if tag[0].endswith("/>"):
            continue
        if depth:
            yield at, tag.start()
        depth = max(0, depth - 1) if tag[1] else depth + 1
        at = tag.end()


def _groups(paragraph: str, offset: int) -> list[list[_Piece]]:
    """Return the pieces with text, those between two breaks together; the texts beside a break stay beside it."""
    groups: list[list[_Piece]] = [[]]
    for found in _PIECE.finditer(paragraph):
        if _BREAK.search(found[0]):
            at = found.start() + offset
            alone = [
                [_Piece(at + each.start(), at + each.end(), each[0])]
                for each in _TEXT.finditer(found[0])
            ]
            groups += [*alone, []]
        elif _TEXT.search(found[0]):
            groups[-1].append(_Piece(found.start() + offset, found.end() + offset, found[0]))
    return [group for group in groups if group]


def _as_run(group: Sequence[_Piece]) -> Run:
    """Make each piece an element of one run."""
    text = ""
    nodes = []
    for number, piece in enumerate(group):
        start = len(text)
        text += piece.text
        nodes.append(Node(f"\ue000{number}\ue001", "\ue002", start, len(text)))
    return Run(text, text, tuple(nodes), {})


def _changes(group: Sequence[_Piece], text: str) -> list[tuple[_Piece, str]]:
    """Return what stands in the place of each piece: the pieces in their new order."""
    texts = [""] * len(group)
    order: list[int] = []
    at, here, first = 0, None, ""
    for mark in _MARK.finditer(text):
        between = text[at : mark.start()]
        at = mark.end()
        if here is None:
            first += between
        else:
            texts[here] += between
        if mark[1]:
            here = int(mark[1])
            order.append(here)
    if here is None:
        return []
    texts[here] += text[at:]
    texts[order[0]] = first + texts[order[0]]
    return [
        (slot, group[number].with_text(texts[number]))
        for slot, number in zip(group, order, strict=True)
    ]
