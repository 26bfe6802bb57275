"""A tokenizer that puts one symbol before every text: the language that a model of several is to write.

The symbol is an entry of the vocabulary that no text becomes, so that a text cannot ask for another language by itself.
"""

from collections.abc import Sequence

from interlingua.errors import TokenizerError
from interlingua.tokenization.around import TokenizerAround
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.tokenizer import Encoding, Tokenizer

__all__ = ["TaggedTokenizer", "tag_sources"]


class TaggedTokenizer(TokenizerAround):
    """Does what ``plain`` does, with the id of ``tag`` first. The tag covers no character of the text.

    Args:
        plain: what cuts; none that puts a tag before texts itself.
        tag: an entry of its vocabulary.

    Raises:
        TokenizerError: the tag is not in the vocabulary.
    """

    def __init__(self, plain: Tokenizer, tag: str) -> None:
        super().__init__(plain)
        self.tag = tag
        pieces = plain.all_tokens()
        if tag not in pieces:
            raise TokenizerError(f"the tag {tag} is not in the vocabulary")
        self.tag_id = pieces.index(tag)

    def encode(self, text: str) -> Encoding:
        """See :class:`Tokenizer`; a text without tokens gets no tag either."""
        found = self.plain.encode(text)
        if not found.ids:
            return found
        return Encoding([self.tag_id, *found.ids], [(0, 0), *found.offsets])

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """See :class:`Tokenizer`."""
        return [[self.tag_id, *ids] if ids else [] for ids in self.plain.encode_batch(texts)]

    def encode_sampled(
        self, text: str, *, probability: float, seed: int, epoch: int, pair: int, side: int
    ) -> list[int]:
        """See :class:`Tokenizer`."""
        ids = self.plain.encode_sampled(
            text, probability=probability, seed=seed, epoch=epoch, pair=pair, side=side
        )
        return [self.tag_id, *ids] if ids else []

    def decode(self, ids: Sequence[int]) -> str:
        """See :class:`Tokenizer`; the tag is left out."""
        return self.plain.decode([number for number in ids if number != self.tag_id])


def tag_sources(tokenizers: TokenizerPair, tag: str) -> TokenizerPair:
    """Return tokenizers of which that of the source puts ``tag`` before every text.

    Raises:
        TokenizerError: the tag is not in the vocabulary.
    """
    source = tokenizers.source
    plain = source.plain if isinstance(source, TaggedTokenizer) else source
    return TokenizerPair(TaggedTokenizer(plain, tag), tokenizers.target, tokenizers.shared)
