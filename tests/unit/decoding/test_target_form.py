"""A form of a target: which of its symbols are given, how many are free, and that it ends behind the last."""

import torch

from interlingua.decoding.constraints import TargetForm

END = 3


def left(
    forms: list[tuple[int | None, ...]],
    written: list[list[int]],
    choices: tuple[int, ...] | None = None,
) -> list[list[int]]:
    rows = torch.tensor(written, dtype=torch.long).reshape(len(written), -1)
    rule = TargetForm(forms, END, choices)
    allowed = rule(torch.zeros(len(written), 6), rows, torch.arange(len(written)))
    return [row.isfinite().nonzero()[:, 0].tolist() for row in allowed]


def test_a_given_symbol_is_the_only_one_a_free_one_is_any_but_the_end_and_then_comes_the_end() -> (
    None
):
    forms: list[tuple[int | None, ...]] = [(4, None), (None,)]
    assert left(forms, [[], []]) == [[4], [0, 1, 2, 4, 5]]
    assert left(forms, [[4], [5]]) == [[0, 1, 2, 4, 5], [END]]
    assert left(forms, [[4, 1], [5, END]]) == [[END], [END]]


def test_a_free_symbol_is_one_of_the_choices() -> None:
    assert left([(4, None), (None,)], [[], []], (1, 5)) == [[4], [1, 5]]
    assert left([(4, None), (None,)], [[4], [5]], (1, 5)) == [[1, 5], [END]]
