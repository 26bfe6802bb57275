"""Where the lines of a file begin, so that any of them can be read without those before: eight bytes a line."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.lines import read_chunks
from interlingua.corpus.pair_rules import decode_line

__all__ = ["LineIndex"]

_BOM = "\ufeff"


class LineIndex:
    """The lines of a file, by their places from 0.

    Attributes:
        lengths: (lines,) the bytes of each line, without its end.
    """

    def __init__(self, path: Path) -> None:
        """Read the file once.

        Raises:
            CorpusError: it is not readable.
        """
        self._path = path
        ends, size = [np.zeros(0, np.int64)], 0
        for chunk in read_chunks(path):
            ends.append(np.flatnonzero(np.frombuffer(chunk, np.uint8) == 0x0A) + size)
            size += len(chunk)
        found = np.concatenate(ends)
        if size and (not len(found) or found[-1] != size - 1):
            found = np.append(found, size)
        self._ends = found
        self.lengths: NDArray[np.int64] = np.diff(found, prepend=-1) - 1

    def __len__(self) -> int:
        return len(self._ends)

    def read(self, first: int, end: int) -> list[str]:
        """Return the lines from ``first`` to before ``end``; places outside the file have none."""
        first, end = max(first, 0), min(end, len(self))
        if first >= end:
            return []
        start = int(self._ends[first - 1]) + 1 if first else 0
        with self._path.open("rb") as file:
            file.seek(start)
            data = file.read(int(self._ends[end - 1]) - start)
        lines = [decode_line(line) for line in data.split(b"\n")]
        if first == 0:
            lines[0] = lines[0].removeprefix(_BOM)
        return lines

    def pick(self, places: Sequence[int]) -> list[str]:
        """Return single lines, all of which the file has."""
        picked = []
        with self._path.open("rb") as file:
            for place in places:
                start = int(self._ends[place - 1]) + 1 if place else 0
                file.seek(start)
                line = decode_line(file.read(int(self._ends[place]) - start))
                picked.append(line.removeprefix(_BOM) if place == 0 else line)
        return picked
