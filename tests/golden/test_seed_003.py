"""The worked NumPy example of seed 003 (CSE 465, lecture 14; its code by Cristina 2022) and its equations.

Where the text slips, the test holds us to the paper; see docs/deviations.md.
"""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from interlingua.model.architecture import PRESETS, Architecture
from interlingua.model.attention import attention_weights, scaled_dot_product_attention
from interlingua.model.residual import Residual
from interlingua.model.transformer import Transformer

Array = NDArray[np.float64]

WORDS = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])

# What the seed's code prints with NumPy's legacy generator and seed 42 (its text leaves the output out).
PRINTED = """\
[[0.98522025 1.74174051 0.75652026]
 [0.90965265 1.40965265 0.5       ]
 [0.99851226 1.75849334 0.75998108]
 [0.99560386 1.90407309 0.90846923]]"""


def worked_example() -> tuple[Array, Array, Array]:
    """Queries, keys and values of the seed's four words."""
    random = np.random.RandomState(42)
    w_q, w_k, w_v = (random.randint(3, size=(3, 3)) for _ in range(3))
    return (WORDS @ w_q).astype(float), (WORDS @ w_k).astype(float), (WORDS @ w_v).astype(float)


def head(x: Array) -> Tensor:
    return torch.from_numpy(x)[None, None]


def test_the_worked_example_prints_the_attention_that_we_compute() -> None:
    query, key, value = worked_example()
    raised = np.exp(query @ key.T / key.shape[1] ** 0.5)
    attention = raised / raised.sum(axis=1, keepdims=True) @ value
    assert str(attention) == PRINTED
    ours = scaled_dot_product_attention(head(query), head(key), head(value), None)[0, 0].numpy()
    np.testing.assert_allclose(ours, attention, rtol=1e-14)
    assert str(ours.round(8)) == PRINTED


def test_the_weights_of_one_word_sum_to_one_over_all_words_including_itself() -> None:
    query, key, _ = worked_example()
    weights = attention_weights(head(query), head(key), None)[0, 0]
    assert weights.shape == (4, 4)
    np.testing.assert_allclose(weights.sum(1), np.ones(4), rtol=1e-14)
    assert weights.diagonal().min() > 0


def test_a_query_is_a_row_of_the_projected_words() -> None:
    """The text says "each column"; X W_q of (N, d) and (d, e) has one row a token."""
    x, w_q = np.arange(8.0).reshape(4, 2), np.arange(10.0).reshape(2, 5)
    projected = x @ w_q
    assert projected.shape == (4, 5)
    np.testing.assert_array_equal(projected[2], x[2] @ w_q)


def test_a_sublayer_is_normalised_after_its_input_is_added() -> None:
    torch.manual_seed(0)
    around, x = Residual(6, 0.0, "post").double(), torch.randn(1, 3, 6, dtype=torch.float64)
    inner = torch.nn.Linear(6, 6).double()
    total = x + inner(x)
    mean, variance = total.mean(-1, keepdim=True), total.var(-1, correction=0, keepdim=True)
    with torch.no_grad():
        torch.testing.assert_close(
            around(x, inner), (total - mean) / (variance + around.norm.eps).sqrt()
        )


def test_every_sublayer_keeps_the_width_of_the_embedding() -> None:
    architecture = Architecture(
        encoder_layers=2, decoder_layers=2, d_model=12, d_ff=30, heads=3, max_positions=8
    )
    model = Transformer(architecture, source_vocabulary=9, target_vocabulary=9).eval()
    shapes: list[tuple[int, ...]] = []
    for module in model.modules():
        if isinstance(module, Residual):
            module.register_forward_hook(lambda _, args, output: shapes.append(tuple(output.shape)))
    model(torch.tensor([[1, 2, 3]]), torch.tensor([[1, 2]]))
    assert shapes == [(1, 3, 12)] * 4 + [(1, 2, 12)] * 6


def test_the_original_has_six_layers_of_512() -> None:
    base = PRESETS["base"]
    assert (base.encoder_layers, base.decoder_layers, base.d_model) == (6, 6, 512)


def test_layers_of_one_stack_have_weights_of_their_own() -> None:
    architecture = Architecture(
        encoder_layers=3, decoder_layers=1, d_model=8, d_ff=8, heads=2, max_positions=8
    )
    model = Transformer(architecture, source_vocabulary=5, target_vocabulary=5)
    first, second, third = (layer.self_attention.query.weight for layer in model.encoder.layers)
    assert not torch.equal(first, second)
    assert not torch.equal(second, third)


def test_attention_alone_does_not_see_the_order_of_words() -> None:
    query, key, value = worked_example()
    straight = scaled_dot_product_attention(head(query), head(key), head(value), None)
    order = [2, 0, 3, 1]
    shuffled = scaled_dot_product_attention(head(query), head(key[order]), head(value[order]), None)
    torch.testing.assert_close(straight, shuffled)
    assert math.isclose(straight.sum().item(), shuffled.sum().item(), rel_tol=1e-12)
