"""Does a confidence mean what it says: fitting it on pairs, and judging it on pairs that it was not fitted to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from interlingua.errors import CorpusError
from interlingua.evaluation.metrics import sentence_chrf
from interlingua.requests.confidence import Calibration, features_of, fit_calibration
from interlingua.requests.request import ALTERNATIVES
from interlingua.translator import Translator

__all__ = [
    "BINS",
    "Reliability",
    "area_under_curve",
    "calibrate",
    "calibration_error",
]

BINS = 10
FOLDS = 5
FEWEST = 100


@dataclass(frozen=True, slots=True)
class Bin:
    """Pairs whose confidences lie in one of ten intervals of equal width."""

    number: int
    confidence: float
    """In the mean."""
    good: float
    """The share of them that is."""
    pairs: int


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """Confidences of pairs that the fit had not seen, and what became of them."""

    confidence: Float[np.ndarray, "P"]
    good: Bool[np.ndarray, "P"]
    """Whether chrF is at least the median."""

    @property
    def bins(self) -> tuple[Bin, ...]:
        """The pairs by their confidence."""
        return _bins(self.confidence, self.good)

    @property
    def error(self) -> float:
        """The expected calibration error."""
        return calibration_error(self.confidence, self.good)

    @property
    def area(self) -> float:
        """The area under the curve for telling what is worse than the median."""
        return area_under_curve(1.0 - self.confidence, ~self.good)


def calibrate(
    translator: Translator, sources: Sequence[str], references: Sequence[str]
) -> tuple[Calibration, Reliability]:
    """Translate the pairs, fit a confidence to all, and judge it on each fifth by a fit to the other four.

    Raises:
        CorpusError: fewer than a hundred pairs.
    """
    if len(sources) < FEWEST:
        raise CorpusError(
            f"{len(sources)} pairs are too few to fit a confidence; give {FEWEST} at least, better 1,000"
        )
    n_best = min(ALTERNATIVES + 1, translator.decoding.beam_size)
    found = translator.translate(sources, n_best=n_best)
    lengths = [len(ids) for ids in translator.tokenizers.source.encode_batch(list(sources))]
    features = np.array([features_of(t, n) for t, n in zip(found, lengths, strict=True)])
    chrf = np.array([sentence_chrf(t.text, [r]) for t, r in zip(found, references, strict=True)])
    median = float(np.median(chrf))
    good = chrf >= median
    folds = np.arange(len(good)) % FOLDS
    confidence = np.zeros(len(good))
    for fold in range(FOLDS):
        fitted = fit_calibration(features[folds != fold], good[folds != fold], median)
        for place in np.flatnonzero(folds == fold):
            confidence[place] = fitted.confidence(features[place].tolist())
    return fit_calibration(features, good, median), Reliability(confidence, good)


def calibration_error(confidence: Float[np.ndarray, "P"], good: Bool[np.ndarray, "P"]) -> float:
    """Return how far confidence and outcome lie apart, in the mean over ten bins of equal width.

    Source: Naeini et al. 2015, "Obtaining Well Calibrated Probabilities Using Bayesian Binning" (ECE).
    """
    bins = _bins(confidence, good)
    return sum(abs(each.confidence - each.good) * each.pairs for each in bins) / len(good)


def _bins(confidence: Float[np.ndarray, "P"], good: Bool[np.ndarray, "P"]) -> tuple[Bin, ...]:
    """Put the pairs into ten bins; one without any is left out."""
    numbers = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return tuple(
        Bin(
            number,
            float(confidence[numbers == number].mean()),
            float(good[numbers == number].mean()),
            int((numbers == number).sum()),
        )
        for number in np.unique(numbers).tolist()
    )


def area_under_curve(score: Float[np.ndarray, "P"], positive: Bool[np.ndarray, "P"]) -> float:
    """Return how often a positive has the greater score than a negative, ties counted half (Mann and Whitney)."""
    order = np.argsort(score, kind="stable")
    ranks = np.empty(len(score))
    ranks[order] = np.arange(1, len(score) + 1)
    for value in np.unique(score):
        ranks[score == value] = ranks[score == value].mean()
    positives = int(positive.sum())
    negatives = len(positive) - positives
    if not positives or not negatives:
        return 0.5
    return float(
        (ranks[positive].sum() - positives * (positives + 1) / 2) / (positives * negatives)
    )
