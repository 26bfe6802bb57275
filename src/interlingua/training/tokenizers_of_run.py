"""The vocabularies of a run that begins with fresh weights, learnt from its training text."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from interlingua.batching.mixing import weights_of
from interlingua.config import CorpusConfig, RunConfig
from interlingua.corpus.scan import ParallelFiles
from interlingua.files import replace_folder
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.tokenization.train import train_tokenizer
from interlingua.training.directions_of_run import symbols_of
from interlingua.training.run_folder import RunFolder

__all__ = ["train_tokenizers"]

_MOST_REPEATS = 100
"""A file whose weight is nearly nothing would else have all others counted without end."""


def train_tokenizers(
    config: RunConfig,
    folder: RunFolder,
    text: ParallelFiles,
    say: Callable[[str], None],
    borrowed: Tokenizer | None = None,
) -> TokenizerPair:
    """Learn the vocabularies of a run, whose kind and size are chosen, and put them into its folder.

    That of the source may be ``borrowed`` with an encoder.

    Raises:
        TokenizerError: they cannot be learnt so.
        OutputError: the folder cannot be written.
    """
    chosen = config.tokenization
    assert chosen.kind is not None
    assert chosen.vocabulary_size is not None
    sides: list[tuple[str, ...]] = [("source", "target")]
    if not chosen.shared:
        sides = [("target",)] if borrowed else [("source",), ("target",)]
    repeats = _repeats(config.corpus, text.pairs_a_part)
    trained = [
        train_tokenizer(
            _sentences(text, side, chosen.training_pairs, repeats),
            kind=(chosen.target_kind or chosen.kind) if side == ("target",) else chosen.kind,
            vocabulary_size=chosen.vocabulary_size,
            normalization=chosen.normalization,
            lowercase=chosen.lowercase,
            byte_level=chosen.byte_level,
            tags=sorted(symbols_of(config.corpus)) if "source" in side else (),
            of_lines=len(text) * len(side),
        )
        for side in sides
    ]
    tokenizers = TokenizerPair(borrowed or trained[0], trained[-1], shared=bool(chosen.shared))
    with replace_folder(folder.tokenizer) as new:
        tokenizers.save(new)
    sizes = " and ".join(f"{tokenizer.vocabulary_size:,}" for tokenizer in trained)
    kinds = dict.fromkeys(tokenizer.kind for tokenizer in trained)
    say(f"vocabulary: {sizes} {' and '.join(kinds)} tokens")
    return tokenizers


def _repeats(corpus: CorpusConfig, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return how often a pair of each file counts for a vocabulary of several languages: as often as it comes in training.

    A small language would else be spelled out in letters. Only what the weights are to each other counts, and the largest is at most
    ``_MOST_REPEATS`` times the smallest. Of one pair of languages every pair counts once.
    """
    if not corpus.directions:
        return ()
    weights = weights_of(sizes, corpus.weights, corpus.temperature) or (1.0,) * len(sizes)
    least = min(weight for weight in weights if weight)
    return tuple(max(1, min(_MOST_REPEATS, round(weight / least))) for weight in weights)


def _sentences(
    text: ParallelFiles, sides: tuple[str, ...], sample: int, repeats: tuple[int, ...]
) -> Iterator[str]:
    """Yield one side or both of the pairs that a vocabulary is learnt from; their order does not matter."""
    last_lines = list(accumulate(part.num_lines for part in text.parts))
    for pair in text.pairs(sample):
        times = repeats[bisect_left(last_lines, pair.line)] if repeats else 1
        for _ in range(times):
            for side in sides:
                yield pair.source if side == "source" else pair.target
