"""Pieces of one list with the ids of another: how Marian keeps SentencePiece models and vocabularies.

A Marian model has a SentencePiece model a side, which cuts, and a vocabulary apart from it, which numbers; both sides
may share the vocabulary and not the SentencePiece model. A piece that the vocabulary lacks is unknown. A text may begin
with a tag such as ``>>fra<<``, which chooses the language that a model of several translates into.

Source: ``MarianTokenizer`` of Hugging Face transformers, whose ids these are. Unlike there, a special symbol that
stands in a text is text.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from interlingua.errors import TokenizerError
from interlingua.tokenization.piece_document import describe_pieces, restore_pieces
from interlingua.tokenization.piece_tokenizer import PieceTokenizer
from interlingua.tokenization.tokenizer import Encoding, Tokenizer
from interlingua.tokenization.vocabulary import BYTE_PIECES, SPACE_MARK, Specials

__all__ = ["KIND", "RenumberedTokenizer", "is_tag"]

KIND = "renumbered"


class RenumberedTokenizer(Tokenizer):
    """Cuts with ``cutter`` and numbers by ``pieces``.

    Args:
        cutter: the SentencePiece model of this side.
        pieces: the vocabulary in the order of its ids.
        specials: ids of ``pieces``.
        default_tag: what a text without a tag of its own begins with, or "" for nothing.

    Raises:
        TokenizerError: a piece stands twice, a special symbol is not in it, or the tag is not in it.
    """

    kind = KIND

    def __init__(
        self,
        cutter: PieceTokenizer,
        pieces: Sequence[str],
        specials: Specials,
        default_tag: str = "",
    ) -> None:
        self.cutter = cutter
        self.pieces = tuple(pieces)
        self.default_tag = default_tag
        self.vocabulary_size = len(self.pieces)
        self.pad_id, self.unknown_id = specials.pad, specials.unknown
        self.begin_id, self.end_id = specials.begin, specials.end
        self._ids = {piece: number for number, piece in enumerate(self.pieces)}
        if len(self._ids) != len(self.pieces):
            raise TokenizerError("the vocabulary is damaged: a piece stands in it twice")
        self._silent = {specials.pad, specials.unknown, specials.begin, specials.end}
        if not all(0 <= number < len(self.pieces) for number in self._silent):
            raise TokenizerError("the vocabulary is damaged: a special symbol is not in it")
        for number in self._silent:  # text never becomes one of these
            del self._ids[self.pieces[number]]
        for number in cutter.vocabulary.hidden:
            if not is_tag(piece := cutter.vocabulary.pieces[number]):
                self._ids.pop(piece, None)
        if default_tag and default_tag not in self._ids:
            known = ", ".join(self.tags[:8]) or "none"
            raise TokenizerError(
                f"the tag {default_tag} is not in the vocabulary, which has {known}"
            )
        self._new_ids = [self._number(piece) for piece in cutter.vocabulary.pieces]
        inner = cutter.vocabulary
        self._bytes = (
            {piece: value for value, piece in enumerate(BYTE_PIECES)} if inner.byte_fallback else {}
        )

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of languages that the vocabulary has."""
        return tuple(piece for piece in self.pieces if is_tag(piece))

    def normalise(self, text: str) -> str:
        """See :class:`Tokenizer`; a tag that the text begins with stays in front."""
        _, rest = self._split(text)
        return text[: len(text) - len(rest)] + self.cutter.normalise(rest)

    def encode(self, text: str) -> Encoding:
        """See :class:`Tokenizer`."""
        tag, rest = self._split(text)
        normalised = self.cutter.normalise(rest)
        cut = self.cutter.encode(rest)
        unknown = self.cutter.unknown_id
        ids = [self._number(tag)] if tag else []
        shift = len(text) - len(rest)  # the default tag covers no character of the text
        spans = [(0, shift)] if tag else []
        for number, (begin, end) in zip(cut.ids, cut.offsets, strict=True):
            # What the cutter does not know may still be a piece of the other side, whole.
            surface = normalised[begin:end].replace(" ", SPACE_MARK)
            ids.append(self._number(surface) if number == unknown else self._new_ids[number])
            spans.append((shift + begin, shift + end))
        return Encoding(ids, spans)

    def encode_sampled(
        self, text: str, *, probability: float, seed: int, epoch: int, pair: int, side: int
    ) -> list[int]:
        """See :class:`Tokenizer`."""
        if probability == 0.0:
            return self.encode(text).ids
        tag, rest = self._split(text)
        cut = self.cutter.encode_sampled(
            rest, probability=probability, seed=seed, epoch=epoch, pair=pair, side=side
        )
        return ([self._number(tag)] if tag else []) + [self._new_ids[number] for number in cut]

    def decode(self, ids: Sequence[int]) -> str:
        """See :class:`Tokenizer`; unknown symbols are left out too, and spaces at the ends, as Marian's are."""
        parts: list[str] = []
        run = bytearray()
        for number, piece in zip(ids, self.tokens(ids), strict=True):
            if number in self._silent:
                continue
            if piece in self._bytes:
                run.append(self._bytes[piece])
                continue
            if run:
                parts.append(run.decode("utf-8", errors="replace"))
                run.clear()
            parts.append(piece.replace(SPACE_MARK, " "))
        parts.append(run.decode("utf-8", errors="replace"))
        return "".join(parts).strip()

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """See :class:`Tokenizer`."""
        for number in ids:
            if not 0 <= number < self.vocabulary_size:
                raise TokenizerError(
                    f"id {number} is not in the vocabulary (0 to {self.vocabulary_size - 1}); "
                    "the ids were made with another tokenizer"
                )
        return [self.pieces[number] for number in ids]

    def spell(self, letters: str) -> tuple[int, ...]:
        """Return the ids of the longest pieces that spell ``letters``, from the left; what none holds is left out."""
        ids: list[int] = []
        begin = 0
        while begin < len(letters):
            ends = range(len(letters), begin, -1)
            end = next((end for end in ends if letters[begin:end] in self._ids), 0)
            if end:
                ids.append(self._ids[letters[begin:end]])
            begin = end or begin + 1
        return tuple(ids) or (self.unknown_id,)

    def renumber(self, cutter: PieceTokenizer, pieces: Iterable[str]) -> "RenumberedTokenizer":
        """Return one that cuts with ``cutter`` and numbers by ``pieces``, each taken once, which begin with its own."""
        specials = Specials(
            pad=self.pad_id, unknown=self.unknown_id, begin=self.begin_id, end=self.end_id
        )
        return RenumberedTokenizer(cutter, tuple(dict.fromkeys(pieces)), specials, self.default_tag)

    def save(self, path: Path) -> None:
        """See :class:`Tokenizer`."""
        from interlingua.tokenization.document import write_document

        own = {
            "format": 1,
            "kind": KIND,
            "specials": [self.pad_id, self.unknown_id, self.begin_id, self.end_id],
            "default_tag": self.default_tag,
            "pieces": list(self.pieces),
            "cutter": describe_pieces(self.cutter),
        }
        write_document(Path(path), {"version": "1.0", "model": {"interlingua": own}})

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> "RenumberedTokenizer":
        """Return the tokenizer of a document that :meth:`save` wrote."""
        own = document["model"]["interlingua"]
        pieces = own["pieces"]
        if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
            raise TokenizerError("the vocabulary is damaged: it is not a list of pieces")
        return cls(
            restore_pieces(own["cutter"]),
            pieces,
            Specials(*own["specials"]),
            str(own["default_tag"]),
        )

    def _number(self, piece: str) -> int:
        return self._ids.get(piece, self.unknown_id)

    def _split(self, text: str) -> tuple[str, str]:
        """Return the tag that ``text`` begins with, or the default one, and what follows."""
        end = text.find("<<") if text.startswith(">>") else -1
        if end < 0:
            return self.default_tag, text
        return text[: end + 2], text[end + 2 :]


def is_tag(piece: str) -> bool:
    """Tell whether a piece is the tag of a language, ``>>fra<<``."""
    return len(piece) > 4 and piece.startswith(">>") and piece.endswith("<<")
