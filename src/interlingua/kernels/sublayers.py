"""What a packed step is made of, each with its gradient: products of matrices, and one kernel between two of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from interlingua.kernels.devices import function
from interlingua.kernels.matrix_products import product, product_over_rows
from interlingua.kernels.packing import Packed

__all__ = [
    "Add",
    "AddNorm",
    "Attention",
    "Embed",
    "FeedForwardProducts",
    "How",
    "Key",
    "Noise",
    "Norm",
    "Product",
]

Key = int | Tensor
"""32 bits; on a card it may be where they lie."""
Noise = tuple[Key, Key, int, float]
"""Two keys, the threshold below which a draw of 32 bits drops, and the scale of what is kept."""


class Product(torch.autograd.Function):
    """x times the transposes of some weights, side by side: one product of matrices for several."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *weights: Tensor) -> Tensor:
        sizes = [len(weight) for weight in weights]
        if len(weights) == 1:
            joined = weights[0].to(x.dtype)
        else:  # put together in the type of x: in their own they would pass through memory twice
            joined = torch.cat(weights, out=x.new_empty(sum(sizes), x.size(1)))
        ctx.save_for_backward(x, joined)
        ctx.sizes = sizes
        return product(x, joined.T)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:
        x, joined = ctx.saved_tensors
        return product(grad, joined), *torch.split(product_over_rows(grad, x), ctx.sizes)


class Embed(torch.autograd.Function):
    """The rows of a table, scaled, plus positions."""

    @staticmethod
    def forward(
        ctx: Any,
        table: Tensor,
        positions: Tensor,
        side: Packed,
        scale: float,
        noise: Noise,
        dtype: torch.dtype,
    ) -> Tensor:
        device = table.device
        out = torch.empty(len(side.ids), table.size(1), dtype=dtype, device=device)
        function("embed_forward", device, dtype)(
            *out.shape, side.ids, side.places, table, positions.float(), scale, *noise, out
        )
        ctx.side, ctx.scale, ctx.noise, ctx.words = side, scale, noise, len(table)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grad = grad.contiguous()
        table = grad.new_zeros(ctx.words, grad.size(1), dtype=torch.float32)
        function("embed_backward", grad.device, grad.dtype)(
            *grad.shape, ctx.side.ids, grad, ctx.scale, *ctx.noise, table
        )
        return table, *[None] * 5


@dataclass(frozen=True, slots=True)
class How:
    """All that attention needs to know beside its tensors; widths are those of all heads together."""

    side: Packed
    other: Packed
    heads: int
    key_width: int
    value_width: int
    causal: bool
    noise: Noise


class Attention(torch.autograd.Function):
    """All heads of all sentences; ``q`` holds keys and values too when there is no ``kv``."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        kv: Tensor | None,
        query_bias: Tensor,
        key_bias: Tensor,
        value_bias: Tensor,
        how: How,
    ) -> Tensor:
        ctx.save_for_backward(q, kv, query_bias, key_bias, value_bias)
        ctx.how = how
        out = q.new_empty(len(q), how.value_width)
        _clear(out, how.side)
        function("attention_forward", q.device, q.dtype)(
            *_described(how, q, kv, (query_bias, key_bias, value_bias)), out, out.stride(0)
        )
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grad, how = grad.contiguous(), ctx.how
        q, kv, *biases = ctx.saved_tensors
        grad_q = torch.empty_like(q)
        _clear(grad_q, how.side)
        grad_kv = None
        if kv is not None:
            grad_kv = torch.empty_like(kv)
            _clear(grad_kv, how.other)
        widths = [len(bias) for bias in biases]
        grad_biases = biases[0].new_zeros(sum(widths)).split(widths)
        function("attention_backward", grad.device, grad.dtype)(
            *_described(how, q, kv, biases),
            *(grad, grad.stride(0), grad_q, *_views(grad_q, grad_kv, how.key_width), *grad_biases),
        )
        return grad_q, grad_kv, *grad_biases, None


def _clear(x: Tensor, side: Packed) -> None:
    """Write zeros behind the last token; the kernels of a card do so themselves, as only the card may know where that is."""
    if x.device.type == "cpu":
        x[side.count :] = 0


def _described(how: How, q: Tensor, kv: Tensor | None, biases: Sequence[Tensor]) -> tuple[Any, ...]:
    """Give the arguments that both directions of attention begin with."""
    key, value = _views(q, kv, how.key_width)
    return (
        *(len(how.side.offsets) - 1, how.heads),
        *(how.key_width // how.heads, how.value_width // how.heads),
        *(how.other.longest, how.side.offsets, how.other.offsets, q, key, value),
        *(q.stride(0), key.stride(0), value.stride(0), *biases),
        *(int(how.causal), *how.noise),
    )


class AddNorm(torch.autograd.Function):
    """LayerNorm(x + dropout(y + bias))."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        y: Tensor,
        bias: Tensor,
        gain: Tensor,
        shift: Tensor,
        epsilon: float,
        noise: Noise,
    ) -> Tensor:
        out, normal = torch.empty_like(x), torch.empty_like(x)
        inverse = x.new_empty(len(x), dtype=torch.float32)
        function("add_norm_forward", x.device, x.dtype)(
            *x.shape, x, y, bias, *noise, gain, shift, epsilon, out, normal, inverse
        )
        ctx.save_for_backward(normal, inverse, gain)
        ctx.noise = noise
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        normal, inverse, gain = ctx.saved_tensors
        grad = grad.contiguous()
        grad_x = torch.empty_like(grad)
        grad_y = torch.empty_like(grad) if ctx.noise[2] else None
        grad_gain, grad_shift, grad_bias = grad.new_zeros(3, grad.size(1), dtype=torch.float32)
        function("add_norm_backward", grad.device, grad.dtype)(
            *grad.shape,
            *(grad, normal, inverse, *ctx.noise, gain, grad_x, grad_y),
            *(grad_gain, grad_shift, grad_bias),
        )
        into_y = grad_x if grad_y is None else grad_y
        return grad_x, into_y, grad_bias, grad_gain, grad_shift, None, None


class Norm(torch.autograd.Function):
    """LayerNorm(x) of sums in single precision, as the next products want it."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, gain: Tensor, shift: Tensor, epsilon: float, dtype: torch.dtype
    ) -> Tensor:
        out, normal = torch.empty_like(x, dtype=dtype), torch.empty_like(x, dtype=dtype)
        inverse = x.new_empty(len(x), dtype=torch.float32)
        function("norm_forward", x.device, dtype)(
            *x.shape, x, gain, shift, epsilon, out, normal, inverse
        )
        ctx.save_for_backward(normal, inverse, gain)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        normal, inverse, gain = ctx.saved_tensors
        grad = grad.contiguous()
        grad_x = torch.empty_like(grad, dtype=torch.float32)
        grad_gain, grad_shift = grad.new_zeros(2, grad.size(1), dtype=torch.float32)
        function("norm_backward", grad.device, grad.dtype)(
            *grad.shape, grad, normal, inverse, gain, grad_x, grad_gain, grad_shift
        )
        return grad_x, grad_gain, grad_shift, None, None


class Add(torch.autograd.Function):
    """x + dropout(y + bias), in single precision."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, bias: Tensor, noise: Noise) -> Tensor:
        out = torch.empty_like(x)
        function("add_forward", y.device, y.dtype)(*x.shape, x, y, bias, *noise, out)
        ctx.noise, ctx.dtype = noise, y.dtype
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grad = grad.contiguous()
        grad_y = torch.empty_like(grad, dtype=ctx.dtype)
        grad_bias = grad.new_zeros(grad.size(1), dtype=torch.float32)
        add_backward = function("add_backward", grad.device, ctx.dtype)
        add_backward(*grad.shape, grad, *ctx.noise, grad_y, grad_bias)
        return grad, grad_y, grad_bias, None


class FeedForwardProducts(torch.autograd.Function):
    """dropout(max(0, x W1 + b1)) W2; the last bias is added with the residual."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, inner: Tensor, bias: Tensor, outer: Tensor, noise: Noise
    ) -> Tensor:
        inner, outer = inner.to(x.dtype), outer.to(x.dtype)
        hidden = product(x, inner.T)
        function("relu_forward", x.device, x.dtype)(*hidden.shape, hidden, bias, *noise)
        ctx.save_for_backward(x, hidden, inner, outer)
        ctx.scale = noise[3]
        return product(hidden, outer.T)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, hidden, inner, outer = ctx.saved_tensors
        grad_outer = product_over_rows(grad, hidden)
        grad_hidden = product(grad, outer)
        grad_bias = hidden.new_zeros(hidden.size(1), dtype=torch.float32)
        function("relu_backward", x.device, x.dtype)(
            *hidden.shape, hidden, grad_hidden, ctx.scale, grad_bias
        )
        return (
            product(grad_hidden, inner),
            product_over_rows(grad_hidden, x),
            grad_bias,
            grad_outer,
            None,
        )


def _views(q: Tensor, kv: Tensor | None, key_width: int) -> tuple[Tensor, Tensor]:
    """Find keys and values: behind the queries, or in a tensor of their own."""
    if kv is None:
        return q[:, key_width : 2 * key_width], q[:, 2 * key_width :]
    return kv[:, :key_width], kv[:, key_width:]
