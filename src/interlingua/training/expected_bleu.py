"""What BLEU does so much text give? A band from measured trainings, told by ``plan`` before and by ``train`` after.

A model reads and says well what it has seen. So BLEU is foretold from how familiar the validation text is: the share of its n-grams that
the training text has, taken as BLEU takes precision, the geometric mean of one to four words, of both languages. In the trainings
that were measured, of four kinds of text, BLEU divided by that share hangs on how long the lines are, and on little else: it falls by a line,
from 85 for six words to 30 for twenty (docs/results.md, "The learning curve"). In a long line there is more to get wrong.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import linear_regression

from interlingua.config import RunConfig
from interlingua.corpus.statistics import CorpusStatistics
from interlingua.evaluation.metrics import choose_tokenizer

__all__ = ["MEASURED", "MOST_PAIRS", "BleuBand", "expected_bleu", "foretell"]

MOST_PAIRS = 50_000
"""Of larger corpora nothing is foretold."""
_FEWEST_PAIRS = 500
_LEAST_FAMILIAR, _MOST_FAMILIAR = 0.04, 0.6
"""Text whose wording is nearly all known, made by a grammar for instance, follows other laws."""
_FEWEST_WORDS, _MOST_WORDS = 5.0, 22.0
"""A line of the longer side, on average: text without spaces has no words to count."""

MEASURED = {
    "everyday sentences, 1,000 pairs": (6.3, 0.112, 9.63),
    "everyday sentences, 3,000 pairs": (6.4, 0.183, 15.37),
    "everyday sentences, 10,000 pairs": (6.5, 0.290, 24.69),
    "mixed text, 1,000 pairs": (11.3, 0.114, 7.65),
    "mixed text, 3,000 pairs": (11.4, 0.180, 11.49),
    "mixed text, 10,000 pairs": (11.4, 0.254, 18.08),
    "captions, 1,000 pairs": (12.0, 0.259, 14.28),
    "captions, 3,000 pairs": (11.9, 0.355, 22.20),
    "captions, 10,000 pairs": (11.9, 0.460, 30.84),
    "captions, 29,000 pairs": (11.9, 0.547, 38.89),
    "news, 1,000 pairs": (20.4, 0.044, 1.21),
    "news, 3,000 pairs": (20.4, 0.073, 1.83),
    "news, 10,000 pairs": (20.5, 0.119, 4.41),
}
"""Words a line, familiarity of the validation text, and its BLEU as ``train`` tells it at its end (200 sentences, greedy), with all choices
left to it: docs/results.md, "The learning curve"."""

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

    That is: a Transformer with fresh weights, one pair of languages, text in words, not too few pairs and not too many, lines that are
    neither very short nor very long, wording that is neither all new nor nearly all known, written by people (none of it tagged as synthetic) and left as it is, each
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
        and _FEWEST_WORDS <= corpus.words_a_line <= _MOST_WORDS
    )
    familiar = corpus.familiarity
    if not is_like_it or familiar is None or not _LEAST_FAMILIAR <= familiar <= _MOST_FAMILIAR:
        return None
    return foretell(corpus.words_a_line, familiar)


def foretell(
    words: float, familiar: float, measured: Mapping[str, tuple[float, float, float]] = MEASURED
) -> BleuBand:
    """Return the band for so many words a line and such a familiarity, from what was measured."""
    lengths = [length for length, _, _ in measured.values()]
    ratios = [bleu / known for _, known, bleu in measured.values()]
    slope, intercept = linear_regression(lengths, ratios)
    apart = [
        ratio / (intercept + slope * length) for length, ratio in zip(lengths, ratios, strict=True)
    ]
    usual = (intercept + slope * words) * familiar
    return BleuBand(low=min(apart) * (1 - _WIDER) * usual, high=max(apart) * (1 + _WIDER) * usual)
