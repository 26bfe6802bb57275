"""Cutting sentences into batches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.decoding.batches import in_batches


def padded(batch: list[int], lengths: dict[int, int]) -> int:
    return len(batch) * max(lengths[place] for place in batch)


@given(
    st.lists(st.integers(1, 60), max_size=50).map(lambda some: dict(enumerate(some))),
    st.integers(1, 200),
    st.integers(1, 4),
    st.integers(1, 100),
)
def test_each_place_is_in_one_batch_that_keeps_the_budget(lengths, budget, workers, least):
    batches = in_batches(lengths, budget, workers, least=least)
    assert sorted(place for batch in batches for place in batch) == sorted(lengths)
    assert all(len(batch) == 1 or padded(batch, lengths) <= budget for batch in batches)


def test_the_longest_come_first():
    assert in_batches({0: 3, 1: 9, 2: 5, 3: 5}, budget=18) == [[1, 2], [3, 0]]


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_workers_get_like_shares(workers):
    lengths = dict.fromkeys(range(24), 10)
    batches = in_batches(lengths, 10_000, workers)
    assert [len(batch) for batch in batches] == [24 // workers] * workers


@pytest.mark.parametrize(("least", "batches"), [(1, 2), (40, 2), (41, 1), (1000, 1)])
def test_little_work_is_not_shared(least, batches):
    assert len(in_batches(dict.fromkeys(range(8), 10), 10_000, 2, least=least)) == batches


def test_nothing_is_no_batch():
    assert in_batches({}, 100, 2, least=50) == []
