import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.evaluation.metrics import score
from interlingua.evaluation.report import evaluate_outputs
from interlingua.evaluation.sequence_metrics import edit_distance, longest_common_subsequence
from interlingua.evaluation.significance import compare

FOX = "The quick brown fox jumps over the lazy dog"
LOG = "The quick brown dog jumps on the log."


def value(name: str, outputs: list[str], *references: list[str]) -> float:
    (found,) = score(outputs, references, [name])
    return found.value


def test_rouge_is_what_the_package_of_google_shows_for_its_own_example() -> None:
    # The documentation of rouge-score 0.1.2: fmeasure 0.70588... and 0.58823... for these two sentences.
    assert value("rouge1", [LOG], [FOX]) == pytest.approx(100 * 12 / 17)
    assert value("rougel", [LOG], [FOX]) == pytest.approx(100 * 10 / 17)


def test_rouge_counts_pairs_of_words_as_lin_does() -> None:
    # Lin 2004, section 3: S1 "police killed the gunman" against S2 and S3, whose words in order differ.
    reference = ["police killed the gunman"]
    two, three = ["police kill the gunman"], ["the gunman kill police"]
    assert value("rouge2", two, reference) == value("rouge2", three, reference)
    assert value("rougel", two, reference) == pytest.approx(75)
    assert value("rougel", three, reference) == pytest.approx(50)


def test_rouge_takes_the_nearest_reference_of_each_sentence_and_the_mean_over_sentences() -> None:
    found = value("rouge1", ["a b", "c"], ["x", "c d e"], ["a b", "y"])
    assert found == pytest.approx((100 + 50) / 2)


def test_rouge_of_an_empty_output_is_zero() -> None:
    assert value("rouge2", [""], ["a b"]) == 0.0


def test_rouge_keeps_letters_beyond_ascii() -> None:
    assert value("rouge1", ["Ähnlich größer"], ["ähnlich kleiner"]) == pytest.approx(50)


@pytest.mark.parametrize(
    ("output", "reference", "expected"),
    [
        ("की बात", "का बात", 50),  # vowel signs are marks
        ("cafe\u0301", "cafe\u0300", 0),
        ("我爱北京。", "我在北京！", 75),
        ("ครับ", "ครัม", 75),
        ("thanks ❤\ufe0f", "thank ❤\ufe0f", 0),  # a mark upon no letter is no word
    ],
)
def test_rouge_keeps_marks_and_cuts_text_without_spaces_by_its_signs(
    output: str, reference: str, expected: float
) -> None:
    assert value("rouge1", [output], [reference]) == pytest.approx(expected)


def test_word_error_rate_counts_edits_over_the_words_of_the_references() -> None:
    # one replaced of three, one dropped and one added of two
    assert value("wer", ["a x c", "b"], ["a b c", "a b"]) == pytest.approx(100 * 2 / 5)
    assert value("wer", ["a a a a"], ["b"]) == pytest.approx(400)


def test_word_error_rate_takes_the_reference_that_needs_the_smallest_share_of_edits() -> None:
    assert value("wer", ["a b c d"], ["a b x"], ["a b c y"]) == pytest.approx(25)


def test_exact_counts_lines_that_equal_any_reference() -> None:
    assert value("exact", ["yes ", "no", "No"], ["yes", "yes", "no"], ["x", "no", "n"]) == (
        pytest.approx(200 / 3)
    )


def test_signatures_tell_what_decides_the_figures() -> None:
    found = score(["a"], [["a"], ["b"]], ["rouge2", "wer", "exact"])
    assert [each.name for each in found] == ["ROUGE-2", "WER", "exact"]
    assert all(each.signature.startswith("nrefs:2|") for each in found)
    assert "case:lc|tok:words|stem:no" in found[0].signature
    assert all("version:interlingua-" in each.signature for each in found)


def test_two_systems_are_compared_on_the_same_draws() -> None:
    references = [["a b c"] * 40]
    good, bad = ["a b c"] * 40, ["a b c", "a b x"] * 20
    for name, difference in (("wer", -100 / 6), ("exact", 50.0), ("rougel", 100 / 6)):
        (found,) = compare(good, bad, references, [name], num_resamples=200)
        assert found.difference == pytest.approx(difference)
        assert found.significant
    (same,) = compare(bad, bad, references, ["exact"], num_resamples=50)
    assert not same.significant


def test_a_report_holds_them_with_their_intervals() -> None:
    report = evaluate_outputs(None, ["a", "b"], [["a", "c"]], metrics=["exact", "wer"])
    content = json.loads(report.to_json())
    assert [each["name"] for each in content["scores"]] == ["exact", "WER"]
    assert content["scores"][0]["low"] <= 50 <= content["scores"][0]["high"]


WORDS = st.lists(st.sampled_from("abc"), max_size=7)


@given(WORDS, WORDS)
def test_distance_and_common_subsequence_are_bounded_by_each_other(
    one: list[str], other: list[str]
) -> None:
    distance, common = edit_distance(one, other), longest_common_subsequence(one, other)
    assert distance == edit_distance(other, one)
    assert common == longest_common_subsequence(other, one)
    assert max(len(one), len(other)) - common <= distance
    assert distance <= len(one) + len(other) - 2 * common
    assert (distance == 0) == (one == other)


@given(WORDS)
def test_a_sequence_has_all_in_common_with_itself(one: list[str]) -> None:
    assert longest_common_subsequence(one, one) == len(one)


def test_no_interval_passes_what_the_metric_can_be() -> None:
    outputs = [f"a {n} b" for n in range(30)]
    references = ["wrong", *outputs[1:]]
    rate, exact = score(outputs, [references], ("wer", "exact"), confidence=True)
    assert rate.low == 0.0
    assert exact.high == 100.0
    assert rate.high is not None
    assert rate.high > rate.value > 0.0
