"""The vocabulary that suits a corpus, each choice with its reason: kind, size, whether both languages share it, subword sampling."""

from interlingua.config import TokenizationConfig
from interlingua.corpus.statistics import CorpusStatistics
from interlingua.errors import ConfigError

__all__ = ["LITTLE_TEXT", "choose_tokenization", "subwords_of"]

LITTLE_TEXT = 15_000
"""Pairs of ordinary text below which words are cut in other ways in each epoch, and a tiny model is enough."""

_SAMPLING = 0.1
"""BPE-dropout (Provilkov et al. 2020)."""

_FEWEST_STEPS_TO_SAMPLE = 2_500
"""In a shorter training BPE-dropout costs more than it gives: on 1,000 captions BLEU fell by 1 with 1,500 updates, and rose by 1 with
2,500."""

_SUBWORDS = {2_000: 2_000, 8_000: 4_000, 500_000: 8_000, 3_000_000: 16_000}
"""Pairs of ordinary text, and the size of a vocabulary for fewer."""

_MOST_SUBWORDS = 32_000


def choose_tokenization(
    config: TokenizationConfig,
    corpus: CorpusStatistics,
    *,
    is_translated: bool = True,
    updates: int | None = None,
) -> tuple[TokenizationConfig, list[str]]:
    """Fill in the kind, the size, the sharing and the sampling of the vocabulary; return them with the reasons.

    Args:
        config: what is given.
        corpus: what the choices look at.
        is_translated: sources are turned into targets by an encoder and a decoder; elsewhere nothing is sampled.
        updates: of training at most, see :func:`most_updates`; None is as many as it needs.

    Raises:
        ConfigError: subword sampling is asked for, and the kind that suits the corpus has no subwords.
    """
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
        if config.sampling and kind in ("word", "char"):
            raise ConfigError(
                f"tokenization.sampling = {config.sampling:g} needs subwords, but this corpus asks for "
                f'{reasons[-1]}; set tokenization.kind to "bpe", or tokenization.sampling to 0'
            )
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
    sampling = config.sampling
    if sampling is None:
        is_long = updates is None or updates >= _FEWEST_STEPS_TO_SAMPLE
        is_little = corpus.pairs < LITTLE_TEXT and config.kind is None and kind == "bpe"
        sampling = _SAMPLING if is_translated and is_little and is_long else 0.0
        if sampling:
            reasons.append(
                f"tokenization.sampling = {sampling:g}: words are cut in other ways in each epoch, as there is little text"
            )
    update = {"kind": kind, "vocabulary_size": size, "shared": shared, "sampling": sampling}
    return config.model_copy(update=update), reasons


def _vocabulary_size(kind: str, corpus: CorpusStatistics) -> int:
    if kind == "char":
        return 4_000
    if kind == "word":
        return 2_000 if corpus.closed_vocabulary else 30_000
    return subwords_of(corpus.pairs)


def subwords_of(num_pairs: int) -> int:
    """Return how many subwords so many pairs of ordinary text are cut into: for up to 29,000 pairs half as many were tried, and were worse
    (docs/results.md, "Vocabulary").
    """
    for pairs, size in _SUBWORDS.items():
        if num_pairs < pairs:
            return size
    return _MOST_SUBWORDS
