"""How a text is split into words and spelled: with a mark for the space, or byte by byte.

A form splits a normalised text into words, whose pieces a segmenter then finds. Splitting costs linear time, and a
word that is longer than any real one is split too, so that a line of a million letters costs no more than its length.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from interlingua.tokenization.vocabulary import SPACE_MARK, Vocabulary

__all__ = [
    "BYTE_ALPHABET",
    "LONGEST_WORD",
    "ByteForm",
    "MetaspaceForm",
    "Spacing",
    "SpelledWord",
    "TextForm",
    "from_byte_letters",
    "runs_of_one_class",
    "to_byte_letters",
]

LONGEST_WORD = 512
"""Characters; longer words are cut here, which no piece of a vocabulary would notice except at the cut."""

LONGEST_SENTENCE = 8192
"""The same, for an imported vocabulary whose pieces reach over spaces, so that a word cannot stand alone."""

SpelledWord = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]
"""Ids of a word, and the characters of the word that each one covers."""

_AT_ONCE = 65_536
"""Ids whose bytes are joined together."""

_STAND_IN = "\udfff"
"""Takes the place of U+2581 in a text: it is no character, so neither a text nor a vocabulary holds it."""

_UNKNOWN_SURFACE = " \u2047 "
"""What an unknown id looks like in text, as in SentencePiece; our own encoding never makes one."""


@dataclass(frozen=True, slots=True)
class Spacing:
    """How spaces are written."""

    byte_level: bool = False
    """As the byte 0x20, like everything else."""
    first_mark: bool = True
    """A mark before the first word too, so that a word has the same pieces wherever it stands."""
    keep_mark: bool = True
    """A U+2581 in a text stays what it is; SentencePiece takes it for a space."""
    collapse: bool = False
    """No space at either end and no two in a row, as SentencePiece does unless it is told not to."""


class TextForm(Protocol):
    """A way to write text in the pieces of a vocabulary, and to read it again."""

    def words(self, text: str) -> list[str]:
        """Split a normalised text without surrogates; each word is looked up, cut and spelled on its own."""

    def letters(self, word: str) -> str:
        """Return the word in the letters of the vocabulary's pieces."""

    def spell(self, pieces: Iterable[str]) -> SpelledWord:
        """Return the ids of the pieces of one word; what has no id is spelled in bytes."""

    def mark_width(self, words: Sequence[str]) -> int:
        """Return how many characters the first word has in front that the text does not have."""

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text; ids that are not in the vocabulary must have been refused before."""


class MetaspaceForm:
    """SentencePiece's form: U+2581 in place of a space, and one before the first word.

    A U+2581 of the text itself is spelled in bytes, so that it stays what it is.
    """

    def __init__(self, vocabulary: Vocabulary, spacing: Spacing) -> None:
        self._vocabulary = vocabulary
        self._first_mark = spacing.first_mark
        self._collapse = spacing.collapse
        self._mark_in_text = _STAND_IN if spacing.keep_mark else " "
        self._split = not any(SPACE_MARK in piece[1:] for piece in vocabulary.ids)
        self._bytes = {number: value for value, number in enumerate(vocabulary.byte_ids)}
        specials = vocabulary.specials
        silent = ({specials.pad, specials.begin, specials.end} | vocabulary.hidden) - {
            specials.unknown
        }
        self._surface = {
            number: "" if number in silent else piece.replace(SPACE_MARK, " ")
            for number, piece in enumerate(vocabulary.pieces)
        }
        self._surface[specials.unknown] = _UNKNOWN_SURFACE

    def words(self, text: str) -> list[str]:
        """Split before every space; each word begins with the mark."""
        if not text:
            return []
        text = text.replace(SPACE_MARK, self._mark_in_text)
        if not self._split:
            start = SPACE_MARK if self._first_mark else ""
            return _cut_long([start + text.replace(" ", SPACE_MARK)], LONGEST_SENTENCE)
        words = [SPACE_MARK + word for word in text.split(" ")]
        if not self._first_mark:
            words[:1] = [words[0][1:]] if len(words[0]) > 1 else []
        return _cut_long(words, LONGEST_WORD) if len(text) > LONGEST_WORD else words

    def letters(self, word: str) -> str:
        """Return the word: pieces are written as text is."""
        return word

    def mark_width(self, words: Sequence[str]) -> int:
        """Return 1 where a mark was put before the first word."""
        return 1 if words and self._first_mark else 0

    def spell(self, pieces: Iterable[str]) -> SpelledWord:
        """Look the pieces up; a character without an id becomes its UTF-8 bytes, or unknown without byte fallback."""
        known, byte_ids = self._vocabulary.ids, self._vocabulary.byte_ids
        unknown = self._vocabulary.specials.unknown
        ids: list[int] = []
        spans: list[tuple[int, int]] = []
        start = 0
        for piece in pieces:
            span = (start, start + len(piece))
            start = span[1]
            number = known.get(piece)
            if number is not None:
                ids.append(number)
                spans.append(span)
            elif byte_ids:
                spelled = piece.replace(_STAND_IN, SPACE_MARK).encode("utf-8")
                ids += [byte_ids[value] for value in spelled]
                spans += [span] * len(spelled)
            elif ids and ids[-1] == unknown:
                spans[-1] = (spans[-1][0], span[1])
            else:
                ids.append(unknown)
                spans.append(span)
        return tuple(ids), tuple(spans)

    def decode(self, ids: Iterable[int]) -> str:
        """Join the pieces, read runs of bytes as UTF-8, and drop the space before the first word."""
        unknown = self._vocabulary.specials.unknown
        at_start = self._first_mark or self._collapse
        parts: list[str] = []
        run = bytearray()
        for number in ids:
            value = self._bytes.get(number)
            if value is not None:
                run.append(value)
                at_start = False
                continue
            if run:
                parts.append(run.decode("utf-8", errors="replace"))
                run.clear()
            surface = self._surface[number]
            if at_start and surface:
                at_start = False
                if surface[0] == " " and number != unknown:
                    surface = surface[1:]
                    at_start = self._collapse and not surface
            parts.append(surface)
        parts.append(run.decode("utf-8", errors="replace"))
        return "".join(parts)


def _byte_alphabet() -> tuple[str, ...]:
    """Return a printable character for each byte: itself where Latin-1 prints it, else one from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [value for value in range(256) if value not in printable]
    letters = {value: chr(value) for value in printable}
    letters |= {value: chr(256 + place) for place, value in enumerate(others)}
    return tuple(letters[value] for value in range(256))


BYTE_ALPHABET = _byte_alphabet()
"""The characters that stand for bytes in a byte-level vocabulary (Radford et al. 2019, section 2.2; GPT-2's table)."""

_LETTER_OF_BYTE = {value: ord(letter) for value, letter in enumerate(BYTE_ALPHABET)}
_BYTE_OF_LETTER = {letter: value for value, letter in enumerate(BYTE_ALPHABET)}


class ByteForm:
    """Byte level: a piece is a sequence of bytes, each written as a printable character."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        specials = vocabulary.specials
        surface = {
            number: bytes(_BYTE_OF_LETTER.get(letter, 0x3F) for letter in piece)
            for number, piece in enumerate(vocabulary.pieces)
        }
        silent = {specials.pad, specials.begin, specials.end} | vocabulary.hidden
        surface |= dict.fromkeys(silent, b"")
        surface[specials.unknown] = _UNKNOWN_SURFACE.encode("utf-8")
        self._surface = surface

    def words(self, text: str) -> list[str]:
        """Split before every space."""
        if not text:
            return []
        first, *others = text.split(" ")
        words = ([first] if first else []) + [" " + word for word in others]
        return _cut_long(words, LONGEST_WORD) if len(text) > LONGEST_WORD else words

    def letters(self, word: str) -> str:
        """Write the word in the byte alphabet."""
        return to_byte_letters(word)

    def mark_width(self, words: Sequence[str]) -> int:
        """Return 0: nothing is put in front."""
        return 0

    def spell(self, pieces: Iterable[str]) -> SpelledWord:
        """Look the pieces up; every byte has one. A span covers every character that has a byte in the piece."""
        pieces = list(pieces)
        character: list[int] = []
        count = -1
        for letter in "".join(pieces):
            count += _BYTE_OF_LETTER[letter] & 0xC0 != 0x80
            character.append(count)
        ids, spans, start = [], [], 0
        for piece in pieces:
            ids.append(self._vocabulary.ids[piece])
            spans.append((character[start], character[start + len(piece) - 1] + 1))
            start += len(piece)
        return tuple(ids), tuple(spans)

    def decode(self, ids: Iterable[int]) -> str:
        """Join the bytes and read them as UTF-8."""
        surfaces = map(self._surface.__getitem__, ids)
        joined = bytearray()
        # Some at a time: a list as long as a long text would come from fresh memory, at twice the time.
        while some := list(islice(surfaces, _AT_ONCE)):
            joined += b"".join(some)
        return joined.decode("utf-8", errors="replace")


def to_byte_letters(text: str) -> str:
    """Write the UTF-8 bytes of ``text`` in the byte alphabet."""
    return text.encode("utf-8").decode("latin-1").translate(_LETTER_OF_BYTE)


def from_byte_letters(letters: str) -> str:
    """Return the text whose bytes these letters are; what is no whole character is replaced."""
    return bytes(_BYTE_OF_LETTER[letter] for letter in letters).decode("utf-8", errors="replace")


def runs_of_one_class(word: str, space: str) -> Iterator[str]:
    """Cut between letters, digits and everything else, so that no piece mixes them; ``space`` goes with what follows.

    A mark upon a letter is of the letter, such as the vowel signs of Indian scripts.
    """
    start = 0
    for place in range(1, len(word)):
        before, here = word[place - 1], word[place]
        if before != space and (here == space or _class_of(here) != _class_of(before)):
            yield word[start:place]
            start = place
    yield word[start:]


def _class_of(letter: str) -> str:
    major = unicodedata.category(letter)[0]
    return "L" if major in "LM" else "N" if major == "N" else "other"


def _cut_long(words: list[str], longest: int) -> list[str]:
    cut: list[str] = []
    for word in words:
        if len(word) <= longest:
            cut.append(word)
        else:
            cut += [word[start : start + longest] for start in range(0, len(word), longest)]
    return cut
