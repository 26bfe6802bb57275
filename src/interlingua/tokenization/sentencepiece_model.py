"""A SentencePiece ``.model`` or ``.spm`` file, read without the library that wrote it.

The file is a protocol buffer. Only the fields below matter for applying it; the others say how it was trained.

Source: ``sentencepiece_model.proto`` of SentencePiece 0.2.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice

from interlingua.errors import TokenizerError
from interlingua.tokenization.charsmap import Charsmap
from interlingua.tokenization.normalisation import SentencePieceNormaliser
from interlingua.tokenization.piece_tokenizer import PieceTokenizer
from interlingua.tokenization.segmentation import whole_pattern
from interlingua.tokenization.text_form import Spacing
from interlingua.tokenization.vocabulary import SPECIAL_PIECES, Specials, Vocabulary

__all__ = [
    "BYTE",
    "CONTROL",
    "MODEL_TYPES",
    "NORMAL",
    "UNKNOWN",
    "USER_DEFINED",
    "count_pieces",
    "read_charsmap",
    "read_sentencepiece",
]

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
"""What a piece is for."""

MODEL_TYPES = {"unigram": 1, "bpe": 2, "word": 3, "char": 4}

Value = int | bytes

_MOST_PIECES = 1_000_000


@dataclass(frozen=True, slots=True)
class Piece:
    """One entry: its text, its score, and what it is for."""

    text: str
    score: float
    role: int


def read_sentencepiece(content: bytes) -> PieceTokenizer:
    """Return the tokenizer that gives the ids of the model in ``content``."""
    try:
        model = list(islice(_fields(content), _MOST_PIECES + 1))
        if len(model) > _MOST_PIECES:
            raise TokenizerError(
                f"holds more than {_MOST_PIECES:,} pieces, which no SentencePiece model does"
            )
        pieces = [_read_piece(_bytes(value)) for number, value in model if number == 1]
        trainer = _last(model, 2)
        normalizer = _last(model, 3)
    except (struct.error, IndexError, UnicodeDecodeError):
        raise TokenizerError(
            "is not a whole SentencePiece model; copy it again from where it was made"
        ) from None
    if not pieces:
        raise TokenizerError(
            "is not a SentencePiece model (it has no pieces); give a .model or .spm file"
        )
    kind = _kind_of(_integer(trainer, 3, 1))
    if _integer(trainer, 24, 0):
        raise TokenizerError(
            "marks the space after a word and not before it, which is not known here; train it anew"
        )
    vocabulary = _build_vocabulary(pieces, trainer)
    collapse = bool(_integer(normalizer, 4, 1))
    normaliser = SentencePieceNormaliser(
        Charsmap(_charsmap_in(normalizer)),
        collapse_spaces=collapse,
        whole=whole_pattern(vocabulary.whole),
    )
    first_mark = bool(_integer(normalizer, 3, 1))
    spacing = Spacing(first_mark=first_mark, keep_mark=False, collapse=collapse)
    return PieceTokenizer(kind, vocabulary, normaliser, spacing)


def count_pieces(content: bytes) -> int:
    """Return how many pieces the model in ``content`` has, special symbols that it leaves out not counted."""
    return sum(number == 1 for number, _ in _fields(content))


def read_charsmap(content: bytes) -> bytes:
    """Return the compiled table of replacements of the model in ``content``; empty if it has none."""
    return _charsmap_in(_last(list(_fields(content)), 3))


def _charsmap_in(normalizer: list[tuple[int, Value]]) -> bytes:
    return b"".join(_bytes(value) for number, value in normalizer if number == 2)


def _kind_of(model_type: int) -> str:
    for kind, number in MODEL_TYPES.items():
        if number == model_type:
            return kind
    raise TokenizerError(
        f"is a SentencePiece model of type {model_type}, which is not known here; update Interlingua"
    )


def _build_vocabulary(pieces: list[Piece], trainer: list[tuple[int, Value]]) -> Vocabulary:
    names = {piece.text: number for number, piece in enumerate(pieces)}
    texts, scores = [piece.text for piece in pieces], [piece.score for piece in pieces]

    def special(field: int, default: int, name: str) -> int:
        number = _integer(trainer, field, default)
        if 0 <= number < len(pieces) and pieces[number].role in (CONTROL, UNKNOWN):
            return number
        if name in names and pieces[names[name]].role in (CONTROL, UNKNOWN):
            return names[name]
        # A user-defined symbol of that name is text, so the special one needs another.
        texts.append(next(free for free in _numbered(name) if free not in texts))
        scores.append(0.0)
        return len(texts) - 1

    pad, unknown, begin, end = SPECIAL_PIECES
    specials = Specials(
        unknown=special(40, 0, unknown),
        begin=special(41, 1, begin),
        end=special(42, 2, end),
        pad=special(43, -1, pad),
    )
    hidden = [n for n, piece in enumerate(pieces) if piece.role in (CONTROL, UNKNOWN, UNUSED)]
    return Vocabulary(
        tuple(texts),
        tuple(scores),
        specials=specials,
        hidden=frozenset(hidden),
        whole=frozenset(piece.text for piece in pieces if piece.role == USER_DEFINED),
        byte_fallback=any(piece.role == BYTE for piece in pieces),
    )


def _numbered(name: str) -> Iterator[str]:
    """Yield ``<pad>``, ``<pad-1>``, ``<pad-2>``, ..."""
    yield name
    yield from (f"{name[:-1]}-{number}>" for number in count(1))


def _read_piece(content: bytes) -> Piece:
    text, score, role = "", 0.0, NORMAL
    for number, value in _fields(content):
        if number == 1:
            text = _bytes(value).decode("utf-8")
        elif number == 2:
            (score,) = struct.unpack("<f", _bytes(value))
        elif number == 3 and isinstance(value, int):
            role = value
    return Piece(text, score, role)


def _fields(content: bytes) -> Iterator[tuple[int, Value]]:
    """Yield (number, value) of each field: a varint as int, everything else as its bytes."""
    position = 0
    while position < len(content):
        tag, position = _varint(content, position)
        wire = tag & 7
        if wire == 0:
            value, position = _varint(content, position)
            yield tag >> 3, value
            continue
        if wire == 2:
            width, position = _varint(content, position)
        elif wire in (1, 5):
            width = 8 if wire == 1 else 4
        else:
            raise IndexError("no such wire type")
        if position + width > len(content):
            raise IndexError("the field reaches over the end")
        yield tag >> 3, content[position : position + width]
        position += width


def _varint(content: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, position


def _bytes(value: Value) -> bytes:
    if isinstance(value, int):
        raise IndexError("a number where bytes should be")
    return value


def _last(model: list[tuple[int, Value]], number: int) -> list[tuple[int, Value]]:
    found = [value for field, value in model if field == number]
    return list(_fields(_bytes(found[-1]))) if found else []


def _integer(fields: list[tuple[int, Value]], number: int, default: int) -> int:
    for field, value in reversed(fields):
        if field == number and isinstance(value, int):
            # A negative int32 is written as a 64-bit varint.
            return value - (1 << 64) if value >> 63 else value
    return default
