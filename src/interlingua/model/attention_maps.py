"""Reading attention weights by hooks, so that ``forward`` returns one thing."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident

from jaxtyping import Float
from torch import Tensor, nn

from interlingua.model.attention import MultiHeadAttention
from interlingua.model.source_attention import SourceLook

__all__ = ["AttentionMaps", "record_attention"]

AttentionMaps = dict[str, list[Float[Tensor, "B H T S"]]]
"""Module name -> the weights of each call, in order; ``decoder.layers.0.cross_attention`` and so on."""


@contextmanager
def record_attention(model: nn.Module) -> Iterator[AttentionMaps]:
    """Collect the weights of every attention in ``model`` while the block runs.

    Use it in evaluation mode: in training the weights are those after dropout. What other threads compute with
    the same model meanwhile is not collected.
    """
    owner = get_ident()
    maps: AttentionMaps = {}
    handles = []
    for name, module in model.named_modules():
        if isinstance(module, MultiHeadAttention | SourceLook):
            passed = module.dropout if isinstance(module, MultiHeadAttention) else module.seen
            maps[name] = []

            def keep(
                _module: nn.Module, _inputs: object, weights: Tensor, name: str = name
            ) -> None:
                if get_ident() == owner:
                    maps[name].append(weights.detach())

            handles.append(passed.register_forward_hook(keep))
    try:
        yield maps
    finally:
        for handle in handles:
            handle.remove()
