"""A text all in capitals, read in the letters that the vocabulary knows best.

Text that models learn from has hardly a word in capitals, so that such a word falls apart into single letters, which mean nothing to a
model. Here each is read in small letters, or with a capital first where that takes fewer pieces ("Boston", a German noun), or as it
stands where that takes the fewest ("DVD").
"""

import re
from collections.abc import Sequence

from interlingua.corpus.placeholders import split_at_placeholders
from interlingua.tokenization.around import TokenizerAround
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.tokenizer import Encoding, Tokenizer

__all__ = ["TruecasingTokenizer", "plain_sources", "truecase_sources"]

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_SENTENCE_BEGINS = re.compile(r"(?:^|[.!?\u2026][^\w\s]*\s)[^\w]*$")
"""What stands before the first word of a sentence."""
_WORTH_IT = 0.75
"""Of its pieces as it stands: a text that takes hardly fewer in other letters is of a vocabulary that knows capitals."""
_LOOK_BACK = 20
"""Characters before a word that are looked at: a long text takes no longer for each of its words."""


class TruecasingTokenizer(TokenizerAround):
    """Does what ``plain`` does, but reads a text all in capitals in the letters that take the fewest pieces.

    Placeholders stay as they are.

    Args:
        plain: what cuts.
        language: of the texts: Turkish has two letters i, and English a word "I".
    """

    def __init__(self, plain: Tokenizer, language: str) -> None:
        super().__init__(plain)
        self.language = language

    def truecase(self, text: str) -> str:
        """Return ``text`` as it is read; a text with a small letter outside placeholders stays as it is."""
        if sum(map(str.isupper, text)) <= sum(map(str.islower, text)):
            return text  # most text is: it needs no further look
        parts = split_at_placeholders(text)
        loud = "".join(part.text for part in parts if not part.locked)
        if not loud.isupper():
            return text
        read = quiet = ""
        for part in parts:
            now = part.text if part.locked else self._read(part.text, read)
            read += now
            quiet += "" if part.locked else now
        before, after = map(len, self.plain.encode_batch([loud, quiet]))
        return read if after <= _WORTH_IT * before else text

    def _read(self, part: str, before: str) -> str:
        """Return a part of a text in other letters; ``before`` is what stands before it."""

        def choose(found: re.Match[str]) -> str:
            start = found.start()
            near = before[-_LOOK_BACK:] + part[max(0, start - _LOOK_BACK) : start]
            begins = bool(_SENTENCE_BEGINS.search(near[-_LOOK_BACK:]))
            return self._choose_letters(found[0], begins)

        return _WORD.sub(choose, part)

    def _choose_letters(self, word: str, begins: bool) -> str:
        """Return a word in the letters that take the fewest pieces; of equals, those that such a place in a sentence has mostly."""
        if word == "I" and self.language == "en":
            return word
        if self.language in ("tr", "az"):
            word = word.replace("I", "\u0131").replace("\u0130", "i")
            capital = "\u0130" if word[0] == "i" else word[0].upper()
        else:
            capital = word[0].title()
        small = word.lower()
        usual = [capital + small[1:], small] if begins else [small, capital + small[1:]]
        forms = [*usual, word]
        pieces = self.plain.encode_batch([f"x {form}" for form in forms])
        return min(zip(map(len, pieces), range(len(forms)), forms, strict=True))[2]

    def normalise(self, text: str) -> str:
        """See :class:`Tokenizer`: the text as it is read."""
        return self.plain.normalise(self.truecase(text))

    def encode(self, text: str) -> Encoding:
        """See :class:`Tokenizer`."""
        return self.plain.encode(self.truecase(text))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """See :class:`Tokenizer`."""
        return self.plain.encode_batch([self.truecase(text) for text in texts])

    def encode_sampled(
        self, text: str, *, probability: float, seed: int, epoch: int, pair: int, side: int
    ) -> list[int]:
        """See :class:`Tokenizer`."""
        return self.plain.encode_sampled(
            self.truecase(text),
            probability=probability,
            seed=seed,
            epoch=epoch,
            pair=pair,
            side=side,
        )


def truecase_sources(tokenizers: TokenizerPair, language: str) -> TokenizerPair:
    """Return tokenizers of which that of the source reads capitals so, in ``language``."""
    source = TruecasingTokenizer(plain_sources(tokenizers).source, language)
    return TokenizerPair(source, tokenizers.target, tokenizers.shared)


def plain_sources(tokenizers: TokenizerPair) -> TokenizerPair:
    """Return the tokenizers as they were before :func:`truecase_sources`."""
    source = tokenizers.source
    if not isinstance(source, TruecasingTokenizer):
        return tokenizers
    return TokenizerPair(source.plain, tokenizers.target, tokenizers.shared)
