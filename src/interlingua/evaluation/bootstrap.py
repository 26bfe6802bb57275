"""Bootstrap resampling: what would the score have been on other sentences of the same kind?

Sentences are drawn with replacement, as many as there are, and the metric is computed anew from their
statistics (Koehn 2004). Draws and arithmetic are those of sacreBLEU, number by number, but only one draw is
held at a time: sacreBLEU keeps all thousand, which for 20,000 sentences takes gigabytes.
"""

import math
import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric

from interlingua.errors import ConfigError

__all__ = [
    "FEWEST_SENTENCES",
    "NUM_RESAMPLES",
    "TOO_FEW",
    "Resampled",
    "check_seed",
    "p_value",
    "resample",
    "score_draws",
    "two_sided_t",
]

NUM_RESAMPLES = 1000
"""Draws, the default of the ``sacrebleu`` command."""

FEWEST_SENTENCES = 30
"""From so many on chance is taken for a difference no oftener than on a large test set.

Of 400 comparisons of systems of equal worth on captions (BLEU) 10 to 11 in a hundred come out below p = 0.05 with 30 to 100 sentences, 14 with 20,
18 with 10, 24 with 5, and all with one, of which each draw is the same.
"""
TOO_FEW = f"fewer than {FEWEST_SENTENCES} sentences are too few to tell"

_DEFAULT_SEED = "12345"


@dataclass(frozen=True, slots=True)
class Resampled:
    """One system's score by one metric, and its scores on each draw."""

    name: str
    value: float
    draws: tuple[float, ...]
    by_percentiles: bool = False
    """Whether the interval is between two of the draws; it then stays where the metric can be."""
    is_of_program: bool = False
    """Whether another program scored: whatever it is called, higher is better, and what it is out of is not known."""

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval, centred on the mean of the draws as in sacreBLEU, or between percentiles."""
        ordered = sorted(self.draws)
        cut = len(ordered) // 40
        if self.by_percentiles:
            return ordered[cut], ordered[-1 - cut]
        margin = (ordered[-1 - cut] - ordered[cut]) / 2
        mean = statistics.fmean(ordered)
        return mean - margin, mean + margin


def resample(
    metric: Metric, systems: Sequence[Sequence[str]], num_resamples: int = NUM_RESAMPLES
) -> list[Resampled]:
    """Score each system whole, and on the same random draws of its sentences.

    Args:
        metric: a metric of sacreBLEU that was given the references; its signature then tells of the draws.
        systems: each system's outputs for all sentences.
        num_resamples: how many draws.

    Raises:
        ConfigError: the environment variable SACREBLEU_SEED, which sacreBLEU obeys too, is not a number.
    """
    seed = _seed()
    rows = [metric._extract_corpus_statistics(outputs, None) for outputs in systems]
    wholes = [metric._aggregate_and_compute(each) for each in rows]
    tables = [np.array(each, dtype=np.float32) for each in rows]
    generator = _seed_generator(seed)
    draws = score_draws(
        tables,
        lambda some: metric._compute_score_from_stats(some.sum(0)).score,
        generator,
        num_resamples,
    )
    metric.n_bootstrap, metric.seed = num_resamples, seed
    of_ours = not type(metric).__module__.startswith("sacrebleu.")
    return [
        Resampled(whole.name, float(whole.score), scores, of_ours)
        for whole, scores in zip(wholes, draws, strict=True)
    ]


def score_draws(
    tables: Sequence[NDArray[Any]],
    score: Callable[[NDArray[Any]], float],
    generator: np.random.Generator,
    num_resamples: int = NUM_RESAMPLES,
) -> list[tuple[float, ...]]:
    """Score every system on the same random draws of its sentences, one draw at a time.

    Args:
        tables: of each system a row a sentence.
        score: of some of the rows.
        generator: makes the draws.
        num_resamples: how many.
    """
    draws: list[list[float]] = [[] for _ in tables]
    size = len(tables[0])
    for _ in range(num_resamples):
        chosen = generator.choice(size, size=size)
        for scores, table in zip(draws, tables, strict=True):
            scores.append(float(score(table[chosen])))
    return [tuple(scores) for scores in draws]


def p_value(system: Resampled, baseline: Resampled) -> float:
    """Share of draws whose difference departs from the mean difference by more than the real one.

    One is added to both counts, so that no finite number of draws gives 0. Source: the paired bootstrap of
    the ``sacrebleu`` command, after ``bootstrap-hypothesis-difference-significance.pl`` of Moses. Since sizes are compared and
    not differences, two systems of equal worth come out below 0.05 in about one of ten comparisons, not of twenty.
    """
    differences = np.abs(np.subtract(system.draws, baseline.draws))
    real = abs(system.value - baseline.value)
    exceeding = int(np.count_nonzero(differences - differences.mean() > real))
    return (exceeding + 1) / (len(differences) + 1)


def two_sided_t(t: float, freedom: float) -> float:
    """Return the chance of a value at least as far from 0 by Student's t distribution of ``freedom`` degrees."""
    # With x = sqrt(freedom) tan(a) the density becomes a power of the cosine, which is integrated by Simpson's rule.
    steps = 2_000
    angle = np.linspace(0.0, math.atan(abs(t) / math.sqrt(freedom)), 2 * steps + 1)
    height = np.cos(angle) ** (freedom - 1)
    inside = height[0] + height[-1] + 4 * height[1::2].sum() + 2 * height[2:-1:2].sum()
    inside *= (angle[1] - angle[0]) / 3
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    return min(1.0, max(0.0, 1.0 - 2 * scale * float(inside)))


def check_seed() -> None:
    """Refuse an environment variable SACREBLEU_SEED that is no number, before a long translation rather than after it.

    Raises:
        ConfigError: it is none.
    """
    _seed_generator(_seed())


def _seed() -> str:
    return os.environ.get("SACREBLEU_SEED", _DEFAULT_SEED).lower()


def _seed_generator(seed: str) -> np.random.Generator:
    try:
        return np.random.default_rng(None if seed == "none" else int(seed))
    except ValueError as error:
        raise ConfigError(
            f"SACREBLEU_SEED is {seed!r}; set it to a whole number or to none, or unset it"
        ) from error
