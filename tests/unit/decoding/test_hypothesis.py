import pytest

from interlingua.decoding.hypothesis import length_penalty, make_hypothesis
from interlingua.errors import ModelError


def test_the_length_penalty_is_one_for_a_single_symbol():
    assert length_penalty(1, 0.6) == 1.0


def test_the_length_penalty_is_equation_14_of_wu_et_al():
    assert length_penalty(13, 2.0) == pytest.approx(9.0)
    assert length_penalty(13, -1.0) == pytest.approx(1 / 3)
    assert length_penalty(40, 0.0) == 1.0


def test_the_end_symbol_counts_in_length_and_score_but_is_not_an_id():
    hypothesis = make_hypothesis([7, 8, 2], [-1.0, -2.0, -3.0], end_id=2, alpha=1.0)
    assert hypothesis.ids == (7, 8)
    assert hypothesis.stopped == "end"
    assert hypothesis.log_probabilities == (-1.0, -2.0, -3.0)
    assert hypothesis.score == pytest.approx(-6.0 / (8 / 6))


def test_a_target_without_the_end_symbol_was_cut_off():
    hypothesis = make_hypothesis([7, 8], [-1.0, -2.0], end_id=2, alpha=0.0)
    assert (hypothesis.ids, hypothesis.stopped, hypothesis.score) == ((7, 8), "max_length", -3.0)


@pytest.mark.parametrize("number", [float("nan"), float("-inf")])
def test_a_model_without_numbers_is_refused_with_the_position(number):
    with pytest.raises(ModelError, match="at position 2"):
        make_hypothesis([7, 8], [-1.0, number], end_id=2, alpha=0.0)
