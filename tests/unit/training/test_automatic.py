"""The choices that are made from a corpus, and the reasons given for them."""

import re
from dataclasses import replace

import pytest

from interlingua.config import (
    BatchingConfig,
    ModelConfig,
    RunConfig,
    TokenizationConfig,
    TrainingConfig,
)
from interlingua.corpus.pairs import SentencePair
from interlingua.corpus.statistics import measure_corpus
from interlingua.errors import ConfigError
from interlingua.training.automatic import (
    architecture_of,
    choose_model,
    most_updates,
)
from interlingua.training.automatic_vocabulary import choose_tokenization


def pairs_of(source: str, target: str, number: int) -> list[SentencePair]:
    return [
        SentencePair(source.format(i, i * i), target.format(i, i * i), i + 1) for i in range(number)
    ]


DIGITS = [SentencePair(" ".join(f"{i:06}"), " ".join(f"{i:06}"[::-1]), i + 1) for i in range(1000)]
RUN_TOGETHER = [SentencePair(f"{i * i:07}", f"{i * i:07}"[::-1], i + 1) for i in range(1000)]
TEXT = pairs_of("casa numărul {0} are {1} uși", "house number {0} has {1} doors", 1000)
JAPANESE = pairs_of("the house {0}", "家{0}は大きい", 1000)


def choose(
    config: RunConfig, pairs: list[SentencePair], batches: int = 10
) -> tuple[RunConfig, list[str]]:
    """Choose the rest on a CPU, for an epoch of so many batches."""
    return choose_model(
        config,
        measure_corpus(pairs),
        target_tokens=9000,
        on_gpu=False,
        batches_an_epoch=lambda _: batches,
    )


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


def test_words_of_little_text_are_cut_in_other_ways_unless_somebody_says_how() -> None:
    little = measure_corpus(TEXT)
    chosen, reasons = choose_tokenization(TokenizationConfig(), little)
    assert chosen.sampling == 0.1
    assert any(reason.startswith("tokenization.sampling = 0.1") for reason in reasons)
    much = replace(little, pairs=15_000)
    for wanted, corpus in (
        (TokenizationConfig(), much),
        (TokenizationConfig(), measure_corpus(DIGITS)),
        (TokenizationConfig(kind="bpe"), little),
        (TokenizationConfig(sampling=0.0), little),
    ):
        assert choose_tokenization(wanted, corpus)[0].sampling == 0.0
    for updates, sampling in ((300, 0.0), (3_000, 0.1)):
        short = choose_tokenization(TokenizationConfig(), little, updates=updates)
        assert short[0].sampling == sampling
    read = choose_tokenization(TokenizationConfig(), little, is_translated=False)
    assert read[0].sampling == 0.0


def test_the_longest_training_is_told_by_its_number_or_guessed_from_its_passes_or_minutes() -> None:
    def most(batching: BatchingConfig | None = None, **training: object) -> int | None:
        config = RunConfig(
            training=TrainingConfig.model_validate(training), batching=batching or BatchingConfig()
        )
        return most_updates(config, measure_corpus(TEXT), on_gpu=False)

    assert most() is None
    assert most(steps=70) == 70
    in_time = {"minutes": 10, "threads": 1}
    slow, fast = (most(**in_time, dtype=dtype) for dtype in ("float32", "bfloat16"))
    assert slow is not None
    assert fast is not None
    assert 1_000 < slow < 2_500 < fast
    assert most(**in_time, steps=70) == 70
    words = measure_corpus(TEXT).target_words
    in_passes = most(epochs=200)
    assert in_passes == round(200 * words * 1.5 / 2_048)
    assert most(epochs=200, accumulate=2) == round(100 * words * 1.5 / 2_048)
    assert most(BatchingConfig(batch_tokens=512), epochs=200) == round(200 * words * 1.5 / 512)
    assert most(epochs=200, steps=1) == 1


def test_passes_over_text_without_spaces_are_guessed_from_its_letters() -> None:
    config = RunConfig(training=TrainingConfig(epochs=200))
    letters = sum(map(len, ("家", "は大きい"))) * len(JAPANESE)
    corpus = measure_corpus(JAPANESE)
    assert corpus.target_unspaced == letters
    assert most_updates(config, corpus, on_gpu=False) == round(200 * letters / 2 * 1.5 / 2_048)
    turned = measure_corpus(SentencePair(each.target, each.source, 1) for each in JAPANESE)
    words = 3 * len(JAPANESE)
    assert most_updates(config, turned, on_gpu=False) == round(200 * words * 1.5 / 2_048)


def test_what_is_configured_is_not_chosen() -> None:
    wanted = TokenizationConfig(kind="unigram", vocabulary_size=777, shared=False, sampling=0.0)
    assert choose_tokenization(wanted, measure_corpus(TEXT)) == (wanted, [])
    config = RunConfig(
        tokenization=wanted,
        model=ModelConfig(preset="small", dropout=0.4, heads=8),
        training=TrainingConfig(steps=123, seed=9, schedule="cosine"),
    )
    chosen, _ = choose(config, DIGITS)
    assert chosen.training.steps == 123
    assert chosen.training.schedule == "cosine"
    assert (chosen.model.dropout, chosen.model.heads, chosen.model.d_model) == (0.4, 8, 256)
    assert chosen.model.tie == "target"


@pytest.mark.parametrize("pairs", [DIGITS, RUN_TOGETHER, TEXT, JAPANESE])
def test_nothing_is_left_open(pairs: list[SentencePair]) -> None:
    statistics = measure_corpus(pairs)
    tokenization, _ = choose_tokenization(TokenizationConfig(), statistics)
    config, reasons = choose(RunConfig(tokenization=tokenization), pairs)
    sizes = architecture_of(config.model)
    assert sizes.d_model == config.model.d_model
    for name in ("steps", "warmup_steps", "validate_every", "patience", "schedule"):
        assert getattr(config.training, name) is not None, name
    assert config.batching.batch_tokens is not None
    assert reasons


def test_rules_are_normalised_before_and_languages_after() -> None:
    rules, reasons = choose(RunConfig(), DIGITS)
    assert (rules.model.norm, rules.training.peak_learning_rate) == ("pre", 0.002)
    assert any(reason.startswith("model.norm = pre") for reason in reasons)
    assert choose(RunConfig(), TEXT)[0].model.norm == "post"
    wanted = RunConfig(model=ModelConfig(norm="post"))
    assert choose(wanted, DIGITS)[0].model.norm == "post"


def test_epochs_become_steps() -> None:
    config = RunConfig(training=TrainingConfig(epochs=3, accumulate=2))
    chosen, _ = choose(config, TEXT, batches=101)
    assert chosen.training.steps == 152
    assert choose(RunConfig(training=TrainingConfig(epochs=0.001)), TEXT)[0].training.steps == 1


def test_the_batches_of_an_epoch_are_counted_with_the_chosen_batch_size() -> None:
    asked = []

    def count(batch_tokens: int) -> int:
        asked.append(batch_tokens)
        return 7

    config = RunConfig(batching=BatchingConfig(batch_tokens=999))
    sizes = {"target_tokens": 9000, "on_gpu": False}
    choose_model(config, measure_corpus(TEXT), batches_an_epoch=count, **sizes)
    chosen, _ = choose_model(RunConfig(), measure_corpus(TEXT), batches_an_epoch=count, **sizes)
    assert asked == [999, chosen.batching.batch_tokens]


def test_minutes_alone_leave_the_steps_to_the_clock_and_say_so() -> None:
    training = TrainingConfig(minutes=60, threads=2)
    chosen, reasons = choose(RunConfig(training=training), TEXT)
    assert chosen.training.steps is None
    assert chosen.training.warmup_steps == 500
    assert chosen.training.peak_learning_rate == pytest.approx(128**-0.5 * 1000**-0.5, rel=0.05)
    assert chosen.training.validate_every == 100
    assert any("as if 5,000 updates fitted into the 60 minutes" in reason for reason in reasons)


@pytest.mark.parametrize(
    "limit", [{"minutes": 5, "threads": 1, "dtype": "float32"}, {"steps": 900}]
)
def test_the_rate_of_a_short_training_on_text_rises_no_faster(limit: dict[str, object]) -> None:
    training = TrainingConfig.model_validate(limit)
    chosen, reasons = choose(RunConfig(model=ModelConfig(preset="small"), training=training), TEXT)
    assert chosen.training.warmup_steps == 500
    guess = r"as if \d\d\d updates fitted into the 5 minutes"
    assert any(re.search(guess, each) for each in reasons) == ("minutes" in limit)
    assert chosen.training.peak_learning_rate == pytest.approx(256**-0.5 * 1000**-0.5, rel=0.05)
    long = RunConfig(training=TrainingConfig(steps=20_000))
    assert choose(long, TEXT)[0].training.warmup_steps == 2_000
    for model, pairs in ((ModelConfig(kind="gru"), TEXT), (ModelConfig(), DIGITS)):
        other, _ = choose(RunConfig(model=model, training=TrainingConfig(steps=900)), pairs)
        assert other.training.warmup_steps == 100


@pytest.mark.parametrize(
    ("limit", "batch_tokens", "dropout"),
    [
        ({"minutes": 10}, 1_024, 0.1),  # of the 29,000 captions of Multi30k
        ({"minutes": 40}, 2_048, 0.2),
        ({"minutes": 240}, 4_096, 0.3),
        ({}, 4_096, 0.3),
        ({"epochs": 5.0}, 4_096, 0.1),
        ({"epochs": 15.0}, 4_096, 0.2),
        ({"steps": 1_000}, 4_096, 0.1),
        ({"steps": 10_000}, 4_096, 0.3),
    ],
)
def test_text_that_is_seen_seldom_gets_more_updates_and_less_dropout(
    limit: dict[str, object], batch_tokens: int, dropout: float
) -> None:
    tokens = 430_000
    chosen, reasons = choose_model(
        RunConfig(
            tokenization=TokenizationConfig(vocabulary_size=4_000),
            training=TrainingConfig.model_validate({"threads": 1, "dtype": "bfloat16"} | limit),
        ),
        replace(measure_corpus(TEXT), pairs=29_000),
        target_tokens=tokens,
        on_gpu=False,
        batches_an_epoch=lambda size: tokens // size,
    )
    assert (chosen.batching.batch_tokens, chosen.model.dropout) == (batch_tokens, dropout)
    assert any(f"model.dropout = {dropout}: " in reason for reason in reasons)
    assert any("room for more updates" in reason for reason in reasons) == (batch_tokens < 4_096)


def test_the_rate_falls_to_nothing_unless_there_is_much_text() -> None:
    little = measure_corpus(TEXT)
    for pairs, schedule in ((1_000, "linear"), (299_999, "linear"), (300_000, "inverse-sqrt")):
        chosen, reasons = choose_model(
            RunConfig(),
            replace(little, pairs=pairs),
            target_tokens=9 * pairs,
            on_gpu=False,
            batches_an_epoch=lambda _: 10,
        )
        assert chosen.training.schedule == schedule
        assert schedule != "linear" or any("schedule = linear" in reason for reason in reasons)


def test_a_deep_model_gets_the_highest_rate_of_the_paper() -> None:
    for sizes, rate in (
        ({"preset": "base"}, 0.0007),
        ({"encoder_layers": 6, "d_model": 256}, 0.00099),
    ):
        model = ModelConfig.model_validate(sizes)
        assert choose(RunConfig(model=model), TEXT)[0].training.peak_learning_rate == rate


def test_a_short_warm_up_makes_no_high_learning_rate() -> None:
    for steps in (200, 2_000, 40_000):
        chosen, reasons = choose(RunConfig(training=TrainingConfig(steps=steps)), TEXT)
        assert chosen.training.peak_learning_rate == pytest.approx(0.0028, rel=0.05)
        assert any("peak_learning_rate = 0.0028" in reason for reason in reasons)
    wanted = TrainingConfig(steps=2_000, warmup_steps=200)
    assert choose(RunConfig(training=wanted), TEXT)[0].training.peak_learning_rate is None


@pytest.mark.parametrize("limit", [{"steps": 70}, {"epochs": 7.0}])
def test_minutes_with_another_limit_keep_both(limit: dict[str, float]) -> None:
    training = TrainingConfig.model_validate({"minutes": 30, **limit})
    assert choose(RunConfig(training=training), TEXT, batches=10)[0].training.steps == 70


@pytest.mark.parametrize("pairs", [DIGITS, RUN_TOGETHER])
def test_sampling_where_the_chosen_tokens_cannot_be_cut_is_refused(
    pairs: list[SentencePair],
) -> None:
    with pytest.raises(ConfigError, match=r"set tokenization\.kind to") as caught:
        choose_tokenization(TokenizationConfig(sampling=0.1), measure_corpus(pairs))
    assert "tokenization.kind = " in str(caught.value)
    wanted = TokenizationConfig(sampling=0.1, kind="bpe")
    assert choose_tokenization(wanted, measure_corpus(pairs))[0].sampling == 0.1


def test_one_matrix_for_two_vocabularies_is_refused() -> None:
    tokenization, _ = choose_tokenization(TokenizationConfig(), measure_corpus(JAPANESE))
    config = RunConfig(tokenization=tokenization, model=ModelConfig(tie="three-way"))
    with pytest.raises(ConfigError, match="three-way needs one vocabulary"):
        choose(config, JAPANESE)
