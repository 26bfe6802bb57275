import pytest
import torch

from interlingua.batching.batch import Batch, make_batch, pad_sources


def _batch() -> Batch:
    return make_batch(
        [[5, 6, 7], [8]],
        [[9], [10, 11]],
        (4, 2),
        source_pad=0,
        source_end=3,
        target_pad=1,
        target_begin=2,
        target_end=4,
    )


def test_the_target_is_shifted_by_one_step_and_short_rows_are_padded_at_their_end() -> None:
    batch = _batch()
    assert batch.source.tolist() == [[5, 6, 7, 3], [8, 3, 0, 0]]
    assert batch.target_in.tolist() == [[2, 9, 1], [2, 10, 11]]
    assert batch.target_out.tolist() == [[9, 4, 1], [10, 11, 4]]
    assert batch.source.dtype == batch.target_in.dtype == torch.int64
    assert batch.pair_ids == (4, 2)


def test_lengths_count_the_end_symbol_and_no_padding() -> None:
    batch = _batch()
    assert batch.source_lengths.tolist() == [4, 2]
    assert batch.target_lengths.tolist() == [2, 3]
    assert batch.num_target_tokens == 5


def test_moving_a_batch_keeps_what_is_in_it() -> None:
    moved = _batch().to("meta")
    assert moved.target_out.device.type == "meta"
    assert moved.source.shape == (2, 4)
    assert moved.pair_ids == (4, 2)
    assert _batch().to("cpu").source.tolist() == _batch().source.tolist()


def test_empty_sentences_become_an_end_symbol() -> None:
    assert pad_sources([[], [5]], pad=0, end=3).tolist() == [[3, 0], [5, 3]]
    assert pad_sources([[]], pad=0, end=3).tolist() == [[3]]


def test_a_batch_of_nothing_or_of_unequal_sides_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one pair"):
        pad_sources([], pad=0, end=3)
    with pytest.raises(ValueError, match="2 sources, 1 targets and 2 pair ids"):
        make_batch(
            [[5], [6]],
            [[7]],
            (0, 1),
            source_pad=0,
            source_end=3,
            target_pad=0,
            target_begin=2,
            target_end=3,
        )
