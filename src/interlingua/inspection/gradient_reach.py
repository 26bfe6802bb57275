r"""How much of a gradient arrives: what the last written word teaches each word of the source.

.. math:: g_j = \left\| \frac{\partial \log p(y_T \mid y_{<T}, x)}{\partial e_j} \right\|

where :math:`e_j` is the vector of source word j. Through a recurrence it is a product of one Jacobian a step, which shrinks (or grows)
exponentially with their number; attention is a way of one step.

Source: Bengio, Simard and Frasconi 1994, "Learning Long-Term Dependencies with Gradient Descent is Difficult"; Pascanu et al. 2013.
"""

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from torch import Tensor

from interlingua.decoding.held_model import evaluating
from interlingua.inspection.canvas import QUIET, figure_style
from interlingua.model.encoder_decoder import EncoderDecoder

__all__ = ["draw_gradient_reach", "gradient_reach"]


def gradient_reach(
    model: EncoderDecoder, source: Int[Tensor, "B S"], target: Int[Tensor, "B T"]
) -> Float[np.ndarray, "S"]:
    """Return the mean over B pairs of the gradient's norm at each source position, for the last target symbol.

    Args:
        model: in any mode; it computes without dropout, and is left as it was.
        source: ids, all of one length: no padding.
        target: the begin symbol and what was written, all of one length; the last symbol is the one that teaches.
    """
    vectors: list[Tensor] = []

    def keep(_module: torch.nn.Module, _inputs: object, embedded: Tensor) -> Tensor:
        vectors.append(embedded.detach().requires_grad_(True))
        return vectors[0]

    embedding = model.get_submodule("source_embedding")
    handle = embedding.register_forward_hook(keep)
    try:
        # cuDNN has no gradient for recurrences that are not in training.
        plain = torch.backends.cudnn.flags(enabled=False)
        with evaluating(model), plain, torch.inference_mode(False), torch.enable_grad():
            logits = model(source.clone(), target[:, :-1].clone())[:, -1]
            last = logits.log_softmax(-1).gather(1, target[:, -1:]).sum()
            (gradient,) = torch.autograd.grad(last, vectors[0])
    finally:
        handle.remove()
    norms: Float[np.ndarray, "S"] = gradient.norm(dim=2).mean(0).float().cpu().numpy()
    return norms


def draw_gradient_reach(curves: Mapping[str, Float[np.ndarray, "S"]], title: str) -> Figure:
    """Draw one line a model, the largest of each at 1: how what arrives falls with the distance from the source's end."""
    with figure_style(curves):
        figure = Figure(figsize=(7.5, 4.2))
        axes = figure.add_axes((0.1, 0.13, 0.6, 0.74))
        for name, norms in curves.items():
            axes.plot(np.arange(len(norms)), norms[::-1] / max(norms.max(), 1e-30), label=name)
        axes.set_yscale("log")
        axes.set_xlabel("source words from the end")
        axes.set_ylabel("gradient, of its largest")
        axes.set_title(title, loc="left", fontsize=10)
        axes.tick_params(colors=QUIET, labelsize=8)
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)
    return figure
