"""Why each pair of a corpus goes and what was mended in it: one number a pair, kept on disk in constant memory."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.repeats import Repeats

__all__ = ["PAIRS_A_STRETCH", "PairFlags"]

Flags = NDArray[np.uint32]

PAIRS_A_STRETCH = 500_000


class PairFlags:
    """Flags of pairs, written in the order of the pairs; afterwards more may be set anywhere before they are read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "flags"
        self._file = self._path.open("wb")
        self.num_pairs = 0

    def append(self, flags: Flags) -> None:
        """Add the flags of the pairs that follow."""
        self._file.write(flags.astype("<u4").tobytes())
        self.num_pairs += len(flags)

    def set_repeats(self, repeats: Iterable[Repeats], exact: int, loose: int) -> None:
        """Set one bit for pairs that came before exactly, another for those that came before but for their writing."""
        for found in repeats:
            number = found.places // PAIRS_A_STRETCH
            bits = np.where(found.exact, np.int64(exact), np.int64(loose))
            rows = np.stack([found.places % PAIRS_A_STRETCH, bits], axis=1)
            for stretch in np.unique(number).tolist():
                with self._later(stretch).open("ab") as file:
                    file.write(rows[number == stretch].tobytes())

    def stretches(self) -> Iterator[Flags]:
        """Yield the flags of all pairs in their order, so many at a time."""
        self._file.close()
        with self._path.open("rb") as file:
            stretch = 0
            while data := file.read(4 * PAIRS_A_STRETCH):
                flags = np.frombuffer(data, "<u4").astype(np.uint32)
                if self._later(stretch).exists():
                    rows = np.fromfile(self._later(stretch), np.int64).reshape(-1, 2)
                    flags[rows[:, 0]] |= rows[:, 1].astype(np.uint32)
                yield flags
                stretch += 1

    def _later(self, stretch: int) -> Path:
        return self._folder / f"later-{stretch}"
