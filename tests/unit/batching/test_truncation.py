import pytest

from interlingua.batching.truncation import truncate


def test_long_sequences_leave_room_for_the_end_symbol_and_are_counted() -> None:
    result = truncate([[1, 2, 3], [1, 2, 3, 4], [], [1, 2, 3, 4, 5]], 4)
    assert [list(ids) for ids in result.ids] == [[1, 2, 3], [1, 2, 3], [], [1, 2, 3]]
    assert result.cut == (1, 3)
    assert result.num_truncated == 2


def test_a_length_without_room_for_an_id_is_refused() -> None:
    with pytest.raises(ValueError, match="max_length is 1"):
        truncate([[1]], 1)
