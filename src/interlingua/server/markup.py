"""HTML and XML cut into what is translated and what is not: runs of text, with the elements inside each.

A run is text between two boundaries; a boundary is a tag of a block (a paragraph, a cell), or anything that encloses one.
What is inside a run (bold, links, pictures) moves with its words; everything else stays where it is, byte for byte.
"""

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html.entities import html5

from interlingua.server.tags import Tags

__all__ = [
    "HTML",
    "XML",
    "Dialect",
    "Node",
    "Run",
    "escape_like",
    "loses_entities",
    "read_markup",
    "without_entities",
]

_DEEPEST = 100
"""Elements of a run inside of each other; those further inside stay where they are, like pictures."""
_UNTOUCHED = re.compile(
    r"""(?i)\btranslate\s*=\s*(?:"no"|'no'|no\b)|\bclass\s*=\s*["'][^"']*\bnotranslate\b"""
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_BARE = sorted((name for name in html5 if not name.endswith(";")), key=len, reverse=True)
_HTML_ENTITY = re.compile(
    rf"{_ENTITY.pattern}|&(?:#\d{{1,7}}(?!\d)|#[xX][0-9a-fA-F]{{1,6}}(?![0-9a-fA-F])|{'|'.join(_BARE)})"
)
"""In HTML a number, and a name that is older than the fifth edition, is an entity without its semicolon too."""
_SPELLING = frozenset("'\u2019\u02bc-\u2010\u2011\u00ad")
"""Apostrophes and hyphens: each language has them at places of its own."""
_BEFORE_DOCUMENTS = ("<!doctype", "<?xml")


@dataclass(frozen=True, slots=True)
class Dialect:
    """What the names of elements mean.

    Attributes:
        blocks: elements between which sentences end; every other one moves with its words, also one that nobody knows.
        inline: the other way round: elements that move with their words, where every other one is such a boundary.
        void: elements that have no end.
        raw: elements whose content is no text.
        entity: how a character is written by its name or its number.
        folds: whether a line break is a blank like any other, as where lines are broken for whoever edits the document.
        preformatted: elements in which it is a line break all the same.
    """

    blocks: frozenset[str] = frozenset()
    inline: frozenset[str] | None = None
    void: frozenset[str] = frozenset()
    raw: frozenset[str] = frozenset()
    entity: re.Pattern[str] = _ENTITY
    folds: bool = False
    preformatted: frozenset[str] = frozenset()

    def is_block(self, name: str) -> bool:
        """Whether an element is a boundary between runs."""
        if self.inline is not None:
            return bool(name) and name.lower() not in self.inline
        return name.lower() in self.blocks


@dataclass(eq=False, slots=True)
class Node:
    """An element of a run, or something without content: a picture, a comment, an entity.

    Attributes:
        opening: what stands before its content; all of it where there is none.
        closing: what stands after.
        start: the first character of the run's text that is inside.
        end: one beyond the last.
        children: what is inside, in order.
        reads: the text that an entity stands for; None where it is anything else.
    """

    opening: str
    closing: str
    start: int
    end: int
    children: "list[Node]" = field(default_factory=list)
    reads: str | None = None


_HTML_BLOCKS = """
    address area article aside audio base basefont bgsound blockquote body br button canvas caption center col
    colgroup datalist dd details dialog dir div dl dt embed fieldset figcaption figure footer form frame frameset h1
    h2 h3 h4 h5 h6 head header hgroup hr html iframe input keygen legend li link main map menu meta meter nav
    noframes noscript object ol optgroup option output p param picture pre progress script search section select
    slot source style summary table tbody td template textarea tfoot th thead title tr track ul video
"""

HTML = Dialect(
    blocks=frozenset(_HTML_BLOCKS.split()),
    void=frozenset(
        [
            "area",
            "base",
            "basefont",
            "bgsound",
            "br",
            "col",
            "embed",
            "frame",
            "hr",
            "img",
            "input",
            "keygen",
            "link",
            "meta",
            "param",
            "source",
            "track",
            "wbr",
        ]
    ),
    raw=frozenset(["script", "style", "template", "textarea", "noscript", "svg", "math"]),
    entity=_HTML_ENTITY,
    folds=True,
    preformatted=frozenset(["pre", "listing"]),
)
XML = Dialect()


@dataclass(frozen=True, slots=True)
class Run:
    """A text that is translated, and the elements in it.

    Attributes:
        source: as it stands in the document.
        text: without the tags, entities read.
        nodes: the outermost elements in it.
        entities: characters that were written as entities, and how.
        folds: whether a line break in it is no more than a blank.
    """

    source: str
    text: str
    nodes: tuple[Node, ...]
    entities: dict[str, str]
    folds: bool = False


@dataclass(slots=True)
class _Token:
    """A piece of the document; ``partner`` is the tag that closes or opens what this one opens or closes.

    ``raw`` is how it stands there; ``written``, of an entity, how it is written where it moves to.
    """

    kind: str
    raw: str
    name: str = ""
    partner: int | None = None
    written: str = ""


def read_markup(document: str, dialect: Dialect, *, keep_words: bool = False) -> list[str | Run]:
    """Cut a document; what is put together again without a change is the document.

    Args:
        document: HTML or XML; what is not well-formed is kept as it is.
        dialect: what the names of its elements mean.
        keep_words: leave a word as it is that has an entity inside which is no letter and no apostrophe (``AT&amp;T``).
    """
    tokens = list(_tokens(document, dialect, keep_words=keep_words))
    _pair(tokens)
    pieces: list[str | Run] = []
    run: list[_Token] = []
    boundaries = _boundaries(tokens, dialect)
    preformatted = 0
    for number, token in enumerate(tokens):
        if number in boundaries:
            pieces.extend(_finish(run, dialect, folds=dialect.folds and not preformatted))
            run = []
            pieces.append(token.raw)
            if token.partner is not None and token.name.lower() in dialect.preformatted:
                preformatted += 1 if token.kind == "open" else -1
        else:
            run.append(token)
    pieces.extend(_finish(run, dialect, folds=dialect.folds and not preformatted))
    return pieces


def without_entities(run: Run) -> Run | None:
    """Return a run as a reader sees it: entities that stand by themselves are text too; None if it has elements."""
    entities = dict(run.entities)
    pieces, at = [], 0
    for node in run.nodes:
        if node.reads is None:
            return None
        pieces += [run.text[at : node.start], node.reads]
        entities.setdefault(node.reads, node.opening)
        at = node.start
    return replace(run, text="".join((*pieces, run.text[at:])), nodes=(), entities=entities)


def escape_like(text: str, entities: dict[str, str]) -> str:
    """Write text as markup, with the entities that the source wrote."""
    escaped = {"&": "&amp;", "<": "&lt;", ">": "&gt;"} | entities
    return "".join(escaped.get(character, character) for character in text)


def loses_entities(run: Run, written: str, dialect: Dialect) -> bool:
    """Whether a translation lacks marks that its run has as entities, as one inside a word may be lost with it."""
    marks = _marks(run.source, dialect)
    return bool(marks) and bool(marks - _marks(written, dialect))


def _marks(markup: str, dialect: Dialect) -> Counter[str]:
    """Count what is written as entities outside of tags and is no part of a language's spelling."""
    characters = [
        html.unescape(each[0]) for each in dialect.entity.finditer(Tags(markup).left_out())
    ]
    return Counter(filter(_is_mark, characters))


def _is_mark(character: str) -> bool:
    """Whether a character inside a word belongs to no language's spelling: a symbol, a dash, a quotation mark."""
    return all(
        unicodedata.category(each)[0] in "SP" and each not in _SPELLING for each in character
    )


def _tokens(document: str, dialect: Dialect, *, keep_words: bool) -> Iterator[_Token]:
    at, tags = 0, Tags(document)
    while at < len(document):
        tag = tags.next(at)
        if tag is None:
            yield from _text_tokens(document[at:], dialect, keep_words=keep_words)
            return
        found, end = tag
        yield from _text_tokens(document[at : found.start()], dialect, keep_words=keep_words)
        at = end if not found["name"] else _end_of_untouched(tags, found, dialect)
        raw = document[found.start() : at]
        name = found["name"] or ""
        if not name or at > found.end() or found["rest"].rstrip().endswith("/"):
            yield _Token("void", raw, name)
        elif found["close"]:
            yield _Token("close", raw, name)
        elif name.lower() in dialect.void:
            yield _Token("void", raw, name)
        else:
            yield _Token("open", raw, name)


def _end_of_untouched(tags: Tags, tag: re.Match[str], dialect: Dialect) -> int:
    """Return where a tag ends, or the element if nothing in it is to be translated."""
    name = tag["name"]
    if tag["close"] or tag["rest"].rstrip().endswith("/"):
        return tag.end()
    if name.lower() in dialect.void:
        return tag.end()
    is_raw = name.lower() in dialect.raw
    if not is_raw and not _UNTOUCHED.search(tag["rest"]):
        return tag.end()
    end = tags.end_of_element(tag, is_raw=is_raw, folds_case=bool(dialect.void))
    return tag.end() if end is None else end


def _text_tokens(text: str, dialect: Dialect, *, keep_words: bool) -> Iterator[_Token]:
    """Cut text where an entity stands for something that is no part of a word: that is kept as it is."""
    at = 0
    for entity in dialect.entity.finditer(text):
        character = html.unescape(entity[0])
        start, end = entity.span()
        around = text[start - 1 : start] + text[end : end + 1]
        is_inside = len(around) == 2 and around.isalnum()
        is_letter = character.isalpha() or character.isdecimal()
        if start < at or character == entity[0] or is_letter:
            continue
        if is_inside and not (keep_words and _is_mark(character)):
            continue
        if is_inside:
            start, end = _word_around(text, start, end, at)
        if start > at:
            yield _Token("text", text[at:start])
        kept = text[start:end]
        yield _Token("void", kept, written=kept if is_inside else _closed(kept))
        at = end
    if at < len(text):
        yield _Token("text", text[at:])


def _word_around(text: str, start: int, end: int, least: int) -> tuple[int, int]:
    """Return where the word begins and ends that has text from ``start`` to ``end`` inside."""
    while start > least and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    return start, end


def _pair(tokens: list[_Token]) -> None:
    """Find the partner of every tag that has one; a tag without is like a picture."""
    opened: list[int] = []
    last: dict[str, list[int]] = {}
    for number, token in enumerate(tokens):
        if token.kind == "open":
            opened.append(number)
            last.setdefault(token.name, []).append(number)
        elif token.kind == "close" and last.get(token.name):
            while opened[-1] != last[token.name][-1]:
                last[tokens[opened.pop()].name].pop()
            partner = opened.pop()
            last[token.name].pop()
            token.partner, tokens[partner].partner = partner, number
    for token in tokens:
        if token.kind in ("open", "close") and token.partner is None:
            token.kind = "void"


def _boundaries(tokens: list[_Token], dialect: Dialect) -> set[int]:
    """Return the tokens between which runs lie: blocks, what stands before a document, and whatever encloses one."""
    blocks = [
        dialect.is_block(token.name) or token.raw.lower().startswith(_BEFORE_DOCUMENTS)
        for token in tokens
    ]
    before = [0]
    for is_block in blocks:
        before.append(before[-1] + is_block)
    found = {number for number, is_block in enumerate(blocks) if is_block}
    for number, token in enumerate(tokens):
        if token.kind != "open" or token.partner is None:
            continue
        if before[token.partner + 1] > before[number]:
            found |= {number, token.partner}
    return found


def _closed(entity: str) -> str:
    """Write an entity with its semicolon: whatever comes to stand behind it must not become a part of its name."""
    return entity if entity.endswith(";") else f"{entity};"


def _finish(tokens: list[_Token], dialect: Dialect, *, folds: bool) -> Iterator[str | Run]:
    """Make a run of tokens that hold a letter or a digit; keep others as they are."""
    source = "".join(token.raw for token in tokens)
    if not any(token.kind == "text" and any(map(str.isalnum, token.raw)) for token in tokens):
        if source:
            yield source
        return
    texts: list[str] = []
    size = 0
    entities: dict[str, str] = {}
    top: list[Node] = []
    levels = [top]
    opened: list[Node] = []
    too_deep = 0
    for token in tokens:
        if token.kind == "text":
            plain, written = _read_entities(token.raw, dialect)
            texts.append(plain)
            size += len(plain)
            entities |= written
        elif token.kind == "open" and len(opened) == _DEEPEST:
            too_deep += 1
            levels[-1].append(Node(token.raw, "", size, size))
        elif token.kind == "close" and too_deep:
            too_deep -= 1
            levels[-1].append(Node(token.raw, "", size, size))
        elif token.kind == "open":
            node = Node(token.raw, "", size, size)
            levels[-1].append(node)
            levels.append(node.children)
            opened.append(node)
        elif token.kind == "close":
            node = opened.pop()
            node.closing, node.end = token.raw, size
            levels.pop()
        else:
            node = Node(token.written or token.raw, "", size, size)
            if token.written:
                node.reads, _ = _read_entities(token.raw, dialect)
            levels[-1].append(node)
    yield Run(source, "".join(texts), tuple(top), entities, folds)


def _read_entities(raw: str, dialect: Dialect) -> tuple[str, dict[str, str]]:
    written: dict[str, str] = {}

    def read(entity: re.Match[str]) -> str:
        character = html.unescape(entity[0])
        if len(character) == 1:
            written.setdefault(character, _closed(entity[0]))
        return character

    return dialect.entity.sub(read, raw), written
