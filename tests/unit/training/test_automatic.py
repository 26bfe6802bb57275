"""The choices that are made from a corpus, and the reasons given for them."""

import pytest

from interlingua.config import ModelConfig, RunConfig, TokenizationConfig, TrainingConfig
from interlingua.corpus.pairs import SentencePair
from interlingua.training.automatic import (
    architecture_of,
    choose_model,
    choose_tokenization,
    measure_corpus,
)


def pairs_of(source: str, target: str, number: int) -> list[SentencePair]:
    return [
        SentencePair(source.format(i, i * i), target.format(i, i * i), i + 1) for i in range(number)
    ]


DIGITS = [SentencePair(" ".join(f"{i:06}"), " ".join(f"{i:06}"[::-1]), i + 1) for i in range(1000)]
RUN_TOGETHER = [SentencePair(f"{i * i:07}", f"{i * i:07}"[::-1], i + 1) for i in range(1000)]
TEXT = pairs_of("casa numărul {0} are {1} uși", "house number {0} has {1} doors", 1000)
JAPANESE = pairs_of("the house {0}", "家{0}は大きい", 1000)


@pytest.mark.parametrize(
    ("pairs", "kind"),
    [(DIGITS, "word"), (RUN_TOGETHER, "char"), (TEXT, "bpe"), (JAPANESE, "bpe")],
)
def test_the_kind_of_tokens_follows_from_the_text(pairs: list[SentencePair], kind: str) -> None:
    chosen, reasons = choose_tokenization(TokenizationConfig(), measure_corpus(pairs))
    assert chosen.kind == kind
    assert any(reason.startswith(f"tokenization.kind = {kind}") for reason in reasons)


def test_two_scripts_get_two_vocabularies() -> None:
    assert choose_tokenization(TokenizationConfig(), measure_corpus(TEXT))[0].shared is True
    assert choose_tokenization(TokenizationConfig(), measure_corpus(JAPANESE))[0].shared is False


def test_what_is_configured_is_not_chosen() -> None:
    wanted = TokenizationConfig(kind="unigram", vocabulary_size=777, shared=False)
    assert choose_tokenization(wanted, measure_corpus(TEXT)) == (wanted, [])
    config = RunConfig(
        tokenization=wanted,
        model=ModelConfig(preset="small", dropout=0.4, heads=8),
        training=TrainingConfig(steps=123, seed=9, schedule="cosine"),
    )
    chosen, _ = choose_model(config, measure_corpus(DIGITS), target_tokens=7000, on_gpu=False)
    assert chosen.training.steps == 123
    assert chosen.training.schedule == "cosine"
    assert (chosen.model.dropout, chosen.model.heads, chosen.model.d_model) == (0.4, 8, 256)
    assert chosen.model.tie == "target"


@pytest.mark.parametrize("pairs", [DIGITS, RUN_TOGETHER, TEXT, JAPANESE])
def test_nothing_is_left_open(pairs: list[SentencePair]) -> None:
    statistics = measure_corpus(pairs)
    tokenization, _ = choose_tokenization(TokenizationConfig(), statistics)
    config, reasons = choose_model(
        RunConfig(tokenization=tokenization), statistics, target_tokens=9000, on_gpu=False
    )
    sizes = architecture_of(config.model)
    assert sizes.d_model == config.model.d_model
    for name in ("steps", "warmup_steps", "validate_every", "patience", "schedule"):
        assert getattr(config.training, name) is not None, name
    assert config.batching.batch_tokens is not None
    assert reasons


def test_epochs_become_steps() -> None:
    config = RunConfig(training=TrainingConfig(epochs=3, accumulate=2))
    chosen, _ = choose_model(config, measure_corpus(TEXT), target_tokens=194_560, on_gpu=False)
    assert chosen.training.steps == 3 * 50
