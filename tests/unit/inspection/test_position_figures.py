"""Section 3.5 in numbers: the encodings are bounded, unique, and their products tell the distance."""

import numpy as np
import pytest

from interlingua.inspection.positions import (
    dot_products_by_distance,
    draw_positions,
    measure_positions,
    position_vectors,
)
from interlingua.model.positions import LearnedPositions, SinusoidalPositions


@pytest.mark.parametrize("d_model", [2, 16, 128, 512])
def test_sinusoidal_encodings_are_bounded_and_unique(d_model: int) -> None:
    vectors = position_vectors(SinusoidalPositions(256, d_model), 256)
    assert np.abs(vectors).max() <= 1.0
    assert len(np.unique(vectors, axis=0)) == 256
    facts = measure_positions(vectors)
    assert facts.largest == np.abs(vectors).max()
    assert facts.closest > 0


@pytest.mark.parametrize("d_model", [2, 16, 128])
def test_the_product_of_two_sinusoidal_positions_depends_on_their_distance_only(
    d_model: int,
) -> None:
    vectors = position_vectors(SinusoidalPositions(200, d_model), 200)
    mean, least, greatest = dot_products_by_distance(vectors)
    np.testing.assert_allclose(least, greatest, atol=1e-5 * d_model)
    frequency = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    expected = np.cos(np.arange(200)[:, None] * frequency).sum(axis=1)
    np.testing.assert_allclose(mean, expected, atol=1e-5 * d_model)
    assert mean[0] == pytest.approx(d_model / 2, rel=1e-6)
    assert measure_positions(vectors).spread < 1e-5


def test_products_by_distance_are_the_diagonals() -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
    mean, least, greatest = dot_products_by_distance(vectors)
    np.testing.assert_array_equal(mean, [(1 + 4 + 10) / 3, (0 + 2) / 2, 3.0])
    np.testing.assert_array_equal(least, [1.0, 0.0, 3.0])
    np.testing.assert_array_equal(greatest, [10.0, 2.0, 3.0])


def test_positions_that_repeat_are_found() -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
    assert measure_positions(vectors).closest == 0.0


def words_of(vectors: np.ndarray) -> str:
    return " ".join(text.get_text() for text in draw_positions(vectors, "test").texts)


def test_the_figure_says_what_was_measured() -> None:
    words = words_of(position_vectors(SinusoidalPositions(64, 32), 64))
    assert "within ±1" in words
    assert "every position differs" in words
    assert "on the distance only" in words
    assert "on the place too" in words_of(position_vectors(LearnedPositions(64, 32), 64))
    assert "positions repeat" in words_of(np.zeros((4, 2)))


def test_the_figure_draws_the_vectors_and_their_products() -> None:
    vectors = position_vectors(SinusoidalPositions(20, 6), 20)
    images = [axes.images[0] for axes in draw_positions(vectors, "test").axes if axes.images]
    np.testing.assert_array_equal(np.asarray(images[0].get_array()), vectors)
    np.testing.assert_allclose(np.asarray(images[1].get_array()), vectors @ vectors.T)
    assert (images[0].norm.vmin, images[0].norm.vmax) == (-1.0, 1.0)
