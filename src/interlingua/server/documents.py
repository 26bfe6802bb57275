"""Files of other programs: their text is translated, and all else in them stays as it is.

Nothing is parsed that could expand: marks are told from text by their brackets, and an archive is held to its limits before
a byte of it is unpacked.
"""

import html
import lzma
import re
import zipfile
import zlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from typing import Protocol

from interlingua.server.engine import Engine, ServedModel
from interlingua.server.marked import translate_markup, translate_runs
from interlingua.server.markup import HTML, Dialect, Run, read_markup
from interlingua.server.refusals import Refusal
from interlingua.server.translation import translate_texts
from interlingua.server.word_documents import translate_word

__all__ = ["FORMATS", "Translating", "text_of", "translate_document"]

_MOST_MEMBERS = 2_000
_MOST_UNPACKED = 100_000_000
"""Bytes that an archive may hold, and how many files."""

_ODT = Dialect(
    inline=frozenset(
        f"text:{name}"
        for name in (
            *("span", "a", "s", "tab", "line-break", "soft-page-break", "bookmark", "note-ref"),
            *("bookmark-start", "bookmark-end", "reference-mark", "ruby", "ruby-base"),
        )
    ),
    raw=frozenset(
        [
            *("dc:creator", "dc:date", "meta:creator-initials", "meta:date-string"),
            *("office:binary-data", "number:text", "number:currency-symbol"),
        ]
    ),
    folds=True,
)
_ODT_TEXT = ("content.xml", "styles.xml")
_DOCX_TEXT = re.compile(r"word/(document|header\d*|footer\d*|footnotes|endnotes|comments)\.xml")
_CUE = re.compile(r"^[ \t]*\d+:\d\d:\d\d[,.]\d+[ \t]*-->.*$")

_OVERRIDE = re.compile(r"(?:\{[^{}]*\}\s*)*")
_TAGS = re.compile(r"(?:<[A-Za-z][^<>]*>\s*)*")
_DASH = re.compile(
    rf"{_OVERRIDE.pattern}({_TAGS.pattern})([-\u2010\u2013\u2014]+(?:\s+|(?=[^\s\d-])))"
)
"""What stands before the words of a line of a subtitle: override tags, and the dash of a dialogue, maybe in italics."""


TranslateRuns = Callable[[Sequence[Run]], Awaitable[list[str]]]


class _Reader(Protocol):
    """What is done with the text of a document."""

    async def texts(self, texts: Sequence[str]) -> list[str]:
        """Take plain texts; return what stands in their place."""

    async def markup(self, documents: Sequence[str], dialect: Dialect) -> list[str]:
        """Take the text of documents with markup; return them with what stands in its place."""

    def steps(self) -> Sequence[TranslateRuns]:
        """Return what runs of text go through, one after another."""


@dataclass(frozen=True, slots=True)
class Translating:
    """The models that a document goes through."""

    engine: Engine
    way: Sequence[ServedModel]

    async def texts(self, texts: Sequence[str]) -> list[str]:
        """Translate plain texts."""
        return [each.text for each in await translate_texts(self.engine, self.way, texts)]

    async def markup(self, documents: Sequence[str], dialect: Dialect) -> list[str]:
        """Translate the text of documents with markup."""
        return await translate_markup(self.engine, self.way, documents, dialect)

    def steps(self) -> Sequence[TranslateRuns]:
        """Return each model's way with runs of text."""
        return [partial(translate_runs, self.engine, model) for model in self.way]


@dataclass(frozen=True, slots=True)
class _Collecting:
    """Keeps the text of a document, and leaves the document as it is."""

    found: list[str] = field(default_factory=list)

    async def texts(self, texts: Sequence[str]) -> list[str]:
        self.found.extend(texts)
        return list(texts)

    async def markup(self, documents: Sequence[str], dialect: Dialect) -> list[str]:
        for document in documents:
            runs = [each for each in read_markup(document, dialect) if isinstance(each, Run)]
            await self._runs(runs)
        return list(documents)

    def steps(self) -> Sequence[TranslateRuns]:
        return [self._runs]

    async def _runs(self, runs: Sequence[Run]) -> list[str]:
        self.found.extend(each.text for each in runs)
        return [each.source for each in runs]


async def translate_document(content: bytes, suffix: str, translating: Translating) -> bytes:
    """Translate a file.

    Args:
        content: of the file.
        suffix: one of :data:`FORMATS`.
        translating: the models.

    Raises:
        Refusal: it is not what its suffix says, or too large inside.
    """
    return await FORMATS[suffix](content, translating)


async def text_of(content: bytes, suffix: str) -> str:
    """Return what would be translated of a file, so that its language can be told.

    Raises:
        Refusal: it is not what its suffix says, or too large inside.
    """
    collecting = _Collecting()
    await FORMATS[suffix](content, collecting)
    return "\n".join(each for each in collecting.found if each.strip())


async def _translate_txt(content: bytes, translating: _Reader) -> bytes:
    [text] = await translating.texts([_decode(content)])
    return text.encode()


async def _translate_html(content: bytes, translating: _Reader) -> bytes:
    [document] = await translating.markup([_decode(content)], HTML)
    return document.encode()


async def _translate_srt(content: bytes, translating: _Reader) -> bytes:
    """Translate what is shown; numbers and times stay, and a cue has as many lines as before.

    A line that begins with a dash is what one person says, and is translated by itself, with the lines that go on from it.
    Override tags, in braces, at the beginning of a line stay where they are, and so do dashes.
    """
    text = _decode(content)
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines()
    cues: list[tuple[int, int]] = []
    start = None
    for number, line in enumerate([*lines, ""]):
        if _CUE.match(line):
            start = number + 1
        elif not line.strip() and start is not None:
            if number > start:
                cues.append((start, number))
            start = None
    said = [each for first, last in cues for each in _cut_cue(first, lines[first:last])]
    texts = [each.text.replace("&", "&amp;") for each in said]
    found = await translating.markup(texts, HTML)
    for each, text in reversed(list(zip(said, found, strict=True))):
        [opening, *others] = _break_lines(html.unescape(text), each.number) or [""]
        lines[each.first : each.first + each.number] = [each.put_before(opening), *others]
    return "".join(f"{line}{end}" for line in lines).encode()


@dataclass(frozen=True, slots=True)
class _Said:
    """What belongs together in a cue: so many lines from one on, and what stands before their text.

    ``is_inside`` tells that the dash stood behind tags, such as those of italics.
    """

    first: int
    number: int
    override: str
    dash: str
    is_inside: bool
    text: str

    def put_before(self, line: str) -> str:
        """Return the first line of the translation with what stood before the text."""
        tags = _TAGS.match(line)[0] if self.is_inside else ""  # type: ignore[index]
        return f"{self.override}{tags}{self.dash}{line[len(tags) :]}"


def _cut_cue(first: int, lines: Sequence[str]) -> list[_Said]:
    """Cut the lines of a cue, whose first is line ``first`` of the file, where somebody else begins to speak."""
    said: list[_Said] = []
    for number, line in enumerate(map(str.strip, lines), start=first):
        override, begun = _OVERRIDE.match(line)[0], _DASH.match(line)  # type: ignore[index]
        if override or begun or not said:
            tags, dash = begun.groups() if begun else ("", "")
            text = tags + line[len(override + tags + dash) :]
            said.append(_Said(number, 1, override, dash, bool(tags), text))
        else:
            last = said.pop()
            said.append(replace(last, number=last.number + 1, text=f"{last.text} {line}".lstrip()))
    return said


def _break_lines(text: str, number: int) -> list[str]:
    """Cut a text into ``number`` lines of like length, between words."""
    words = text.split(" ")
    lines: list[str] = []
    for left in range(number, 1, -1):
        room = len(" ".join(words)) / left
        line = [words.pop(0)] if words else []
        while words and len(" ".join([*line, words[0]])) <= room + len(words[0]) / 2:
            line.append(words.pop(0))
        lines.append(" ".join(line))
    return [line for line in (*lines, " ".join(words)) if line]


async def _translate_odt(content: bytes, translating: _Reader) -> bytes:
    async def translate(name: str, document: str) -> str:
        [translated] = await translating.markup([document], _ODT)
        return translated

    is_text = _ODT_TEXT.__contains__
    return await _translate_members(content, "content.xml", is_text, translate)


async def _translate_docx(content: bytes, translating: _Reader) -> bytes:
    async def translate(name: str, document: str) -> str:
        for step in translating.steps():
            document = await translate_word(document, step)
        return document

    def is_text(name: str) -> bool:
        return _DOCX_TEXT.fullmatch(name) is not None

    return await _translate_members(content, "word/document.xml", is_text, translate)


async def _translate_members(
    content: bytes,
    needed: str,
    is_text: Callable[[str], bool],
    translate: Callable[[str, str], Awaitable[str]],
) -> bytes:
    """Translate the parts of an archive that ``is_text`` names, and copy the others; the part ``needed`` must be there."""
    written = BytesIO()
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            members = archive.infolist()
            if len(members) > _MOST_MEMBERS or sum(m.file_size for m in members) > _MOST_UNPACKED:
                raise Refusal(413, "Invalid request: the file is too large inside")
            if needed not in archive.namelist():
                raise Refusal(400, f"Invalid request: the file has no text in it ({needed})")
            with zipfile.ZipFile(written, "w") as new:
                for member in members:
                    inside = _unpack(archive, member)
                    if is_text(member.filename):
                        inside = (await translate(member.filename, _decode(inside))).encode()
                    new.writestr(member, inside)
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        NotImplementedError,
        RuntimeError,
        EOFError,
        ValueError,
    ):
        raise Refusal(400, "Invalid request: the file is damaged") from None
    return written.getvalue()


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Read no more than the archive says that there is."""
    try:
        with archive.open(member) as stream:
            return stream.read(member.file_size)
    except (zlib.error, lzma.LZMAError, OSError):
        raise Refusal(400, "Invalid request: the file is damaged") from None


def _decode(content: bytes) -> str:
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        raise Refusal(400, "Invalid request: the file is no text in UTF-8") from None


FORMATS: dict[str, Callable[[bytes, _Reader], Awaitable[bytes]]] = {
    ".txt": _translate_txt,
    ".html": _translate_html,
    ".htm": _translate_html,
    ".srt": _translate_srt,
    ".odt": _translate_odt,
    ".docx": _translate_docx,
}
