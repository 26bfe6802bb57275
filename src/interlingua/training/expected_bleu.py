"""What BLEU does so much text give? A band from measured trainings, told by ``plan`` before and by ``train`` after.

A model reads and says well what it has seen. So BLEU is foretold from how familiar the validation text is: the share of its n-grams that
the training text has, taken as BLEU takes precision, the geometric mean of one to four words, of both languages. In the trainings
that were measured, of three kinds of text and up to 3,000 pairs, BLEU divided by that share is 55 to 86, which is all that the band
knows; for more pairs it goes on where they end.
"""

from dataclasses import dataclass

from interlingua.config import RunConfig
from interlingua.corpus.statistics import CorpusStatistics
from interlingua.evaluation.metrics import choose_tokenizer

__all__ = ["MOST_PAIRS", "BleuBand", "expected_bleu"]

MOST_PAIRS = 50_000
"""Of larger corpora nothing is foretold."""
_FEWEST_PAIRS = 500
_LEAST_FAMILIAR = 0.1
"""Below what was measured the law ends: 1,000 pairs of news, 0.044, came to 0.5 and not to the 2 or 3 that it would say."""
_MOST_FAMILIAR = 0.6
"""Text whose wording is nearly all known, made by a grammar for instance, follows other laws."""

_FEWEST_WORDS = 3
"""Of a target, on average: text without spaces has no words to count."""

_MEASURED = {
    "captions, 1,000 pairs": (0.259, 14.28),
    "captions, 3,000 pairs": (0.355, 22.20),
    "everyday sentences, 1,000 pairs": (0.112, 9.63),
    "mixed text, 1,000 pairs": (0.114, 7.65),
}
"""Familiarity of the validation text, and its BLEU as ``train`` tells it at its end (200 sentences, greedy), with all choices left to it:
docs/results.md, "What so little text is worth"."""

_WIDER = 0.15
"""Share by which the band is wider than what was measured, on either side: a few trainings are not all that there are."""


@dataclass(frozen=True, slots=True)
class BleuBand:
    """Validation BLEU that is expected of a training to its end."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.0f} to {self.high:.0f}"

    def judge(self, bleu: float) -> str:
        """Tell how right it was."""
        expected = f"BLEU {self} was expected of this text"
        if bleu < self.low:
            return (
                f"{expected}, {self.low - bleu:.1f} more than this: has it learnt for long enough? is the text what it seems? "
                "(interlingua doctor)"
            )
        if bleu > self.high:
            return f"{expected}, {bleu - self.high:.1f} less than this"
        return f"{expected}, and so it is"


def expected_bleu(config: RunConfig, corpus: CorpusStatistics) -> BleuBand | None:
    """Return what a training to its end should come to; None where nothing like it was measured.

    That is: a Transformer with fresh weights, one pair of languages, text in words, not too few pairs and not too many,
    wording that is neither nearly all new nor nearly all known, written by people (none of it tagged as synthetic) and left as it is, each
    pair as often as any other, in a language whose BLEU is of words and not of characters.
    """
    is_like_it = (
        config.model.kind == "transformer"
        and not config.start.begins_with_a_model
        and not config.corpus.directions
        and not config.corpus.embedded
        and not config.corpus.text
        and not any(config.corpus.tags)
        and len(set(config.corpus.weights)) < 2
        and config.corpus.temperature in (None, 1.0)
        and choose_tokenizer(config.corpus.target_lang) == "13a"
        and not config.corpus.noise
        and not config.corpus.denoise
        and not corpus.is_rules
        and _FEWEST_PAIRS <= corpus.pairs <= MOST_PAIRS
        and corpus.target_words >= _FEWEST_WORDS * corpus.measured
    )
    familiar = corpus.familiarity
    if not is_like_it or familiar is None or not _LEAST_FAMILIAR <= familiar <= _MOST_FAMILIAR:
        return None
    ratios = [bleu / known for known, bleu in _MEASURED.values()]
    return BleuBand(
        low=min(ratios) * (1 - _WIDER) * familiar,
        high=max(ratios) * (1 + _WIDER) * familiar,
    )
