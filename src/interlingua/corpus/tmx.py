"""TMX, the XML of translation memories: read piece by piece, two of its languages, nothing fetched and nothing expanded.

A TMX file comes from anybody. A document type that declares things of its own is refused before the first declaration is
used, so that there are no entities to expand a billion times and none that name a file or an address. The usual line
``<!DOCTYPE tmx SYSTEM "tmx14.dtd">`` declares nothing by itself: it is passed over, and that file is never looked for.

Source: TMX 1.4b specification (LISA, 2005), sections 2 and 3.
"""

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from xml.parsers import expat

from interlingua.corpus.packed import LONGEST, PackedFile
from interlingua.corpus.pairs import SentencePair
from interlingua.errors import CorpusError

__all__ = ["choose_segment", "read_tmx"]

_LONGEST_TAG = 2**20
"""Bytes that one tag, comment or the like may have."""
_DECLARED = re.compile(
    rb"""(?:\xef\xbb\xbf)?\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]*)["']"""
)
"""The encoding that the first line of a file names, unless it is written in two bytes a letter."""
_DEEPEST = 100
_MOST_LANGUAGES = 200
_CODES = frozenset({"bpt", "ept", "it", "ph", "ut"})
"""Elements inside a segment that hold the formatting codes of some word processor, not text."""


def read_tmx(
    packed: PackedFile, source_lang: str, target_lang: str, counts: Counter[str]
) -> Iterator[SentencePair]:
    """Yield the pairs of two languages; ``line`` is the number of the unit, from 1, as lines of XML say little.

    Args:
        packed: the file.
        source_lang: such as ``en``, which also takes ``en-US`` and ``EN_gb``.
        target_lang: the same of the target.
        counts: is told of units without one of the languages (``missing``), of several segments in one of them
            (``several``), and of formatting codes that were left out (``codes``).

    Raises:
        CorpusError: the file is damaged, no XML, no TMX, declares entities, or has not one pair of the two languages.
    """
    memory = _Memory(packed.name)
    found = 0
    for unit in memory.units(packed.pieces()):
        pair = _pair_of(unit, source_lang, target_lang, counts)
        if pair is not None:
            found += 1
            yield pair
    if not found:
        languages = ", ".join(sorted(memory.languages)) or "no language at all"
        raise CorpusError(
            f"{packed.name}: has no unit in both {source_lang} and {target_lang}; it holds {languages}: "
            "say which, with --source-lang and --target-lang"
        )


def choose_segment(segments: list[tuple[str, str]], language: str) -> tuple[str | None, int]:
    """Return the text of ``language`` among (language, text), and how many could have been meant.

    The code itself comes first, then one that adds a region or script to it; small letters are as good as large ones.
    """
    wanted = _normal(language)
    exact = [text for code, text in segments if code == wanted]
    close = exact or [text for code, text in segments if code.startswith(f"{wanted}-")]
    return (close[0] if close else None), len(close)


@dataclass(slots=True)
class _Unit:
    """One ``tu``: its number in the file, from 1, and its segments, (language, text)."""

    number: int
    segments: list[tuple[str, str]] = field(default_factory=list)
    codes: int = 0


class _Memory:
    """The state of one file while it is parsed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.languages: set[str] = set()
        self._fed = 0
        self._begun = 0
        self._depth = 0
        self._units: list[_Unit] = []
        self._unit: _Unit | None = None
        self._language = ""
        self._text: list[str] | None = None
        self._length = 0
        self._codes = 0
        self._open(None)

    def _open(self, encoding: str | None) -> None:
        """Make a parser for text in an encoding; None is UTF-16 or what the parser itself makes of the first line."""
        parser = self._parser = expat.ParserCreate(encoding)
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._entity
        parser.SkippedEntityHandler = self._unknown_entity
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters

    def units(self, pieces: Iterable[bytes]) -> Iterator[_Unit]:
        """Parse a whole file, and yield each unit when it has ended."""
        for piece in self._in_known_encoding(pieces):
            self._fed += len(piece)
            try:
                self._parser.Parse(piece, not piece)
            except expat.ExpatError as error:
                raise self._explain(error) from error
            if self._fed - self._parser.CurrentByteIndex > _LONGEST_TAG:
                raise self._error("has a tag or comment without end", "is it a TMX file?")
            units, self._units = self._units, []
            yield from units

    def _in_known_encoding(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield a file in an encoding that the parser reads; it knows few itself, and none of several bytes a character but Unicode's."""
        rest = iter(pieces)
        first = next(rest, b"")
        found = _DECLARED.match(first)
        told = found[1].decode("ascii") if found else ""
        try:
            "".encode(told or "utf-8")  # which no codec does that is of no text
            codec = codecs.lookup(told or "utf-8")
            decoder = codec.incrementaldecoder("strict")
        except (LookupError, TypeError) as error:
            raise CorpusError(
                f"{self.name}: its first line names the encoding {told}, which is not known; correct that line, or convert the file to UTF-8"
            ) from error
        is_marked = first.startswith(codecs.BOM_UTF8)
        if not told or is_marked or codec.name.startswith("utf-"):
            is_utf8 = is_marked or (told and codec.name == "utf-8")  # the parser knows no "utf8"
            self._open("utf-8" if is_utf8 else None)
            yield from chain((first,), rest, (b"",))
            return
        self._open("utf-8")
        try:
            for piece in chain((first,), rest):
                if known := decoder.decode(piece).encode("utf-8"):
                    yield known
            if known := decoder.decode(b"", final=True).encode("utf-8"):
                yield known
            yield b""  # the end
        except ValueError as error:
            raise CorpusError(
                f"{self.name}, line {self._parser.CurrentLineNumber:,} or soon after: is not {told}, the encoding that the first line names "
                f"({error}); correct that line, or convert the file, for example: iconv -f {told} -t UTF-8"
            ) from error

    def _error(self, what: str, remedy: str) -> CorpusError:
        return CorpusError(
            f"{self.name}, line {self._parser.CurrentLineNumber:,}: {what}; {remedy}"
        )

    def _explain(self, error: expat.ExpatError) -> CorpusError:
        reason = expat.errors.messages[error.code]
        at = f"{self.name}, line {error.lineno:,}, column {error.offset + 1:,}"
        cut_off = (expat.errors.XML_ERROR_NO_ELEMENTS, expat.errors.XML_ERROR_UNCLOSED_TOKEN)
        if reason in cut_off:
            return CorpusError(
                f"{at}: ends in the middle ({reason}), as a file does whose copy or download was cut off; "
                "copy or download it again"
            )
        return CorpusError(
            f"{at}: is not XML ({reason}); correct that place: bytes must be of the encoding that the first "
            "line names, UTF-8 if none, and & and < are written &amp; and &lt;"
        )

    def _doctype(self, name: str, system: str | None, public: str | None, declares: int) -> None:
        if declares:
            raise self._error(
                "declares things of its own inside <!DOCTYPE ... [ ]>, which is refused because such "
                "declarations can fill the memory or read other files",
                "remove the part in brackets",
            )

    def _entity(self, name: str, *_: object) -> None:
        raise self._error(f"declares the entity {name}, which is refused", "remove the declaration")

    def _unknown_entity(self, name: str, is_parameter: int) -> None:
        raise self._error(f"has the entity &{name}; which is not known here", "write the character")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1 and name != "tmx":
            raise self._error(f"is XML but no TMX: it begins with <{name}>", "give a TMX file")
        if self._depth > _DEEPEST:
            raise self._error("is nested too deeply for a TMX", "is it a TMX file?")
        if self._text is not None:
            self._codes += name in _CODES
            if self._unit is not None:
                self._unit.codes += name in _CODES
        elif name == "tu":
            self._begun += 1
            self._unit, self._length = _Unit(self._begun), 0
        elif name == "tuv":
            self._language = _normal(attributes.get("xml:lang") or attributes.get("lang") or "")
            if len(self.languages) < _MOST_LANGUAGES:
                self.languages.add(self._language or "(none)")
        elif name == "seg":
            self._text, self._codes = [], 0

    def _end(self, name: str) -> None:
        self._depth -= 1
        if name == "tu" and self._unit is not None:
            self._units.append(self._unit)
            self._unit = None
        elif name == "seg" and self._text is not None:
            if self._unit is not None:
                self._unit.segments.append((self._language, "".join(self._text)))
            self._text = None
        elif name in _CODES and self._text is not None:
            self._codes -= 1

    def _characters(self, text: str) -> None:
        if self._text is None or self._codes:
            return
        self._length += len(text)
        if self._length > LONGEST:
            raise self._error(
                f"has a unit of more than {LONGEST // 2**20} Mi characters",
                "split it into sentences",
            )
        self._text.append(text)


def _pair_of(
    unit: _Unit, source_lang: str, target_lang: str, counts: Counter[str]
) -> SentencePair | None:
    source, sources = choose_segment(unit.segments, source_lang)
    target, targets = choose_segment(unit.segments, target_lang)
    if source is None or target is None:
        counts["missing"] += 1
        return None
    if sources > 1 or targets > 1:
        counts["several"] += 1
    if unit.codes:
        counts["codes"] += 1
    return SentencePair(source, target, unit.number)


def _normal(code: str) -> str:
    return code.strip().replace("_", "-").lower()
