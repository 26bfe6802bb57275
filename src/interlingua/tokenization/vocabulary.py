"""The pieces of a vocabulary, their ids, and which of them text can become."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from interlingua.errors import TokenizerError

__all__ = ["BYTE_PIECES", "SPACE_MARK", "SPECIAL_PIECES", "Specials", "Vocabulary"]

SPACE_MARK = "\u2581"
"""Stands for a space inside a piece, as in SentencePiece."""

SPECIAL_PIECES = ("<pad>", "<unk>", "<s>", "</s>")
"""The first four entries of every vocabulary that is trained here."""

BYTE_PIECES = tuple(f"<0x{value:02X}>" for value in range(256))
"""The next 256: what a character becomes that has no piece of its own."""


@dataclass(frozen=True, slots=True)
class Specials:
    """The ids that no text becomes."""

    pad: int = 0
    unknown: int = 1
    begin: int = 2
    end: int = 3


@dataclass(frozen=True)
class Vocabulary:
    """Pieces in the order of their ids, each with a score (a higher one is merged or preferred first).

    ``hidden`` are further ids that text never becomes (control symbols of an imported vocabulary), and
    ``whole`` are pieces that are never cut nor joined (user-defined symbols of an imported vocabulary).
    """

    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    specials: Specials = Specials()
    hidden: frozenset[int] = frozenset()
    whole: frozenset[str] = frozenset()
    byte_fallback: bool = True
    ids: dict[str, int] = field(init=False, repr=False, compare=False)
    """Of the pieces that text can become: no special, no byte."""
    byte_ids: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """Of the bytes 0 to 255; empty without byte fallback."""

    def __post_init__(self) -> None:
        every = {piece: number for number, piece in enumerate(self.pieces)}
        if len(every) != len(self.pieces) or len(self.scores) != len(self.pieces):
            raise TokenizerError("the vocabulary is damaged: a piece stands in it twice")
        byte_ids = tuple(every[piece] for piece in BYTE_PIECES) if self.byte_fallback else ()
        special = {self.specials.pad, self.specials.unknown, self.specials.begin, self.specials.end}
        never = special | set(byte_ids) | self.hidden
        if not all(0 <= number < len(self.pieces) for number in never):
            raise TokenizerError("the vocabulary is damaged: a special symbol is not in it")
        ids = {piece: number for piece, number in every.items() if number not in never}
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "byte_ids", byte_ids)

    def __len__(self) -> int:
        return len(self.pieces)

    def pieces_of(self, ids: Iterable[int]) -> list[str]:
        """Return the piece of each id; raise a TokenizerError for an id that is not in the vocabulary."""
        size = len(self.pieces)
        found = []
        for number in ids:
            if not 0 <= number < size:
                raise TokenizerError(
                    f"id {number} is not in the vocabulary (0 to {size - 1}); "
                    "the ids were made with another tokenizer"
                )
            found.append(self.pieces[number])
        return found
