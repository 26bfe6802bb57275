"""What BLEU is foretold of a text, and of which text nothing is."""

from dataclasses import replace
from typing import Any

import pytest

from interlingua.config import CorpusConfig, ModelConfig, RunConfig, StartConfig
from interlingua.corpus.statistics import CorpusStatistics
from interlingua.training.expected_bleu import BleuBand, expected_bleu

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

TWO: dict[str, Any] = {"source": ("a.en", "b.en"), "target": ("a.de", "b.de")}


def test_more_familiar_text_is_expected_to_come_out_better() -> None:
    some, more = (
        expected_bleu(RunConfig(), replace(CORPUS, familiarity=share)) for share in (0.1, 0.4)
    )
    assert some is not None
    assert more is not None
    assert 0 < some.low < some.high < more.low < more.high < 50


def test_long_lines_come_out_worse_than_short_ones_as_familiar() -> None:
    short, long = (
        expected_bleu(RunConfig(), replace(CORPUS, source_words=2_000 * words, target_words=10_000))
        for words in (6, 20)
    )
    assert short is not None
    assert long is not None
    assert long.high < short.low


@pytest.mark.parametrize(
    "config",
    [
        RunConfig(model=ModelConfig(kind="lstm")),
        RunConfig(start=StartConfig(init_from="runs/other")),
        RunConfig(corpus=CorpusConfig(embedded="demo-ro-en")),
        RunConfig(corpus=CorpusConfig(source=("a.en",), target=("a.de",), tags=("<BT>",))),
        RunConfig(corpus=CorpusConfig(source=("a.en",), target=("a.de",), noise=0.3)),
        RunConfig(corpus=CorpusConfig(source=("a.en",), target=("a.de",), denoise=0.3)),
        RunConfig(corpus=CorpusConfig(source=("a.en",), target=("a.de",), directions=("en-de",))),
        RunConfig(corpus=CorpusConfig(**TWO, weights=(0.01, 1.0))),
        RunConfig(corpus=CorpusConfig(**TWO, temperature=5.0)),
        RunConfig(corpus=CorpusConfig(source=("a.en",), target=("a.ja",), target_lang="ja")),
        RunConfig(
            corpus=CorpusConfig(source=("a.en",), target=("a.zho_Hans",), target_lang="zho_Hans")
        ),
    ],
)
def test_nothing_is_foretold_of_what_was_not_measured(config: RunConfig) -> None:
    assert expected_bleu(config, CORPUS) is None


@pytest.mark.parametrize(
    "corpus",
    [
        CorpusConfig(**TWO),
        CorpusConfig(**TWO, weights=(2.0, 2.0)),
        CorpusConfig(**TWO, temperature=1.0),
        CorpusConfig(**TWO, target_lang="deu_Latn"),
    ],
)
def test_two_files_that_count_alike_are_as_one(corpus: CorpusConfig) -> None:
    assert expected_bleu(RunConfig(corpus=corpus), CORPUS) == expected_bleu(RunConfig(), CORPUS)


@pytest.mark.parametrize(
    "change",
    [
        {"pairs": 100},
        {"pairs": 5_000_000},
        {"familiarity": None},
        {"familiarity": 0.0},  # no four words in a row are known: 0 to 0 would be said
        {"familiarity": 0.03},
        {"familiarity": 0.9},  # a grammar wrote it
        {"source_words": 2_500, "target_words": 2_500},  # a word a line: without spaces
        {"target_words": 80_000},  # paragraphs
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
