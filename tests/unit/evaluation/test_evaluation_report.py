import json

import pytest

from interlingua.errors import ConfigError, CorpusError
from interlingua.evaluation.report import EvaluationReport, evaluate_outputs
from interlingua.evaluation.runs import summarise_runs
from interlingua.evaluation.tables import Table, escape_latex

SOURCES = [f"Der Hund Nummer {number} schläft heute gut." for number in range(12)]
REFERENCES = [[f"Dog number {number} sleeps well today." for number in range(12)]]
HYPOTHESES = [line.replace("well", "good") for line in REFERENCES[0][:9]] + [
    "",
    SOURCES[10],
    "no no no",
]
OTHER = [line.replace("sleeps", "slept") for line in HYPOTHESES]


@pytest.fixture(scope="module")
def report() -> EvaluationReport:
    return evaluate_outputs(SOURCES, HYPOTHESES, REFERENCES, against=OTHER)


def test_the_report_names_the_lines_that_went_wrong(report: EvaluationReport) -> None:
    assert report.notes[:-1] == ("1 empty: line 10", "1 repeating: line 12", "1 copied: line 11")


def test_long_lists_of_lines_are_cut_short() -> None:
    notes = evaluate_outputs(SOURCES, [""] * 12, REFERENCES, confidence=False).notes
    assert notes == ("12 empty: lines 1, 2, 3, 4, 5, ...",)


def test_json_holds_every_figure_with_full_precision(report: EvaluationReport) -> None:
    content = json.loads(report.to_json())
    assert content["format"] == "interlingua-evaluation"
    assert [each["name"] for each in content["scores"]] == ["BLEU", "chrF2", "TER"]
    assert content["scores"][0]["value"] == report.scores[0].value
    assert content["comparisons"][1]["p_value"] == report.comparisons[1].p_value
    assert content["legacy"][0]["signature"].endswith("legacy")
    assert content["health"]["copied_lines"] == [11]
    assert content["sentences"] == 12


@pytest.mark.parametrize("form", ["to_text", "to_markdown", "to_latex"])
def test_every_written_form_shows_scores_signatures_and_labels(
    report: EvaluationReport, form: str
) -> None:
    written = getattr(report, form)(decimals=3)
    for score in (*report.scores, *report.legacy):
        assert f"{score.value:.3f}" in written
        signature = escape_latex(score.signature) if form == "to_latex" else score.signature
        assert signature in written
    assert "Legacy figures, comparable only with papers that report the same" in written
    assert "12 sentences, 1 reference" in written
    assert written.endswith("\n")


def test_scores_without_intervals_have_no_interval_column() -> None:
    report = evaluate_outputs(None, HYPOTHESES, REFERENCES, metrics=["bleu"], confidence=False)
    assert "95 %" not in report.to_text()
    assert "copied" not in report.to_text()
    assert json.loads(report.to_json())["health"]["copied"] is None


def test_an_interval_of_few_sentences_is_said_to_tell_little_and_of_one_there_is_none() -> None:
    few = evaluate_outputs(None, HYPOTHESES, REFERENCES, metrics=["bleu"])
    assert few.notes[-1].startswith("fewer than 30 sentences are too few to tell")
    for against in (None, OTHER[:1]):
        one = evaluate_outputs(None, HYPOTHESES[:1], [REFERENCES[0][:1]], against=against)
        assert one.notes[-1] == few.notes[-1]
        assert "±" not in one.to_text()
        assert all(
            each["low"] is None and each["high"] is None
            for each in json.loads(one.to_json())["scores"]
        )
    many = [line for line in REFERENCES[0] for _ in range(3)]
    assert not evaluate_outputs(None, many, [many], metrics=["bleu"]).notes


def test_a_comparison_gives_the_same_scores_as_a_plain_evaluation(report: EvaluationReport) -> None:
    plain = evaluate_outputs(SOURCES, HYPOTHESES, REFERENCES)
    for ours, theirs in zip(report.scores, plain.scores, strict=True):
        assert ours.signature == theirs.signature
        assert ours.value == theirs.value
        assert ours.low == pytest.approx(theirs.low, abs=1e-4)
        assert ours.high == pytest.approx(theirs.high, abs=1e-4)
    assert plain.comparisons == ()


def test_a_system_compared_with_itself_is_equal_and_has_no_p_value() -> None:
    report = evaluate_outputs(SOURCES, HYPOTHESES, REFERENCES, metrics=["bleu"], against=HYPOTHESES)
    (row,) = [line for line in report.to_text().splitlines() if "equal" in line]
    assert row.split()[-2:] == ["+0.00", "equal"]
    (comparison,) = json.loads(report.to_json())["comparisons"]
    assert comparison["difference"] == 0
    assert comparison["p_value"] is None


def test_tokenized_outputs_and_languages_without_spaces_are_remarked_on() -> None:
    tokenized = [line.replace(".", " .") for line in REFERENCES[0]]
    (note,) = evaluate_outputs(SOURCES, tokenized, REFERENCES, confidence=False).notes
    assert "look tokenized" in note
    for metrics, says in ((("ter", "bleu"), "TER counts"), (("ter", "wer"), "TER and WER count")):
        japanese = evaluate_outputs(
            ["cat"], ["猫"], [["猫"]], metrics=metrics, confidence=False, target_lang="ja"
        )
        (note,) = japanese.notes
        assert note.startswith(f"{says} words between spaces")


def test_lists_of_different_lengths_are_refused() -> None:
    with pytest.raises(CorpusError, match="source has 11 lines"):
        evaluate_outputs(SOURCES[1:], HYPOTHESES, REFERENCES)
    with pytest.raises(CorpusError, match="the other system's output has 11 lines"):
        evaluate_outputs(SOURCES, HYPOTHESES, REFERENCES, against=OTHER[1:])
    with pytest.raises(CorpusError, match="reference 1 has 11 lines"):
        evaluate_outputs(SOURCES, HYPOTHESES, [REFERENCES[0][1:]])


def test_runs_are_summarised_as_mean_and_spread() -> None:
    outputs = [REFERENCES[0], HYPOTHESES, OTHER]
    reports = [evaluate_outputs(SOURCES, each, REFERENCES, confidence=False) for each in outputs]
    summary = summarise_runs(reports)
    bleu = summary.spreads[0]
    values = [report.scores[0].value for report in reports]
    mean = sum(values) / 3
    assert bleu.name == "BLEU"
    assert bleu.mean == pytest.approx(mean)
    assert bleu.deviation == pytest.approx(
        (sum((value - mean) ** 2 for value in values) / 2) ** 0.5
    )
    assert (bleu.low, bleu.high) == (min(values), max(values))
    exact = next(each for each in summary.spreads if each.name == "exact matches (%)")
    assert exact.values == (100.0, 0.0, 0.0)
    for written in (summary.to_text(), summary.to_markdown(), summary.to_latex()):
        assert f"{bleu.mean:.2f}" in written
        assert f"{bleu.deviation:.2f}" in written
        assert "3 runs" in written
    assert json.loads(summary.to_json())["spreads"][0]["values"] == values


def test_a_single_run_has_no_deviation() -> None:
    summary = summarise_runs([evaluate_outputs(SOURCES, OTHER, REFERENCES, confidence=False)])
    assert summary.spreads[0].deviation is None
    assert "1 run\n" in summary.to_text()


def test_runs_that_were_scored_differently_are_refused() -> None:
    one = evaluate_outputs(SOURCES, OTHER, REFERENCES, confidence=False)
    two = evaluate_outputs(SOURCES, OTHER, REFERENCES, confidence=False, tokenize="intl")
    with pytest.raises(ConfigError, match=r"run 2 was not scored as run 1 was .*tok:intl"):
        summarise_runs([one, two])
    with pytest.raises(ConfigError, match="no run to summarise"):
        summarise_runs([])


def test_tables_align_in_text_and_escape_in_the_other_forms() -> None:
    table = Table(("Name", "Value"), (("a|b", "1.00"), ("long_name", "12.00 %")))
    assert table.to_text().splitlines() == [
        "Name         Value",
        "a|b           1.00",
        "long_name  12.00 %",
    ]
    assert table.to_markdown().splitlines()[1:3] == [
        "| --------- | ------: |",
        "| a\\|b      |    1.00 |",
    ]
    assert r"long\_name & 12.00 \% \\" in table.to_latex()
