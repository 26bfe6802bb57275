import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.corpus.masking import Masking

HIDDEN = 1
MASKING = Masking(0.15, HIDDEN, (10, 20), seed=3)


@given(st.lists(st.integers(10, 19), min_size=1, max_size=40), st.integers(0, 5), st.integers(0, 5))
def test_only_guessed_tokens_change_and_there_is_always_one(
    tokens: list[int], epoch: int, pair: int
) -> None:
    read, guessed = MASKING.apply(tokens, epoch=epoch, pair=pair)
    assert (read, guessed) == MASKING.apply(tokens, epoch=epoch, pair=pair)
    assert len(read) == len(guessed) == len(tokens)
    assert any(guessed)
    for before, after, is_guessed in zip(tokens, read, guessed, strict=True):
        assert is_guessed or before == after
        assert after in (HIDDEN, *range(10, 20))


def test_shares_are_those_of_the_paper() -> None:
    tokens = [15] * 50
    read, guessed = [], []
    for pair in range(400):
        one, marks = MASKING.apply(tokens, epoch=0, pair=pair)
        read += one
        guessed += marks
    count = sum(guessed)
    assert count / len(guessed) == pytest.approx(0.15, abs=0.01)
    assert read.count(HIDDEN) / count == pytest.approx(0.8, abs=0.02)
    others = sum(each not in (HIDDEN, 15) for each in read)
    assert others / count == pytest.approx(
        0.1 * 0.9, abs=0.02
    )  # one of ten replacements is the token itself


def test_epochs_and_pairs_hide_other_tokens() -> None:
    tokens = list(range(10, 20)) * 3
    found = {
        tuple(MASKING.apply(tokens, epoch=epoch, pair=pair)[0])
        for epoch in range(4)
        for pair in range(4)
    }
    assert len(found) == 16


def test_no_token_is_no_guess() -> None:
    assert MASKING.apply([], epoch=0, pair=0) == ([], [])
