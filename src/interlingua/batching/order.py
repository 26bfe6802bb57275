"""The order of an epoch: which pairs make a batch, and which batch comes when.

Pairs of like length are put together, so that little is padding, and a batch takes as many as fit into a budget
of padded tokens. Where there is a choice, chance decides, anew in each epoch but always the same for a
seed: the order is a pure function of (seed, epoch, lengths), and a resumed run needs only to know where it stopped.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Philox
from numpy.typing import NDArray

__all__ = ["epoch_order", "padding_share"]

Indices: TypeAlias = NDArray[np.int64]
Lengths: TypeAlias = NDArray[np.integer[Any]]

_CHUNK_SCALE = 0.75


def epoch_order(
    source_lengths: Lengths,
    target_lengths: Lengths,
    *,
    batch_tokens: int,
    seed: int,
    epoch: int,
) -> list[Indices]:
    """Return the batches of one epoch, each as the indices of its pairs; every pair is in exactly one.

    The pairs are shuffled and sorted by target length, cut into chunks, and sorted by source length within a
    chunk: up in one chunk and down in the next. Then batches are filled in that order, and shuffled. Where the
    first chunk ends is drawn by chance too.

    Args:
        source_lengths: tokens of each source as they stand in a batch, the end symbol included.
        target_lengths: the same of each target.
        batch_tokens: rows times longest row is at most this on each side; a pair that is longer alone makes
            a batch of its own.
        seed: seed of the run.
        epoch: 0 for the first pass over the corpus.

    Raises:
        ValueError: the two sides differ in number.
    """
    if len(source_lengths) != len(target_lengths):
        raise ValueError(f"{len(source_lengths)} sources but {len(target_lengths)} targets")
    # The raw numbers of Philox, unlike the methods of a generator, are the same in every version of NumPy.
    chance = Philox(key=np.array([seed % 2**64, epoch], dtype=np.uint64))
    shuffled = _shuffle(chance, len(source_lengths))
    by_target = shuffled[np.argsort(target_lengths[shuffled], kind="stable")]
    chunk = _chunks(target_lengths[by_target], batch_tokens, offset=chance.random_raw() / 2**64)
    source = source_lengths[by_target].astype(np.int64)
    in_order = by_target[np.lexsort((np.where(chunk % 2 == 0, source, -source), chunk))]
    batches = _fill(in_order, source_lengths, target_lengths, batch_tokens)
    return [batches[index] for index in _shuffle(chance, len(batches))]


def padding_share(batches: Sequence[Indices], lengths: Lengths) -> float:
    """Return the share of one side's tensors that is padding, over all ``batches``."""
    real = sum(int(lengths[batch].sum()) for batch in batches)
    padded = sum(len(batch) * int(lengths[batch].max()) for batch in batches)
    return 1 - real / padded if padded else 0.0


def _shuffle(chance: Philox, size: int) -> Indices:
    """Return 0 to ``size - 1`` in an order drawn by chance."""
    return np.argsort(chance.random_raw(size), kind="stable").astype(np.int64)


def _chunks(sorted_lengths: Lengths, batch_tokens: int, offset: float) -> Indices:
    """Number the chunks of pairs that are sorted by target length.

    Long chunks mix target lengths, short ones leave few source lengths to choose from. Among ``n`` pairs of one
    target length, with source lengths that scatter in proportion to it, both kinds of padding are alike in
    chunks of about sqrt(n * batch_tokens) pairs; the factor was found on real corpora.
    """
    alike = np.bincount(sorted_lengths)[sorted_lengths] if len(sorted_lengths) else sorted_lengths
    share_of_chunk = 1 / np.sqrt(_CHUNK_SCALE * batch_tokens * alike)
    return np.floor(np.cumsum(share_of_chunk) + offset).astype(np.int64)


def _fill(
    in_order: Indices, source_lengths: Lengths, target_lengths: Lengths, batch_tokens: int
) -> list[Indices]:
    """Cut an order into batches, each as large as the budget allows."""
    longest = np.maximum(source_lengths, target_lengths)[in_order].tolist()
    starts = [0] if longest else []
    widest = 0
    for position, length in enumerate(longest):
        widest = max(widest, length)
        if position > starts[-1] and widest * (position - starts[-1] + 1) > batch_tokens:
            starts.append(position)
            widest = length
    return np.split(in_order, starts[1:]) if starts else []
