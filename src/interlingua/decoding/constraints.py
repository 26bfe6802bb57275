"""What may be written next: small parts that search asks one after the other.

A constraint is a function of what was written so far, and of nothing else, so that search need not carry its state
along when it reorders, drops or repeats hypotheses. It takes symbols away (minus infinity) and leaves the
log-probabilities of the others as they are, so that the score of a target stays the model's own.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

__all__ = [
    "Constraint",
    "MinimumLength",
    "NoRepeatedNgram",
    "TargetForm",
    "TargetPrefix",
    "constrain",
]

NEVER = float("-inf")


@runtime_checkable
class Constraint(Protocol):
    """One rule about what may be written."""

    def __call__(
        self, step: Float[Tensor, "R V"], written: Int[Tensor, "R T"], sentences: Int[Tensor, "R"]
    ) -> Float[Tensor, "R V"]:
        """Return ``step`` without what must not follow ``written``, the target so far of each row.

        ``sentences`` tells which sentence of the batch a row belongs to; rows of targets that have ended are
        asked about too, and the answer for them does not count.
        """
        ...


def constrain(
    constraints: Sequence[Constraint],
    step: Float[Tensor, "R V"],
    written: Int[Tensor, "R T"],
    sentences: Int[Tensor, "R"],
) -> Float[Tensor, "R V"]:
    """Apply all; one that would leave a row nothing to write at all is not heard in that row.

    The first is the strongest: what a later one takes away never takes back what an earlier one has left.
    """
    for constraint in constraints:
        stricter = constraint(step, written, sentences)
        possible = (stricter > NEVER).any(dim=-1, keepdim=True)
        step = torch.where(possible, stricter, step)
    return step


class TargetPrefix:
    """Each target begins as its sentence asks."""

    def __init__(self, prefixes: Sequence[Sequence[int]]) -> None:
        self.prefixes = prefixes

    def __call__(
        self, step: Float[Tensor, "R V"], written: Int[Tensor, "R T"], sentences: Int[Tensor, "R"]
    ) -> Float[Tensor, "R V"]:
        """Leave the next symbol of the prefix only."""
        place = written.size(1)
        only = [
            (row, self.prefixes[sentence][place])
            for row, sentence in enumerate(sentences.tolist())
            if place < len(self.prefixes[sentence])
        ]
        if not only:
            return step
        rows, ids = torch.tensor(only, dtype=torch.long, device=step.device).unbind(dim=1)
        allowed = step.clone()
        allowed[rows] = NEVER
        allowed[rows, ids] = step[rows, ids]
        return allowed


class TargetForm:
    """Each target has the symbols that its sentence asks for: so many, some of them given and the others free.

    Args:
        forms: of each sentence its symbols, None where one is free.
        end_id: the end symbol.
        choices: what a free one may be; None: all but the end.
    """

    def __init__(
        self,
        forms: Sequence[Sequence[int | None]],
        end_id: int,
        choices: Sequence[int] | None = None,
    ) -> None:
        self.forms, self.end_id = forms, end_id
        self.choices = None if choices is None else torch.tensor(choices, dtype=torch.long)

    def __call__(
        self, step: Float[Tensor, "R V"], written: Int[Tensor, "R T"], sentences: Int[Tensor, "R"]
    ) -> Float[Tensor, "R V"]:
        """Leave the given symbol only, the choices where one is free, and the end behind the last."""
        place = written.size(1)
        allowed = step.clone()
        choices = None if self.choices is None else self.choices.to(step.device)
        for row, sentence in enumerate(sentences.tolist()):
            form = self.forms[sentence]
            given = form[place] if place < len(form) else self.end_id
            if given is None and choices is None:
                allowed[row, self.end_id] = NEVER
                continue
            left = choices if given is None else given
            allowed[row] = NEVER
            allowed[row, left] = step[row, left]
        return allowed


class MinimumLength:
    """No target ends before it has ``length`` symbols."""

    def __init__(self, length: int, end_id: int) -> None:
        self.length, self.end_id = length, end_id

    def __call__(
        self, step: Float[Tensor, "R V"], written: Int[Tensor, "R T"], sentences: Int[Tensor, "R"]
    ) -> Float[Tensor, "R V"]:
        """Forbid the end symbol while the target is too short."""
        if written.size(1) >= self.length:
            return step
        end = torch.tensor([self.end_id], device=step.device)
        return step.index_fill(-1, end, NEVER)


class NoRepeatedNgram:
    """No ``n`` symbols in a row stand twice in a target.

    Source: Paulus et al. 2017, "A Deep Reinforced Model for Abstractive Summarization", section 2.5 (trigrams).
    """

    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(
        self, step: Float[Tensor, "R V"], written: Int[Tensor, "R T"], sentences: Int[Tensor, "R"]
    ) -> Float[Tensor, "R V"]:
        """Forbid what followed the last n - 1 symbols before."""
        if written.size(1) < self.n:
            return step
        windows = written.unfold(1, self.n, 1)  # (R, T - n + 1, n)
        last = written[:, written.size(1) - self.n + 1 :]  # (R, n - 1)
        seen = (windows[:, :, :-1] == last[:, None]).all(dim=-1)  # (R, T - n + 1)
        rows, places = seen.nonzero(as_tuple=True)
        allowed = step.clone()
        allowed[rows, windows[rows, places, -1]] = NEVER
        return allowed
