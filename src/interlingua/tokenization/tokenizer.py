"""What every tokenizer does, whoever trained it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from interlingua.errors import TokenizerError

__all__ = ["Encoding", "Symbols", "Tokenizer", "refuse_surrogates"]


class Symbols(NamedTuple):
    """The ids that no text becomes, and that every sequence is made with."""

    pad: int
    """What fills up a batch; never written."""
    begin: int
    """What every target is read to begin with; never written."""
    end: int
    """What ends a sequence."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """The ids of a text, and where each of them stands in it.

    ``offsets[i]`` is the half-open span of characters that ``ids[i]`` covers in ``tokenizer.normalise(text)``.
    The space before a word belongs to the word's first token. The byte tokens that spell one character
    together all have that character's span.
    """

    ids: list[int]
    offsets: list[tuple[int, int]]


class Tokenizer(ABC):
    """Strings to ids and back.

    Text never becomes ``pad_id``, ``begin_id`` or ``end_id``, whatever it looks like: those are added by whoever
    builds a sequence. Tokenizers trained here use the ids 0 to 3; an imported one keeps its own.
    """

    kind: str
    pad_id: int
    unknown_id: int
    begin_id: int
    end_id: int
    vocabulary_size: int

    @property
    def symbols(self) -> Symbols:
        """The ids of padding, begin and end."""
        return Symbols(self.pad_id, self.begin_id, self.end_id)

    @abstractmethod
    def normalise(self, text: str) -> str:
        """Return the form of ``text`` that ``decode(encode(text))`` gives back; doing it twice changes nothing."""

    @abstractmethod
    def encode(self, text: str) -> Encoding:
        """Cut ``text`` into tokens, without begin or end.

        Raises:
            TokenizerError: ``text`` holds half a surrogate pair, which is not a character.
        """

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text; the same as ``encode``, without the cost of offsets."""
        return [self.encode(text).ids for text in texts]

    @abstractmethod
    def encode_sampled(
        self, text: str, *, probability: float, seed: int, epoch: int, pair: int, side: int
    ) -> list[int]:
        """Cut ``text`` in a random way that depends only on the arguments.

        ``probability`` 0 is ``encode``; BPE drops each merge with it (Provilkov et al. 2020, section 3),
        WordPiece each match, and Unigram samples a path with alpha = 1 - ``probability`` (Kudo 2018, section 3.2).

        Raises:
            TokenizerError: this kind has one way only to cut a text, or ``probability`` is not in [0, 1).
        """

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ``ids``; pad, begin and end are left out, broken UTF-8 becomes U+FFFD.

        Raises:
            TokenizerError: an id is not in the vocabulary.
        """

    @abstractmethod
    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Return the printable piece of each id.

        Raises:
            TokenizerError: an id is not in the vocabulary.
        """

    def all_tokens(self) -> list[str]:
        """Return the piece of every id, in order."""
        return self.tokens(range(self.vocabulary_size))

    @abstractmethod
    def save(self, path: Path) -> None:
        """Write one ``tokenizer.json``, whole or not at all."""

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Read a ``tokenizer.json``, ours or any that Hugging Face ``tokenizers`` can read.

        Raises:
            TokenizerError: the file is missing, damaged, or something else.
        """
        from interlingua.tokenization.document import read_tokenizer

        return read_tokenizer(Path(path))


def refuse_surrogates(text: str) -> None:
    """Raise a TokenizerError if ``text`` holds half a surrogate pair, which UTF-8 cannot write."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise TokenizerError(
            f"character {error.start + 1} of the text is half a surrogate pair "
            f"(U+{ord(text[error.start]):04X}), which is not a character; "
            "read the text as strict UTF-8, or remove it"
        ) from None
