"""What a corpus is like, in figures that choices and forecasts follow from."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

from interlingua.corpus.pairs import SentencePair
from interlingua.corpus.words import is_unspaced

__all__ = ["PAIRS_MEASURED", "CorpusStatistics", "familiarity", "measure_corpus"]

PAIRS_MEASURED = 200_000
"""Pairs that the choices look at; a larger corpus gives a sample of so many."""

_SIDES_AND_ORDERS = tuple((side, order) for side in (0, 1) for order in (1, 2, 3, 4))


@dataclass(frozen=True, slots=True)
class CorpusStatistics:
    """What the choices look at: a corpus, or for all but ``pairs`` a sample of a large one."""

    pairs: int
    measured: int
    """Pairs that were looked at."""
    source_words: int
    target_words: int
    word_types: int
    """Distinct words of the side that has more of them."""
    characters: int
    """Distinct characters of both sides."""
    shared_script: float
    """Share of the text, by letters, whose letters occur on both sides (0 to 1)."""
    familiarity: float | None = None
    """Of the validation text, see :func:`familiarity`; None where it was not measured."""
    target_unspaced: int = 0
    """Letters of the target in scripts that put no spaces between words."""

    @property
    def words_a_line(self) -> float:
        """Mean words of the longer side."""
        return max(self.source_words, self.target_words) / self.measured

    @property
    def closed_vocabulary(self) -> bool:
        """A few words that occur again and again: commands, digits, phonemes."""
        words = min(self.source_words, self.target_words)
        return self.word_types <= 500 and words >= 50 * self.word_types

    @property
    def unspaced(self) -> bool:
        """Lines are strings of few different characters, not words: digits or letters run together."""
        words = max(self.source_words, self.target_words)
        return self.characters <= 100 and self.words_a_line < 1.5 and self.word_types > words / 5

    @property
    def is_rules(self) -> bool:
        """A task of a few rules rather than a language."""
        return self.closed_vocabulary or self.unspaced


def measure_corpus(pairs: Iterable[SentencePair], num_pairs: int | None = None) -> CorpusStatistics:
    """Count what the choices need, in one pass.

    Args:
        pairs: the corpus, or a sample of it.
        num_pairs: how many pairs the corpus has (None: those that are given).
    """
    source, target, measured = Counter[str](), Counter[str](), 0
    for pair in pairs:
        source.update(pair.source.split())
        target.update(pair.target.split())
        measured += 1
    source_letters, target_letters = _letters(source), _letters(target)
    common = source_letters.keys() & target_letters.keys()
    total = source_letters.total() + target_letters.total()
    shared = sum(source_letters[c] + target_letters[c] for c in common)
    return CorpusStatistics(
        pairs=measured if num_pairs is None else num_pairs,
        measured=measured,
        source_words=source.total(),
        target_words=target.total(),
        word_types=max(len(source), len(target)),
        characters=len(source_letters.keys() | target_letters.keys()),
        shared_script=shared / max(total, 1),
        target_unspaced=sum(n for letter, n in target_letters.items() if is_unspaced(letter)),
    )


def _letters(words: Counter[str]) -> Counter[str]:
    letters = Counter[str]()
    for word, count in words.items():
        for letter in word:
            letters[letter] += count
    return letters


def familiarity(training: Iterable[SentencePair], validation: Iterable[SentencePair]) -> float:
    """Return the share of the validation text's n-grams that the training text has, of one to four words and of both sides.

    It is the geometric mean of the eight shares. Each occurrence counts, words are what stands between spaces. 0 where there are no
    n-grams of some length.
    """
    wanted = [Counter[tuple[str, ...]]() for _ in _SIDES_AND_ORDERS]
    for pair in validation:
        for counts, ngrams in zip(wanted, _ngrams(pair), strict=True):
            counts.update(ngrams)
    those = [frozenset(counts) for counts in wanted]
    found = [set[tuple[str, ...]]() for _ in _SIDES_AND_ORDERS]
    for pair in training:
        for known, some, ngrams in zip(found, those, _ngrams(pair), strict=True):
            known.update(some.intersection(ngrams))
    shares = [
        sum(counts[ngram] for ngram in known) / max(1, counts.total())
        for counts, known in zip(wanted, found, strict=True)
    ]
    return prod(shares) ** (1 / len(shares))


def _ngrams(pair: SentencePair) -> Iterator[Iterator[tuple[str, ...]]]:
    """Yield those of each side and order."""
    sides = pair.source.split(), pair.target.split()
    for side, order in _SIDES_AND_ORDERS:
        words = sides[side]
        yield zip(*(words[place:] for place in range(order)), strict=False)
