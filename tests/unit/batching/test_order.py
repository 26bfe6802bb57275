import os
from pathlib import Path

import numpy as np
import pytest

from interlingua.batching.order import epoch_order
from interlingua.corpus.lines import read_lines

_FROZEN = [[1, 8], [3], [5], [4], [0], [9], [7, 2, 6]]
_DATA = os.environ.get("INTERLINGUA_DATA")


def _lengths(seed: int, count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.default_rng(seed)
    source = chance.integers(2, 30, count)
    return source, np.maximum(2, source + chance.integers(-4, 5, count))


def test_the_order_is_the_same_on_every_machine() -> None:
    lengths = np.array([3, 5, 4, 3, 9, 4, 5, 3, 4, 20])
    batches = epoch_order(lengths, lengths[::-1].copy(), batch_tokens=16, seed=1, epoch=0)
    assert [batch.tolist() for batch in batches] == _FROZEN


def test_an_epoch_has_its_own_batches_in_its_own_order() -> None:
    source, target = _lengths(1)
    first = epoch_order(source, target, batch_tokens=200, seed=1, epoch=0)
    second = epoch_order(source, target, batch_tokens=200, seed=1, epoch=1)
    other = epoch_order(source, target, batch_tokens=200, seed=2, epoch=0)
    contents = [{frozenset(batch.tolist()) for batch in order} for order in (first, second, other)]
    assert len(contents[0] & contents[1]) < len(first) // 2
    assert len(contents[0] & contents[2]) < len(first) // 2


def test_batches_do_not_come_sorted_by_length() -> None:
    source, target = _lengths(1)
    batches = epoch_order(source, target, batch_tokens=200, seed=1, epoch=0)
    widths = [int(target[batch].max()) for batch in batches]
    assert widths != sorted(widths)
    assert widths != sorted(widths, reverse=True)


def test_a_pair_longer_than_the_budget_is_alone_in_its_batch() -> None:
    source, target = np.array([5, 500, 5, 6]), np.array([5, 4, 5, 300])
    batches = epoch_order(source, target, batch_tokens=100, seed=1, epoch=0)
    assert sorted(sorted(batch.tolist()) for batch in batches) == [[0, 2], [1], [3]]


def test_a_budget_that_holds_everything_gives_one_batch() -> None:
    source, target = _lengths(1, count=20)
    assert len(epoch_order(source, target, batch_tokens=10**6, seed=1, epoch=0)) == 1


def test_no_pairs_make_no_batches_and_unequal_sides_are_refused() -> None:
    nothing = np.array([], dtype=np.int64)
    assert epoch_order(nothing, nothing, batch_tokens=100, seed=1, epoch=0) == []
    with pytest.raises(ValueError, match="1 sources but 0 targets"):
        epoch_order(np.array([3]), nothing, batch_tokens=100, seed=1, epoch=0)


@pytest.mark.skipif(
    _DATA is None or not Path(_DATA).is_dir(),
    reason="INTERLINGUA_DATA does not name the folder of the real corpora",
)
def test_little_of_a_real_epoch_is_padding_and_batches_are_full() -> None:
    assert _DATA is not None
    stem = Path(_DATA) / "multi30k_en_de" / "tok" / "train"
    source, target = (
        np.array([len(line.split()) + 1 for line in read_lines(stem.with_suffix(suffix))])
        for suffix in (".en", ".de")
    )
    batches = epoch_order(source, target, batch_tokens=4096, seed=1, epoch=0)
    assert padding_share(batches, source) < 0.06
    assert padding_share(batches, target) < 0.06
    real = max(int(source.sum()), int(target.sum()))
    assert len(batches) < 1.12 * real / 4096


def padding_share(batches: list[np.ndarray], lengths: np.ndarray) -> float:
    """Return the share of one side's tensors that is padding."""
    real = sum(int(lengths[batch].sum()) for batch in batches)
    return 1 - real / sum(len(batch) * int(lengths[batch].max()) for batch in batches)
