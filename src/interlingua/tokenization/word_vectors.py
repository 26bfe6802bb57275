"""Vectors of words that others have trained: the files of word2vec (text and binary), GloVe and fastText.

Mikolov et al. 2013; Pennington et al. 2014. The text forms are one word and its numbers a line, with or without a first line
that counts words and numbers; the binary form of word2vec has that line, and float32 numbers behind each word.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.packed import PackedFile
from interlingua.errors import CorpusError
from interlingua.tokenization.tokenizer import Tokenizer

__all__ = ["WordVectors", "read_width", "read_word_vectors", "words_of"]

_HEADER = re.compile(rb"(\d+) (\d+) *\r?\n")
_BLANK = re.compile(r"[ \t]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_MOST = 65_536
"""Numbers of one vector, and bytes of one word."""

_ADVICE = "give vectors in the text or binary form of word2vec, or in that of GloVe"


@dataclass(frozen=True, slots=True)
class WordVectors:
    """What a file holds of the words that were asked for."""

    width: int
    """Numbers of each vector."""
    total: int
    """Words of the whole file."""
    promised: int | None
    """Words that its first line tells; None without one. More than there are: the beginning of a file, or what was left of one."""
    vectors: dict[str, NDArray[np.float32]]
    """(width,) by word; of a word that comes twice, the first."""


def read_word_vectors(path: Path, wanted: Collection[str]) -> WordVectors:
    """Read the vectors of some words, in constant memory besides; the file may be compressed.

    Raises:
        CorpusError: the file is missing, cut off, or of another form; a vector is longer or shorter than the first, or
            holds a number that is not finite.
    """
    with PackedFile(path, keep_bytes=True) as file:
        found, promised = _open(file, path)
        return _gather(found, path, wanted, promised)


def read_width(path: Path) -> int:
    """Return how many numbers the first vector of a file has; nothing else of it is read.

    Raises:
        CorpusError: the file is missing, holds no vectors, or is of another form.
    """
    with PackedFile(path, keep_bytes=True) as file:
        first = next(_open(file, path)[0], None)
    if first is None:
        raise CorpusError(f"{path}: holds no vectors; {_ADVICE}")
    return first[1].size


def words_of(tokenizer: Tokenizer) -> dict[int, str]:
    """Return the tokens that are a whole word by themselves: id to word.

    A word counts if cutting it gives this one token; pieces of words, and symbols that no text becomes, do not.
    """
    spelled = [tokenizer.decode([token]).strip() for token in range(tokenizer.vocabulary_size)]
    cut = tokenizer.encode_batch(spelled)
    return {
        token: word
        for token, (word, ids) in enumerate(zip(spelled, cut, strict=True))
        if word and ids == [token]
    }


def _open(
    file: PackedFile, path: Path
) -> tuple[Iterator[tuple[str, NDArray[np.float32]]], int | None]:
    """Return the words and vectors of a file of any form, and how many its first line promises."""
    head = file.peek()
    header = _HEADER.match(head)
    if header and _is_binary(head[header.end() :]):
        return _binary(file, path), int(header[1])
    promised = int(header[1]) if header else None
    return _text(file, path, has_header=header is not None), promised


def _is_binary(after: bytes) -> bool:
    """Tell whether what follows the first line is a word and float32 numbers, not a line of text that ends with a number."""
    line = after.split(b"\n", 1)[0]
    try:
        text = line.decode("utf-8").rstrip("\r")
    except UnicodeDecodeError:
        return True
    return _CONTROL.search(text) is not None or not _numbers_at_the_end(_fields(text))


def _fields(line: str) -> list[str]:
    """Return what blanks part; other spaces are of a word, and may be all of it."""
    return [each for each in _BLANK.split(line.rstrip("\r\n")) if each]


def _numbers_at_the_end(fields: Sequence[str]) -> int:
    """Count the numbers that a line ends with, its first field left out, which is a word.

    A word may hold spaces (GloVe has ". . ."), so that they are counted from the right.
    """
    for count, field in enumerate(reversed(fields[1:])):
        try:
            float(field)
        except ValueError:
            return count
    return max(len(fields) - 1, 0)


def _gather(
    found: Iterator[tuple[str, NDArray[np.float32]]],
    path: Path,
    wanted: Collection[str],
    promised: int | None,
) -> WordVectors:
    wanted, vectors, width, total = set(wanted), {}, 0, 0
    for word, vector in found:
        total += 1
        width = vector.size
        if word in wanted and word not in vectors:
            if not np.isfinite(vector).all():
                raise CorpusError(
                    f"{path}: the vector of {word!r} holds a number that is not finite; {_ADVICE}"
                )
            vectors[word] = vector
    if not total:
        raise CorpusError(f"{path}: holds no vectors; {_ADVICE}")
    return WordVectors(width, total, promised, vectors)


def _text(
    file: PackedFile, path: Path, *, has_header: bool
) -> Iterator[tuple[str, NDArray[np.float32]]]:
    width = 0
    for line in file.lines():
        where = f"{path}, line {file.line}"
        if has_header and file.line == 1:
            width = int(line.split()[1])
            continue
        fields = _fields(line)
        if not fields:
            continue
        width = width or _numbers_at_the_end(fields)
        if width and len(fields) <= width:
            raise CorpusError(
                f"{where}: has {len(fields) - 1} numbers where {width} are expected; {_ADVICE}"
            )
        word, numbers = " ".join(fields[:-width]), fields[-width:] if width else ["none"]
        try:
            vector = np.array(numbers, dtype=np.float32)
        except ValueError:
            raise CorpusError(f"{where}: is not a word and its numbers; {_ADVICE}") from None
        yield word, vector


def _binary(file: PackedFile, path: Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    pieces = file.pieces()
    held = next(pieces, b"")
    header = _HEADER.match(held)
    assert header  # it was seen
    count, width = int(header[1]), int(header[2])
    if not 1 <= width <= _MOST:
        raise CorpusError(f"{path}: says that its vectors have {width:,} numbers; {_ADVICE}")
    held, place = held[header.end() :], 0
    for number in range(count):
        # A new line stands before each word but the first in files of word2vec itself, not in those of gensim.
        while (space := held.find(b" ", place)) < 0 or len(held) < space + 1 + 4 * width:
            piece = next(pieces, b"")
            if not piece or (space < 0 and len(held) - place > _MOST):
                raise CorpusError(
                    f"{path}: ends in the middle of word {number + 1:,} of {count:,}; copy or download it again"
                )
            held, place = held[place:] + piece, 0
        word = held[place:space].lstrip(b"\n").decode("utf-8", "surrogateescape")
        place = space + 1 + 4 * width
        yield word, np.frombuffer(held, dtype="<f4", count=width, offset=space + 1)
