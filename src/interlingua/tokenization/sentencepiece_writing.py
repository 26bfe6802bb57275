"""A tokenizer as a SentencePiece ``.model`` or ``.spm`` file, with the same ids in every program that reads one.

Marian, OPUS-MT, CTranslate2, Argos and Hugging Face take this form.

Source: ``sentencepiece_model.proto`` of SentencePiece 0.2.
"""

import struct
from pathlib import Path

from interlingua.errors import TokenizerError
from interlingua.files import replace_file
from interlingua.tokenization.charsmap_rules import compile_normaliser
from interlingua.tokenization.normalisation import Normaliser
from interlingua.tokenization.piece_tokenizer import PieceTokenizer
from interlingua.tokenization.sentencepiece_model import (
    BYTE,
    CONTROL,
    MODEL_TYPES,
    NORMAL,
    UNKNOWN,
    USER_DEFINED,
)
from interlingua.tokenization.tokenizer import Tokenizer

__all__ = ["describe_sentencepiece", "refuse_kind", "write_sentencepiece"]

_REMEDY = (
    "train a bpe, unigram or char tokenizer without byte_level, or save this one as tokenizer.json"
)


def write_sentencepiece(tokenizer: Tokenizer, path: Path) -> None:
    """Write ``tokenizer`` as a SentencePiece model, whole or not at all; ids stay what they are.

    Two texts are read differently there: a literal U+2581 is a space to SentencePiece, and a word of more than
    512 characters, which is cut here, is not cut.

    Raises:
        TokenizerError: no SentencePiece model does what this tokenizer does.
        OutputError: the place cannot be written.
    """
    content = describe_sentencepiece(tokenizer)
    with replace_file(path) as file:
        file.write(content)


def refuse_kind(kind: str, *, byte_level: bool) -> None:
    """Raise a TokenizerError if a tokenizer that is trained here cannot be written as a SentencePiece model."""
    if byte_level:
        raise TokenizerError(
            f"a byte-level tokenizer cannot be written as a SentencePiece model; {_REMEDY}"
        )
    if kind not in MODEL_TYPES or kind == "word":
        raise TokenizerError(
            f"a {kind} tokenizer cannot be written as a SentencePiece model, which cuts an unknown "
            f"word in another way; {_REMEDY}"
        )


def describe_sentencepiece(tokenizer: Tokenizer) -> bytes:
    """Return the content of the file; raise a TokenizerError where :func:`write_sentencepiece` does."""
    pieces_of = _check(tokenizer)
    vocabulary = pieces_of.vocabulary
    pieces = [
        _message(1, _string(1, piece) + _float(2, score) + _integer(3, role))
        for piece, score, role in zip(
            vocabulary.pieces, vocabulary.scores, _roles(pieces_of), strict=True
        )
    ]
    return b"".join(pieces) + _message(2, _trainer(pieces_of)) + _message(3, _normaliser(pieces_of))


def _check(tokenizer: Tokenizer) -> PieceTokenizer:
    """Return ``tokenizer`` if SentencePiece can do what it does."""
    if not isinstance(tokenizer, PieceTokenizer):
        raise TokenizerError(
            f"a {tokenizer.kind} tokenizer from another tool cannot be written as a SentencePiece model; "
            "take the .model that it was made from, if there is one, or train a bpe or unigram tokenizer here"
        )
    refuse_kind(tokenizer.kind, byte_level=tokenizer.spacing.byte_level)
    return tokenizer


def _roles(tokenizer: PieceTokenizer) -> list[int]:
    vocabulary, specials = tokenizer.vocabulary, tokenizer.vocabulary.specials
    control = vocabulary.hidden | {specials.pad, specials.begin, specials.end}
    roles = [
        USER_DEFINED if piece in vocabulary.whole else CONTROL if number in control else NORMAL
        for number, piece in enumerate(vocabulary.pieces)
    ]
    for number in vocabulary.byte_ids:
        roles[number] = BYTE
    roles[specials.unknown] = UNKNOWN
    return roles


def _trainer(tokenizer: PieceTokenizer) -> bytes:
    """Return what a reader of the file asks of the training: the kind, and which ids are special."""
    vocabulary, specials = tokenizer.vocabulary, tokenizer.vocabulary.specials
    special = (specials.unknown, specials.begin, specials.end, specials.pad)
    return b"".join(
        [
            _integer(3, MODEL_TYPES[tokenizer.kind]),
            _integer(4, len(vocabulary)),
            _integer(35, vocabulary.byte_fallback),
            *(_integer(40 + place, number) for place, number in enumerate(special)),
            *(_string(45 + place, vocabulary.pieces[n]) for place, n in enumerate(special)),
        ]
    )


def _normaliser(tokenizer: PieceTokenizer) -> bytes:
    normaliser, spacing = tokenizer.normaliser, tokenizer.spacing
    if isinstance(normaliser, Normaliser):
        name, charsmap = "-".join(normaliser.steps()) or "identity", compile_normaliser(normaliser)
    else:
        name, charsmap = "imported", normaliser.charsmap.compiled
    return b"".join(
        [
            _string(1, name.lower()),
            _message(2, charsmap),
            _integer(3, spacing.first_mark),
            _integer(4, spacing.collapse),
            _integer(5, True),
        ]
    )


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _string(number: int, text: str) -> bytes:
    return _message(number, text.encode("utf-8"))


def _integer(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _float(number: int, value: float) -> bytes:
    return _varint(number << 3 | 5) + struct.pack("<f", value)


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
