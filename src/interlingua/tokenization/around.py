"""A tokenizer around another one: what it does not change, the inner one does."""

from collections.abc import Sequence
from pathlib import Path

from interlingua.tokenization.tokenizer import Tokenizer

__all__ = ["TokenizerAround"]


class TokenizerAround(Tokenizer):
    """Does what ``plain`` does; what is made of it here says how text is read, and is no part of what is saved."""

    def __init__(self, plain: Tokenizer) -> None:
        self.plain = plain
        self.kind = plain.kind
        self.vocabulary_size = plain.vocabulary_size
        self.pad_id, self.unknown_id = plain.pad_id, plain.unknown_id
        self.begin_id, self.end_id = plain.begin_id, plain.end_id

    def normalise(self, text: str) -> str:
        """See :class:`Tokenizer`."""
        return self.plain.normalise(text)

    def decode(self, ids: Sequence[int]) -> str:
        """See :class:`Tokenizer`."""
        return self.plain.decode(ids)

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """See :class:`Tokenizer`."""
        return self.plain.tokens(ids)

    def save(self, path: Path) -> None:
        """Write the tokenizer that cuts."""
        self.plain.save(path)
