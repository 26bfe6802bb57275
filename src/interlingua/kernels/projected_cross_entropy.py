"""The output projection and its label-smoothed cross-entropy in one, some tokens at a time.

The plain way holds M x V logits, their softmax and the gradient of both at once: at V = 32,000 more than all else in a
training step. Here they exist for some of the tokens, in the processor's cache, and the gradient is taken at once.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from interlingua.kernels import native

__all__ = ["projected_cross_entropy"]

LOGITS = 1 << 22
FEWEST_ROWS = 512
"""Logits at a time: few enough for the cache; tokens at a time: enough for a product to be efficient."""


def projected_cross_entropy(
    hidden: Float[Tensor, "M D"],
    table: Float[Tensor, "V D"],
    targets: Int[Tensor, "M"],
    epsilon: float,
) -> Float[Tensor, ""]:
    r"""Return ``label_smoothed_cross_entropy(hidden @ table.T, targets, epsilon)``, its plain twin, in nats.

    A target below zero stands for no token: it has no loss and no gradient.

    Under autocast the products are computed as autocast says, and everything else in single precision; otherwise all
    is computed in the precision of ``hidden``.
    """
    device = hidden.device.type
    low = torch.is_autocast_enabled(device)
    dtype = torch.get_autocast_dtype(device) if low else hidden.dtype
    with torch.autocast(device, enabled=False):
        loss: Tensor = _ProjectedCrossEntropy.apply(  # type: ignore[no-untyped-call]
            hidden, table, targets, epsilon, dtype, torch.is_grad_enabled()
        )
        return loss


class _ProjectedCrossEntropy(torch.autograd.Function):
    r"""With :math:`p` the softmax of the logits, their gradient is :math:`p - \epsilon / V - (1 - \epsilon)\,[v = y]`."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        table: Tensor,
        targets: Tensor,
        epsilon: float,
        dtype: torch.dtype,
        wanted: bool,
    ) -> Tensor:
        x, words = hidden.to(dtype), table.to(dtype)
        exact = torch.promote_types(dtype, torch.float32)
        grad_x = torch.empty_like(x) if wanted else None
        grad_words = torch.zeros_like(words, dtype=exact) if wanted else None
        loss = torch.zeros((), dtype=exact, device=hidden.device)
        rows = max(FEWEST_ROWS, LOGITS // len(words))
        for start in range(0, len(x), rows):
            part = x[start : start + rows]
            partial_loss, grad = _into_gradient(
                part @ words.T, targets[start : start + rows], epsilon, exact, wanted
            )
            loss += partial_loss
            if grad_x is None or grad_words is None:
                continue
            torch.mm(grad, words, out=grad_x[start : start + rows])
            grad_words += grad.T @ part
        ctx.save_for_backward(grad_x, grad_words)
        ctx.dtypes = hidden.dtype, table.dtype
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        grad_x, grad_words = ctx.saved_tensors
        of_hidden, of_table = ctx.dtypes
        (scale,) = grad_outputs
        return grad_x.to(of_hidden) * scale, grad_words.to(of_table) * scale, *[None] * 4


def _into_gradient(
    logits: Float[Tensor, "M V"],
    targets: Int[Tensor, "M"],
    epsilon: float,
    exact: torch.dtype,
    wanted: bool,
) -> tuple[Float[Tensor, ""], Float[Tensor, "M V"]]:
    """Return the loss, summed, and its gradient, which may lie where the logits were."""
    if logits.device.type == "cpu" and logits.dtype in native.DTYPES and native.is_available():
        losses = torch.empty(len(logits))
        native.function("cross_entropy", logits.dtype)(
            *logits.shape, logits, targets, epsilon, int(wanted), losses
        )
        return losses.sum(), logits
    low, logits = logits.dtype, logits.to(exact)
    none = targets[:, None] < 0
    target = targets[:, None].clamp(min=0)
    logits.sub_(logits.amax(1, keepdim=True))  # changes no softmax, and no exponential overflows
    wished = (1 - epsilon) * logits.gather(1, target) + epsilon * logits.mean(1, keepdim=True)
    p = logits.exp_()
    total = p.sum(1, keepdim=True)
    loss = (total.log() - wished).masked_fill(none, 0.0).sum()
    if wanted:
        p.div_(total).sub_(epsilon / p.size(1))
        p.scatter_add_(1, target, p.new_full(target.shape, epsilon - 1)).masked_fill_(none, 0.0)
    return loss, p.to(low)
