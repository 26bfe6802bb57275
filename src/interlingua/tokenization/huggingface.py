"""Any ``tokenizer.json`` that Hugging Face ``tokenizers`` can read, with that library's own ids."""

from collections.abc import Sequence
from pathlib import Path

import tokenizers

from interlingua.errors import TokenizerError
from interlingua.files import write_text
from interlingua.tokenization.tokenizer import Encoding, Tokenizer, refuse_surrogates

__all__ = ["HuggingFaceTokenizer"]

_PAD = ("<pad>", "[PAD]", "<|pad|>", "<|endoftext|>")
_UNKNOWN = ("<unk>", "[UNK]", "<|unk|>")
_BEGIN = ("<s>", "[CLS]", "<bos>", "[BOS]", "<|begin_of_text|>", "<|startoftext|>")
_END = ("</s>", "[SEP]", "<eos>", "[EOS]", "<|end_of_text|>", "<|endoftext|>")


class HuggingFaceTokenizer(Tokenizer):
    """A tokenizer from elsewhere, as it is: its normaliser runs inside it.

    So ``normalise`` returns the text itself, offsets count its characters, and what ``decode`` gives back is what that
    tokenizer gives back. Special symbols that stand in a text are text here as everywhere in this package.
    """

    def __init__(self, backend: tokenizers.Tokenizer, origin: str = "the tokenizer") -> None:
        backend.encode_special_tokens = True
        backend.no_padding()
        backend.no_truncation()
        self.backend = backend
        self.kind = type(backend.model).__name__.lower()
        self.vocabulary_size = backend.get_vocab_size(with_added_tokens=True)
        vocabulary = backend.get_vocab(with_added_tokens=True)
        self._ids = frozenset(vocabulary.values())

        def find(names: Sequence[str], otherwise: int | None) -> int:
            known = next((vocabulary[name] for name in names if name in vocabulary), otherwise)
            if known is None:
                raise TokenizerError(
                    f"{origin}: has no symbol that ends a sentence (looked for {', '.join(_END)}); "
                    "add one of these to its vocabulary"
                )
            return known

        self.end_id = find(_END, None)
        self.pad_id = find(_PAD, self.end_id)
        self.unknown_id = find(_UNKNOWN, self.pad_id)
        self.begin_id = find(_BEGIN, self.pad_id)
        self._silent = {self.pad_id, self.begin_id, self.end_id}

    @classmethod
    def from_text(cls, text: str, path: Path) -> "HuggingFaceTokenizer":
        """Build one from the text of a ``tokenizer.json``; ``path`` is for messages."""
        try:
            backend = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # The library raises bare Exception for whatever it cannot read.
            raise TokenizerError(
                f"{path}: Hugging Face tokenizers cannot read it ({error}); "
                "it is damaged, or made by a newer version: make or copy it again"
            ) from None
        return cls(backend, str(path))

    def normalise(self, text: str) -> str:
        """Return ``text``: the normaliser of the file runs inside ``encode``."""
        refuse_surrogates(text)
        return text

    def encode(self, text: str) -> Encoding:
        """See :class:`Tokenizer`."""
        refuse_surrogates(text)
        encoded = self.backend.encode(text, add_special_tokens=False)
        return Encoding(list(encoded.ids), list(encoded.offsets))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """See :class:`Tokenizer`."""
        for text in texts:
            refuse_surrogates(text)
        encoded = self.backend.encode_batch_fast(list(texts), add_special_tokens=False)
        return [list(one.ids) for one in encoded]

    def encode_sampled(
        self, text: str, *, probability: float, seed: int, epoch: int, pair: int, side: int
    ) -> list[int]:
        """Refuse unless ``probability`` is 0: the library draws from a generator that nobody can seed."""
        if probability != 0.0:
            raise TokenizerError(
                "a tokenizer from elsewhere cannot be sampled in a repeatable way; "
                "set tokenization.sampling to 0, or train a bpe or unigram tokenizer here"
            )
        return self.encode(text).ids

    def decode(self, ids: Sequence[int]) -> str:
        """See :class:`Tokenizer`."""
        self._check(ids)
        kept = [number for number in ids if number not in self._silent]
        text: str = self.backend.decode(kept, skip_special_tokens=False)
        return text

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """See :class:`Tokenizer`."""
        self._check(ids)
        return [self.backend.id_to_token(number) or "" for number in ids]

    def save(self, path: Path) -> None:
        """See :class:`Tokenizer`."""
        write_text(Path(path), self.backend.to_str() + "\n")

    def _check(self, ids: Sequence[int]) -> None:
        for number in ids:
            if number not in self._ids:
                raise TokenizerError(
                    f"id {number} is not in the vocabulary ({self.vocabulary_size} entries); "
                    "the ids were made with another tokenizer"
                )
