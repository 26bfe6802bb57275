"""The output projection and its label-smoothed cross-entropy in one, some tokens at a time.

The plain way holds M x V logits, their softmax and the gradient of both at once: at V = 32,000 more than all else in a
training step. Here they exist for some of the tokens, in the processor's cache, and the gradient is taken at once.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from interlingua.kernels import devices
from interlingua.kernels.matrix_products import product, product_over_rows

__all__ = ["projected_cross_entropy", "projected_r_drop"]

LOGITS = 1 << 22
FEWEST_ROWS = 512
"""Logits at a time: few enough for the cache; tokens at a time: enough for a product to be efficient."""
LOGITS_ON_CARD = 1 << 26
"""A graphics card pays for each piece, not for a cache that is missed; a quarter of a gigabyte in single precision."""


def projected_cross_entropy(
    hidden: Float[Tensor, "M D"],
    table: Float[Tensor, "V D"],
    targets: Int[Tensor, "M"],
    epsilon: float,
    *,
    bias: Float[Tensor, "V"] | None = None,
) -> Float[Tensor, ""]:
    r"""Return ``label_smoothed_cross_entropy(hidden @ table.T, targets, epsilon)``, its plain twin, in nats.

    A target below zero stands for no token: it has no loss and no gradient. With a ``bias`` it is added to the logits.

    Under autocast the products are computed as autocast says, and everything else in single precision; otherwise all
    is computed in the precision of ``hidden``.
    """
    return _apply(*_with_bias(hidden, table, bias), targets, epsilon, None)


def projected_r_drop(
    hidden: Float[Tensor, "M2 D"],
    table: Float[Tensor, "V D"],
    targets: Int[Tensor, "M"],
    epsilon: float,
    alpha: float,
    *,
    bias: Float[Tensor, "V"] | None = None,
) -> Float[Tensor, ""]:
    r"""Return ``r_drop(hidden @ table.T, targets, epsilon, alpha)``, its plain twin, in nats.

    ``hidden`` holds M tokens of a first pass, then the same of a second; all else is as in
    :func:`projected_cross_entropy`.
    """
    return _apply(*_with_bias(hidden, table, bias), targets, epsilon, alpha)


def _with_bias(hidden: Tensor, table: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
    """Make the bias one more column of the table, which every token sees as it is: the same logits and gradients."""
    if bias is None:
        return hidden, table
    ones = hidden.new_ones(len(hidden), 1)
    return torch.cat((hidden, ones), dim=1), torch.cat((table, bias[:, None]), dim=1)


def _apply(
    hidden: Tensor, table: Tensor, targets: Tensor, epsilon: float, alpha: float | None
) -> Tensor:
    device = hidden.device.type
    low = torch.is_autocast_enabled(device)
    dtype = torch.get_autocast_dtype(device) if low else hidden.dtype
    with torch.autocast(device, enabled=False):
        loss: Tensor = _Projected.apply(  # type: ignore[no-untyped-call]
            hidden, table, targets, (epsilon, alpha), dtype, torch.is_grad_enabled()
        )
        return loss


class _Projected(torch.autograd.Function):
    """Takes loss and gradient piece by piece; with an alpha, a piece is the same tokens of both passes."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        table: Tensor,
        targets: Tensor,
        weights: tuple[float, float | None],
        dtype: torch.dtype,
        wanted: bool,
    ) -> Tensor:
        words = table.to(dtype)
        twice = weights[1] is not None
        passes = hidden.to(dtype).view(1 + twice, len(targets), hidden.size(1))
        exact = torch.promote_types(dtype, torch.float32)
        grad_x = torch.empty_like(passes) if wanted else None
        grad_words: Tensor | None = None
        loss = torch.zeros((), dtype=exact, device=hidden.device)
        at_once = LOGITS if hidden.device.type == "cpu" else LOGITS_ON_CARD
        rows = max(FEWEST_ROWS, at_once // len(words)) // len(passes)
        for start in range(0, len(targets), rows):
            piece = slice(start, start + rows)
            part = passes[:, piece].flatten(0, 1)
            partial_loss, grad = _into_gradient(
                product(part, words.T), targets[piece], weights, exact, wanted
            )
            loss += partial_loss
            if grad_x is None:
                continue
            grad_part = product(
                grad, words, stochastic=True
            )  # most of a softmax is tiny beside its target
            grad_x[:, piece] = grad_part.view_as(grad_x[:, piece])
            grad_words = product_over_rows(grad, part, into=grad_words, stochastic=True)
        if wanted and grad_words is None:  # no tokens
            grad_words = torch.zeros_like(words, dtype=exact)
        ctx.save_for_backward(grad_x, grad_words)
        ctx.types = hidden.dtype, table.dtype
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        grad_x, grad_words = ctx.saved_tensors
        of_hidden, of_table = ctx.types
        (scale,) = grad_outputs
        return (
            grad_x.flatten(0, 1).to(of_hidden) * scale,
            grad_words.to(of_table) * scale,
            *[None] * 4,
        )


def _into_gradient(
    logits: Tensor,
    targets: Int[Tensor, "M"],
    weights: tuple[float, float | None],
    exact: torch.dtype,
    wanted: bool,
) -> tuple[Tensor, Tensor]:
    """Return the loss, summed, and its gradient, which may lie where the logits were."""
    epsilon, alpha = weights
    device, low = logits.device, logits.dtype
    if devices.is_available(device, low) and (alpha is None or device.type == "cpu"):
        losses = torch.empty(len(targets), dtype=torch.float32, device=device)
        sizes = len(targets), logits.size(1)
        if alpha is None:
            call = devices.function("cross_entropy", device, low)
            call(*sizes, logits, targets, epsilon, int(wanted), losses)
        else:
            call = devices.function("r_drop", device, low)
            second = logits[len(targets) :]
            call(*sizes, logits, second, targets, epsilon, alpha, int(wanted), losses)
        return losses.sum(), logits
    none = targets[:, None] < 0
    log_p = logits.to(exact).view(-1, len(targets), logits.size(1)).log_softmax(-1)
    target = targets.clamp(min=0)[:, None].expand(len(log_p), -1, 1)
    share = 1.0 / len(log_p)
    wished = (1 - epsilon) * log_p.gather(2, target) + epsilon * log_p.mean(2, keepdim=True)
    loss = -share * wished.sum(0)
    p = log_p.exp()
    grad = (p - epsilon / p.size(2)) * share
    grad.scatter_add_(2, target, grad.new_full(target.shape, share * (epsilon - 1)))
    if alpha is not None:
        apart = log_p - log_p.flip(0)
        divergence = (p * apart).sum(2, keepdim=True)
        loss += alpha / 4 * divergence.sum(0)
        grad += alpha / 4 * (p * (apart - divergence) + p - p.flip(0))
    loss = loss.masked_fill(none, 0.0).sum()
    return loss, grad.masked_fill_(none, 0.0).flatten(0, 1).to(low)
