import math

import pytest

from interlingua.errors import CorpusError
from interlingua.evaluation.legacy import legacy_scores, split_compounds, tokenized_bleu


def test_precisions_are_clipped_as_in_the_papers_own_example() -> None:
    # Papineni et al. 2002, section 2.1: seven times "the" against two references matches 2 of 7.
    references = [["the cat is on the mat"], ["there is a cat on the mat"]]
    result = tokenized_bleu(["the the the the the the the"], references)
    assert result.precisions[0] == pytest.approx(2 / 7)
    assert result.value == 0.0


def test_bleu_is_the_geometric_mean_times_the_brevity_penalty() -> None:
    result = tokenized_bleu(["a b c d e"], [["a b c d x y"]])
    assert result.precisions == pytest.approx((4 / 5, 3 / 4, 2 / 3, 1 / 2))
    assert result.brevity_penalty == pytest.approx(math.exp(1 - 6 / 5))
    assert result.value == pytest.approx(100 * math.exp(-0.2) * (4 / 5 * 3 / 4 * 2 / 3 / 2) ** 0.25)


def test_a_longer_output_has_no_brevity_penalty() -> None:
    assert tokenized_bleu(["a b c d e"], [["a b c d"]]).brevity_penalty == 1.0


def test_without_a_matching_four_gram_bleu_is_zero() -> None:
    assert tokenized_bleu(["a b c x"], [["a b c d"]]).value == 0.0
    assert tokenized_bleu(["a"], [["a"]]).value == 0.0


def test_only_the_space_separates_tokens() -> None:
    line = "a\u00a0b c\u2028d e f"
    result = tokenized_bleu([f" {line}  g "], [[f"{line} g"]])
    assert result.value == pytest.approx(100)
    assert result.hypothesis_length == 5


def test_an_empty_output_counts_as_one_wrong_token() -> None:
    assert tokenized_bleu(["", "a b c d"], [["x y", "a b c d"]]).hypothesis_length == 5


def test_case_counts_unless_lowered() -> None:
    assert tokenized_bleu(["A B C D É"], [["a b c d é"]]).value == 0.0
    assert tokenized_bleu(["A B C D É"], [["a b c d é"]], lowercase=True).value == pytest.approx(
        100
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rich-text format", "rich ##AT##-##AT## text format"),
        ("a - b", "a - b"),
        ("-a b-", "-a b-"),
        ("well-known x-ray", "well ##AT##-##AT## known x ##AT##-##AT## ray"),
        ("a-b-c", "a ##AT##-##AT## b-c"),
        ("one-two-three", "one ##AT##-##AT## two ##AT##-##AT## three"),
    ],
)
def test_compounds_are_split_at_hyphens_inside_words(line: str, expected: str) -> None:
    assert split_compounds(line) == expected


def test_splitting_compounds_rewards_a_compound_that_is_half_right() -> None:
    references = [["er fuhr ins rot-grüne Haus am See"]]
    whole, split = legacy_scores(["er fuhr ins rot-blaue Haus am See"], references, tokenize="none")
    assert whole.value == 0.0
    assert split.value > 0.0


def test_legacy_scores_say_how_they_were_made() -> None:
    lowered, split = legacy_scores(["Ein Hund, der bellt."], [["ein Hund, der bellt."]])
    assert lowered.value == pytest.approx(100)
    assert "case:lc|tok:13a" in lowered.signature
    assert "case:mixed|tok:13a|smooth:none|split:yes|legacy" in split.signature
    assert split.value < 100


def test_text_that_is_tokenized_already_is_left_alone() -> None:
    lowered, _ = legacy_scores(["boot. sein hut ."], [["boot . sein hut ."]], tokenize="none")
    assert lowered.value == 0.0
    assert "tok:none" in lowered.signature


def test_unequal_counts_are_refused() -> None:
    with pytest.raises(CorpusError, match="reference 1 has 1 lines but the output has 2"):
        tokenized_bleu(["a", "b"], [["a"]])
