import torch

from interlingua.model.masks import look_ahead_mask, padding_mask


def test_padding_is_where_the_pad_id_is_whatever_that_id() -> None:
    ids = torch.tensor([[5, 3, 3], [0, 5, 3]])
    assert padding_mask(ids, 3).tolist() == [[True, False, False], [True, True, False]]
    assert padding_mask(ids, 0).tolist() == [[True, True, True], [False, True, True]]


def test_position_i_may_look_at_positions_up_to_i() -> None:
    mask = look_ahead_mask(4)
    for i in range(4):
        assert mask[i].nonzero().flatten().tolist() == list(range(i + 1))


def test_a_mask_of_no_length_is_empty() -> None:
    assert look_ahead_mask(0).shape == (0, 0)
