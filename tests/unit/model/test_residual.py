import torch
from torch import Tensor

from interlingua.model.residual import Residual


def double(x: Tensor) -> Tensor:
    return 2 * x


def test_post_normalises_the_sum_and_pre_what_goes_into_the_sublayer() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8, dtype=torch.float64)
    post, pre = Residual(8, 0.0, "post").double(), Residual(8, 0.0, "pre").double()
    torch.testing.assert_close(post(x, double), post.norm(x + 2 * x))
    torch.testing.assert_close(pre(x, double), x + 2 * pre.norm(x))


def test_the_residual_itself_is_never_dropped() -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 4, 8)
    around = Residual(8, 0.5, "pre").train()
    added = around(x, torch.ones_like) - x
    is_zero, is_scaled = added.abs() < 1e-6, (added - 2.0).abs() < 1e-3
    assert (is_zero | is_scaled).all()
    assert is_zero.any()
    assert is_scaled.any()


def test_evaluation_drops_nothing() -> None:
    x = torch.randn(1, 4, 8)
    around = Residual(8, 0.9, "post").eval()
    assert torch.equal(around(x, double), around(x, double))


def test_normalisation_is_over_features_so_each_position_has_mean_0_and_variance_1() -> None:
    x = 5 + 3 * torch.randn(2, 3, 64, dtype=torch.float64)
    y = Residual(64, 0.0, "post").double()(x, torch.zeros_like)
    torch.testing.assert_close(y.mean(-1), torch.zeros(2, 3, dtype=torch.float64))
    variance = y.var(-1, correction=0)
    torch.testing.assert_close(variance, torch.ones_like(variance), rtol=1e-4, atol=0)


def test_a_constant_vector_is_normalised_to_zeros_not_nan() -> None:
    y = Residual(8, 0.0, "post")(torch.ones(1, 2, 8), torch.zeros_like)
    assert not y.any()
