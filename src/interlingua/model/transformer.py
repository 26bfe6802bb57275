"""The whole model: Vaswani et al. 2017, Figure 1.

``forward`` is for training: whole source, whole shifted target, all logits at once. Search asks only for
``encode``, ``start``, ``step`` and ``State.reorder``, which any other encoder-decoder can offer too.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from interlingua.model.architecture import Architecture
from interlingua.model.attention import MultiHeadAttention
from interlingua.model.decoder import Decoder, DecoderLayer, LayerCache
from interlingua.model.embeddings import TokenEmbedding
from interlingua.model.encoder import Encoder, EncoderLayer
from interlingua.model.encoder_decoder import EncoderDecoder, embedding_tables
from interlingua.model.feed_forward import FeedForward
from interlingua.model.layer_parts import initialise, parts_of_layers, usual_positions
from interlingua.model.masks import look_ahead_mask, padding_mask
from interlingua.model.positions import Positions

__all__ = ["Memory", "State", "Transformer"]


@dataclass(frozen=True, slots=True)
class Memory:
    """What the encoder knows of the source, and which positions are real."""

    vectors: Float[Tensor, "B S D"]
    mask: Bool[Tensor, "B S"]


@dataclass(frozen=True, slots=True)
class State:
    """What the decoder has seen so far, one row a hypothesis."""

    caches: tuple[LayerCache, ...]
    source_mask: Bool[Tensor, "R 1 1 S"]
    source_row: Int[Tensor, "R"]
    position: int

    def reorder(self, rows: Int[Tensor, "R2"]) -> "State":
        """Select, repeat or drop hypotheses.

        Beams of one sentence share what was projected from the source; as long as every row stays with its
        sentence (the usual case) that part is not copied.
        """
        source_row = self.source_row[rows]
        same_source = torch.equal(source_row, self.source_row)

        def pick_source(x: Tensor) -> Tensor:
            return x if same_source else x.index_select(0, rows)

        caches = tuple(
            LayerCache(
                pick_source(cache.source_key),
                pick_source(cache.source_value),
                cache.target_key.index_select(0, rows),
                cache.target_value.index_select(0, rows),
            )
            for cache in self.caches
        )
        return State(caches, pick_source(self.source_mask), source_row, self.position)


class Transformer(EncoderDecoder):
    """An encoder-decoder of attention and feed-forward layers only.

    Any part can be replaced without a fork: pass a class or function with the same call as ``attention``,
    ``feed_forward`` or ``positions``; for instance ``functools.partial(Transformer, attention=MyAttention)``
    is a ``build_model`` for training and loading.

    Args:
        architecture: the sizes.
        source_vocabulary: V of the source.
        target_vocabulary: V of the target; must equal the source's for three-way tying.
        source_pad: id that pads a source.
        target_pad: id that pads a target.
        attention: called with (d_model, heads, d_k, d_v, attention_dropout).
        feed_forward: called with (d_model, d_ff, activation, activation_dropout).
        positions: called with (max_positions, d_model); None takes what the architecture names.

    Raises:
        ValueError: three-way tying of two different vocabularies.
    """

    architecture: Architecture

    def __init__(
        self,
        architecture: Architecture,
        *,
        source_vocabulary: int,
        target_vocabulary: int,
        source_pad: int = 0,
        target_pad: int = 0,
        attention: Callable[..., MultiHeadAttention] = MultiHeadAttention,
        feed_forward: Callable[..., FeedForward] = FeedForward,
        positions: Callable[[int, int], Positions] | None = None,
    ) -> None:
        super().__init__()
        a = architecture
        self.architecture = a
        self.source_pad = source_pad
        self.target_pad = target_pad

        attend, feed, around, last = parts_of_layers(a, attention, feed_forward)
        if positions is None:
            positions = usual_positions(a)
        source_table, target_table = embedding_tables(
            a.tie, a.d_model, source_vocabulary, target_vocabulary
        )
        self.source_embedding = TokenEmbedding(
            source_table, positions(a.max_positions, a.d_model), a.dropout
        )
        self.target_embedding = TokenEmbedding(
            target_table, positions(a.max_positions, a.d_model), a.dropout
        )
        self.encoder = Encoder(
            [EncoderLayer(attend(), feed(), around(), around()) for _ in range(a.encoder_layers)],
            last(),
        )
        self.decoder = Decoder(
            [
                DecoderLayer(attend(), attend(), feed(), (around(), around(), around()))
                for _ in range(a.decoder_layers)
            ],
            last(),
        )
        self.output = nn.Linear(a.d_model, target_vocabulary, bias=a.output_bias)
        initialise(self, a, self.output)
        if a.tie != "none":
            self.output.weight = self.target_embedding.table.weight

    def encode(self, source: Int[Tensor, "B S"]) -> Memory:
        """Read the source."""
        mask = padding_mask(source, self.source_pad)
        return Memory(self.encoder(self.source_embedding(source), mask[:, None, None]), mask)

    def decode_hidden(
        self, target_in: Int[Tensor, "B T"], memory: Memory
    ) -> Float[Tensor, "B T D"]:
        """Return the vectors from which the next tokens are predicted."""
        return self.decoder(
            self.target_embedding(target_in),
            memory.vectors,
            look_ahead_mask(target_in.size(1), target_in.device)[None, None],
            memory.mask[:, None, None],
        )

    def start(self, memory: Memory) -> State:
        """Stand before the first target token, one row a source."""
        rows = memory.vectors.size(0)
        return State(
            caches=self.decoder.start(memory.vectors),
            source_mask=memory.mask[:, None, None],
            source_row=torch.arange(rows, device=memory.mask.device),
            position=0,
        )

    def step_hidden(
        self, ids: Int[Tensor, "R"], state: State
    ) -> tuple[Float[Tensor, "R D"], State]:
        """Read one more token a row; return the vectors from which the next is predicted."""
        x = self.target_embedding(ids[:, None], start=state.position)
        hidden, caches = self.decoder.step(x, state.caches, state.source_mask)
        extended = State(caches, state.source_mask, state.source_row, state.position + 1)
        return hidden[:, 0], extended
