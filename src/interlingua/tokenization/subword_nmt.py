"""subword-nmt's list of merges, applied as subword-nmt applies it.

A word ends in the symbol ``</w>``, pairs are ranked (not what they make), and in print a piece that does not end its
word carries ``@@``. Characters that the merges do not know are tokens of their own there; here they become bytes, so
that the vocabulary is closed and nothing is lost. :meth:`SubwordNmtTokenizer.apply` prints what subword-nmt prints.

Source: Sennrich et al. 2016, and the format "#version: 0.2" (before it, ``</w>`` was a symbol of its own).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from interlingua.errors import TokenizerError
from interlingua.tokenization.text_form import LONGEST_WORD
from interlingua.tokenization.tokenizer import Encoding, Tokenizer, refuse_surrogates
from interlingua.tokenization.vocabulary import BYTE_PIECES, SPECIAL_PIECES

__all__ = ["SubwordNmtTokenizer"]

_END = "</w>"
_GOES_ON = "@@"
_CACHED_WORDS = 200_000

Merge = tuple[str, str]

Piece = tuple[str, bool]
"""What stands in the text, and whether a word ends here."""

_FIRST_BYTE = len(SPECIAL_PIECES)
_FIRST_PIECE = _FIRST_BYTE + 2 * len(BYTE_PIECES)


class SubwordNmtTokenizer(Tokenizer):
    """Merges made by subword-nmt; texts are tokenized before, words stand between single spaces.

    ``normalise`` leaves one space between words and none at the ends, as subword-nmt does.
    """

    kind = "subword-nmt"
    pad_id, unknown_id, begin_id, end_id = 0, 1, 2, 3

    def __init__(self, merges: Iterable[Merge], version: tuple[int, int] = (0, 2)) -> None:
        self.merges = tuple(merges)
        self.version = version
        self._ranks = {merge: rank for rank, merge in reversed(list(enumerate(self.merges)))}
        self._pieces = _vocabulary(self.merges)
        self._ids = {piece: _FIRST_PIECE + place for place, piece in enumerate(self._pieces)}
        self.vocabulary_size = _FIRST_PIECE + len(self._pieces)
        self._split: dict[str, tuple[Piece, ...]] = {}

    def normalise(self, text: str) -> str:
        """Leave one space between words and none at the ends."""
        refuse_surrogates(text)
        return " ".join(word for word in text.split(" ") if word)

    def encode(self, text: str) -> Encoding:
        """See :class:`Tokenizer`."""
        ids: list[int] = []
        offsets: list[tuple[int, int]] = []
        start = 0
        for piece in self._cut(text):
            surface, ends = piece
            spelled = self._spell(piece)
            ids += spelled
            offsets += [(start, start + len(surface))] * len(spelled)
            start += len(surface) + ends
        return Encoding(ids, offsets)

    def encode_sampled(
        self, text: str, *, probability: float, seed: int, epoch: int, pair: int, side: int
    ) -> list[int]:
        """Refuse unless ``probability`` is 0: imported merges are applied as their tool applies them."""
        if probability != 0.0:
            raise TokenizerError(
                "imported subword-nmt merges are not sampled; "
                "set tokenization.sampling to 0, or train a bpe tokenizer here"
            )
        return self.encode(text).ids

    def apply(self, line: str) -> str:
        """Return ``line`` as ``subword-nmt apply-bpe`` prints it."""
        return " ".join(_printed(piece) for piece in self._cut(line))

    def decode(self, ids: Sequence[int]) -> str:
        """See :class:`Tokenizer`."""
        self._check(ids)
        data = bytearray()
        for number in ids:
            if number in (self.pad_id, self.begin_id, self.end_id):
                continue
            if number >= _FIRST_PIECE:
                surface, ends = self._pieces[number - _FIRST_PIECE]
                data += surface.encode("utf-8")
            elif number == self.unknown_id:
                data += "\u2047".encode()
                ends = True
            else:
                value = number - _FIRST_BYTE
                ends = value < len(BYTE_PIECES)
                data.append(value % len(BYTE_PIECES))
            if ends:
                data += b" "
        return data.decode("utf-8", errors="replace").removesuffix(" ")

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """See :class:`Tokenizer`."""
        self._check(ids)
        return [self._token(number) for number in ids]

    def save(self, path: Path) -> None:
        """See :class:`Tokenizer`."""
        from interlingua.tokenization.document import write_document

        write_document(Path(path), self._document())

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> "SubwordNmtTokenizer":
        """Restore what :meth:`save` wrote."""
        model = document["model"]
        first, second = model["interlingua"]["version"]
        return cls([(left, right) for left, right in model["merges"]], (first, second))

    def _document(self) -> dict[str, Any]:
        """Name the pieces as Hugging Face does: the end of a word is marked, not its going on."""
        ends = [piece + _END for piece in BYTE_PIECES]
        pieces = [surface + _END * final for surface, final in self._pieces]
        names = [*SPECIAL_PIECES, *ends, *BYTE_PIECES, *pieces]
        own = {"format": 1, "kind": self.kind, "version": list(self.version)}
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": None,
            "pre_tokenizer": {
                "type": "Split",
                "pattern": {"String": " "},
                "behavior": "Removed",
                "invert": False,
            },
            "post_processor": None,
            "decoder": {"type": "BPEDecoder", "suffix": _END},
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": SPECIAL_PIECES[self.unknown_id],
                "continuing_subword_prefix": None,
                "end_of_word_suffix": _END,
                "fuse_unk": False,
                "vocab": {name: number for number, name in enumerate(names)},
                "merges": [list(merge) for merge in self.merges],
                "interlingua": own,
            },
        }

    def _check(self, ids: Sequence[int]) -> None:
        for number in ids:
            if not 0 <= number < self.vocabulary_size:
                raise TokenizerError(
                    f"id {number} is not in the vocabulary (0 to {self.vocabulary_size - 1}); "
                    "the ids were made with another tokenizer"
                )

    def _token(self, number: int) -> str:
        if number >= _FIRST_PIECE:
            return _printed(self._pieces[number - _FIRST_PIECE])
        if number < _FIRST_BYTE:
            return SPECIAL_PIECES[number]
        value = number - _FIRST_BYTE
        return _printed((BYTE_PIECES[value % len(BYTE_PIECES)], value < len(BYTE_PIECES)))

    def _cut(self, text: str) -> Iterator[Piece]:
        for word in self.normalise(text).split(" "):
            for start in range(0, len(word), LONGEST_WORD):
                part = word[start : start + LONGEST_WORD]
                pieces = self._known(part)
                yield from pieces[:-1]
                yield pieces[-1][0], start + LONGEST_WORD >= len(word)

    def _known(self, word: str) -> tuple[Piece, ...]:
        pieces = self._split.get(word)
        if pieces is None:
            if len(self._split) >= _CACHED_WORDS:
                self._split.clear()
            pieces = self._split[word] = tuple(self._merge(word))
        return pieces

    def _merge(self, word: str) -> list[Piece]:
        """Join the best-ranked pair wherever it stands, from the left, until none is known."""
        symbols = [*word[:-1], word[-1] + _END] if self.version >= (0, 2) else [*word, _END]
        while True:
            pairs = {pair for pair in pairwise(symbols) if pair in self._ranks}
            if not pairs:
                break
            symbols = _join_everywhere(symbols, min(pairs, key=self._ranks.__getitem__))
        if symbols[-1] == _END:
            symbols.pop()
        last = symbols[-1]
        whole = last[: -len(_END)] if len(last) > 1 and last.endswith(_END) else last
        return [(symbol, False) for symbol in symbols[:-1]] + [(whole, True)]

    def _spell(self, piece: Piece) -> list[int]:
        number = self._ids.get(piece)
        if number is not None:
            return [number]
        surface, ends = piece
        shift = _FIRST_BYTE + len(BYTE_PIECES)
        ids = [shift + value for value in surface.encode("utf-8")]
        if ends:
            ids[-1] -= len(BYTE_PIECES)
        return ids


def _printed(piece: Piece) -> str:
    surface, ends = piece
    return surface if ends else surface + _GOES_ON


def _vocabulary(merges: Sequence[Merge]) -> list[Piece]:
    """Return the characters of the merges and what they make, each within a word and at its end."""
    parts = [part.removesuffix(_END) for merge in merges for part in merge]
    surfaces = dict.fromkeys(sorted({letter for part in parts for letter in part}))
    surfaces |= dict.fromkeys((left + right).removesuffix(_END) for left, right in merges)
    return [(surface, ends) for surface in surfaces if surface for ends in (False, True)]


def _join_everywhere(symbols: list[str], pair: Merge) -> list[str]:
    joined: list[str] = []
    place = 0
    while place < len(symbols):
        if tuple(symbols[place : place + 2]) == pair:
            joined.append(symbols[place] + symbols[place + 1])
            place += 2
        else:
            joined.append(symbols[place])
            place += 1
    return joined
