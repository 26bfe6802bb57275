"""Which of any number of pairs repeat an earlier one, found on disk in constant memory.

Each pair is a few numbers that stand for its text. They are dealt out into files by their value, so that equal ones meet in one file,
and each file fits into memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["RepeatFinder", "Repeats", "find_repeats"]

Keys = NDArray[np.uint64]
Mask = NDArray[np.bool_]

PAIRS_A_FILE = 1 << 18
"""Different pairs that one file holds, about; a quarter of a million take 15 MB while they are looked at."""

_RECORD = np.dtype([("loose", "<u8"), ("exact", "<u8"), ("place", "<i8")])


@dataclass(frozen=True, slots=True)
class Repeats:
    """Some pairs that came before.

    Attributes:
        places: their places, from 0, in order.
        exact: whether an earlier pair had the same exact key, and not only the same loose one.
    """

    places: NDArray[np.int64]
    exact: Mask


class RepeatFinder:
    """Takes in the keys of pairs in their order, and then tells which of them came before."""

    def __init__(self, folder: Path, num_pairs: int) -> None:
        self._files = [folder / f"keys-{number}" for number in range(1 + num_pairs // PAIRS_A_FILE)]

    def add(self, loose: Keys, exact: Keys, places: NDArray[np.int64]) -> None:
        """Take in pairs: those with equal ``exact`` keys have equal ``loose`` ones; ``places`` go up."""
        records = np.empty(len(places), _RECORD)
        records["loose"], records["exact"], records["place"] = loose, exact, places
        if len(self._files) == 1:
            _append(self._files[0], records.tobytes())
            return
        number = (loose >> np.uint64(32)) * np.uint64(len(self._files)) >> np.uint64(32)
        for each in np.unique(number).tolist():
            _append(self._files[each], records[number == each].tobytes())

    def repeats(self) -> Iterator[Repeats]:
        """Yield the pairs whose loose key an earlier pair had, some at a time, and remove the files."""
        for path in self._files:
            if not path.exists():
                continue
            with path.open("rb") as file:
                loose = exact = np.zeros(0, np.uint64)
                while data := file.read(PAIRS_A_FILE * _RECORD.itemsize):
                    records = np.frombuffer(data, _RECORD)
                    seen = find_repeats(records["loose"]) | np.isin(records["loose"], loose)
                    same = find_repeats(records["exact"]) | np.isin(records["exact"], exact)
                    yield Repeats(records["place"][seen], same[seen])
                    # A pair that comes a million times is kept once: memory is that of the different ones.
                    loose = np.concatenate([loose, records["loose"][~seen]])
                    exact = np.concatenate([exact, records["exact"][~same]])
            path.unlink()


def find_repeats(keys: Keys) -> Mask:
    """Tell for each key whether the same one came before it."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    repeats = np.zeros(len(keys), np.bool_)
    repeats[order[1:][ordered[1:] == ordered[:-1]]] = True
    return repeats


def _append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)
