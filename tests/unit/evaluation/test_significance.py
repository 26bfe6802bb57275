import pytest

from interlingua.errors import CorpusError
from interlingua.evaluation.significance import compare

REFERENCE = [
    f"the {animal} number {number} sleeps well" for number, animal in enumerate(["cat", "dog"] * 40)
]
WORSE = [line.replace("sleeps well", "slept") for line in REFERENCE]


def test_a_system_is_never_significantly_better_than_itself() -> None:
    (bleu,) = compare(WORSE, WORSE, [REFERENCE], ["bleu"], num_resamples=100)
    assert bleu.difference == 0
    assert bleu.p_value < 0.05
    assert not bleu.significant
    assert bleu.system == bleu.baseline


def test_a_system_that_is_always_better_is_significantly_better() -> None:
    better, ter = compare(REFERENCE, WORSE, [REFERENCE], ["bleu", "ter"], num_resamples=200)
    assert better.system.value == pytest.approx(100)
    assert better.difference > 20
    assert better.significant
    assert ter.difference < 0
    assert ter.significant


def test_a_few_sentences_tell_nothing() -> None:
    for number, is_told in ((1, False), (29, False), (30, True)):
        few = REFERENCE[:number], WORSE[:number], [REFERENCE[:number]]
        (bleu,) = compare(*few, ["bleu"], num_resamples=200)
        assert bleu.p_value < 0.05
        assert bleu.significant == is_told


def test_the_order_of_the_two_changes_the_sign_only() -> None:
    half = [
        a if number % 3 else b for number, (a, b) in enumerate(zip(REFERENCE, WORSE, strict=True))
    ]
    (forward,) = compare(half, WORSE, [REFERENCE], ["chrf"], num_resamples=100)
    (backward,) = compare(WORSE, half, [REFERENCE], ["chrf"], num_resamples=100)
    assert forward.difference == -backward.difference
    assert forward.p_value == backward.p_value
    assert forward.system == backward.baseline


def test_another_system_with_another_number_of_lines_is_refused() -> None:
    with pytest.raises(CorpusError, match="the other system's output has 79 lines"):
        compare(REFERENCE, WORSE[:-1], [REFERENCE])
