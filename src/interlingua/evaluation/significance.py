"""Is one system better than another, or would other sentences have told otherwise?

Paired bootstrap resampling: both systems are scored on the same random draws of the test sentences, and the
p-value is the share of draws whose difference departs from the mean difference by more than the real
difference does (Koehn 2004, "Statistical Significance Tests for Machine Translation Evaluation", in the
form that the ``sacrebleu --paired-bs`` command computes).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from interlingua.errors import CorpusError
from interlingua.evaluation.bootstrap import FEWEST_SENTENCES, NUM_RESAMPLES, p_value
from interlingua.evaluation.metrics import (
    Score,
    build_metric,
    check_counts,
    check_metrics,
    choose_tokenizer,
    score_systems,
)

__all__ = ["SIGNIFICANCE_LEVEL", "Comparison", "compare"]

SIGNIFICANCE_LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of two systems; ``p_value`` is how easily chance gives a difference as large."""

    system: Score
    baseline: Score
    p_value: float
    sentences: int

    @property
    def difference(self) -> float:
        """The system's score minus the baseline's (for TER and WER, negative is better)."""
        return self.system.value - self.baseline.value

    @property
    def significant(self) -> bool:
        """Whether there is a difference, on sentences enough to tell, and it stands at the 5 % level.

        Two equal outputs get a small p-value from sacreBLEU, since no draw differs by more than nothing.
        """
        is_told = self.difference != 0 and self.sentences >= FEWEST_SENTENCES
        return is_told and self.p_value < SIGNIFICANCE_LEVEL


def compare(
    hypotheses: Sequence[str],
    baseline: Sequence[str],
    references: Sequence[Sequence[str]],
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
    *,
    tokenize: str | None = None,
    target_lang: str | None = None,
    num_resamples: int = NUM_RESAMPLES,
) -> list[Comparison]:
    """Compare two systems' outputs for the same sentences, metric by metric.

    Raises:
        ConfigError: a metric or tokenization that does not exist or is not installed.
        CorpusError: nothing to score, or outputs and references of different lengths.
    """
    check_counts(hypotheses, references)
    if len(baseline) != len(hypotheses):
        raise CorpusError(
            f"the other system's output has {len(baseline):,} lines but this one's has "
            f"{len(hypotheses):,}; both must translate the same sentences"
        )
    tokenize = tokenize or choose_tokenizer(target_lang)
    comparisons = []
    for name in check_metrics(metrics, tokenize):
        metric = build_metric(name, references, tokenize)
        (system, other), draws = score_systems([hypotheses, baseline], metric, num_resamples)
        comparisons.append(Comparison(system, other, p_value(*draws), len(hypotheses)))
    return comparisons
