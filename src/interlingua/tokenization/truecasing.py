"""A text all in capitals, or a Title Where Every Word Begins With One, read in the letters that the vocabulary knows best.

Text that models learn from has hardly a word so written, so that it falls apart into letters or odd pieces, which mean nothing to a
model. Here each is read in small letters, or with a capital first where that takes fewer pieces ("Boston", a German noun), or as it
stands where that takes the fewest ("DVD").
"""

import re
import unicodedata
from collections.abc import Container, Mapping, Sequence

from interlingua.corpus.formats import UNNAMED
from interlingua.corpus.language_codes import two_letters
from interlingua.corpus.placeholders import split_at_placeholders
from interlingua.corpus.words import units_of, with_marks_as_letters
from interlingua.tokenization.around import TokenizerAround
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.tokenizer import Encoding, Tokenizer

__all__ = ["TruecasingTokenizer", "plain_sources", "truecase_sources"]

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_SENTENCE_BEGINS = re.compile(r"(?:^|[.!?\u2026][^\w\s]*\s)[^\w]*$")
"""What stands before the first word of a sentence."""
_INITIAL = re.compile(r"(?<![^\W\d_])[^\W\d_]\.$")
"""What stands directly before the second letter of "U.S."."""
_WORTH_IT = 0.9
"""Of its pieces as it stands: a text that takes hardly fewer in other letters is a list of names, or its vocabulary knows capitals."""
_SMALL_WORD = 3
"""Letters of the longest words that may begin with a small letter in a title: "of", "and"."""
_NOUNS_HAVE_CAPITALS = frozenset(["de", "lb"])
"""Languages in which ordinary text looks like a title, and titles like ordinary text."""
_HAS_I = frozenset(["en", two_letters(UNNAMED[0])])
"""Where "I" is a word: in English, and in what may be English."""
_FEWEST_WORDS = 4
"""Longer words that a title has at least: fewer are as likely a name."""
_LOOK_BACK = 20
"""Characters before a word that are looked at: a long text takes no longer for each of its words."""


class TruecasingTokenizer(TokenizerAround):
    """Does what ``plain`` does, but reads a text all in capitals, and a title, in the letters that take the fewest pieces.

    Placeholders stay as they are.

    Args:
        plain: what cuts.
        language: of the texts: Turkish has two letters i, and English a word "I".
    """

    def __init__(self, plain: Tokenizer, language: str) -> None:
        super().__init__(plain)
        self.language = two_letters(language)
        self.read_as_written: Container[tuple[int, ...]] = ()
        """Ids, as ``plain`` cuts, of texts in capitals or titles that keep their letters: of those that somebody corrected as they stand."""
        self.read_as: Mapping[str, str] = {}
        """By itself in capitals each text that somebody corrected: it knows the letters of its words better than the vocabulary does."""

    def truecase(self, text: str) -> str:
        """Return ``text`` as it is read; placeholders stay as they are, and so does any text that is neither in capitals nor a title."""
        if any(
            len(each) > _SMALL_WORD and each.islower() and each.isalpha() for each in text.split()
        ):
            return text  # most text has a small word near its beginning: it needs no further look
        parts = split_at_placeholders(text)
        free = "".join(part.text for part in parts if not part.locked)
        is_loud = _is_loud(free)
        if not is_loud and (self.language in _NOUNS_HAVE_CAPITALS or not _is_title(free)):
            return text
        if self.read_as_written and tuple(self.plain.encode(text).ids) in self.read_as_written:
            return text
        if (corrected := self.read_as.get(text.strip().upper())) is not None:
            return corrected
        read = quiet = ""
        for part in parts:
            now = part.text if part.locked else self._read(part.text, read, is_loud)
            read += now
            quiet += "" if part.locked else now
        before, after = map(len, self.plain.encode_batch([free, quiet]))
        return read if after <= _WORTH_IT * before else text

    def _read(self, part: str, before: str, is_loud: bool) -> str:
        """Return a part of a text in other letters; ``before`` is what stands before it."""

        def choose(found: re.Match[str]) -> str:
            word, start = part[found.start() : found.end()], found.start()
            letters = _without_marks(word)
            if not is_loud and not _is_titled(letters):
                return word
            if (
                len(letters) == 1
                and part.startswith(".", found.end())
                and found.end() + 1 < len(part)
            ):
                return word  # of an abbreviation: "U.S.", "J. Doe"
            if len(letters) == 1 and _INITIAL.search(part[max(0, start - 3) : start]):
                return word  # its last letter, at the end or before a placeholder
            near = before[-_LOOK_BACK:] + part[max(0, start - _LOOK_BACK) : start]
            begins = bool(_SENTENCE_BEGINS.search(near[-_LOOK_BACK:]))
            return self._choose_letters(word, begins)

        return _WORD.sub(choose, with_marks_as_letters(part))

    def _choose_letters(self, word: str, begins: bool) -> str:
        """Return a word in the letters that take the fewest pieces; of equals, those that such a place in a sentence has mostly."""
        if word[0] == "I" and word[1:2] in ("", "'", "\u2019") and self.language in _HAS_I:
            return "I" + word[1:].lower()
        if self.language in ("tr", "az"):
            composed = unicodedata.normalize("NFC", word)
            small = composed.replace("I", "\u0131").replace("\u0130", "i").lower()
            capital = "\u0130" if small[0] == "i" else small[0].upper()
        else:
            # Small letters of Python leave the dot of the Turkish İ upon its i.
            small, capital = word.replace("\u0130", "i").lower(), word[0].title()
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


def _is_loud(text: str) -> bool:
    """Tell whether a text is in capitals, and most of its words can be: beside letters without case a word in capitals is a name."""
    if not text.isupper():
        return False
    words = [word for _, word in units_of(text) if any(map(str.isalpha, word))]
    return 2 * sum(map(_has_case, words)) > len(words)


def _has_case(word: str) -> bool:
    """Tell whether most letters of a word in capitals are capitals."""
    return 2 * sum(map(str.isupper, word)) > sum(map(str.isalpha, word))


def _is_title(text: str) -> bool:
    """Tell whether every longer word of a text begins with a capital."""
    found = _WORD.finditer(with_marks_as_letters(text))
    every = (_without_marks(text[each.start() : each.end()]) for each in found)
    words = [each for each in every if len(each) > _SMALL_WORD]
    return len(words) >= _FEWEST_WORDS and all(each[0].isupper() for each in words)


def _without_marks(word: str) -> str:
    """Return a word whose letters can be counted: marks upon them are none."""
    return "".join(sign for sign in word if unicodedata.category(sign)[0] != "M")


def _is_titled(word: str) -> bool:
    """Tell whether the first letter of a word is a capital and no other one is: what has more is spelt so."""
    return word[0].isupper() and (len(word) == 1 or word[1:].islower())


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
