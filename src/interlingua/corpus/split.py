"""Hold back a part of the pairs for validation, so that no validation source is also trained on."""

from collections.abc import Sequence
from hashlib import blake2b

from interlingua.corpus.pairs import SentencePair
from interlingua.errors import CorpusError

__all__ = ["default_validation_size", "split_validation"]


def default_validation_size(num_pairs: int) -> int:
    """Return a twentieth of the pairs, but at least 50, at most 1,000, and never more than half."""
    return min(max(num_pairs // 20, 50), 1000, num_pairs // 2)


def split_validation(
    pairs: Sequence[SentencePair], size: int | None, seed: int
) -> tuple[list[SentencePair], list[SentencePair]]:
    """Split ``pairs`` into training and validation pairs, each in the order of the corpus.

    Sources are ranked by a hash keyed with ``seed``, and taken with all their translations while they fit into
    ``size``. The result is a function of the pairs and the seed alone, and no source is on both sides.

    Args:
        pairs: the corpus.
        size: validation pairs wanted; None for ``default_validation_size``. A corpus with many repeated
            sources may give fewer.
        seed: another seed holds back other pairs.

    Raises:
        CorpusError: ``size`` is more than half of the pairs, or the corpus has too few different sources.
    """
    if size is not None and size > len(pairs) // 2:
        raise CorpusError(
            f"{size:,} validation pairs are more than half of the {len(pairs):,} pairs; "
            f"ask for at most {len(pairs) // 2:,}, or give validation files"
        )
    wanted = default_validation_size(len(pairs)) if size is None else size
    repeats: dict[str, int] = {}
    for pair in pairs:
        repeats[pair.source] = repeats.get(pair.source, 0) + 1
    key = seed.to_bytes(16, "little")
    room = wanted
    held_back: set[str] = set()
    for source in sorted(repeats, key=lambda source: _rank(source, key)):
        if repeats[source] <= room:
            held_back.add(source)
            room -= repeats[source]
        if room == 0:
            break
    if not held_back:
        raise CorpusError(
            f"{len(pairs):,} pairs with {len(repeats):,} different sources are too few to hold some back "
            "for validation; add pairs, or give validation files"
        )
    training = [pair for pair in pairs if pair.source not in held_back]
    validation = [pair for pair in pairs if pair.source in held_back]
    return training, validation


def _rank(source: str, key: bytes) -> tuple[bytes, str]:
    data = source.encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=8, key=key).digest(), source
