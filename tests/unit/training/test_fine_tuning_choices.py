"""What is chosen for a run that begins with a model, by what it is to learn."""

from dataclasses import replace
from pathlib import Path

import pytest

from interlingua.config import (
    CorpusConfig,
    ModelConfig,
    RunConfig,
    StartConfig,
    TrainingConfig,
)
from interlingua.corpus.pairs import SentencePair
from interlingua.corpus.statistics import measure_corpus
from interlingua.model.architecture import Architecture
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer
from interlingua.training.fine_tuning import choose_fine_tuning, inherit
from interlingua.training.starting import Start

TEXT = [
    SentencePair(f"casa {i} are {i * i} uși", f"house {i} has {i * i} doors", i)
    for i in range(1000)
]
ARCHITECTURE = Architecture(
    encoder_layers=4, decoder_layers=4, d_model=128, d_ff=512, heads=4, dropout=0.1
)


def start(**more: object) -> Start:
    known = {"source_lang": "en", "target_lang": "de", "max_length": 256, "decoding": {}}
    return Start(Path("base"), "0" * 64, ARCHITECTURE, **known, **more)  # type: ignore[arg-type]


def choose(config: RunConfig, begun: Start) -> tuple[RunConfig, list[str]]:
    """Choose all that is open, for an epoch of a hundred batches."""
    tokenizer = train_tokenizer(["a b c"], kind="word", vocabulary_size=300)
    tokenizers = TokenizerPair(tokenizer, tokenizer, shared=True)
    inherited = inherit(config, begun, tokenizers, is_extended=False)
    return choose_fine_tuning(
        inherited,
        begun,
        measure_corpus(TEXT),
        target_tokens=50_000,
        batches_an_epoch=lambda _: 100,
    )


NEW_LANGUAGE = RunConfig(start=StartConfig(init_from=Path("base"), new_language=True))


def test_what_a_model_knows_is_learnt_on_shortly_and_gently() -> None:
    chosen, _ = choose(RunConfig(start=StartConfig(init_from=Path("base"))), start())
    training = chosen.training
    assert (training.steps, training.peak_learning_rate) == (1_000, 0.00071)
    assert (training.patience, training.validate_every) == (5, 100)
    assert chosen.model.dropout == 0.1


@pytest.mark.parametrize(
    ("config", "begun"),
    [
        (NEW_LANGUAGE, start()),
        (RunConfig(start=StartConfig(init_from=Path("base"))), start(fills_gaps=True)),
    ],
    ids=["another language", "gaps before"],
)
def test_another_task_takes_longer_and_larger_steps(config: RunConfig, begun: Start) -> None:
    chosen, reasons = choose(config, begun)
    training = chosen.training
    assert (training.steps, training.peak_learning_rate) == (4_000, 0.0014)
    assert (training.patience, training.validate_every) == (10, 200)
    assert chosen.model.dropout == 0.3
    assert "model.dropout = 0.3: base had 0.1; the less text, the more" in reasons
    assert any("another task" in reason for reason in reasons)


def test_gaps_after_gaps_are_the_same_task() -> None:
    same = RunConfig(
        corpus=CorpusConfig(text=(Path("more.en"),), denoise=0.3),
        start=StartConfig(init_from=Path("base")),
    )
    begun = replace(start(fills_gaps=True), target_lang="en")
    chosen, _ = choose(same, begun)
    assert chosen.training.peak_learning_rate == 0.00071
    assert chosen.model.dropout == 0.1


def test_what_somebody_says_stays() -> None:
    asked = NEW_LANGUAGE.model_copy(
        update={
            "model": ModelConfig(dropout=0.1),
            "training": TrainingConfig(steps=50, peak_learning_rate=0.003, patience=2),
        }
    )
    chosen, reasons = choose(asked, start())
    training = chosen.training
    assert (training.steps, training.peak_learning_rate, training.patience) == (50, 0.003, 2)
    assert chosen.model.dropout == 0.1
    assert not any("dropout" in reason for reason in reasons)


def test_an_adapter_has_its_own_rate() -> None:
    config = RunConfig(start=StartConfig(init_from=Path("base"), new_language=True, lora_rank=4))
    chosen, _ = choose(config, start())
    assert chosen.training.peak_learning_rate == 0.0042
