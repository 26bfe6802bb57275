"""The same shapes whatever stands in a batch, so that rounding is the same too.

A sum of products is rounded in an order that the library chooses by the shape of its matrices: a sentence translated
alone and the same one among others can differ in the last bit, and where two symbols are as likely, in a word. Here
every batch has the same number of sentences (repeated to fill it up), none leaves it before its end, and the width of
the source depends on the sentence's own length only.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from interlingua.decoding.protocol import SequenceModel, State

__all__ = ["SENTENCES", "WIDTH", "FixedShapes", "padded_width", "uniform_batches"]

SENTENCES = 16
"""Sentences in every batch."""

WIDTH = 8
"""Widths of sources are multiples of this."""


def padded_width(length: int) -> int:
    """Return the width that a source of ``length`` symbols is padded to."""
    return -(-length // WIDTH) * WIDTH


@dataclass(frozen=True, slots=True)
class _Fixed:
    """A state of which only the first rows are asked for."""

    state: State
    rows: int
    """Rows that mean something."""
    size: int
    """Rows that are computed."""

    def reorder(self, rows: Int[Tensor, "R"]) -> "_Fixed":
        """Keep the number of rows that are computed, unless more mean something, as at the start of a beam."""
        asked = rows.size(0)
        size = SENTENCES * (asked // self.rows) if asked > self.rows else self.size
        return _Fixed(self.state.reorder(_fill(rows, size)), asked, size)


class FixedShapes:
    """A model that computes the same shapes for any :data:`SENTENCES` sentences of one padded width, or fewer.

    Args:
        model: the model.
        pad_id: source id of padding.
        longest: symbols of a source that the model reads; padding does not go beyond them.
    """

    def __init__(self, model: SequenceModel[Any], pad_id: int, longest: int) -> None:
        self.model, self.pad_id, self.longest = model, pad_id, longest

    def encode(self, source: Int[Tensor, "B S"]) -> tuple[Any, int]:
        """Read the sources, padded to a fixed width, and the first one again until the batch is full."""
        length = source.size(1)
        missing = max(length, min(padded_width(length), self.longest)) - length
        wide = torch.nn.functional.pad(source, (0, missing), value=self.pad_id)
        rows = torch.arange(source.size(0), device=source.device)
        return self.model.encode(wide[_fill(rows, SENTENCES)]), source.size(0)

    def start(self, memory: tuple[Any, int]) -> _Fixed:
        """Stand before the first symbol."""
        return _Fixed(self.model.start(memory[0]), memory[1], SENTENCES)

    def step(self, ids: Int[Tensor, "R"], state: _Fixed) -> tuple[Float[Tensor, "R V"], _Fixed]:
        """Read one more symbol a row."""
        logits, after = self.model.step(_fill(ids, state.size), state.state)
        return logits[: state.rows], _Fixed(after, state.rows, state.size)


def uniform_batches(lengths: dict[int, int]) -> list[list[int]]:
    """Cut places into batches of one padded width."""
    widths: dict[int, list[int]] = {}
    for place, length in lengths.items():
        widths.setdefault(padded_width(length), []).append(place)
    return [
        places[start : start + SENTENCES]
        for _, places in sorted(widths.items(), reverse=True)
        for start in range(0, len(places), SENTENCES)
    ]


def _fill(rows: Tensor, size: int) -> Tensor:
    """Repeat the first entry until there are ``size``."""
    return torch.cat((rows, rows[:1].expand(size - rows.size(0))))
