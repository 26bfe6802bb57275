"""The equations of seed 000, "Transformers: an in-depth tutorial, part I" (Cornei 2023), by its numbers.

Where the text slips, the test holds us to the paper and shows what the slip would do; see docs/deviations.md.
"""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from interlingua.model.attention import (
    MultiHeadAttention,
    attention_weights,
    scaled_dot_product_attention,
)
from interlingua.model.feed_forward import FeedForward
from interlingua.model.masks import look_ahead_mask
from interlingua.model.positions import sinusoidal_table
from interlingua.model.residual import Residual

Array = NDArray[np.float64]
RNG = np.random.default_rng(0)


def softmax(scores: Array) -> Array:
    raised = np.exp(scores)
    return raised / raised.sum(-1, keepdims=True)


def head(x: Array) -> Tensor:
    """One sentence, one head: (T, K) -> (1, 1, T, K)."""
    return torch.from_numpy(x)[None, None]


def weights_of(layer: nn.Linear) -> Array:
    return layer.weight.detach().numpy().T


def test_equations_8_to_10_attention_with_its_own_d_k_d_v_and_lengths() -> None:
    queries, keys, d_model, d_k, d_v = 3, 5, 8, 4, 6
    e_q, e_k = RNG.standard_normal((queries, d_model)), RNG.standard_normal((keys, d_model))
    w_q, w_k = RNG.standard_normal((2, d_model, d_k))
    w_v = RNG.standard_normal((d_model, d_v))
    q, k, v = e_q @ w_q, e_k @ w_k, e_k @ w_v
    alpha = softmax(q @ k.T / math.sqrt(d_k))
    y = scaled_dot_product_attention(head(q), head(k), head(v), None)[0, 0]
    assert y.shape == (queries, d_v)
    np.testing.assert_allclose(attention_weights(head(q), head(k), None)[0, 0], alpha, rtol=1e-12)
    np.testing.assert_allclose(y, alpha @ v, rtol=1e-12)


def test_section_2_3_2_in_words_divides_by_d_k_and_would_look_elsewhere() -> None:
    q, k = RNG.standard_normal((2, 3, 16))
    ours = attention_weights(head(q), head(k), None)[0, 0].numpy()
    assert np.abs(ours - softmax(q @ k.T / 16)).max() > 0.05


def test_equations_4_to_6_every_query_spreads_a_weight_of_one() -> None:
    q, k = 5 * RNG.standard_normal((2, 7, 3))
    rows = attention_weights(head(q), head(k), None)[0, 0]
    np.testing.assert_allclose(rows.sum(-1), np.ones(7), rtol=1e-12)
    assert rows.min() > 0


def test_equation_6_as_printed_is_no_distribution() -> None:
    scores = np.array([1.0, 2.0])
    assert np.exp(scores).sum() / scores.sum() > 3.3


def test_equation_7_a_query_becomes_the_mean_of_values_by_its_weights() -> None:
    x, query = RNG.standard_normal((4, 6)), RNG.standard_normal((1, 6))
    # Here the queries are not scaled: what divides by sqrt(d_k) is undone first.
    alpha = softmax(query @ x.T)
    ours = scaled_dot_product_attention(head(query * math.sqrt(6)), head(x), head(x), None)[0, 0]
    np.testing.assert_allclose(ours, alpha @ x, rtol=1e-12)


def test_figure_16_an_added_minus_infinity_above_the_diagonal_is_our_look_ahead_mask() -> None:
    q, k = RNG.standard_normal((2, 5, 4))
    mask = np.triu(np.full((5, 5), -np.inf), k=1)
    # The figure adds the mask before scaling; minus infinity is the same on either side of a division.
    expected = softmax((q @ k.T + mask) / math.sqrt(4))
    ours = attention_weights(head(q), head(k), look_ahead_mask(5)[None, None])[0, 0]
    np.testing.assert_allclose(ours, expected, rtol=1e-12)
    assert not ours.triu(1).any()


def test_section_2_3_3_heads_are_concatenated_and_projected_to_d_model() -> None:
    d_model, heads, d_k, d_v = 10, 3, 4, 2
    layer = MultiHeadAttention(d_model, heads, d_k, d_v).double()
    e_q, e_k = RNG.standard_normal((6, d_model)), RNG.standard_normal((5, d_model))
    q = e_q @ weights_of(layer.query) + layer.query.bias.detach().numpy()
    k = e_k @ weights_of(layer.key) + layer.key.bias.detach().numpy()
    v = e_k @ weights_of(layer.value) + layer.value.bias.detach().numpy()
    parts = []
    for i in range(heads):
        key_columns, value_columns = slice(i * d_k, (i + 1) * d_k), slice(i * d_v, (i + 1) * d_v)
        alpha = softmax(q[:, key_columns] @ k[:, key_columns].T / math.sqrt(d_k))
        parts.append(alpha @ v[:, value_columns])
    joined = np.concatenate(parts, axis=1)
    assert joined.shape == (6, heads * d_v)
    expected = joined @ weights_of(layer.output) + layer.output.bias.detach().numpy()
    with torch.no_grad():
        ours = layer(torch.from_numpy(e_q)[None], torch.from_numpy(e_k)[None], None)[0]
    np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-12)


def test_equations_1_and_2_sines_and_cosines_alternate_with_frequencies_from_one() -> None:
    length, d_model = 50, 12
    table = sinusoidal_table(length, d_model).numpy()
    for pair in range(d_model // 2):
        angle = np.arange(length) / 10000 ** (2 * pair / d_model)
        np.testing.assert_allclose(table[:, 2 * pair], np.sin(angle), atol=1e-12)
        np.testing.assert_allclose(table[:, 2 * pair + 1], np.cos(angle), atol=1e-12)


def test_equation_2_as_printed_counts_from_one_and_has_no_frequency_one() -> None:
    d_model = 12
    printed = [10000 ** (-2 * k / d_model) for k in range(1, d_model // 2 + 1)]
    assert math.isclose(printed[-1], 1 / 10000)
    assert 1.0 not in printed
    ours = sinusoidal_table(2, d_model)[1, 0::2].asin()
    assert math.isclose(ours[0].item(), 1.0)
    assert math.isclose(ours[-1].item(), 10000 ** (-10 / 12))


def test_requirement_1_every_position_has_an_encoding_of_its_own_whatever_the_length() -> None:
    table = sinusoidal_table(2048, 16)
    distance = torch.cdist(table, table) + torch.eye(2048, dtype=torch.float64)
    assert distance.min() > 1e-2
    assert torch.equal(sinusoidal_table(10, 16), table[:10])


def test_requirement_2_encodings_are_bounded_and_all_of_one_length() -> None:
    table = sinusoidal_table(5000, 32)
    assert table.abs().max() <= 1.0
    np.testing.assert_allclose(table.norm(dim=1), np.full(5000, math.sqrt(16)), rtol=1e-12)


def test_relative_positions_are_one_linear_map_whatever_the_position() -> None:
    d_model, offset = 16, 7
    table = sinusoidal_table(300, d_model).numpy()
    rotation = np.zeros((d_model, d_model))
    for i in range(d_model // 2):
        angle = offset / 10000 ** (2 * i / d_model)
        c, s = math.cos(angle), math.sin(angle)
        rotation[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[c, s], [-s, c]]
    np.testing.assert_allclose(table[offset:], table[:-offset] @ rotation.T, atol=1e-12)


def test_the_dot_product_of_two_positions_depends_on_their_distance_only() -> None:
    table = sinusoidal_table(200, 32).numpy()
    products = table @ table.T
    for distance in range(199):
        diagonal = np.diagonal(products, distance)
        expected = sum(math.cos(distance / 10000 ** (2 * i / 32)) for i in range(16))
        np.testing.assert_allclose(diagonal, expected, atol=1e-10)
    assert (np.diff(products[0, :5]) < 0).all()


def test_section_2_4_feed_forward_is_two_linear_maps_with_relu_between() -> None:
    layer = FeedForward(6, 9).double()
    x = RNG.standard_normal((4, 6))
    hidden = np.maximum(0, x @ weights_of(layer.inner) + layer.inner.bias.detach().numpy())
    expected = hidden @ weights_of(layer.outer) + layer.outer.bias.detach().numpy()
    with torch.no_grad():
        ours = layer(torch.from_numpy(x)[None])[0]
    np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-12)


def test_equations_10_to_12_normalise_the_features_of_each_token_after_the_residual() -> None:
    around = Residual(8, 0.0, "post").double()
    gamma, beta = RNG.standard_normal((2, 8))
    with torch.no_grad():
        around.norm.weight.copy_(torch.from_numpy(gamma))
        around.norm.bias.copy_(torch.from_numpy(beta))
    x = RNG.standard_normal((3, 8))
    total = x + 2 * x**3
    mean, variance = total.mean(1, keepdims=True), total.var(1, keepdims=True)
    expected = gamma * (total - mean) / np.sqrt(variance + around.norm.eps) + beta
    with torch.no_grad():
        ours = around(torch.from_numpy(x)[None], lambda y: 2 * y**3)[0]
    np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-12)


def test_equations_10_to_12_as_printed_would_let_tokens_see_each_other() -> None:
    x = RNG.standard_normal((4, 8))
    changed = x.copy()
    changed[3] += 1.0

    def over_tokens(tokens: Array) -> Array:
        return (tokens - tokens.mean(0)) / tokens.std(0)

    assert np.abs(over_tokens(x)[0] - over_tokens(changed)[0]).max() > 0.1
    around = Residual(8, 0.0, "post").double()
    with torch.no_grad():
        ours = [around(torch.from_numpy(each)[None], lambda y: y)[0, 0] for each in (x, changed)]
    assert torch.equal(ours[0], ours[1])
