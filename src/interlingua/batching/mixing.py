"""How often the pairs of each file come in an epoch, when some files count more than others.

A weight of 2 brings every pair twice an epoch. A weight of 0.5 brings every pair once in two epochs: a file is shuffled,
one epoch takes the first half, the next epoch the second, and then it is shuffled anew. What an epoch holds is a pure
function of (seed, epoch, sizes, weights).
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.random import Philox
from numpy.typing import NDArray

__all__ = ["draw_pairs", "ever_draws", "temperature_weights", "weights_of"]

Indices = NDArray[np.integer[Any]]

_EXACT = 10**6
"""Weights are taken to a millionth, so that what follows from them is the same on every machine."""


def temperature_weights(sizes: Sequence[int], temperature: float) -> tuple[float, ...]:
    """Return n^(1/T)/n for each size, times what makes the weight of the largest file 1; an empty file has 1 as well.

    Source: Arivazhagan et al. 2019, "Massively multilingual neural machine translation in the wild".

    Raises:
        ValueError: ``temperature`` is less than 1.
    """
    if temperature < 1:
        raise ValueError(f"a temperature of {temperature} makes no sense; give 1 or more")
    largest = max(sizes, default=0)
    return tuple(
        round((size / largest) ** (1 / temperature - 1) * _EXACT) / _EXACT if size else 1.0
        for size in sizes
    )


def weights_of(
    sizes: Sequence[int], weights: tuple[float, ...], temperature: float | None
) -> tuple[float, ...]:
    """Return how often the pairs of each file come in an epoch: by the temperature if there is one; none where each comes once."""
    return weights if temperature is None else temperature_weights(sizes, temperature)


def draw_pairs(
    sizes: Sequence[int], weights: Sequence[float], *, seed: int, epoch: int
) -> Indices | None:
    """Return the pairs of one epoch, file by file; None means every pair once.

    Over any number of epochs a pair comes ``weight`` times an epoch, give or take one time in all.

    Args:
        sizes: pairs of each file; pair 0 is the first of the first file.
        weights: for each file how often its pairs come in an epoch; none, or one a file.
        seed: seed of the run.
        epoch: 0 for the first pass.

    Raises:
        ValueError: there are weights, and not as many as sizes.
    """
    if weights and len(weights) != len(sizes):
        raise ValueError(f"{len(weights)} weights for {len(sizes)} files")
    if all(weight == 1 for weight in weights):
        return None
    kind = np.int32 if sum(sizes) < 1 << 31 else np.int64
    drawn, first = [np.empty(0, dtype=kind)], 0  # an epoch of small weights may have no pair at all
    for part, (size, weight) in enumerate(zip(sizes, weights, strict=True)):
        every = np.arange(first, first + size, dtype=kind)
        exact = Fraction(round(weight * _EXACT), _EXACT)
        drawn += [every] * int(exact)
        share = exact - int(exact)
        start, end = int(epoch * share * size), int((epoch + 1) * share * size)
        while start < end:  # the end of one shuffle, and perhaps the beginning of the next
            turn, place = divmod(start, size)
            stop = min(size, place + end - start)
            drawn.append(every[_shuffle(size, seed, part, turn)[place:stop]])
            start += stop - place
        first += size
    return np.concatenate(drawn)


def ever_draws(sizes: Sequence[int], weights: Sequence[float]) -> bool:
    """Tell whether any epoch has a pair; with a weight of 0.25 and one pair it is one epoch in four.

    Args:
        sizes: pairs of each file.
        weights: for each file how often its pairs come in an epoch; none, or one a file.
    """
    return any(
        size and round(weight * _EXACT)
        for size, weight in zip(sizes, weights or [1] * len(sizes), strict=True)
    )


def _shuffle(size: int, seed: int, part: int, turn: int) -> NDArray[np.int64]:
    """Return 0 to ``size - 1`` in an order that depends only on the arguments."""
    key = np.array([seed % 2**64, turn], dtype=np.uint64)
    # The order of an epoch draws from the same key with a counter that begins at zero; so this one does not.
    counter = np.array([0, 0, 0, part + 1], dtype=np.uint64)
    return np.argsort(Philox(key=key, counter=counter).random_raw(size), kind="stable")
