"""What is chosen for a run that begins with a model, by what it is to learn."""

from dataclasses import replace
from pathlib import Path

import pytest

from interlingua.config import (
    BatchingConfig,
    CorpusConfig,
    ModelConfig,
    RunConfig,
    StartConfig,
    TokenizationConfig,
    TrainingConfig,
)
from interlingua.corpus.pairs import SentencePair
from interlingua.corpus.statistics import measure_corpus
from interlingua.errors import ConfigError
from interlingua.model.architecture import (
    AnyArchitecture,
    Architecture,
    DecoderArchitecture,
    EncoderArchitecture,
    RecurrentArchitecture,
)
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer
from interlingua.training.borrowed_encoder import fit_to_encoder
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


TOKENIZER = train_tokenizer(["a b c"], kind="bpe", vocabulary_size=300)
TOKENIZERS = TokenizerPair(TOKENIZER, TOKENIZER, shared=True)


def choose(config: RunConfig, begun: Start, batches: int = 100) -> tuple[RunConfig, list[str]]:
    """Choose all that is open, for an epoch of so many batches."""
    inherited = inherit(config, begun, TOKENIZERS, is_extended=False)
    return choose_fine_tuning(
        inherited,
        begun,
        measure_corpus(TEXT),
        target_tokens=50_000,
        on_gpu=False,
        batches_an_epoch=lambda _: batches,
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


def test_little_text_of_another_language_is_seen_often() -> None:
    assert choose(NEW_LANGUAGE, start(), batches=10)[0].training.steps == 3_000


def test_a_pair_that_is_shown_again_is_not_to_be_forgotten() -> None:
    both = NEW_LANGUAGE.model_copy(
        update={
            "corpus": CorpusConfig(
                source=(Path("a.en"), Path("b.en")),
                target=(Path("a.de"), Path("b.ro")),
                directions=("en-de", "en-ro"),
            )
        }
    )
    chosen, _ = choose(both, start())
    assert (chosen.training.steps, chosen.training.peak_learning_rate) == (1_000, 0.00071)
    assert chosen.model.dropout == 0.1


def test_of_an_adapter_the_weights_below_keep_their_dropout() -> None:
    for asked in (
        StartConfig(init_from=Path("base"), new_language=True, lora_rank=4),
        StartConfig(init_from=Path("base"), new_language=True, freeze=("encoder.*",)),
    ):
        assert choose(RunConfig(start=asked), start())[0].model.dropout == 0.1


def test_a_model_of_another_program_is_changed_more_gently() -> None:
    config = RunConfig(start=StartConfig(init_from=Path("base")))
    for asked, peak in ((config, 0.00021), (NEW_LANGUAGE, 0.00042)):
        chosen, reasons = choose(asked, start(imported=True))
        assert chosen.training.peak_learning_rate == peak
        assert any("of another program" in reason for reason in reasons)


def test_the_clock_shortens_the_warm_up() -> None:
    minutes = NEW_LANGUAGE.model_copy(update={"training": TrainingConfig(minutes=1, threads=1)})
    hours = NEW_LANGUAGE.model_copy(update={"training": TrainingConfig(minutes=600, threads=1)})
    short, long = (choose(each, start(), batches=800)[0].training for each in (minutes, hours))
    assert short.steps is None
    assert short.warmup_steps is not None
    assert short.warmup_steps < 100
    assert short.validate_every is not None
    assert short.validate_every < 50
    assert (long.warmup_steps, long.validate_every) == (500, 250)


PAIRS = CorpusConfig(source=(Path("a.en"),), target=(Path("a.de"),), noise=0.3)
TEXT_ALONE = CorpusConfig(text=(Path("a.en"),), source_lang="en", target_lang="en")


@pytest.mark.parametrize(
    ("architecture", "asked", "words"),
    [
        (EncoderArchitecture(answers="tokens"), {"corpus": PAIRS}, "has an answer of its own"),
        (
            DecoderArchitecture(),
            {"corpus": TEXT_ALONE.model_copy(update={"denoise": 0.35})},
            "model.kind decoder reads none",
        ),
        (
            DecoderArchitecture(),
            {"corpus": TEXT_ALONE, "batching": BatchingConfig(max_length=600)},
            "holds no prompt and continuation",
        ),
    ],
)
def test_what_does_not_go_with_the_kind_of_the_model_is_refused(
    architecture: AnyArchitecture, asked: dict[str, object], words: str
) -> None:
    config = RunConfig(start=StartConfig(init_from=Path("base"))).model_copy(update=asked)
    target_lang = "en" if isinstance(architecture, DecoderArchitecture) else "de"
    begun = replace(start(), architecture=architecture, target_lang=target_lang)
    with pytest.raises(ConfigError, match=f"^base: .*{words}"):
        inherit(config, begun, TOKENIZERS, is_extended=False)


def test_a_size_that_a_borrowed_encoder_has_not_is_refused() -> None:
    config = RunConfig(start=StartConfig(encoder_from=Path("base")), model=ModelConfig(d_ff=512))
    begun = replace(start(), architecture=RecurrentArchitecture(kind="lstm"))
    with pytest.raises(ConfigError, match=r"^base: .*model\.d_ff = 512"):
        fit_to_encoder(config, begun, TOKENIZER)


def test_what_a_model_decides_does_not_replace_what_the_same_command_asks_again() -> None:
    config = RunConfig(
        start=StartConfig(init_from=Path("base"), new_pieces=5),
        tokenization=TokenizationConfig(vocabulary_size=400),
        model=ModelConfig(preset="small"),
    )
    inherited = inherit(config, start(), TOKENIZERS, is_extended=True)
    assert inherited.tokenization.vocabulary_size == 400
    assert (inherited.model.preset, inherited.model.d_model) == ("small", 128)


def test_a_model_of_unnamed_languages_takes_any_directions() -> None:
    corpus = CorpusConfig(source=(Path("a.x"),), target=(Path("a.y"),), directions=("en-ro",))
    config = RunConfig(corpus=corpus, start=StartConfig(init_from=Path("base")))
    unnamed = replace(start(), source_lang="source", target_lang="target")
    found = inherit(config, unnamed, TOKENIZERS, is_extended=True).corpus
    assert (found.directions, found.source_lang, found.target_lang) == (("en-ro",), "en", "ro")
    with pytest.raises(ConfigError, match="translates en-de, and the corpus has en-ro"):
        inherit(config, start(), TOKENIZERS, is_extended=True)
