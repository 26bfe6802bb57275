"""Lines that belong to none are joined with the shift that tells why."""

import numpy as np

from interlingua.corpus.lag_path import Stretch, describe, find_path, join_lost


def test_lines_left_out_of_the_target_are_one_fault_with_the_shift_behind_them() -> None:
    found = [Stretch(101, 140, None, 90.0), Stretch(141, 960, -40, 5000.0)]
    assert join_lost(found, (1000, 960)) == [Stretch(101, 960, -40, 5000.0, alone=40)]


def test_lines_behind_the_end_of_the_target_are_one_fault_with_the_shift_before_them() -> None:
    found = [Stretch(101, 950, 50, 5000.0), Stretch(951, 1000, None, 90.0)]
    assert join_lost(found, (1000, 1000)) == [Stretch(101, 1000, 50, 5000.0)]


def test_lost_lines_that_no_shift_explains_stay() -> None:
    found = [Stretch(101, 500, None, 900.0), Stretch(501, 1000, -40, 5000.0)]
    assert join_lost(found, (1000, 1000)) == found


def test_lost_lines_that_follow_each_other_are_one_stretch() -> None:
    found = [Stretch(101, 500, None, 900.0), Stretch(510, 1000, None, 100.0)]
    assert join_lost(found, (1000, 1000)) == [Stretch(101, 1000, None, 1000.0)]


def test_a_path_follows_what_fits_and_is_described_where_it_leaves_lag_0() -> None:
    scores = np.full((2, 60), -3.0, np.float32)
    scores[0, :30] = scores[1, 30:] = 3.0
    path = find_path(scores, switch=10.0, lose=np.inf)
    (found,) = describe(scores, path, [0, 4])
    assert (found.first, found.last, found.lag) == (31, 60, 4)
