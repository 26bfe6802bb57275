import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from small_shards import write_shards

from interlingua.batching.batch import make_batch
from interlingua.batching.mixing import draw_pairs
from interlingua.batching.order import epoch_order
from interlingua.batching.shards import open_shards
from interlingua.batching.truncation import truncate

_pairs = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), max_size=120)
_seeds = st.integers(0, 2**63)
_ids = st.lists(st.integers(0, 2**31 - 1), max_size=8)


def _sides(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    lengths = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return lengths[:, 0], lengths[:, 1]


@given(_pairs, st.integers(1, 500), _seeds, st.integers(0, 1000))
def test_every_pair_comes_exactly_once_an_epoch(
    pairs: list[tuple[int, int]], batch_tokens: int, seed: int, epoch: int
) -> None:
    batches = epoch_order(*_sides(pairs), batch_tokens=batch_tokens, seed=seed, epoch=epoch)
    assert sorted(index for batch in batches for index in batch.tolist()) == [*range(len(pairs))]


@given(_pairs, st.integers(1, 500), _seeds)
def test_no_batch_exceeds_the_budget_unless_it_is_a_single_pair(
    pairs: list[tuple[int, int]], batch_tokens: int, seed: int
) -> None:
    source, target = _sides(pairs)
    for batch in epoch_order(source, target, batch_tokens=batch_tokens, seed=seed, epoch=0):
        padded = len(batch) * max(source[batch].max(), target[batch].max())
        assert padded <= batch_tokens or len(batch) == 1


@given(_pairs, st.integers(1, 500), _seeds, st.integers(0, 1000))
def test_the_order_is_a_function_of_seed_epoch_and_lengths(
    pairs: list[tuple[int, int]], batch_tokens: int, seed: int, epoch: int
) -> None:
    once, again = (
        epoch_order(*_sides(pairs), batch_tokens=batch_tokens, seed=seed, epoch=epoch)
        for _ in range(2)
    )
    assert [batch.tolist() for batch in once] == [batch.tolist() for batch in again]


@given(_seeds, st.integers(0, 1000))
def test_two_epochs_differ(seed: int, epoch: int) -> None:
    lengths = np.arange(200) % 7 + 2
    first, second = (
        epoch_order(lengths, lengths, batch_tokens=50, seed=seed, epoch=which)
        for which in (epoch, epoch + 1)
    )
    assert [batch.tolist() for batch in first] != [batch.tolist() for batch in second]


@given(
    st.lists(
        st.tuples(st.integers(1, 30), st.sampled_from([1.0, 0.25, 0.5, 2.0, 2.5])),
        min_size=1,
        max_size=5,
    ),
    _seeds,
    st.integers(0, 1000),
)
def test_pairs_come_as_often_as_the_weight_of_their_file_says(
    parts: list[tuple[int, float]], seed: int, epoch: int
) -> None:
    sizes, weights = [size for size, _ in parts], [weight for _, weight in parts]
    drawn = draw_pairs(sizes, weights, seed=seed, epoch=epoch)
    times = np.bincount(np.arange(sum(sizes)) if drawn is None else drawn, minlength=sum(sizes))
    first = 0
    for size, weight in parts:
        of_file = times[first : first + size]
        if weight == int(weight):
            assert set(of_file.tolist()) == {int(weight)}
        assert abs(of_file.sum() - size * weight) < 1
        first += size


@given(st.lists(st.tuples(_ids, _ids), max_size=20))
def test_shards_give_back_the_ids_that_were_written(
    pairs: list[tuple[list[int], list[int]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shards"
        write_shards(path, (source for source, _ in pairs), (target for _, target in pairs))
        shards = open_shards(path)
        for index, (source, target) in enumerate(pairs):
            assert shards.source(index).tolist() == source
            assert shards.target(index).tolist() == target
            assert shards.source_lengths[index] == len(source) + 1
            assert shards.target_lengths[index] == len(target) + 1


@given(st.lists(st.tuples(_ids, _ids), min_size=1, max_size=8))
def test_a_batch_holds_its_pairs_and_nothing_else(pairs: list[tuple[list[int], list[int]]]) -> None:
    sources, targets = [list(side) for side in zip(*pairs, strict=True)]
    batch = make_batch(
        sources,
        targets,
        range(len(pairs)),
        source_pad=-1,
        source_end=-2,
        target_pad=-1,
        target_begin=-3,
        target_end=-2,
    )
    for row, (source, target) in enumerate(pairs):
        assert batch.source[row][batch.source[row] != -1].tolist() == [*source, -2]
        assert batch.target_in[row][batch.target_in[row] != -1].tolist() == [-3, *target]
        assert batch.target_out[row][batch.target_out[row] != -1].tolist() == [*target, -2]
    assert (
        (batch.target_in[:, 1:] == batch.target_out[:, :-1])
        .logical_or(batch.target_out[:, :-1] == -2)
        .all()
    )


@given(st.lists(_ids, max_size=20), st.integers(2, 10))
def test_truncation_cuts_only_what_does_not_fit(sequences: list[list[int]], room: int) -> None:
    result = truncate(sequences, room)
    for position, (ids, kept) in enumerate(zip(sequences, result.ids, strict=True)):
        assert list(kept) == ids[: room - 1]
        assert (position in result.cut) == (len(ids) + 1 > room)
