"""Several models that write one target together: the mean of their probabilities."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from interlingua.decoding.protocol import State

__all__ = ["Ensemble", "EnsembleState"]


@dataclass(frozen=True, slots=True)
class EnsembleState:
    """What each member remembers."""

    states: tuple[State, ...]

    def reorder(self, rows: Int[Tensor, "R"]) -> "EnsembleState":
        """Select, repeat or drop hypotheses in every member."""
        return EnsembleState(tuple(state.reorder(rows) for state in self.states))


class Ensemble(nn.Module):
    r"""Models with the same vocabularies, searched as one.

    .. math:: p(y \mid \cdot) = \frac{1}{M} \sum_m p_m(y \mid \cdot)

    What it returns as logits are the logarithms of these probabilities.
    """

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def encode(self, source: Int[Tensor, "B S"]) -> tuple[Any, ...]:
        """Let every member read the source."""
        return tuple(member.encode(source) for member in self._models())

    def start(self, memory: tuple[Any, ...]) -> EnsembleState:
        """Stand before the first symbol in every member."""
        models = self._models()
        return EnsembleState(tuple(m.start(each) for m, each in zip(models, memory, strict=True)))

    def step(
        self, ids: Int[Tensor, "R"], state: EnsembleState
    ) -> tuple[Float[Tensor, "R V"], EnsembleState]:
        """Read one more symbol in every member; return the logarithm of the mean probability of the next."""
        models = self._models()
        steps = [m.step(ids, each) for m, each in zip(models, state.states, strict=True)]
        logits = _mean([logits for logits, _ in steps])
        return logits, EnsembleState(tuple(each for _, each in steps))

    def decode(
        self, target_in: Int[Tensor, "B T"], memory: tuple[Any, ...]
    ) -> Float[Tensor, "B T V"]:
        """Return the same for every position of whole targets."""
        models = self._models()
        return _mean([m.decode(target_in, each) for m, each in zip(models, memory, strict=True)])

    def _models(self) -> list[Any]:
        return list(self.members)


def _mean(logits: Sequence[Float[Tensor, "*R V"]]) -> Float[Tensor, "*R V"]:
    log_probabilities = torch.stack([each.float().log_softmax(dim=-1) for each in logits])
    return log_probabilities.logsumexp(dim=0) - math.log(len(logits))
