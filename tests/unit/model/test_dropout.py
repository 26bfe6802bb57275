import pytest
import torch

from interlingua.model.dropout import Dropout


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5, 0.9])
def test_the_share_of_zeros_is_the_probability_and_the_mean_stays(probability: float) -> None:
    torch.manual_seed(0)
    x = torch.ones(400, 1001)
    dropped = Dropout(probability).train()(x)
    share = (dropped == 0).double().mean().item()
    # Five standard deviations of a binomial share, plus the rounding of the probability.
    slack = 5 * (probability * (1 - probability) / x.numel()) ** 0.5 + 2**-17
    assert abs(share - probability) < slack
    kept = dropped[dropped != 0]
    torch.testing.assert_close(
        kept, torch.full_like(kept, 1 / (1 - probability)), rtol=2e-4, atol=0
    )


def test_neighbours_are_dropped_independently() -> None:
    """Four decisions come out of one draw: none may follow from another."""
    torch.manual_seed(1)
    zeros = (Dropout(0.5).train()(torch.ones(200_000)) == 0).double().view(-1, 4)
    correlation = torch.corrcoef(zeros.T) - torch.eye(4, dtype=torch.float64)
    assert correlation.abs().max() < 0.025


def test_a_seed_repeats_what_is_dropped_and_another_does_not() -> None:
    x, dropout = torch.ones(1000), Dropout(0.5).train()
    runs = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        runs.append(dropout(x))
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])


def test_evaluation_and_a_probability_of_zero_return_the_tensor_itself() -> None:
    x = torch.randn(3, 4)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0).train()(x) is x


def test_the_gradient_passes_where_the_value_passed() -> None:
    torch.manual_seed(2)
    x = torch.ones(5, 7, dtype=torch.float64, requires_grad=True)
    y = Dropout(0.4).train()(x)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


@pytest.mark.parametrize("shape", [(0,), (1,), (3,), (2, 0, 3), (5, 1, 2)])
def test_any_shape_keeps_its_shape(shape: tuple[int, ...]) -> None:
    x = torch.ones(shape)
    assert Dropout(0.5).train()(x).shape == x.shape
    assert Dropout(0.5).train()(x.mT if x.dim() > 1 else x).numel() == x.numel()


def test_a_probability_next_to_one_still_gives_finite_numbers() -> None:
    assert Dropout(1 - 1e-9).train()(torch.ones(1000)).isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_the_dtype_stays(dtype: torch.dtype) -> None:
    assert Dropout(0.5).train()(torch.ones(8, dtype=dtype)).dtype == dtype
