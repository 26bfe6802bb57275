"""Hold back a part of the pairs for validation, so that no validation source is also trained on.

Sources that differ in nothing but case, spaces and punctuation count as one: "Da." and "da" are one question.
"""

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.pair_rules import normalise
from interlingua.errors import CorpusError

__all__ = ["choose_held_out", "default_validation_size", "rank_sources"]

_FEWEST = 50
"""So many pairs are held back at the least, unless that is more than half."""

_MARKS = re.compile(r"\W")
"""What is no letter and no digit of a text that ``normalise`` has left but these and their marks."""


def default_validation_size(num_pairs: int) -> int:
    """Return a twentieth of the pairs, but at least 50, at most 1,000, and never more than half."""
    return min(max(num_pairs // 20, _FEWEST), 1000, num_pairs // 2)


def rank_sources(
    sources: Iterable[str], seed: int, *, with_marks: bool = True
) -> NDArray[np.uint64]:
    """Return a number for each source, by chance, always the same for its letters, their marks, its digits and a seed.

    A source without any counts as it is. Eight bytes stand for a source however long it is, so that the sources of a corpus larger than memory can be
    compared. Two different ones with the same number (one chance in a million with six million sources) would
    be held back together, or not at all. Without marks is how earlier versions did it, to which two words of Hindi may be one.
    """
    key = seed.to_bytes(16, "little")

    def digest(source: str) -> bytes:
        plain = normalise(source) if with_marks else _MARKS.sub("", normalise(source))
        content = (plain or source).encode("utf-8", "surrogatepass")
        return blake2b(content, digest_size=8, key=key).digest()

    digests = b"".join(map(digest, sources))
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64)


def choose_held_out(
    ranks: NDArray[np.uint64], size: int | None, groups: NDArray[np.integer[Any]] | None = None
) -> NDArray[np.bool_]:
    """Choose the pairs for validation; return a truth value for each pair.

    Sources are taken in the order of their ranks, with all their translations, while they fit into ``size``. One that is held back of
    a group is held back of all.

    Args:
        ranks: what ``rank_sources`` gave for the source of each pair.
        size: validation pairs wanted; None for ``default_validation_size``. A corpus with many repeated
            sources may give fewer.
        groups: of each pair a number from 0, the same for all of one direction; None where there is one. Each group has a share by its
            pairs, but 50 at the least, or an equal share of ``size`` if that is fewer: the whole may be more than ``size``.

    Raises:
        CorpusError: ``size`` is more than half of the pairs, or the corpus has too few different sources.
    """
    if size is not None and size > len(ranks) // 2:
        raise CorpusError(
            f"{size:,} validation pairs are more than half of the {len(ranks):,} pairs; "
            f"ask for at most {len(ranks) // 2:,}, or give validation files"
        )
    sizes = [len(ranks)] if groups is None else np.bincount(groups).tolist()
    held_out: list[np.uint64] = []
    for group, room in enumerate(_rooms(sizes, size)):
        held_out += _lowest(ranks if groups is None else ranks[groups == group], room)
    if not held_out:
        raise CorpusError(
            f"{len(ranks):,} pairs with {len(np.unique(ranks)):,} different sources are too few to hold some back "
            "for validation; add pairs, or give validation files"
        )
    chosen = np.unique(np.array(held_out, dtype=np.uint64))
    nearest = np.minimum(np.searchsorted(chosen, ranks), len(chosen) - 1)
    found: NDArray[np.bool_] = chosen[nearest] == ranks
    return found


def _rooms(sizes: Sequence[int], size: int | None) -> list[int]:
    """Return how many pairs are to be held back of each group: a few of a small one say nothing of its language."""
    if size is None:
        return [default_validation_size(each) for each in sizes]
    fewest = min(_FEWEST, size // len(sizes))
    return [min(max(size * each // sum(sizes), fewest), each // 2) for each in sizes]


def _lowest(ranks: NDArray[np.uint64], room: int) -> list[np.uint64]:
    """Return the lowest ranks whose pairs fit into ``room``."""
    ordered = np.sort(ranks)
    found, place = [], 0
    while place < len(ordered) and room > 0:
        end = int(np.searchsorted(ordered, ordered[place], side="right"))
        if end - place <= room:
            found.append(ordered[place])
            room -= end - place
        place = end
    return found
