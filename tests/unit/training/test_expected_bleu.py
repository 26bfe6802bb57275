"""How familiar a text is, and what BLEU is foretold from it."""

from dataclasses import replace

import pytest

from interlingua.config import CorpusConfig, ModelConfig, RunConfig, StartConfig
from interlingua.corpus.pairs import SentencePair
from interlingua.training.automatic import CorpusStatistics
from interlingua.training.expected_bleu import BleuBand, expected_bleu, familiarity

CORPUS = CorpusStatistics(
    pairs=2_000,
    measured=2_000,
    source_words=20_000,
    target_words=20_000,
    word_types=4_000,
    characters=60,
    shared_script=0.9,
    familiarity=0.25,
)


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


def test_more_familiar_text_is_expected_to_come_out_better() -> None:
    some, more = (
        expected_bleu(RunConfig(), replace(CORPUS, familiarity=share)) for share in (0.1, 0.4)
    )
    assert some is not None
    assert more is not None
    assert 0 < some.low < some.high < more.low < more.high < 50


@pytest.mark.parametrize(
    "config",
    [
        RunConfig(model=ModelConfig(kind="lstm")),
        RunConfig(start=StartConfig(init_from="runs/other")),
        RunConfig(corpus=CorpusConfig(embedded="demo-ro-en")),
        RunConfig(corpus=CorpusConfig(source=("a.en",), target=("a.de",), directions=("en-de",))),
    ],
)
def test_nothing_is_foretold_of_what_was_not_measured(config: RunConfig) -> None:
    assert expected_bleu(config, CORPUS) is None


@pytest.mark.parametrize(
    "change",
    [
        {"pairs": 100},
        {"pairs": 5_000_000},
        {"familiarity": None},
        {"familiarity": 0.9},  # a grammar wrote it
        {"target_words": 2_500},  # one word a line: written without spaces
        {"word_types": 100, "source_words": 60_000, "target_words": 60_000},  # a task of rules
    ],
)
def test_nothing_is_foretold_of_other_text(change: dict[str, float]) -> None:
    assert expected_bleu(RunConfig(), replace(CORPUS, **change)) is None  # type: ignore[arg-type]


def test_the_band_says_afterwards_how_right_it_was() -> None:
    band = BleuBand(12.4, 17.6)
    assert str(band) == "12 to 18"
    assert band.judge(15.0) == "BLEU 12 to 18 was expected of this text, and so it is"
    assert "2.4 more than this" in band.judge(10.0)
    assert "1.4 less than this" in band.judge(19.0)
