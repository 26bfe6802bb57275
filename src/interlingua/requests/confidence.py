"""How sure one may be of a translation: a probability, fitted to pairs whose reference is known.

Features of the translation go through a logistic regression (Cox 1958) whose answer is the probability that its chrF
is at least the median of the pairs it was fitted to.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float

from interlingua.config import DecodingConfig
from interlingua.errors import ModelError
from interlingua.requests.request import Request, read_request
from interlingua.requests.translation import Translation

__all__ = [
    "CALIBRATION",
    "FEATURES",
    "Calibration",
    "features_of",
    "fit_calibration",
    "searches_as_usual",
]

CALIBRATION = "calibration.json"
"""Its file in a model folder."""

FEATURES = (
    "mean log-probability",
    "least log-probability",
    "share of tokens below 1/2",
    "sum of log-probabilities",
    "logarithm of the source length",
    "logarithm of the length ratio",
    "consensus of the n best",
    "margin over the second best",
)

_RIDGE = 1.0  # keeps the weights finite where a feature parts the pairs perfectly


def features_of(found: Translation, source_tokens: int) -> list[float]:
    """Return the :data:`FEATURES` of a translation that was searched with alternatives."""
    log_probs = found.log_probabilities or (0.0,)
    unsure = sum(p < math.log(0.5) for p in log_probs) / len(log_probs)
    scores = sorted((t.score for t in found.alternatives), reverse=True)
    return [
        math.fsum(log_probs) / len(log_probs),
        min(log_probs),
        unsure,
        math.fsum(log_probs),
        math.log(source_tokens + 1),
        math.log((len(found.tokens) + 1) / (source_tokens + 1)),
        _consensus(found),
        found.score - scores[0] if scores else 0.0,
    ]


def _consensus(found: Translation) -> float:
    """Return the mean chrF of a translation against its alternatives, 0 to 1."""
    from sacrebleu.metrics.chrf import CHRF

    if not found.alternatives:
        return 1.0
    chrf = CHRF()
    scores = [
        chrf.sentence_score(found.text, [other.text]).score if other.text else 0.0
        for other in found.alternatives
    ]
    return math.fsum(scores) / len(scores) / 100.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic regression over standardised features."""

    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    median_chrf: float
    """What a translation is compared with."""
    pairs: int
    """Pairs that it was fitted to."""

    def confidence(self, features: Sequence[float]) -> float:
        """Return the probability that a translation with these features is at least as good as the median."""
        standard = (np.asarray(features) - self.means) / self.scales
        logit = np.clip(standard, -6, 6) @ np.asarray(self.weights) + self.bias
        return float(_sigmoid(np.atleast_1d(logit))[0])

    def judge(self, found: Translation, source_tokens: int, is_usual: bool) -> Translation:
        """Return ``found`` with its confidence, flagged unless it was searched in the way that was fitted.

        Args:
            found: a translation that was searched with alternatives.
            source_tokens: length of its source.
            is_usual: see :func:`searches_as_usual`.
        """
        if {"empty", "unchanged"} & {*found.flags}:
            return replace(found, confidence=1.0)
        as_fitted = is_usual and not {"constrained", "placeholders-split"} & {*found.flags}
        return replace(
            found,
            confidence=self.confidence(features_of(found, source_tokens)),
            flags=found.flags if as_fitted else (*found.flags, "uncalibrated"),
        )

    def to_json(self) -> str:
        """Write it as JSON."""
        told = {"features": FEATURES} | asdict(self)
        return json.dumps(told, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def read(cls, path: Path) -> "Calibration":
        """Read what :meth:`to_json` wrote.

        Raises:
            ModelError: something else, or a calibration over other features.
        """
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            if told.pop("features") != list(FEATURES):
                raise ValueError("it was fitted to other features")
            found = cls(
                means=tuple(map(float, told["means"])),
                scales=tuple(map(float, told["scales"])),
                weights=tuple(map(float, told["weights"])),
                bias=float(told["bias"]),
                median_chrf=float(told["median_chrf"]),
                pairs=int(told["pairs"]),
            )
            if {len(found.means), len(found.scales), len(found.weights)} != {len(FEATURES)}:
                raise ValueError("it does not have one weight a feature")
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelError(
                f"{path}: is no calibration ({error}); make it again with interlingua calibrate"
            ) from error
        return found


def searches_as_usual(request: Request, decoding: DecodingConfig) -> bool:
    """Whether a request is searched as ``calibrate`` searches, which asks for nothing but what the model says."""
    usual = replace(read_request(decoding, {}).search, n_best=request.search.n_best)
    return request.search == usual and not (request.prefix or request.ban or request.mbr)


def fit_calibration(
    features: Float[np.ndarray, "P F"], good: Bool[np.ndarray, "P"], median_chrf: float
) -> Calibration:
    """Fit the regression by Newton's method; the same data give the same numbers."""
    means, scales = features.mean(axis=0), features.std(axis=0)
    scales = np.where(scales > 1e-9, scales, 1.0)
    x = np.clip((features - means) / scales, -6, 6)
    x = np.concatenate((x, np.ones((len(x), 1))), axis=1)
    weights = np.zeros(x.shape[1])
    ridge = np.full(x.shape[1], _RIDGE)
    ridge[-1] = 0.0
    for _ in range(50):
        p = _sigmoid(x @ weights)
        gradient = x.T @ (p - good) + ridge * weights
        curvature = (x * (p * (1 - p))[:, None]).T @ x + np.diag(ridge + 1e-6)
        step = np.linalg.solve(curvature, gradient)
        weights = weights - step
        if float(np.abs(step).max()) < 1e-9:
            break
    return Calibration(
        means=tuple(means.tolist()),
        scales=tuple(scales.tolist()),
        weights=tuple(weights[:-1].tolist()),
        bias=float(weights[-1]),
        median_chrf=median_chrf,
        pairs=len(x),
    )


def _sigmoid(z: Float[np.ndarray, "P"]) -> Float[np.ndarray, "P"]:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(z, -50.0, 50.0))))
