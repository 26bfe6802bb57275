"""Embeddings: Vaswani et al. 2017, section 3.4, with the positions of 3.5 and the dropout of 5.4."""

import math
from typing import TYPE_CHECKING

from jaxtyping import Float, Int
from torch import Tensor, nn

from interlingua.model.dropout import Dropout
from interlingua.model.positions import Positions

__all__ = ["TokenEmbedding"]


class TokenEmbedding(nn.Module):
    r"""Ids to vectors: :math:`\mathrm{dropout}(E_{ids} \sqrt{D} + PE)`.

    The table may be shared with the other side and with the output layer (section 3.4): pass it in.
    """

    def __init__(self, table: nn.Embedding, positions: Positions, dropout: float) -> None:
        super().__init__()
        self.table = table
        self.positions = positions
        self.dropout = Dropout(dropout)
        self.scale = math.sqrt(table.embedding_dim)

    def forward(self, ids: Int[Tensor, "B T"], start: int = 0) -> Float[Tensor, "B T D"]:
        """Embed ``ids``, whose first column stands at position ``start``."""
        vectors = self.table(ids) * self.scale
        return self.dropout(vectors + self.positions(start, ids.size(1)))

    def at(self, ids: Int[Tensor, "B T"], places: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        """Embed ``ids`` that stand at ``places``, which may differ from row to row."""
        positions = self.positions(0, int(places.max()) + 1 if places.numel() else 0)
        return self.dropout(self.table(ids) * self.scale + positions[places])

    if TYPE_CHECKING:
        __call__ = forward
