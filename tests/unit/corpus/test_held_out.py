import numpy as np
import pytest
from held_out import hold_out

from interlingua.corpus.held_out import choose_held_out, default_validation_size
from interlingua.corpus.pair_rules import normalise
from interlingua.corpus.pairs import SentencePair
from interlingua.errors import CorpusError


def _pairs(count: int, repeat: int = 1) -> list[SentencePair]:
    return [SentencePair(f"s{index // repeat}", f"t{index}", index + 1) for index in range(count)]


@pytest.mark.parametrize(
    ("pairs", "size"),
    [(2, 1), (60, 30), (100, 50), (400, 50), (2000, 100), (20_000, 1000), (10**6, 1000)],
)
def test_the_default_is_a_twentieth_between_50_and_1000_and_at_most_half(
    pairs: int, size: int
) -> None:
    assert default_validation_size(pairs) == size


def test_both_parts_together_are_the_corpus_in_its_order() -> None:
    pairs = _pairs(500)
    training, validation = hold_out(pairs, None, seed=1)
    assert len(validation) == 50
    assert sorted(training + validation, key=lambda pair: pair.line) == pairs
    assert [pair.line for pair in training] == sorted(pair.line for pair in training)
    assert [pair.line for pair in validation] == sorted(pair.line for pair in validation)


def test_the_split_depends_on_the_seed_and_on_nothing_else() -> None:
    pairs = _pairs(500)
    assert hold_out(pairs, 40, seed=3) == hold_out(list(pairs), 40, seed=3)
    assert hold_out(pairs, 40, seed=3) != hold_out(pairs, 40, seed=4)


def test_a_repeated_source_goes_to_one_side_with_all_its_translations() -> None:
    training, validation = hold_out(_pairs(300, repeat=3), 20, seed=1)
    assert len(validation) == 18
    assert not {pair.source for pair in training} & {pair.source for pair in validation}


def test_sources_in_another_writing_go_to_one_side_and_signs_count_as_they_are() -> None:
    writings = ("Casa {}", "casa {}!", "«CASA  {}»", "ca\u2013sa_{}")
    pairs = [
        SentencePair(writing.format(number), f"house {number}", 4 * number + place)
        for number in range(100)
        for place, writing in enumerate(writings, start=1)
    ] + [SentencePair(sign, "sign", 401) for sign in "?!."]
    training, validation = hold_out(pairs, 80, seed=1)
    keys = [
        {normalise(pair.source) or pair.source for pair in part} for part in (training, validation)
    ]
    assert not keys[0] & keys[1]
    assert len(keys[0] | keys[1]) == 103
    assert len(training) + len(validation) == len(pairs)


def test_more_than_half_and_too_few_sources_are_refused() -> None:
    with pytest.raises(CorpusError, match="ask for at most 5"):
        hold_out(_pairs(10), 6, seed=1)
    with pytest.raises(CorpusError, match="1 different sources are too few"):
        hold_out(_pairs(10, repeat=10), None, seed=1)
    with pytest.raises(CorpusError, match="too few"):
        hold_out(_pairs(1), None, seed=1)


def _held_of_each(sizes: list[int], size: int | None) -> list[int]:
    """Return how many of each group are held back, whose sources are all different."""
    ranks = np.random.default_rng(1).permutation(sum(sizes)).astype(np.uint64)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    held = choose_held_out(ranks, size, groups)
    return np.bincount(groups, weights=held).astype(int).tolist()


@pytest.mark.parametrize(
    ("sizes", "size", "expected"),
    [
        ([200_000, 2_000], None, [1_000, 100]),
        ([200_000, 2_000, 60], None, [1_000, 100, 30]),
        ([20_000, 200], 1_000, [990, 50]),
        ([20_000, 200], 40, [39, 20]),
        ([20_000, 60, 1], 300, [299, 30, 0]),
        ([1_000], 100, [100]),
    ],
)
def test_each_group_has_a_share_of_its_own(
    sizes: list[int], size: int | None, expected: list[int]
) -> None:
    assert _held_of_each(sizes, size) == expected


def test_a_source_that_one_group_holds_back_is_held_back_of_all() -> None:
    ranks = np.array([*range(200), *range(0, 200, 2)], dtype=np.uint64)
    groups = np.array([0] * 200 + [1] * 100)
    held = choose_held_out(ranks, None, groups)
    assert not set(ranks[held]) & set(ranks[~held])
    assert {int(rank) for rank in ranks[held]} == {*range(50), *range(0, 100, 2)}
