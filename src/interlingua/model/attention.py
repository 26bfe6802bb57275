"""Attention: Vaswani et al. 2017, sections 3.2.1 and 3.2.2."""

import math
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from interlingua.model.dropout import Dropout

__all__ = ["MultiHeadAttention", "attention_weights", "scaled_dot_product_attention"]


def attention_weights(
    query: Float[Tensor, "B H T K"],
    key: Float[Tensor, "B H S K"],
    mask: Bool[Tensor, "#B #H #T S"] | None,
) -> Float[Tensor, "B H T S"]:
    r"""Return how much each query looks at each key.

    .. math:: \mathrm{softmax}\left(QK^\top / \sqrt{K}\right)

    ``mask`` is True where a query may look. A row with nothing to look at is all zeros, not NaN.

    Source: section 3.2.1, the first factor of equation 1.
    """
    scores = (query / math.sqrt(query.size(-1))) @ key.transpose(-2, -1)
    if mask is None:
        return scores.softmax(-1)
    hidden = ~mask
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(hidden, lowest).softmax(-1)
    return weights.masked_fill(hidden, 0.0)


def scaled_dot_product_attention(
    query: Float[Tensor, "B H T K"],
    key: Float[Tensor, "B H S K"],
    value: Float[Tensor, "B H S Kv"],
    mask: Bool[Tensor, "#B #H #T S"] | None,
) -> Float[Tensor, "B H T Kv"]:
    r"""Weigh ``value`` by how well each ``query`` matches each ``key``.

    .. math:: \mathrm{softmax}\left(QK^\top / \sqrt{K}\right) V

    ``mask`` is True where a query may look. A row with nothing to look at yields zeros, not NaN.

    Source: section 3.2.1, equation 1.
    """
    return attention_weights(query, key, mask) @ value


class MultiHeadAttention(nn.Module):
    r"""Several attentions side by side, each with projections of its own.

    .. math::
        \mathrm{MultiHead}(Q, K, V) = \mathrm{Concat}(\mathrm{head}_1, \ldots, \mathrm{head}_H) W^O
        \qquad \mathrm{head}_i = \mathrm{Attention}(Q W_i^Q, K W_i^K, V W_i^V)

    The H projections of one kind lie side by side in one matrix: head i owns columns iK to (i+1)K.
    To see the weights (B, H, T, S), put a forward hook on ``dropout``: they pass through it.
    To change how queries and keys are compared, override :meth:`weigh`.

    Source: section 3.2.2.
    """

    def __init__(
        self, d_model: int, heads: int, d_k: int, d_v: int, attention_dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(d_model, heads * d_k)
        self.key = nn.Linear(d_model, heads * d_k)
        self.value = nn.Linear(d_model, heads * d_v)
        self.output = nn.Linear(heads * d_v, d_model)
        self.dropout = Dropout(attention_dropout)

    def forward(
        self,
        queries: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S D"],
        mask: Bool[Tensor, "#B #H #T S"] | None,
    ) -> Float[Tensor, "B T D"]:
        """Let every position of ``queries`` gather from ``memory``; the same tensor is self-attention."""
        key, value = self.keys_and_values(memory)
        return self.attend(queries, key, value, mask)

    def keys_and_values(
        self, memory: Float[Tensor, "B S D"]
    ) -> tuple[Float[Tensor, "B H S K"], Float[Tensor, "B H S Kv"]]:
        """Project what is looked at; search does this once and keeps the result."""
        return self._split(self.key(memory)), self._split(self.value(memory))

    def attend(
        self,
        queries: Float[Tensor, "B T D"],
        key: Float[Tensor, "B H S K"],
        value: Float[Tensor, "B H S Kv"],
        mask: Bool[Tensor, "#B #H #T S"] | None,
    ) -> Float[Tensor, "B T D"]:
        """Look at keys and values that are already projected."""
        weights = self.dropout(self.weigh(self._split(self.query(queries)), key, mask))
        heads = weights @ value  # B H T Kv
        return self.output(heads.transpose(1, 2).flatten(2))

    def weigh(
        self,
        query: Float[Tensor, "B H T K"],
        key: Float[Tensor, "B H S K"],
        mask: Bool[Tensor, "#B #H #T S"] | None,
    ) -> Float[Tensor, "B H T S"]:
        """Compare queries with keys; a variant overrides this."""
        return attention_weights(query, key, mask)

    def _split(self, x: Tensor) -> Tensor:
        """B T (H K) -> B H T K."""
        return x.view(*x.shape[:2], self.heads, x.size(-1) // self.heads).transpose(1, 2)

    if TYPE_CHECKING:
        __call__ = forward
