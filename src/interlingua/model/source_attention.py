r"""How the models before the Transformer look at their source: one head, one query a target position.

.. math::
    \alpha_{ij} = \frac{\exp e_{ij}}{\sum_{k} \exp e_{ik}} \qquad c_i = \sum_j \alpha_{ij} v_j

They differ in how a query is compared with a key:

=====================  ==================================================  =================================
:class:`AdditiveLook`  :math:`e_{ij} = v^\top \tanh(W q_i + U h_j)`         Bahdanau et al. 2015, section 3.1
:class:`DotLook`       :math:`e_{ij} = q_i^\top h_j`                        Luong et al. 2015, section 3.1
=====================  ==================================================  =================================

Scaled dot-product attention (section 3.2.1 of "Attention Is All You Need") is the second one over the root of the width.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

__all__ = ["AdditiveLook", "DotLook", "Source", "SourceLook"]


@dataclass(frozen=True, slots=True)
class Source:
    """What a decoder looks at, one row a hypothesis."""

    keys: Float[Tensor, "R S D"]
    values: Float[Tensor, "R S D"]
    mask: Bool[Tensor, "R S"]
    """True at real tokens."""
    row: Int[Tensor, "R"]
    """Which sentence each row belongs to."""

    def reorder(self, rows: Int[Tensor, "R2"]) -> "Source":
        """Select, repeat or drop rows; nothing is copied as long as every row stays with its sentence."""
        row = self.row[rows]
        if torch.equal(row, self.row):
            return self
        return Source(
            self.keys.index_select(0, rows),
            self.values.index_select(0, rows),
            self.mask.index_select(0, rows),
            row,
        )


class SourceLook(nn.Module):
    """Looks at a source with one head; a subclass says how a query is compared with the keys.

    To see the weights (R, 1, T, S), put a forward hook on ``seen``: they pass through it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen = nn.Identity()

    def keys(self, annotations: Float[Tensor, "B S D"]) -> Float[Tensor, "B S D"]:
        """Return what queries are compared with; search asks once for it."""
        return annotations

    def compare(
        self, queries: Float[Tensor, "R T D"], keys: Float[Tensor, "R S D"]
    ) -> Float[Tensor, "R T S"]:
        """Return the energies e."""
        raise NotImplementedError

    def weigh(self, queries: Float[Tensor, "R T D"], source: Source) -> Float[Tensor, "R T S"]:
        """Return how much each query looks at each source position; padding gets nothing."""
        hidden = ~source.mask[:, None]
        energies = self.compare(queries, source.keys)
        lowest = torch.finfo(energies.dtype).min
        return energies.masked_fill(hidden, lowest).softmax(-1).masked_fill(hidden, 0.0)

    def forward(self, queries: Float[Tensor, "R T D"], source: Source) -> Float[Tensor, "R T D"]:
        """Return the context c of each query."""
        weights = self.weigh(queries, source)
        self.seen(weights[:, None])
        return weights @ source.values

    if TYPE_CHECKING:
        __call__ = forward


class DotLook(SourceLook):
    r"""Luong's dot product, :math:`e_{ij} = q_i^\top h_j`, without a scale."""

    def compare(
        self, queries: Float[Tensor, "R T D"], keys: Float[Tensor, "R S D"]
    ) -> Float[Tensor, "R T S"]:
        """Multiply."""
        return queries @ keys.transpose(1, 2)


class AdditiveLook(SourceLook):
    r"""Bahdanau's small network, :math:`e_{ij} = v^\top \tanh(W q_i + U h_j)`; U h is computed once a source."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model, bias=False)
        self.energy = nn.Linear(d_model, 1, bias=False)

    def keys(self, annotations: Float[Tensor, "B S D"]) -> Float[Tensor, "B S D"]:
        """Return U h."""
        projected: Tensor = self.key(annotations)
        return projected

    def compare(
        self, queries: Float[Tensor, "R T D"], keys: Float[Tensor, "R S D"]
    ) -> Float[Tensor, "R T S"]:
        """Add, bend, and weigh the components."""
        both = self.query(queries)[:, :, None] + keys[:, None]  # R T S D
        energies: Tensor = self.energy(both.tanh())[..., 0]
        return energies
