"""One possible translation, and how two of different lengths are compared."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, overload

from torch import Tensor

from interlingua.errors import ModelError

__all__ = ["Hypothesis", "length_penalty", "make_hypothesis"]


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A target that search has found."""

    ids: tuple[int, ...]
    """Without the begin and end symbols."""
    score: float
    """Sum of the log-probabilities divided by the length penalty; greater is better."""
    log_probabilities: tuple[float, ...]
    """One a symbol written, the end symbol included where it was."""
    stopped: Literal["end", "max_length", "repetition"]
    """The model ended it; there was no more room; it began to repeat itself and was stopped."""


@overload
def length_penalty(length: int, alpha: float) -> float: ...


@overload
def length_penalty(length: Tensor, alpha: float) -> Tensor: ...


def length_penalty(length: int | Tensor, alpha: float) -> float | Tensor:
    r"""Return what a sum of log-probabilities is divided by.

    .. math:: lp(Y) = \frac{(5 + |Y|)^\alpha}{(5 + 1)^\alpha}

    ``length`` counts the end symbol. Zero alpha compares plain sums, which favours short targets.

    Source: Wu et al. 2016, "Google's Neural Machine Translation System", equation 14.
    """
    penalty: float | Tensor = ((5.0 + length) / 6.0) ** alpha
    return penalty


def make_hypothesis(
    written: Sequence[int],
    log_probabilities: Sequence[float],
    *,
    end_id: int,
    alpha: float,
    repeats: bool = False,
) -> Hypothesis:
    """Make the record of the symbols ``written`` after the begin symbol, the end symbol included.

    ``repeats`` tells that it was stopped because it repeats itself.

    Raises:
        ModelError: the model gave no number, or no possible symbol.
    """
    total = math.fsum(log_probabilities)
    if not math.isfinite(total):
        raise ModelError(no_number(written))
    ended = bool(written) and written[-1] == end_id
    return Hypothesis(
        ids=tuple(written[:-1] if ended else written),
        score=total / length_penalty(len(written), alpha),
        log_probabilities=tuple(log_probabilities),
        stopped="end" if ended else "repetition" if repeats else "max_length",
    )


def no_number(written: Sequence[int]) -> str:
    """Say that a model cannot be searched."""
    return (
        f"the model gives no probability to any symbol at position {len(written)} of a target: its weights "
        "hold not-a-number or infinity; take an earlier checkpoint, or train with a smaller learning rate"
    )
