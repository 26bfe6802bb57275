"""The lengths of lines alone tell how far two sides are shifted, and chance tells nothing."""

import numpy as np
import pytest
from numpy.typing import NDArray

from interlingua.corpus.length_profile import MOST_SEGMENTS, choose_segments, find_places, outline

Ints = NDArray[np.int64]


def draw_lengths(number: int, seed: int = 1) -> Ints:
    return np.random.default_rng(seed).lognormal(4, 0.5, number).astype(np.int64)


def translate(lengths: Ints) -> Ints:
    noise = np.random.default_rng(9).lognormal(0.1, 0.25, len(lengths))
    return (lengths * noise).astype(np.int64)


def places(source: Ints, target: Ints) -> set[int]:
    segments = choose_segments(len(source))
    return {place.lag for place in find_places(outline(source), outline(target), segments)}


@pytest.mark.parametrize("lag", [0, 8, -21, 500])
def test_the_lag_is_found_whatever_it_is(lag: int) -> None:
    source = draw_lengths(2000)
    assert places(source, np.roll(translate(source), lag)) >= {lag}


def test_lines_of_other_texts_have_no_place() -> None:
    assert places(draw_lengths(3000), draw_lengths(3000, seed=2)) == set()


def test_short_and_long_lines_by_turns_are_no_sign() -> None:
    turns = np.tile([1, 2], 1500)
    assert places(draw_lengths(3000) * turns, draw_lengths(3000, seed=2) * turns) == set()


def test_a_large_corpus_is_looked_at_in_a_few_segments_from_everywhere() -> None:
    segments = choose_segments(1_000_000)
    assert len(segments) == 2 * MOST_SEGMENTS
    assert max(end for _, end in segments) > 999_000
    assert choose_segments(100) == []
