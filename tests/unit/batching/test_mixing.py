"""How often the pairs of each file come in an epoch."""

from collections import Counter

import pytest

from interlingua.batching.mixing import draw_pairs, temperature_weights

_FROZEN = [4, 0, 5, 6, 7, 8, 9, 6]


def drawn(sizes: list[int], weights: list[float], epoch: int, seed: int = 1) -> list[int]:
    pairs = draw_pairs(sizes, [*map(float, weights)], seed=seed, epoch=epoch)
    return list(range(sum(sizes))) if pairs is None else pairs.tolist()


def test_without_weights_and_with_weights_of_one_every_pair_comes_once() -> None:
    assert draw_pairs([4, 3], [], seed=1, epoch=0) is None
    assert draw_pairs([4, 3], [1.0, 1.0], seed=1, epoch=5) is None


def test_a_weight_of_two_brings_every_pair_twice_and_leaves_the_others() -> None:
    assert Counter(drawn([2, 3], [1, 2], 0)) == {0: 1, 1: 1, 2: 2, 3: 2, 4: 2}


def test_two_halves_are_the_whole_and_another_pair_of_halves_is_cut_otherwise() -> None:
    halves = [set(drawn([40, 2], [0.5, 1], epoch)) - {40, 41} for epoch in range(4)]
    assert [len(half) for half in halves] == [20] * 4
    assert halves[0] | halves[1] == halves[2] | halves[3] == set(range(40))
    assert halves[0] not in (halves[2], halves[3])


@pytest.mark.parametrize("weight", [0.1, 0.3, 1 / 3, 0.75, 1.5, 2.25])
def test_over_many_epochs_every_pair_comes_as_often_as_its_weight_says(weight: float) -> None:
    times = Counter(pair for epoch in range(12) for pair in drawn([5, 17], [1, weight], epoch))
    assert {times[pair] for pair in range(5)} == {12}
    assert all(abs(times[pair] - 12 * weight) < 1.001 for pair in range(5, 22))


def test_an_epoch_depends_on_the_seed_and_the_epoch_alone() -> None:
    first = drawn([50, 30], [0.4, 1], 7)
    assert drawn([50, 30], [0.4, 1], 7) == first
    assert drawn([50, 30], [0.4, 1], 8) != first
    assert drawn([50, 30], [0.4, 1], 7, seed=2) != first


def test_the_order_is_the_same_on_every_machine() -> None:
    assert drawn([6, 4], [0.5, 1.25], 0) == _FROZEN


def test_files_are_shuffled_each_in_its_own_way() -> None:
    pairs = drawn([20, 20], [0.5, 0.5], 0)
    assert pairs[:10] != [pair - 20 for pair in pairs[10:]]


def test_temperature_brings_small_files_more_often_and_the_largest_once() -> None:
    assert temperature_weights([100, 1600], 1.0) == (1.0, 1.0)
    assert temperature_weights([100, 1600], 2.0) == (4.0, 1.0)
    weights = temperature_weights([100, 1600], 100.0)
    assert weights[0] == pytest.approx(16, rel=0.03)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="2 weights for 1 files"):
        draw_pairs([3], [1.0, 2.0], seed=1, epoch=0)
    with pytest.raises(ValueError, match=r"temperature of 0\.5"):
        temperature_weights([5], 0.5)


def test_an_empty_file_harms_nobody() -> None:
    assert temperature_weights([100, 0, 1600], 2.0) == (4.0, 1.0, 1.0)
    assert Counter(drawn([2, 0, 1], [1, 0.5, 2], 0)) == {0: 1, 1: 1, 2: 2}


def test_an_epoch_may_be_empty_when_a_file_is_smaller_than_its_weight_asks_for() -> None:
    drawn = [draw_pairs([1], [0.25], seed=1, epoch=epoch) for epoch in range(4)]
    assert [len(pairs) for pairs in drawn if pairs is not None] == [0, 0, 0, 1]
