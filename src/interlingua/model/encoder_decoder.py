"""What every model here is: an encoder-decoder that is trained on whole targets and searched step by step.

The Transformer and what came before it differ in what they remember; training, search, evaluation and serving see only
what stands here.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from interlingua.model.architecture import AnyArchitecture, Tie

__all__ = ["EncoderDecoder", "embedding_tables"]


class EncoderDecoder(nn.Module, ABC):
    """Reads a source once, and gives the logits of every next target token."""

    architecture: AnyArchitecture
    source_pad: int
    target_pad: int
    output: nn.Linear

    def forward(
        self, source: Int[Tensor, "B S"], target_in: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T V"]:
        """Return the logits of every next token, given the true ones before it (teacher forcing)."""
        return self.decode(target_in, self.encode(source))

    @abstractmethod
    def encode(self, source: Int[Tensor, "B S"]) -> Any:
        """Read the source; the memory is the model's own affair."""

    def decode(self, target_in: Int[Tensor, "B T"], memory: Any) -> Float[Tensor, "B T V"]:
        """Return the logits of every next token of a whole target."""
        return self.project(self.decode_hidden(target_in, memory))

    @abstractmethod
    def decode_hidden(self, target_in: Int[Tensor, "B T"], memory: Any) -> Float[Tensor, "B T D"]:
        """Return the vectors from which the next tokens are predicted."""

    def project(self, hidden: Float[Tensor, "*B D"]) -> Float[Tensor, "*B V"]:
        """Compare vectors with every word: the pre-softmax linear transformation of section 3.4.

        The paper has no bias here; models of Marian have one (``Architecture.output_bias``).
        """
        return functional.linear(hidden, self.output.weight, self.output.bias)

    @abstractmethod
    def start(self, memory: Any) -> Any:
        """Stand before the first target token, one row a source."""

    def step(self, ids: Int[Tensor, "R"], state: Any) -> tuple[Float[Tensor, "R V"], Any]:
        """Read one more token a row; return the logits of the next, and the state after it."""
        hidden, after = self.step_hidden(ids, state)
        return self.project(hidden), after

    @abstractmethod
    def step_hidden(self, ids: Int[Tensor, "R"], state: Any) -> tuple[Float[Tensor, "R D"], Any]:
        """Read one more token a row; return the vectors from which the next is predicted."""

    if TYPE_CHECKING:
        __call__ = forward


def embedding_tables(
    tie: Tie, d_model: int, source: int, target: int
) -> tuple[nn.Embedding, nn.Embedding]:
    """Make the embedding tables, one and the same for three-way tying (section 3.4).

    Raises:
        ValueError: three-way tying of two different vocabularies.
    """
    if tie != "three-way":
        return nn.Embedding(source, d_model), nn.Embedding(target, d_model)
    if source != target:
        raise ValueError(
            f"three-way tying needs one vocabulary, not {source} source and {target} target entries; "
            "share the vocabulary or tie the target only"
        )
    table = nn.Embedding(source, d_model)
    return table, table
