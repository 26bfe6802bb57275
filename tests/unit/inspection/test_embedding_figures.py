"""Principal components: orthonormal, ordered, and what numpy's eigenvectors say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.inspection.embeddings import (
    NUM_LABELS,
    draw_embeddings,
    principal_components,
    words_of,
)
from interlingua.translator import Translator


@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(2, 12))
def test_components_are_orthonormal_and_ordered(seed: int, number: int, width: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(number, width))
    found = principal_components(vectors, 5)
    np.testing.assert_allclose(
        found.components @ found.components.T, np.eye(len(found.components)), atol=1e-10
    )
    assert (np.diff(found.explained) <= 1e-12).all()
    assert 0.0 <= found.explained.sum() <= 1.0 + 1e-12
    np.testing.assert_allclose(
        found.coordinates, (vectors - vectors.mean(0)) @ found.components.T, atol=1e-10
    )


def test_explained_variances_are_the_eigenvalues_of_the_covariance() -> None:
    vectors = np.random.default_rng(0).normal(size=(50, 6)) * [5, 4, 3, 2, 1, 0.5]
    found = principal_components(vectors, 6)
    values = np.sort(np.linalg.eigvalsh(np.cov(vectors.T)))[::-1]
    np.testing.assert_allclose(found.explained, values / values.sum(), atol=1e-12)
    np.testing.assert_allclose(found.coordinates.var(axis=0, ddof=1), values, rtol=1e-9)
    assert found.explained.sum() == pytest.approx(1.0)


def test_the_sign_does_not_depend_on_the_machine() -> None:
    vectors = np.random.default_rng(1).normal(size=(30, 4))
    found = principal_components(vectors)
    for component in found.components:
        assert component[np.abs(component).argmax()] > 0


def test_specials_and_bytes_are_no_words(translator: Translator) -> None:
    tokenizer = translator.tokenizers.target
    pieces = tokenizer.tokens(words_of(tokenizer))
    assert len(pieces) == tokenizer.vocabulary_size - 4 - 256
    assert not {"<pad>", "<unk>", "<s>", "</s>", "<0x41>"} & set(pieces)


def test_the_figure_names_the_axes_by_their_variance_and_the_first_tokens_only() -> None:
    vectors = np.random.default_rng(2).normal(size=(200, 8))
    pieces = [f"piece{number}" for number in range(200)]
    panel = draw_embeddings(vectors, pieces, "test").axes[0]
    shares = principal_components(vectors).explained
    assert f"{100 * shares[0]:.1f} %" in panel.get_xlabel()
    assert f"{100 * shares[1]:.1f} %" in panel.get_ylabel()
    named = [text.get_text() for text in panel.texts]
    assert named[0] == "piece0"
    assert set(named) <= set(pieces[:NUM_LABELS])
    points = np.asarray(panel.collections[0].get_offsets())
    np.testing.assert_allclose(points, principal_components(vectors).coordinates)


def test_labels_do_not_cover_each_other() -> None:
    vectors = np.zeros((30, 3))
    named = draw_embeddings(vectors, ["same"] * 30, "test").axes[0].texts
    assert 1 <= len(named) <= 4
    assert len({text.get_position() for text in named}) == len(named)


@pytest.mark.parametrize("number", [1, 2])
def test_very_few_tokens_can_be_drawn(number: int) -> None:
    figure = draw_embeddings(np.ones((number, 3)), ["a"] * number, "test")
    assert "0.0 %" in figure.axes[0].get_xlabel()
