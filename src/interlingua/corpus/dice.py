"""Choices by chance that stay the same on every machine and in every version of Python.

Python promises the sequence of ``Random.random`` for ever, but not that of ``choice`` or ``shuffle``.
"""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

__all__ = ["Dice"]

Item = TypeVar("Item")


class Dice:
    """Draws that are a pure function of the seed and of the draws before."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def chance(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self._random.random() < probability

    def below(self, bound: int) -> int:
        """Return an integer from 0 to ``bound - 1``."""
        return int(self._random.random() * bound)

    def one_of(self, items: Sequence[Item]) -> Item:
        """Return one of ``items``, each as likely as the others."""
        return items[self.below(len(items))]

    def weighted(self, items: Sequence[tuple[int, Item]]) -> Item:
        """Return one item of ``(weight, item)`` pairs, as likely as its weight says."""
        rest = self._random.random() * sum(weight for weight, _ in items)
        for weight, item in items:
            rest -= weight
            if rest < 0:
                return item
        return items[-1][1]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return ``items`` in an order drawn by chance."""
        keys = [self._random.random() for _ in items]
        return [items[index] for index in sorted(range(len(items)), key=keys.__getitem__)]
