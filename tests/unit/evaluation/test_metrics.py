import pytest

from interlingua.errors import ConfigError, CorpusError
from interlingua.evaluation.metrics import (
    LOWER_IS_BETTER,
    METRIC_NAMES,
    check_metrics,
    choose_tokenizer,
    closest_length,
    corpus_bleu,
    corpus_chrf,
    score,
    split_into_tokens,
)

REFERENCES = [["The cat slept on the couch.", "It was too tired to get up.", "A dog barked."]]
HYPOTHESES = ["The cat slept on a couch.", "It was tired to get up.", "A dog barks."]


def test_equal_text_scores_100_and_error_rates_0() -> None:
    found = score(REFERENCES[0], REFERENCES, METRIC_NAMES)
    assert len(found) == len(METRIC_NAMES)
    for each in found:
        assert each.value == pytest.approx(0 if each.name in LOWER_IS_BETTER else 100)


def test_scores_come_in_the_order_asked_for_and_once() -> None:
    names = [each.name for each in score(HYPOTHESES, REFERENCES, ["ter", "BLEU", "chrf++", "ter"])]
    assert names == ["TER", "BLEU", "chrF2++"]


def test_bleu_of_one_sentence_is_what_the_formula_gives() -> None:
    # the the cat sat / the cat sat down: precisions 3/4, 2/3, 1/2 and, smoothed, 1/2; equal lengths.
    expected = 100 * (3 / 4 * 2 / 3 * 1 / 2 * 1 / 2) ** 0.25
    assert corpus_bleu(["the the cat sat"], [["the cat sat down"]]) == pytest.approx(expected)


def test_bleu_tells_case_apart() -> None:
    assert corpus_bleu(["A DOG BARKED AT IT"], [["a dog barked at it"]]) == 0.0


def test_an_interval_holds_the_score_only_when_asked_for() -> None:
    plain = score(HYPOTHESES, REFERENCES)
    bounded = score(HYPOTHESES, REFERENCES, confidence=True, num_resamples=50)
    assert all(each.low is None and each.mean is None and each.margin is None for each in plain)
    assert [each.value for each in plain] == [each.value for each in bounded]
    assert all(
        each.low <= each.high for each in bounded if each.low is not None and each.high is not None
    )
    assert all("bs:50|seed:12345" in each.signature for each in bounded)


def test_an_interval_of_outputs_that_match_nothing_is_zero() -> None:
    (bleu,) = score(["x", "y"], [["a", "b"]], ["bleu"], confidence=True, num_resamples=20)
    assert (bleu.value, bleu.low, bleu.high) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("de", "13a"),
        (None, "13a"),
        ("", "13a"),
        ("zh", "zh"),
        ("zh-TW", "zh"),
        ("zho_Hans", "zh"),
        ("ja", "char"),
        ("jpn_Jpan", "char"),
        ("JA", "char"),
        ("th", "char"),
        ("ko", "13a"),
    ],
)
def test_the_tokenization_follows_the_language(language: str | None, expected: str) -> None:
    assert choose_tokenizer(language) == expected


def test_the_signature_says_which_tokenization_was_used() -> None:
    (bleu,) = score(["猫が寝た"], [["猫が寝ている"]], ["bleu"], target_lang="ja")
    assert "|tok:char|" in bleu.signature
    (bleu,) = score(["猫が寝た"], [["猫が寝ている"]], ["bleu"], target_lang="ja", tokenize="intl")
    assert "|tok:intl|" in bleu.signature


def test_an_unknown_metric_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r"unknown metric 'blue'; did you mean bleu\?"):
        score(HYPOTHESES, REFERENCES, ["blue"])
    with pytest.raises(ConfigError, match="known: bleu, chrf, chrf"):
        score(HYPOTHESES, REFERENCES, ["xyzzy"])
    with pytest.raises(ConfigError, match="no metric was named"):
        score(HYPOTHESES, REFERENCES, [])


def test_names_can_be_checked_before_there_is_anything_to_score() -> None:
    assert check_metrics([" BLEU", "ter", "bleu"], "char") == ("bleu", "ter")
    with pytest.raises(ConfigError, match="BLEU tokenization"):
        check_metrics(["bleu"], "13b")


def test_an_unknown_tokenization_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r"'chars'; did you mean char\?"):
        score(HYPOTHESES, REFERENCES, tokenize="chars")


def test_a_tokenization_that_is_not_installed_is_refused_with_what_it_needs() -> None:
    try:
        import MeCab  # noqa: F401
    except ImportError:
        with pytest.raises(ConfigError, match=r"cannot be used here: .*sacrebleu\[ja\]"):
            score(HYPOTHESES, REFERENCES, tokenize="ja-mecab")
    else:
        (bleu,) = score(["猫が寝た"], [["猫が寝た"]], ["bleu"], tokenize="ja-mecab")
        assert "tok:ja-mecab" in bleu.signature


def test_unequal_counts_are_refused_with_both_numbers() -> None:
    with pytest.raises(CorpusError, match="reference 2 has 2 lines but the output has 3"):
        score(HYPOTHESES, [REFERENCES[0], REFERENCES[0][:2]])
    with pytest.raises(CorpusError, match="reference 1 has 3 lines but the output has 2"):
        corpus_chrf(HYPOTHESES[:2], REFERENCES)
    with pytest.raises(CorpusError, match="reference 1"):
        corpus_bleu(HYPOTHESES[:2], REFERENCES)


def test_nothing_to_score_is_refused() -> None:
    with pytest.raises(CorpusError, match="output has no line"):
        score([], [[]])
    with pytest.raises(CorpusError, match="no reference"):
        score(HYPOTHESES, [])


def test_references_that_are_a_flat_list_are_a_mistake_of_the_caller() -> None:
    with pytest.raises(TypeError, match="list of lines"):
        corpus_bleu(["a", "b"], ["a", "b"])


def test_the_closest_length_prefers_the_shorter_of_two() -> None:
    assert closest_length(5, [8, 4, 6]) == 4
    assert closest_length(7, [8, 4]) == 8


def test_tokens_are_split_as_bleu_does_it() -> None:
    assert split_into_tokens(["A dog, barking. "], "13a") == [["A", "dog", ",", "barking", "."]]
    assert split_into_tokens(["猫だ"], "char") == [["猫", "だ"]]
