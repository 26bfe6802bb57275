r"""Which source tokens a written token hangs on: gradient times input.

.. math:: s_{t,j} = \frac{\partial \log p(y_t \mid y_{<t}, x)}{\partial e_j} \cdot e_j

where :math:`e_j` is the scaled embedding of source token j, before its position is added. Attention says where the model
looked; this says what a small change of a word would change. Neither is an explanation by itself (Jain and Wallace 2019,
"Attention is not Explanation").

Source: Denil et al. 2014, "Extraction of Salient Sentences from Labelled Documents"; Shrikumar et al. 2016.
"""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from interlingua.inspection.steps import ids_of, plain_transformer
from interlingua.inspection.trace import Trace
from interlingua.model.transformer import Memory, Transformer
from interlingua.translator import Translator

__all__ = ["gradient_times_input"]

_MOST_WEIGHTS = 250_000
"""Attention weights of one head that are kept at once for their gradients; of a long sentence few places are answered together."""


def gradient_times_input(translator: Translator, trace: Trace) -> Float[np.ndarray, "T S"]:
    """Return, for each target token (row) and source token (column), gradient times input; signed.

    Where no layer leads from the source to the output (every decoder layer is switched off), all of it is zero.

    Raises:
        ModelError: the model is not made of the usual layers.
    """
    model = plain_transformer(translator)
    source, target_in, target_out = ids_of(trace, translator.device)
    size = target_out.size(1)
    at_once = max(1, _MOST_WEIGHTS // max(size, source.size(1)) ** 2)
    with torch.inference_mode(False), torch.enable_grad():
        source, target_in, target_out = source.clone(), target_in.clone(), target_out.clone()
        products = [
            _product(model, source, target_in, target_out, places)
            for places in torch.split(torch.arange(size, device=source.device), at_once)
        ]
    product: Float[np.ndarray, "T S"] = torch.cat(products).float().cpu().numpy()
    return product


def _product(
    model: Transformer,
    source: Int[Tensor, "1 S"],
    target_in: Int[Tensor, "1 T"],
    target_out: Int[Tensor, "1 T"],
    places: Int[Tensor, "P"],
) -> Float[Tensor, "P S"]:
    """Answer for some places of the target; row p of a batch asks about one of them."""
    size, embedding = len(places), model.source_embedding
    words = (embedding.table(source) * embedding.scale).detach().repeat(size, 1, 1)
    words.requires_grad_(True)
    mask = torch.ones(size, source.size(1), dtype=torch.bool, device=source.device)
    x = words + embedding.positions(0, source.size(1))
    memory = Memory(model.encoder(x, mask[:, None, None]), mask)
    each = torch.arange(size, device=source.device)
    hidden = model.decode_hidden(target_in.repeat(size, 1), memory)[each, places]  # (P, D)
    own = model.project(hidden).log_softmax(-1)[each, target_out[0, places]]
    return (_gradient(own.sum(), words) * words).sum(-1).detach()


def _gradient(output: Float[Tensor, ""], words: Float[Tensor, "P S D"]) -> Float[Tensor, "P S D"]:
    """Return what ``output`` would change by; nothing where no path leads to it."""
    if not output.requires_grad:
        return torch.zeros_like(words)
    (gradient,) = torch.autograd.grad(output, words, allow_unused=True)
    return torch.zeros_like(words) if gradient is None else gradient
