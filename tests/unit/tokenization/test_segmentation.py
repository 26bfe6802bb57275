"""Ways to cut one word, by themselves."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from interlingua.tokenization.segmentation import join_at, merge_many, merge_pairs

RANKS = st.dictionaries(st.text("ab", min_size=2, max_size=5), st.integers(0, 6), max_size=12).map(
    lambda ranks: {piece: min(rank, len(ranks) - 1) for piece, rank in ranks.items()}
)


def merge_plainly(symbols: list[str], ranks: dict[str, int]) -> list[str]:
    never = len(ranks)
    waiting = [ranks.get(left + right, never) for left, right in pairwise(symbols)]
    while waiting and min(waiting) != never:
        join_at(waiting.index(min(waiting)), symbols, waiting, ranks)
    return symbols


@given(word=st.text("ab", max_size=60), ranks=RANKS)
def test_the_heap_finds_the_joins_of_the_plain_search(word: str, ranks: dict[str, int]) -> None:
    expected = merge_plainly(list(word), ranks)
    assert merge_many(list(word), ranks) == expected
    assert merge_pairs(list(word), ranks) == expected


@given(word=st.text("ab", min_size=65, max_size=200), ranks=RANKS)
def test_a_long_word_is_merged_as_a_short_one_is(word: str, ranks: dict[str, int]) -> None:
    assert merge_pairs(list(word), ranks) == merge_plainly(list(word), ranks)
