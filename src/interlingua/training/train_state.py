"""Where training stands: what a checkpoint keeps beside weights and moments."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from interlingua.training.data import Cursor

__all__ = ["TrainState"]


@dataclass(frozen=True, slots=True)
class TrainState:
    """Where training stands; with weights and moments, all that a resume needs.

    There is no state of a random generator: every update seeds its own from (seed, step).
    """

    step: int = 0
    cursor: Cursor = field(default_factory=Cursor)
    seconds: float = 0.0
    target_tokens: int = 0
    validated: int = 0
    """The step of the last validation; a run stopped in the middle of one makes it up."""
    skipped: int = 0
    """Updates that were left out because their loss was not a finite number."""
    skipped_in_a_row: int = 0
    losses: tuple[float, ...] = ()
    """The losses of the updates since the last record or validation."""
    rates: tuple[float, ...] = ()
    """The learning rates of the updates since the last record, where the clock decides them."""

    @classmethod
    def read(cls, step: int, state: Mapping[str, Any]) -> "TrainState":
        """Return what a checkpoint of update ``step`` holds; those of earlier versions lack what came later."""
        return cls(
            step=step,
            cursor=Cursor(**state["cursor"]),
            seconds=state["seconds"],
            target_tokens=state["target_tokens"],
            validated=state["validated"],
            skipped=state.get("skipped", 0),
            skipped_in_a_row=state.get("skipped_in_a_row", 0),
            losses=tuple(state.get("losses", ())),
            rates=tuple(state.get("rates", ())),
        )
