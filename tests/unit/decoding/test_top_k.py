import torch

from interlingua.decoding.top_k import top_k


def test_it_finds_the_greatest_values_and_where_they_stand():
    values, columns = top_k(torch.tensor([[0.1, 0.9, 0.5], [3.0, 1.0, 2.0]]), 2)
    assert columns.tolist() == [[1, 2], [0, 2]]
    assert values.tolist() == torch.tensor([[0.9, 0.5], [3.0, 2.0]]).tolist()


def test_equals_on_both_sides_of_the_cut_are_taken_from_the_left():
    row = torch.zeros(1, 5_000)
    row[0, 4_321] = 1.0
    assert top_k(row, 4)[1].tolist() == [[4_321, 0, 1, 2]]


def test_equals_above_the_cut_keep_their_order():
    assert top_k(torch.tensor([[2.0, 5.0, 1.0, 5.0, 5.0]]), 4)[1].tolist() == [[1, 3, 4, 0]]


def test_only_tied_rows_are_sorted_and_the_others_stay_right():
    values = torch.tensor([[1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [2.0, 3.0, 2.0]])
    assert top_k(values, 2)[1].tolist() == [[0, 1], [2, 1], [1, 0]]


def test_it_may_take_a_whole_row():
    assert top_k(torch.tensor([[1.0, 3.0, 3.0]]), 3)[1].tolist() == [[1, 2, 0]]


def test_it_agrees_with_a_stable_sort_on_coarse_random_values():
    generator = torch.Generator().manual_seed(3)
    for k in (1, 2, 5, 17):
        values = torch.randint(0, 6, (50, 17), generator=generator).float()
        wanted = values.argsort(dim=-1, descending=True, stable=True)[:, :k]
        assert torch.equal(top_k(values, k)[1], wanted)
