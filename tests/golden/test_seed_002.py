"""The equations and numbers of seed 002, on the mathematics of the Transformer (Lee).

Where the text slips, the test holds us to the paper and shows what the slip would do; see docs/deviations.md.
"""

import itertools
import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.functional import jacobian

from interlingua.model.architecture import Architecture
from interlingua.model.attention import (
    MultiHeadAttention,
    attention_weights,
    scaled_dot_product_attention,
)
from interlingua.model.masks import look_ahead_mask
from interlingua.model.transformer import Transformer
from interlingua.training.objective import label_smoothed_cross_entropy

Array = NDArray[np.float64]


def head(x: Array) -> Tensor:
    return torch.from_numpy(x)[None, None]


def softmax(scores: Array) -> Array:
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def softmax_jacobian(s: Array, c: float) -> Array:
    """The seed's closed form: (diag(p) - p p^T) / C."""
    p = softmax(s / c)
    return (np.diag(p) - np.outer(p, p)) / c


def test_scaled_dot_product_attention_is_a_weighted_mean_of_values_for_each_of_m_queries() -> None:
    rng = np.random.default_rng(1)
    m, n, d_k, d_v = 4, 6, 3, 5
    q, k, v = (rng.standard_normal(shape) for shape in ((m, d_k), (n, d_k), (n, d_v)))
    ours = scaled_dot_product_attention(head(q), head(k), head(v), None)[0, 0].numpy()
    for i in range(m):
        raised = [math.exp(q[i] @ k[j] / math.sqrt(d_k)) for j in range(n)]
        expected = sum(raised[j] / sum(raised) * v[j] for j in range(n))
        np.testing.assert_allclose(ours[i], expected, rtol=1e-12)


def test_the_closer_a_key_is_in_angle_the_more_its_value_counts() -> None:
    query = np.array([[1.0, 0.0]])
    angles = np.linspace(0, math.pi, 7)
    keys = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    weights = attention_weights(head(query), head(keys), None)[0, 0, 0]
    assert (weights.diff() < 0).all()


@pytest.mark.parametrize("length", [4, 8, 16, 32, 64])
def test_the_jacobian_of_the_softmax_is_the_closed_form_with_and_without_scaling(
    length: int,
) -> None:
    s = np.random.default_rng(length).standard_normal(length) * math.sqrt(length)
    # With the identity as keys, the weights of a query are the softmax of the query over sqrt(d_k).
    identity = head(np.eye(length))

    def ours(query: Tensor) -> Tensor:
        return attention_weights(query.view(1, 1, 1, -1), identity, None).flatten()

    root = math.sqrt(length)
    scaled = jacobian(ours, torch.from_numpy(s))
    np.testing.assert_allclose(scaled, softmax_jacobian(s, root), rtol=1e-9, atol=1e-14)
    unscaled = jacobian(lambda query: ours(query * root), torch.from_numpy(s))
    np.testing.assert_allclose(unscaled, softmax_jacobian(s, 1.0), rtol=1e-9, atol=1e-14)


def test_footnote_4_a_dot_product_of_unit_normals_has_variance_d_k() -> None:
    rng = np.random.default_rng(0)
    for d_k in (4, 64):
        products = (rng.standard_normal((20_000, d_k)) * rng.standard_normal((20_000, d_k))).sum(1)
        assert abs(products.var() / d_k - 1) < 0.05


def test_scaling_moves_the_typical_entry_of_the_jacobian_up_and_its_norm_down() -> None:
    """The seed says "larger values overall": true of most entries, false of their sum of squares."""
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(200):
        s = rng.standard_normal(32) * math.sqrt(32)
        draws.append((softmax_jacobian(s, 1.0), softmax_jacobian(s, math.sqrt(32))))
    larger_median = [np.median(abs(a)) < np.median(abs(b)) for a, b in draws]
    larger_variance = [a.std() > b.std() for a, b in draws]
    larger_norm = [np.linalg.norm(a) > np.linalg.norm(b) for a, b in draws]
    assert all(larger_median)
    assert np.mean(larger_variance) > 0.7
    assert np.mean(larger_norm) > 0.7


def test_the_numbers_of_the_exponential_example() -> None:
    def weights(values: list[float]) -> list[float]:
        query = torch.tensor(values, dtype=torch.float64).view(1, 1, 1, 2) * math.sqrt(2)
        return attention_weights(query, head(np.eye(2)), None).flatten().tolist()

    assert [round(w, 2) for w in weights([1, 2])] == [0.27, 0.73]
    small, large = weights([10, 20])
    # The text has 4e-5 and, for e^10, 22,046.5.
    assert f"{small:.2e}" == "4.54e-05"
    assert f"{large:.4f}" == "1.0000"
    assert round(math.exp(10), 1) == 22026.5
    assert round(math.exp(20), 2) == 485165195.41


@torch.no_grad()
def test_multi_head_attention_gives_m_responses_in_the_width_of_the_model() -> None:
    torch.manual_seed(0)
    heads, d_model, d_k, d_v, m, n = 3, 8, 5, 4, 6, 7
    layer = MultiHeadAttention(d_model, heads, d_k, d_v).double()
    q = torch.randn(1, m, d_model, dtype=torch.float64)
    k = torch.randn(1, n, d_model, dtype=torch.float64)
    responses = []
    for i in range(heads):
        keys, values = slice(i * d_k, (i + 1) * d_k), slice(i * d_v, (i + 1) * d_v)
        response = scaled_dot_product_attention(
            layer.query(q)[None, ..., keys],
            layer.key(k)[None, ..., keys],
            layer.value(k)[None, ..., values],
            None,
        )
        assert response.shape == (1, 1, m, d_v)
        responses.append(response[0])
    expected = layer.output(torch.cat(responses, dim=-1))
    assert expected.shape == (1, m, d_model)
    torch.testing.assert_close(layer(q, k, None), expected)


def test_the_mask_is_zero_up_to_and_with_the_diagonal_so_a_word_sees_itself() -> None:
    rng = np.random.default_rng(2)
    q, k = rng.standard_normal((2, 5, 4))
    mask = np.where(np.tri(5) == 1, 0.0, -np.inf)
    ours = attention_weights(head(q), head(k), look_ahead_mask(5)[None, None])[0, 0]
    np.testing.assert_allclose(ours, softmax(q @ k.T / 2 + mask), rtol=1e-12)
    assert ours[0, 0] == 1.0
    assert (ours.diagonal() > 0).all()


def tiny(vocabulary: int) -> Transformer:
    torch.manual_seed(3)
    architecture = Architecture(
        encoder_layers=2, decoder_layers=2, d_model=8, d_ff=8, heads=2, max_positions=8
    )
    model = Transformer(architecture, source_vocabulary=vocabulary, target_vocabulary=vocabulary)
    return model.double().eval()


@torch.no_grad()
def test_the_probability_of_a_target_is_the_product_over_its_words() -> None:
    model, source, start = tiny(4), torch.tensor([[1, 2, 3]]), 1
    total = 0.0
    for target in itertools.product(range(4), repeat=3):
        seen = torch.tensor([[start, *target[:-1]]])
        log_p = model(source, seen).log_softmax(-1)[0]
        # Asked one word at a time, as at inference, the words have the same probabilities.
        for i in range(3):
            prefix = model(source, seen[:, : i + 1]).log_softmax(-1)[0, -1]
            torch.testing.assert_close(prefix, log_p[i])
        total += math.exp(sum(log_p[i, word].item() for i, word in enumerate(target)))
    assert math.isclose(total, 1.0, rel_tol=1e-10)


@torch.no_grad()
def test_every_decoder_layer_reads_the_same_output_of_the_encoder() -> None:
    model = tiny(6)
    seen: list[Tensor] = []
    for layer in model.decoder.layers:
        layer.cross_attention.key.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
        layer.cross_attention.value.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    memory = model.encode(torch.tensor([[1, 2, 3]]))
    model.decode(torch.tensor([[1, 4]]), memory)
    assert len(seen) == 4
    assert all(each is memory.vectors for each in seen)


def test_label_smoothing_mixes_the_truth_with_the_uniform_distribution() -> None:
    rng = np.random.default_rng(4)
    vocabulary, epsilon = 7, 0.1
    logits, targets = rng.standard_normal((3, vocabulary)), np.array([0, 6, 2])
    one_hot, uniform = np.eye(vocabulary)[targets], np.full((3, vocabulary), 1 / vocabulary)
    softened = (1 - epsilon) * one_hot + epsilon * uniform
    expected = -(softened * np.log(softmax(logits))).sum()
    ours = label_smoothed_cross_entropy(
        torch.from_numpy(logits), torch.from_numpy(targets), epsilon
    )
    assert math.isclose(ours.item(), expected, rel_tol=1e-12)
