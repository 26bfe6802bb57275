"""The ways to write the next word that the tutorials argue about, each as a model that search can ask.

What has been written is kept as it is and read again for every word, by all positions or by the last one only, with or
without the look-ahead mask. ``Transformer.step`` keeps keys and values instead. Shared by ``test_ways_to_infer.py`` and
``benchmarks/ways_to_infer.py``.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from interlingua.model.decoder import DecoderLayer
from interlingua.model.masks import look_ahead_mask
from interlingua.model.transformer import Memory, Transformer

__all__ = ["WAYS", "Prefix", "ReadAgain", "masked", "newest_alone", "unmasked"]


@dataclass(frozen=True)
class Prefix:
    """Everything written so far, and the source; row by row."""

    memory: Memory
    ids: Tensor  # R T

    def reorder(self, rows: Tensor) -> "Prefix":
        memory = Memory(self.memory.vectors[rows], self.memory.mask[rows])
        return Prefix(memory, self.ids[rows])


class ReadAgain:
    """A Transformer that keeps nothing but the words: ``decode`` computes the vector that the next one comes from."""

    def __init__(
        self, model: Transformer, decode: Callable[[Transformer, Tensor, Memory], Tensor]
    ) -> None:
        self.model = model
        self.decode = decode

    def encode(self, source: Tensor) -> Memory:
        return self.model.encode(source)

    def start(self, memory: Memory) -> Prefix:
        nothing = torch.zeros(len(memory.mask), 0, dtype=torch.long)
        return Prefix(memory, nothing)

    def step(self, ids: Tensor, state: Prefix) -> tuple[Tensor, Prefix]:
        longer = Prefix(state.memory, torch.cat((state.ids, ids[:, None]), dim=1))
        last = self.decode(self.model, longer.ids, longer.memory)
        return self.model.project(last), longer


def masked(model: Transformer, ids: Tensor, memory: Memory) -> Tensor:
    """All positions, none of which looks ahead: what training computes. R T -> R D."""
    return model.decode_hidden(ids, memory)[:, -1]


def unmasked(model: Transformer, ids: Tensor, memory: Memory) -> Tensor:
    """All positions, each of which looks at all. R T -> R D."""
    everything = torch.ones_like(look_ahead_mask(ids.size(1)))[None, None]
    source_mask = memory.mask[:, None, None]
    x = model.target_embedding(ids)
    return model.decoder(x, memory.vectors, everything, source_mask)[:, -1]


def newest_alone(model: Transformer, ids: Tensor, memory: Memory) -> Tensor:
    """Only the newest position asks, and what it looks at in each layer is the input of the decoder. R T -> R D.

    A deeper layer should look at what the layer below made of the earlier positions; here nobody has computed that.
    """
    source_mask = memory.mask[:, None, None]
    everything = model.target_embedding(ids)
    x = everything[:, -1:]
    for layer in model.decoder.layers:
        assert isinstance(layer, DecoderLayer)
        x = _one_layer(layer, x, everything, memory, source_mask)
    return (x if model.decoder.final_norm is None else model.decoder.final_norm(x))[:, -1]


def _one_layer(
    layer: DecoderLayer, x: Tensor, everything: Tensor, memory: Memory, source_mask: Tensor
) -> Tensor:
    seen = layer.around_self.norm(everything) if layer.around_self.pre else everything
    x = layer.around_self(x, lambda y: layer.self_attention(y, seen, None))
    x = layer.around_cross(x, lambda y: layer.cross_attention(y, memory.vectors, source_mask))
    return layer.around_feed_forward(x, layer.feed_forward)


WAYS = {
    "all positions, look-ahead mask": masked,
    "all positions, no mask": unmasked,
    "the newest position alone": newest_alone,
}
