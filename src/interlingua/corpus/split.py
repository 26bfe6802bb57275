"""A corpus divided into training, validation and test, so that nothing that is tested was trained on.

Pairs whose sources differ in nothing but case, spaces and punctuation stay together: "Da." and "da" are one question. Which part they
go to follows from their letters and the seed alone; neither the order of the corpus nor other pairs of it matter, except for where the
parts are full.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.formats import PairReader
from interlingua.corpus.held_out import choose_held_out, rank_sources
from interlingua.corpus.pairs import SentencePair
from interlingua.errors import CorpusError
from interlingua.files import refuse_to_write_over, replace_file

__all__ = ["SplitWritten", "write_split"]

Part = Literal["train", "valid", "test"]
_PARTS: tuple[Part, ...] = ("train", "valid", "test")


@dataclass(frozen=True, slots=True)
class SplitWritten:
    """What was written: pairs by part, and the files; pairs with a blank side went nowhere."""

    pairs: dict[str, int]
    files: tuple[Path, ...]
    blank: int


def write_split(
    reader: PairReader,
    folder: Path,
    *,
    languages: tuple[str, str],
    valid: int | None,
    test: int | None,
    seed: int,
) -> SplitWritten:
    """Read a corpus twice, and write ``train.ro``, ``train.en``, ``valid.ro`` and so on into ``folder``.

    Each part keeps the order of the corpus; memory is eight bytes a pair.

    Args:
        reader: the corpus; nothing that can be read only once.
        folder: where to; each file appears whole or not at all.
        languages: the suffixes of the files.
        valid: validation pairs (None: a twentieth, 50 to 1,000; 0: no such part).
        test: test pairs, chosen first.
        seed: another seed chooses others.

    Raises:
        CorpusError: the corpus cannot be read, changes while it is, or has too few different sources.
        OutputError: the files cannot be written, or one of them is the corpus.
    """
    parts = [
        part for part in _PARTS if part == "train" or {"valid": valid, "test": test}[part] != 0
    ]
    places = {part: [folder / f"{part}.{language}" for language in languages] for part in parts}
    refuse_to_write_over(reader.paths, (path for part in parts for path in places[part]))
    ranks = rank_sources((pair.source for pair in reader if _is_usable(pair)), seed)
    before = reader.files
    part_of = _choose_parts(ranks, valid, test)
    with ExitStack() as opened:
        files = {
            part: [opened.enter_context(replace_file(path)) for path in places[part]]
            for part in parts
        }
        number = 0
        for pair in filter(_is_usable, reader):
            if number == len(part_of):
                break
            sides = files[_PARTS[part_of[number]]]
            sides[0].write(f"{pair.source}\n".encode())
            sides[1].write(f"{pair.target}\n".encode())
            number += 1
        if number != len(part_of) or reader.files != before:
            raise CorpusError(
                f"{reader.name}: has been changed while it was read; run the same command again"
            )
    return SplitWritten(
        pairs={part: int(np.count_nonzero(part_of == _PARTS.index(part))) for part in parts},
        files=tuple(path for part in parts for path in places[part]),
        blank=reader.num_pairs - len(part_of),
    )


def _choose_parts(
    ranks: NDArray[np.uint64], valid: int | None, test: int | None
) -> NDArray[np.uint8]:
    """Choose the part of each pair, by its place in ``_PARTS``: those of the test first."""
    part_of = np.zeros(len(ranks), dtype=np.uint8)
    for part, size in (("test", test), ("valid", valid)):
        if size == 0:
            continue
        left = np.flatnonzero(part_of == 0)
        if size is not None and size > len(left) // 2:
            after = "" if len(left) == len(ranks) else " that the test leaves"
            raise CorpusError(
                f"--{part} {size:,}: is more than half of the {len(left):,} pairs{after}; "
                f"ask for at most {len(left) // 2:,}, or for less of the other part"
            )
        part_of[left[choose_held_out(ranks[left], size)]] = _PARTS.index(part)
    return part_of


def _is_usable(pair: SentencePair) -> bool:
    return bool(pair.source.strip() and pair.target.strip())
