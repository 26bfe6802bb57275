"""Cut sequences that are longer than the model should see, and say which."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Truncated", "truncate"]


@dataclass(frozen=True, slots=True)
class Truncated:
    """Sequences that all fit, and the positions (from 0) of those that were cut."""

    ids: list[Sequence[int]]
    cut: tuple[int, ...]

    @property
    def num_truncated(self) -> int:
        """How many sequences were cut."""
        return len(self.cut)


def truncate(sequences: Iterable[Sequence[int]], max_length: int) -> Truncated:
    """Keep at most ``max_length - 1`` ids of each sequence, so that the end symbol still fits.

    Raises:
        ValueError: ``max_length`` leaves no room for an id.
    """
    if max_length < 2:
        raise ValueError(f"max_length is {max_length}; it must hold one id and the end symbol")
    kept: list[Sequence[int]] = []
    cut: list[int] = []
    for position, ids in enumerate(sequences):
        if len(ids) < max_length:
            kept.append(ids)
        else:
            cut.append(position)
            kept.append(ids[: max_length - 1])
    return Truncated(kept, tuple(cut))
