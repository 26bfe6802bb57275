"""What holds for every text: order of the sentences, equality, and agreement with sacreBLEU's own arithmetic."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from interlingua.evaluation.health import check_health, repeats_itself
from interlingua.evaluation.legacy import split_compounds, tokenized_bleu
from interlingua.evaluation.metrics import METRIC_NAMES, score

TOKEN = st.sampled_from(["a", "b", "c", "d", "e-f", "É", "\u00a0x", "."])
LINE = st.lists(TOKEN, min_size=1, max_size=12).map(" ".join)
PAIRS = st.lists(st.tuples(LINE, LINE, LINE), min_size=1, max_size=8)


@given(PAIRS)
def test_legacy_bleu_equals_sacrebleu_without_tokenization_and_smoothing(
    pairs: list[tuple[str, str, str]],
) -> None:
    # sacreBLEU splits at every white space, so the no-break space would tell the two apart.
    hypotheses, *references = (
        [line.replace("\u00a0", "_") for line in lines] for lines in zip(*pairs, strict=True)
    )
    ours = tokenized_bleu(hypotheses, references)
    theirs = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(
        hypotheses, references
    )
    assert ours.value == pytest.approx(theirs.score, abs=1e-9)
    assert (ours.hypothesis_length, ours.reference_length) == (theirs.sys_len, theirs.ref_len)


@given(PAIRS, st.randoms(use_true_random=False))
def test_the_order_of_the_sentences_changes_no_score(
    pairs: list[tuple[str, str, str]], rng: random.Random
) -> None:
    shuffled = rng.sample(pairs, len(pairs))
    before, after = (
        [list(lines) for lines in zip(*rows, strict=True)] for rows in (pairs, shuffled)
    )
    for one, other in zip(
        score(before[0], before[1:], METRIC_NAMES),
        score(after[0], after[1:], METRIC_NAMES),
        strict=True,
    ):
        assert one.value == pytest.approx(other.value, abs=1e-9)
    one_health, other_health = (
        check_health(before[0], before[1:]),
        check_health(after[0], after[1:]),
    )
    assert one_health.exact == other_health.exact
    assert one_health.repeating_share == other_health.repeating_share
    assert one_health.length_ratio == pytest.approx(other_health.length_ratio)


@given(PAIRS)
def test_a_reference_scored_against_itself_has_no_fault(pairs: list[tuple[str, str, str]]) -> None:
    lines = [first for first, _, _ in pairs]
    health = check_health(lines, [lines], lines)
    assert (health.exact_share, health.length_ratio) == (1.0, 1.0)
    assert health.empty == health.repeating == health.copied == ()


@given(
    st.lists(TOKEN, min_size=1, max_size=4),
    st.lists(TOKEN, max_size=4),
    st.lists(TOKEN, max_size=4),
)
def test_a_worded_phrase_three_times_is_found_wherever_it_stands(
    phrase: list[str], before: list[str], after: list[str]
) -> None:
    tripled = [*before, *phrase, *phrase, *phrase, *after]
    assert repeats_itself(tripled) or set(phrase) == {"."}


@given(LINE)
def test_compounds_that_are_split_can_be_joined_again(line: str) -> None:
    assert split_compounds(line).replace(" ##AT##-##AT## ", "-") == line
