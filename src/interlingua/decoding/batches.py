"""Which sentences are searched together, and how many batches at a time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["WORTH_A_THREAD", "in_batches", "side_by_side"]

WORTH_A_THREAD = 500_000_000
"""Multiplications, ten milliseconds of a core: halves of less are slower each, and the other core may have work of others."""

T = TypeVar("T")


def in_batches(
    lengths: Mapping[int, int], budget: int, workers: int = 1, *, least: int = 1
) -> list[list[int]]:
    """Cut places into batches of like length, longest first; one place alone may exceed ``budget``.

    Longest first, so that a machine with too little memory says so at the start.

    Args:
        lengths: source tokens by place, the end symbol included.
        budget: padded tokens of a batch: places times the greatest length among them.
        workers: batches that are searched at a time; there are at least so many, of like work, if there is text enough.
        least: tokens that are worth a worker of their own.
    """
    total = sum(lengths.values())
    share = total / max(1, min(workers, total // least))
    batches: list[list[int]] = []
    padded = held = 0
    for place in sorted(lengths, key=lambda place: -lengths[place]):
        if not batches or padded + lengths[batches[-1][0]] > budget or held >= share:
            batches.append([])
            padded = held = 0
        batches[-1].append(place)
        padded += lengths[batches[-1][0]]
        held += lengths[place]
    return batches


def side_by_side(
    search: Callable[[list[int]], T], batches: Sequence[list[int]], workers: int
) -> Iterator[T]:
    """Search the batches, ``workers`` at a time, and give what was found in the order of the batches.

    For a search that takes one thread and lets the others run.
    """
    if workers == 1 or len(batches) < 2:
        yield from map(search, batches)
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(search, batches)
