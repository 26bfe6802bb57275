"""Which tensor of a MarianMT folder is which of ours, and in which order its features stand.

The paper's sines and cosines take turns; Marian's stand half and half. Both add the same numbers to other features, so
that one model becomes the other when every axis along d_model is put into the other order: the embeddings, the side of
every projection that faces the residual stream, and the norms. Nothing is rounded.

Source: ``MarianMTModel`` of Hugging Face transformers; Vaswani et al. 2017, section 3.5.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from interlingua.model.architecture import Architecture

__all__ = ["FINAL_BIAS", "POSITIONS", "Place", "correspondence", "half_and_half", "in_turn"]

FINAL_BIAS = "final_logits_bias"
POSITIONS = {
    "source_embedding.positions.table": "model.encoder.embed_positions.weight",
    "target_embedding.positions.table": "model.decoder.embed_positions.weight",
}
"""Where a file holds them, their names are these; the paper's are not stored."""

_ATTENTION = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}


@dataclass(frozen=True, slots=True)
class Place:
    """One parameter here and there."""

    ours: str
    theirs: str
    axis: int | None
    """The axis along d_model, if it has one."""


def correspondence(a: Architecture) -> Iterator[Place]:
    """Yield every parameter of our model, the final bias aside; a shared table comes once, under its first name."""
    theirs = "model.shared.weight" if a.tie == "three-way" else "model.encoder.embed_tokens.weight"
    yield Place("source_embedding.table.weight", theirs, 1)
    if a.tie != "three-way":
        yield Place("target_embedding.table.weight", "model.decoder.embed_tokens.weight", 1)
    if a.tie == "none":
        yield Place("output.weight", "lm_head.weight", 1)
    for side, layers in (("encoder", a.encoder_layers), ("decoder", a.decoder_layers)):
        for number in range(layers):
            yield from _layer(side, f"{side}.layers.{number}", f"model.{side}.layers.{number}")


def _layer(side: str, ours: str, theirs: str) -> Iterator[Place]:
    norms = {"around_feed_forward": "final_layer_norm"}
    attentions = {"self_attention": "self_attn"}
    if side == "encoder":
        norms["around_attention"] = "self_attn_layer_norm"
    else:
        norms |= {"around_self": "self_attn_layer_norm", "around_cross": "encoder_attn_layer_norm"}
        attentions["cross_attention"] = "encoder_attn"
    for mine, his in attentions.items():
        for part, projection in _ATTENTION.items():
            to_stream = part == "output"
            place = f"{ours}.{mine}.{part}", f"{theirs}.{his}.{projection}"
            yield Place(f"{place[0]}.weight", f"{place[1]}.weight", 0 if to_stream else 1)
            yield Place(f"{place[0]}.bias", f"{place[1]}.bias", 0 if to_stream else None)
    yield Place(f"{ours}.feed_forward.inner.weight", f"{theirs}.fc1.weight", 1)
    yield Place(f"{ours}.feed_forward.inner.bias", f"{theirs}.fc1.bias", None)
    yield Place(f"{ours}.feed_forward.outer.weight", f"{theirs}.fc2.weight", 0)
    yield Place(f"{ours}.feed_forward.outer.bias", f"{theirs}.fc2.bias", 0)
    for mine, his in norms.items():
        for part in ("weight", "bias"):
            yield Place(f"{ours}.{mine}.norm.{part}", f"{theirs}.{his}.{part}", 0)


def half_and_half(tensor: Tensor, axis: int | None) -> Tensor:
    """Put features that take turns, sine and cosine, into halves."""
    if axis is None:
        return tensor
    order = torch.arange(tensor.size(axis))
    return tensor.index_select(axis, torch.cat((order[0::2], order[1::2]))).contiguous()


def in_turn(tensor: Tensor, axis: int | None) -> Tensor:
    """Undo :func:`half_and_half`."""
    if axis is None:
        return tensor
    order = torch.arange(tensor.size(axis))
    back = torch.cat((order[0::2], order[1::2])).argsort()
    return tensor.index_select(axis, back).contiguous()
