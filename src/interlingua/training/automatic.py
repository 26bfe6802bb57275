"""Choices made from the corpus, each with its reason.

Where the configuration says nothing (``None``), sizes, vocabulary, dropout and length of training follow from how
much text there is and what it looks like. Everything here is a function of the pairs, so a resumed run chooses the
same again.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from interlingua.config import ModelConfig, RunConfig, TokenizationConfig
from interlingua.corpus.pairs import SentencePair
from interlingua.model.architecture import PRESETS, Architecture

__all__ = [
    "CorpusStatistics",
    "architecture_of",
    "choose_model",
    "choose_tokenization",
    "measure_corpus",
]


@dataclass(frozen=True, slots=True)
class CorpusStatistics:
    """What the choices look at."""

    pairs: int
    source_words: int
    target_words: int
    word_types: int
    """Distinct words of the side that has more of them."""
    characters: int
    """Distinct characters of both sides."""
    shared_script: float
    """Share of the text, by letters, whose letters occur on both sides (0 to 1)."""

    @property
    def words_a_line(self) -> float:
        """Mean words of the longer side."""
        return max(self.source_words, self.target_words) / self.pairs

    @property
    def closed_vocabulary(self) -> bool:
        """A few words that occur again and again: commands, digits, phonemes."""
        words = min(self.source_words, self.target_words)
        return self.word_types <= 500 and words >= 50 * self.word_types

    @property
    def unspaced(self) -> bool:
        """Lines are strings of few different characters, not words: digits or letters run together."""
        words = max(self.source_words, self.target_words)
        return self.characters <= 100 and self.words_a_line < 1.5 and self.word_types > words / 5


def measure_corpus(pairs: Sequence[SentencePair]) -> CorpusStatistics:
    """Count what the choices need."""
    source, target = Counter[str](), Counter[str]()
    for pair in pairs:
        source.update(pair.source.split())
        target.update(pair.target.split())
    source_letters, target_letters = _letters(source), _letters(target)
    common = source_letters.keys() & target_letters.keys()
    total = source_letters.total() + target_letters.total()
    shared = sum(source_letters[c] + target_letters[c] for c in common)
    return CorpusStatistics(
        pairs=len(pairs),
        source_words=source.total(),
        target_words=target.total(),
        word_types=max(len(source), len(target)),
        characters=len(source_letters.keys() | target_letters.keys()),
        shared_script=shared / max(total, 1),
    )


def _letters(words: Counter[str]) -> Counter[str]:
    letters = Counter[str]()
    for word, count in words.items():
        for letter in word:
            letters[letter] += count
    return letters


def choose_tokenization(
    config: TokenizationConfig, corpus: CorpusStatistics
) -> tuple[TokenizationConfig, list[str]]:
    """Fill in the kind, the size and the sharing of the vocabulary; return them with the reasons."""
    reasons = []
    kind = config.kind
    if kind is None:
        if config.byte_level:
            kind = "bpe"
        elif corpus.closed_vocabulary:
            kind = "word"
            reasons.append(
                f"tokenization.kind = word: only {corpus.word_types:,} different words, each seen often"
            )
        elif corpus.unspaced:
            kind = "char"
            reasons.append(
                f"tokenization.kind = char: lines of {corpus.characters} different characters without words"
            )
        else:
            kind = "bpe"
            reasons.append("tokenization.kind = bpe: ordinary text")
    size = config.vocabulary_size
    if size is None:
        size = _vocabulary_size(kind, corpus)
        reasons.append(f"tokenization.vocabulary_size = {size:,}: for {corpus.pairs:,} pairs")
    shared = config.shared
    if shared is None:
        shared = corpus.shared_script >= 0.5
        reasons.append(
            f"tokenization.shared = {str(shared).lower()}: {corpus.shared_script:.0%} of the letters "
            "belong to both languages"
        )
    update = {"kind": kind, "vocabulary_size": size, "shared": shared}
    return config.model_copy(update=update), reasons


def _vocabulary_size(kind: str, corpus: CorpusStatistics) -> int:
    if kind == "char":
        return 4_000
    if kind == "word":
        return 2_000 if corpus.closed_vocabulary else 30_000
    for pairs, size in ((2_000, 1_000), (8_000, 2_000), (60_000, 4_000), (500_000, 8_000)):
        if corpus.pairs < pairs:
            return size
    return 16_000 if corpus.pairs < 3_000_000 else 32_000


def choose_model(
    config: RunConfig, corpus: CorpusStatistics, *, target_tokens: int, on_gpu: bool
) -> tuple[RunConfig, list[str]]:
    """Fill in the model's sizes, the batches and the length of training; return them with the reasons.

    ``target_tokens`` is the number of target tokens of one epoch, end symbols included.
    """
    reasons: list[str] = []
    toy = corpus.closed_vocabulary or corpus.unspaced
    model = _choose_sizes(config.model, corpus, toy=toy, on_gpu=on_gpu, reasons=reasons)
    if model.tie is None:
        tie = "three-way" if config.tokenization.shared else "target"
        model = model.model_copy(update={"tie": tie})
    batching = config.batching
    if batching.batch_tokens is None:
        tokens = 2048 if toy or target_tokens < 300_000 else 4096
        tokens = 25_000 if on_gpu and corpus.pairs > 100_000 else tokens
        batching = batching.model_copy(update={"batch_tokens": tokens})
        reasons.append(
            f"batching.batch_tokens = {tokens:,}: {target_tokens:,} target tokens an epoch"
        )
    assert batching.batch_tokens is not None
    training = config.training
    epoch = max(1, round(target_tokens / (0.95 * batching.batch_tokens * training.accumulate)))
    steps = training.steps
    if training.epochs is not None:
        steps = min(steps or 10**9, max(1, round(training.epochs * epoch)))
    if steps is None:
        epochs = 12 if toy else 60 if corpus.pairs < 100_000 else 20
        steps = max(1_000 if toy else 2_000, epochs * epoch)
        if training.minutes is None:
            reasons.append(
                f"training.steps = {steps:,}: at most {steps / epoch:.0f} passes over the corpus"
            )
    update: dict[str, object] = {"steps": steps}
    if training.schedule is None:
        update["schedule"] = "linear" if toy else "inverse-sqrt"
        if toy:
            reasons.append(
                "training.schedule = linear: the last mistakes go when the steps get small"
            )
    if training.warmup_steps is None:
        update["warmup_steps"] = min(4_000, max(100, steps // 10))
    if training.peak_learning_rate is None and toy:
        update["peak_learning_rate"] = 0.003
    if training.validate_every is None:
        update["validate_every"] = min(5_000, max(100, min(steps // 20, 2 * epoch)))
    if training.patience is None:
        update["patience"] = 10
    training = training.model_copy(update=update)
    update = {"model": model, "batching": batching, "training": training}
    return config.model_copy(update=update), reasons


def _choose_sizes(
    model: ModelConfig, corpus: CorpusStatistics, *, toy: bool, on_gpu: bool, reasons: list[str]
) -> ModelConfig:
    update: dict[str, object] = {}
    preset = model.preset
    if preset is None:
        enough_for_base = corpus.pairs >= (300_000 if on_gpu else 3_000_000)
        if toy or corpus.pairs < 15_000:
            preset = "tiny"
        else:
            preset = "base" if enough_for_base else "small"
        update["preset"] = preset
        where = "on a GPU" if on_gpu else "on a CPU"
        reasons.append(f"model.preset = {preset}: {corpus.pairs:,} pairs, {where}")
    sizes = PRESETS[preset]
    if toy and model.preset is None:
        sizes = replace(sizes, encoder_layers=2, decoder_layers=2, d_ff=512)
        reasons.append("model.encoder_layers = model.decoder_layers = 2: rules, not a language")
    for name in ("encoder_layers", "decoder_layers", "d_model", "d_ff", "heads"):
        if getattr(model, name) is None:
            update[name] = getattr(sizes, name)
    if model.dropout is None:
        dropout = _dropout(corpus.pairs, toy=toy)
        update["dropout"] = dropout
        why = "rules are learnt exactly or not at all" if toy else "the less text, the more"
        reasons.append(f"model.dropout = {dropout}: {why}")
    return model.model_copy(update=update)


def _dropout(pairs: int, *, toy: bool) -> float:
    if toy:
        return 0.0
    if pairs >= 1_000_000:
        return 0.1
    return 0.2 if pairs >= 200_000 else 0.3


def architecture_of(model: ModelConfig) -> Architecture:
    """Turn a configuration with every choice made into the sizes of a model.

    Raises:
        ValueError: sizes that do not fit together.
    """
    sizes = model.model_dump(exclude={"preset"})
    return Architecture(**sizes)
