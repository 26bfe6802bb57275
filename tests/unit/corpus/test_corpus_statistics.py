"""How familiar a validation text is to a training text."""

import pytest

from interlingua.corpus.pairs import SentencePair
from interlingua.corpus.statistics import familiarity


def pairs(*lines: str) -> list[SentencePair]:
    """The same on both sides."""
    return [SentencePair(line, line, number) for number, line in enumerate(lines, start=1)]


def test_a_text_that_was_learnt_is_wholly_familiar() -> None:
    text = pairs("a man rides a horse .", "two dogs run .")
    assert familiarity(text, text) == 1.0
    assert familiarity(iter(text), iter(text)) == 1.0


def test_each_order_counts_and_each_occurrence() -> None:
    training = pairs("a b c d e")
    # of words 5 of 6 are known, of two 3 of 5, of three 2 of 4, of four 1 of 3
    known = 5 / 6 * 3 / 5 * 2 / 4 * 1 / 3
    assert familiarity(training, pairs("b c d e a x")) == pytest.approx(known**0.25)
    twice = familiarity(training, pairs("a b c d", "a b c d", "x y z u"))
    assert twice == pytest.approx((8 / 12 * 6 / 9 * 4 / 6 * 2 / 3) ** 0.25)
    # Nothing is counted across the end of a line.
    assert familiarity(pairs("a b", "c d"), pairs("a b c d")) == 0.0


def test_both_sides_count() -> None:
    learnt = [SentencePair("a b c d e", "u v w x y", 1)]
    half = familiarity(learnt, [SentencePair("a b c d e", "u v w x z", 1)])
    assert half == pytest.approx((4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** (1 / 8))
    assert familiarity(learnt, [SentencePair("a b c d e", "a b c d e", 1)]) == 0.0


@pytest.mark.parametrize("validation", [[], ["a b c"], ["x y z u"]])
def test_a_text_without_known_sequences_of_four_is_not_familiar(validation: list[str]) -> None:
    assert familiarity(pairs("a b c d e"), pairs(*validation)) == 0.0
