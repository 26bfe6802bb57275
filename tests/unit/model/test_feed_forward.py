import pytest
import torch
from torch.nn import functional

from interlingua.model.feed_forward import FeedForward


def layer(activation: str) -> FeedForward:
    torch.manual_seed(0)
    return FeedForward(6, 10, activation).double()


@pytest.mark.parametrize("activation", ["relu", "gelu", "swish", "swiglu"])
def test_every_position_is_transformed_on_its_own(activation: str) -> None:
    ffn, x = layer(activation), torch.randn(2, 5, 6, dtype=torch.float64)
    whole = ffn(x)
    for b in range(2):
        for t in range(5):
            torch.testing.assert_close(ffn(x[b : b + 1, t : t + 1])[0, 0], whole[b, t])


def test_gelu_is_the_exact_one() -> None:
    ffn, x = layer("gelu"), torch.randn(1, 3, 6, dtype=torch.float64)
    inner = ffn.inner(x)
    exact = inner * 0.5 * (1 + torch.erf(inner / 2**0.5))
    torch.testing.assert_close(ffn(x), ffn.outer(exact))


def test_swiglu_gates_a_linear_map_by_a_sigmoid_of_another() -> None:
    ffn, x = layer("swiglu"), torch.randn(1, 3, 6, dtype=torch.float64)
    gate = ffn.gate(x)
    torch.testing.assert_close(ffn(x), ffn.outer(gate * torch.sigmoid(gate) * ffn.inner(x)))


def test_only_swiglu_has_a_third_matrix() -> None:
    assert layer("relu").gate is None
    assert layer("gelu").gate is None
    assert sum(p.numel() for p in layer("swiglu").parameters()) == 2 * (6 * 10 + 10) + 10 * 6 + 6


def test_activation_dropout_falls_between_the_two_maps() -> None:
    torch.manual_seed(0)
    ffn = FeedForward(6, 10, "relu", activation_dropout=0.9).train()
    seen: list[torch.Tensor] = []
    ffn.outer.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    x = torch.randn(1, 30, 6)
    ffn(x)
    positive = functional.relu(ffn.inner(x)) > 0
    assert (seen[0][positive] == 0).double().mean() > 0.8
