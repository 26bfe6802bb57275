"""Gaps in text: pure in seed, epoch and pair, of the asked share, and never more than the text had."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.corpus.denoising import Denoising
from interlingua.corpus.word_noise import FILLER

WORDS = st.lists(st.sampled_from(["a", "bb", "ccc", "d.", "éé"]), min_size=1, max_size=30)
NOISES = st.builds(
    Denoising,
    share=st.floats(0, 0.9),
    span=st.floats(1, 6),
    reach=st.integers(0, 5),
    seed=st.integers(0, 9),
)


def gaps_of(noise: Denoising, text: str, epoch: int = 0, pair: int = 0) -> str:
    return noise.apply(text, "target", epoch=epoch, pair=pair)[0]


@given(NOISES, WORDS, st.integers(0, 5), st.integers(0, 5))
def test_what_stays_are_words_of_the_text_and_gaps_stand_apart(
    noise: Denoising, words: list[str], epoch: int, pair: int
) -> None:
    text = " ".join(words)
    spoiled = gaps_of(noise, text, epoch, pair).split()
    assert spoiled
    assert spoiled == gaps_of(noise, text, epoch, pair).split()
    kept = [word for word in spoiled if word != FILLER]
    assert all(kept.count(word) <= words.count(word) for word in kept)
    assert all({a, b} != {FILLER} for a, b in pairwise(spoiled))
    assert len(spoiled) <= len(words)


@given(NOISES, WORDS)
def test_the_target_is_whole(noise: Denoising, words: list[str]) -> None:
    text = " ".join(words)
    assert noise.apply(text, text, epoch=1, pair=2)[1] == text


@given(WORDS, st.integers(0, 9))
def test_without_moving_the_words_that_stay_keep_their_order(words: list[str], seed: int) -> None:
    places = [str(number) for number in range(len(words))]
    kept = [
        int(word)
        for word in gaps_of(Denoising(0.5, 2.0, 0, seed), " ".join(places)).split()
        if word != FILLER
    ]
    assert kept == sorted(kept)


@given(st.integers(1, 4), st.integers(0, 99))
def test_no_word_moves_further_than_its_reach(reach: int, seed: int) -> None:
    moved = gaps_of(Denoising(0.0, 1.0, reach, seed), " ".join(map(str, range(20)))).split()
    assert all(abs(place - int(word)) <= reach for place, word in enumerate(moved))


@pytest.mark.parametrize("span", [1.0, 3.0])
def test_the_share_and_the_length_of_gaps_are_those_asked_for(span: float) -> None:
    text = " ".join(map(str, range(40)))
    noise = Denoising(0.35, span, 0, 1)
    runs, hidden = 0, 0
    for pair in range(400):
        spoiled = gaps_of(noise, text, pair=pair).split()
        runs += spoiled.count(FILLER)
        hidden += 40 - sum(word != FILLER for word in spoiled)
    assert hidden / (400 * 40) == pytest.approx(0.35, abs=0.01)
    assert hidden / runs == pytest.approx(span, rel=0.15)


def test_every_place_is_hidden_about_as_often() -> None:
    text = " ".join(map(str, range(10)))
    times = [0] * 10
    for pair in range(3000):
        stay = gaps_of(Denoising(0.3, 2.0, 0, 1), text, pair=pair).split()
        for word in set(text.split()) - set(stay):
            times[int(word)] += 1
    assert max(times) < 1.6 * min(times)


def test_epochs_and_pairs_have_other_gaps() -> None:
    text = " ".join(map(str, range(30)))
    noise = Denoising(0.35, 3.0, 0, 1)
    different = {gaps_of(noise, text, epoch, pair) for epoch in range(5) for pair in range(5)}
    assert len(different) > 20


def test_a_script_without_spaces_is_hidden_by_characters() -> None:
    spoiled = gaps_of(Denoising(0.4, 2.0, 0, 3), "自分のことをしろ。")
    assert FILLER in spoiled.split()
    assert 4 <= len(spoiled.replace(FILLER, "").replace(" ", "")) <= 8


def test_the_first_draws_are_what_they_always_were() -> None:
    # Frozen: a resume on another machine or version of Python must see the same gaps.
    noise = Denoising(0.35, 3.0, 1, 7)
    found = [gaps_of(noise, "the cat sat on the mat and the dog slept", 0, n) for n in range(3)]
    assert found == FROZEN


FROZEN = [
    "_ sat cat on the mat _ slept",
    "the _ sat on the mat _ dog slept",
    "the cat sat _ dog the slept",
]


def test_an_empty_text_stays_empty() -> None:
    assert gaps_of(Denoising(0.9, 3.0, 2, 1), "  ") == "  "
