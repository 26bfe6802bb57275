"""So many lines of text files, evenly spread, in the memory of a few."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from interlingua.corpus.lines import count_lines, read_blocks

__all__ = ["count_all_lines", "evenly_spread"]

_LINES_AT_A_TIME = 10_000


def count_all_lines(paths: Sequence[Path]) -> int:
    """Count the lines of all files; raise a CorpusError for one that cannot be read."""
    return sum(count_lines(path) for path in paths)


def evenly_spread(paths: Sequence[Path], total: int, number: int) -> Iterator[str]:
    """Yield ``number`` of the ``total`` lines of the files, or all if there are no more.

    Raises:
        CorpusError: a file is missing, or holds bytes that are not UTF-8.
    """
    wanted = min(number, total)
    place = 0
    for path in paths:
        for block in read_blocks(path, _LINES_AT_A_TIME):
            for line in block.lines:
                if (place + 1) * wanted // total > place * wanted // total:
                    yield line
                place += 1
