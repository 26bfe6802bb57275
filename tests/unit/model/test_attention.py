import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from interlingua.model.attention import (
    MultiHeadAttention,
    attention_weights,
    scaled_dot_product_attention,
)


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def test_attention_equals_that_of_torch_under_a_mask() -> None:
    q, k, v = random(2, 3, 4, 5), random(2, 3, 6, 5), random(2, 3, 6, 7)
    mask = torch.rand(2, 1, 4, 6) > 0.3
    mask[..., 0] = True
    theirs = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    torch.testing.assert_close(scaled_dot_product_attention(q, k, v, mask), theirs)


def test_a_hidden_key_has_a_weight_of_exactly_zero() -> None:
    mask = torch.tensor([True, False, True]).view(1, 1, 1, 3)
    weights = attention_weights(100 * random(2, 1, 4, 5), 100 * random(2, 1, 3, 5), mask)
    assert (weights[..., 1] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_a_row_with_nothing_to_look_at_gives_zeros_and_finite_gradients(dtype: torch.dtype) -> None:
    q, k, v = (random(1, 2, 3, 4).to(dtype).requires_grad_() for _ in range(3))
    mask = torch.ones(1, 1, 3, 3, dtype=torch.bool)
    mask[0, 0, 1] = False
    output = scaled_dot_product_attention(q, k, v, mask)
    assert not output[:, :, 1].any()
    assert output[:, :, 0].any()
    output.sum().backward()
    for each in (q, k, v):
        assert each.grad.isfinite().all()
    assert not q.grad[:, :, 1].any()


def test_everything_masked_gives_zeros_and_no_gradient() -> None:
    q, k, v = (random(1, 1, 2, 4).requires_grad_() for _ in range(3))
    output = scaled_dot_product_attention(q, k, v, torch.zeros(1, 1, 1, 2, dtype=torch.bool))
    output.square().sum().backward()
    assert not output.any()
    assert not any(each.grad.any() for each in (q, k, v))


def test_scores_too_large_for_an_exponential_are_handled() -> None:
    q = torch.full((1, 1, 1, 4), 1e4)
    k = torch.stack((torch.full((4,), 1e4), torch.full((4,), -1e4)))[None, None]
    assert attention_weights(q, k, None).tolist() == [[[[1.0, 0.0]]]]
    one_visible = torch.tensor([False, True]).view(1, 1, 1, 2)
    assert attention_weights(q, k, one_visible).tolist() == [[[[0.0, 1.0]]]]


def test_gradients_equal_finite_differences() -> None:
    mask = torch.tensor([[True, False, True], [True, True, True]]).view(1, 1, 2, 3)
    inputs = tuple(random(1, 2, n, 3).requires_grad_() for n in (2, 3, 3))
    assert gradcheck(lambda q, k, v: scaled_dot_product_attention(q, k, v, mask), inputs)


def test_a_wrong_shape_is_refused_by_the_checks_of_the_tests() -> None:
    with pytest.raises(Exception, match="key"):
        attention_weights(random(1, 2, 3, 4), random(1, 2, 3, 5), None)


def test_queries_and_memory_differ_in_length_and_d_k_from_d_v() -> None:
    layer = MultiHeadAttention(10, 3, 4, 7).double()
    assert layer(random(2, 5, 10), random(2, 8, 10), None).shape == (2, 5, 10)
    shapes = {name: tuple(p.shape) for name, p in layer.named_parameters() if p.dim() == 2}
    assert shapes == {
        "query.weight": (12, 10),
        "key.weight": (12, 10),
        "value.weight": (21, 10),
        "output.weight": (10, 21),
    }


def test_an_empty_memory_can_be_projected() -> None:
    key, value = MultiHeadAttention(8, 2, 3, 5).keys_and_values(torch.zeros(4, 0, 8))
    assert (key.shape, value.shape) == ((4, 2, 0, 3), (4, 2, 0, 5))


def test_dropout_falls_on_the_weights_in_training_only() -> None:
    layer = MultiHeadAttention(8, 2, 4, 4, attention_dropout=0.5).double()
    x = random(1, 6, 8)
    assert torch.equal(layer.eval()(x, x, None), layer(x, x, None))
    seen: list[Tensor] = []
    layer.dropout.register_forward_hook(lambda _, args, output: seen.append(output))
    layer.train()(x, x, None)
    assert (seen[0] == 0).any()


def test_a_variant_overrides_how_queries_and_keys_are_compared() -> None:
    class LookAtTheFirst(MultiHeadAttention):
        def weigh(self, query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
            weights = query.new_zeros(*query.shape[:3], key.size(2))
            weights[..., 0] = 1.0
            return weights

    layer = LookAtTheFirst(8, 2, 4, 4)
    memory = torch.randn(2, 5, 8)
    output = layer(torch.randn(2, 3, 8), memory, None)
    expected = layer.output(layer.value(memory[:, :1])).expand(2, 3, 8)
    torch.testing.assert_close(output, expected)
