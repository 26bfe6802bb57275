"""Which sentences are searched together, and how many batches at a time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["in_batches", "side_by_side"]

T = TypeVar("T")


def in_batches(lengths: Mapping[int, int], budget: int, workers: int = 1) -> list[list[int]]:
    """Cut places into batches of like length, longest first; one place alone may exceed ``budget``.

    Longest first, so that a machine with too little memory says so at the start.

    Args:
        lengths: source tokens by place, the end symbol included.
        budget: padded tokens of a batch: places times the greatest length among them.
        workers: batches that are searched at a time; there are at least so many, if there is text enough.
    """
    if workers > 1:
        budget = min(budget, sum(lengths.values()) // workers + 1)
    ordered = sorted(lengths, key=lambda place: -lengths[place])
    batches, start = [], 0
    while start < len(ordered):
        size = max(1, budget // lengths[ordered[start]])
        batches.append(ordered[start : start + size])
        start += size
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
