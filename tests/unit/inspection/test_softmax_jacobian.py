"""The derivative of softmax, as in seed 002 and as autograd finds it."""

import numpy as np
import pytest
import torch

from interlingua.inspection.softmax_jacobian import (
    SIZES,
    draw_softmax_jacobian,
    random_scores,
    softmax_jacobian,
)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scaled", [False, True])
def test_it_equals_the_formula_and_autograd(size: int, scaled: bool) -> None:
    scale = float(np.sqrt(size)) if scaled else 1.0
    scores = random_scores(size)
    found = softmax_jacobian(scores, scale)
    weights = np.exp(scores / scale) / np.exp(scores / scale).sum()
    np.testing.assert_allclose(
        found, (np.diag(weights) - np.outer(weights, weights)) / scale, atol=1e-15
    )
    expected = torch.autograd.functional.jacobian(
        lambda s: (s / scale).softmax(-1), torch.from_numpy(scores)
    )
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-14)


def test_rows_and_columns_sum_to_zero() -> None:
    found = softmax_jacobian(random_scores(32), 2.0)
    np.testing.assert_allclose(found.sum(0), 0.0, atol=1e-15)
    np.testing.assert_array_equal(found, found.T)


def test_great_scores_do_not_overflow() -> None:
    found = softmax_jacobian(np.array([1000.0, 1001.0, -1000.0]))
    assert np.isfinite(found).all()
    assert found[0, 0] == pytest.approx(np.e / (1 + np.e) ** 2)


def test_scores_have_the_variance_of_a_dot_product() -> None:
    scores = np.concatenate([random_scores(64, seed) for seed in range(400)])
    assert scores.mean() == pytest.approx(0.0, abs=0.2)
    assert scores.var() == pytest.approx(64.0, rel=0.05)
    np.testing.assert_array_equal(random_scores(8, 3), random_scores(8, 3))


def test_undivided_the_gradient_falls_on_fewer_entries() -> None:
    for size in SIZES[1:]:
        peaks = []
        for scale in (np.sqrt(size), 1.0):
            jacobians = [softmax_jacobian(random_scores(size, seed), scale) for seed in range(50)]
            shares = [np.abs(j).max() / np.abs(j).sum() for j in jacobians]
            peaks.append(np.mean(shares))
        assert peaks[1] > 1.4 * peaks[0]


def test_both_rows_of_the_figure_share_the_colours_of_the_scaled_one() -> None:
    figure = draw_softmax_jacobian((4, 16))
    images = [axes.images[0] for axes in figure.axes if axes.images]
    arrays = [np.asarray(image.get_array()) for image in images]
    assert [len(array) for array in arrays] == [4, 4, 16, 16]
    for place, size in ((0, 4), (2, 16)):
        np.testing.assert_array_equal(
            arrays[place], softmax_jacobian(random_scores(size), np.sqrt(size))
        )
        np.testing.assert_array_equal(arrays[place + 1], softmax_jacobian(random_scores(size)))
        limits = {(image.norm.vmin, image.norm.vmax) for image in images[place : place + 2]}
        largest = np.abs(arrays[place]).max()
        assert limits == {(-largest, largest)}
