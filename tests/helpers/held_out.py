"""Training and validation pairs of a small corpus in memory: what a run makes of large ones where they lie."""

from collections.abc import Sequence

from interlingua.corpus.held_out import choose_held_out, rank_sources
from interlingua.corpus.pairs import SentencePair


def hold_out(
    pairs: Sequence[SentencePair], size: int | None, seed: int
) -> tuple[list[SentencePair], list[SentencePair]]:
    """Return the pairs to train on and those to validate on, each in the order of the corpus."""
    chosen = choose_held_out(rank_sources((pair.source for pair in pairs), seed), size).tolist()
    training = [pair for pair, held in zip(pairs, chosen, strict=True) if not held]
    return training, [pair for pair, held in zip(pairs, chosen, strict=True) if held]
