"""Low-rank adaptation: Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models"."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

__all__ = ["FROZEN", "LORA_A", "LORA_B", "LowRankLinear", "add_low_rank"]

FROZEN, LORA_A, LORA_B = ".frozen", ".lora_a", ".lora_b"
"""What the names of the parameters of an adapted map end with: W, A and B."""


class LowRankLinear(nn.Linear):
    r"""A linear map whose matrix stays, and which learns a difference of low rank.

    .. math:: W + \frac{\alpha}{r} B A

    W is (out, in) and frozen, as is the bias; A is (r, in), drawn at random; B is (out, r) and begins as zero, so that
    the map begins as what it was. Whoever asks for ``weight``, as the kernels do, gets the sum.

    Source: section 4.1, equation 3.
    """

    def __init__(self, plain: nn.Linear, rank: int, alpha: float) -> None:
        nn.Module.__init__(self)  # not nn.Linear's: there is no other matrix to make
        self.in_features, self.out_features = plain.in_features, plain.out_features
        self.scale = alpha / rank
        self.frozen = plain.weight.requires_grad_(False)
        self.bias = plain.bias
        if plain.bias is not None:
            plain.bias.requires_grad_(False)
        self.lora_a = nn.Parameter(plain.weight.new_empty(rank, plain.in_features))
        self.lora_b = nn.Parameter(plain.weight.new_zeros(plain.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_a, a=math.sqrt(5))

    @property
    def weight(self) -> Float[Tensor, "O I"]:  # type: ignore[override]
        """The matrix with its difference, in the precision of the parameters whatever autocast says."""
        with torch.autocast(self.frozen.device.type, enabled=False):
            return torch.addmm(self.frozen, self.lora_b, self.lora_a, alpha=self.scale)


def add_low_rank(
    weight: Float[Tensor, "O I"], a: Float[Tensor, "R I"], b: Float[Tensor, "O R"], scale: float
) -> Float[Tensor, "O I"]:
    """Return the matrix with its difference, for a model without adapters; ``scale`` is alpha / r."""
    return weight.add(b @ a, alpha=scale)
