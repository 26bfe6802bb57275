"""What search asks of a model; the Transformer answers, and so can a recurrent or any other model.

::

    memory = model.encode(source)            (B, S) ids, once a batch
    state = model.start(memory)              B rows, nothing written yet
    state = state.reorder(rows)              repeat, permute or drop rows
    logits, state = model.step(ids, state)   one more symbol a row -> (R, V)

The memory is the model's own affair: search hands it from ``encode`` to ``start`` unseen.
"""

from typing import Any, Protocol, TypeVar, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["HiddenModel", "SequenceModel", "State", "StateT", "TeacherForcedModel"]

StateT = TypeVar("StateT", bound="State")


@runtime_checkable
class State(Protocol):
    """What a model remembers of the targets so far, one row a hypothesis; never changed in place."""

    def reorder(self: StateT, rows: Int[Tensor, "R"]) -> StateT:
        """Return the state whose row i is row ``rows[i]`` of this one.

        The same call widens (a row named often), permutes, and drops (a row not named).
        """
        ...


@runtime_checkable
class SequenceModel(Protocol[StateT]):
    """An encoder-decoder that writes one symbol at a time."""

    def encode(self, source: Int[Tensor, "B S"]) -> Any:
        """Read the sources; the model knows its own padding id."""
        ...

    def start(self, memory: Any) -> StateT:
        """Stand before the first symbol, one row a source."""
        ...

    def step(self, ids: Int[Tensor, "R"], state: StateT) -> tuple[Float[Tensor, "R V"], StateT]:
        """Read one more symbol a row; return the logits of the next and the state after it."""
        ...


@runtime_checkable
class TeacherForcedModel(Protocol):
    """A model that can also read a whole target at once, as in training."""

    def encode(self, source: Int[Tensor, "B S"]) -> Any:
        """Read the sources."""
        ...

    def decode(self, target_in: Int[Tensor, "B T"], memory: Any) -> Float[Tensor, "B T V"]:
        """Return the logits of every next symbol, given the true ones before it."""
        ...


@runtime_checkable
class HiddenModel(Protocol[StateT]):
    """A model that also shows the vectors from which it predicts, D wide: ``step`` is ``step_hidden``, then ``project``."""

    def encode(self, source: Int[Tensor, "B S"]) -> Any:
        """Read the sources."""
        ...

    def start(self, memory: Any) -> StateT:
        """Stand before the first symbol, one row a source."""
        ...

    def step_hidden(
        self, ids: Int[Tensor, "R"], state: StateT
    ) -> tuple[Float[Tensor, "R D"], StateT]:
        """Read one more symbol a row; return what the next is predicted from, and the state after it."""
        ...

    def decode_hidden(self, target_in: Int[Tensor, "B T"], memory: Any) -> Float[Tensor, "B T D"]:
        """Return the same for every position of whole targets, given the true symbols before each."""
        ...

    def project(self, hidden: Float[Tensor, "*B D"]) -> Float[Tensor, "*B V"]:
        """Return the logits of the next symbol."""
        ...
