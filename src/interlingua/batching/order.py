"""The order of an epoch: which pairs make a batch, and which batch comes when.

Pairs of like length are put together, so that little is padding, and a batch takes as many as fit into a budget
of padded tokens. Where there is a choice, chance decides, anew in each epoch but always the same for a
seed: the order is a pure function of (seed, epoch, lengths), and a resumed run needs only to know where it stopped.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.random import Philox
from numpy.typing import NDArray

__all__ = ["epoch_order"]

Indices: TypeAlias = NDArray[np.integer[Any]]
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
    source_lengths, target_lengths = np.asarray(source_lengths), np.asarray(target_lengths)
    # The raw numbers of Philox, unlike the methods of a generator, are the same in every version of NumPy.
    chance = Philox(key=np.array([seed % 2**64, epoch], dtype=np.uint64))
    in_order = _shuffle(chance, len(source_lengths))
    in_order = in_order[_sorting(target_lengths[in_order])]
    chunk = _chunks(target_lengths[in_order], batch_tokens, offset=chance.random_raw() / 2**64)
    # Chunks follow each other already, so that a stable sort by chunk after one by length leaves both in order.
    source = source_lengths[in_order].astype(np.int64)
    np.negative(source, out=source, where=chunk % 2 == 1)
    by_source = _sorting(source)
    del source
    in_order = in_order[by_source[_sorting(chunk[by_source])]]
    del by_source, chunk
    batches = _fill(in_order, source_lengths, target_lengths, batch_tokens)
    return [batches[index] for index in _shuffle(chance, len(batches)).tolist()]


def _shuffle(chance: Philox, size: int) -> Indices:
    """Return 0 to ``size - 1`` in an order drawn by chance."""
    return _narrow(np.argsort(chance.random_raw(size), kind="stable"))


def _sorting(numbers: NDArray[np.integer[Any]]) -> Indices:
    """Return the order that sorts ``numbers``, equals as they stand.

    Numbers that fit into 16 bits are sorted by their digits, in a tenth of the time.
    """
    least = int(numbers.min()) if len(numbers) else 0
    if len(numbers) and int(numbers.max()) - least < 1 << 16:
        numbers = (numbers - least).astype(np.uint16)
    return _narrow(np.argsort(numbers, kind="stable"))


def _narrow(indices: NDArray[np.int64]) -> Indices:
    """Halve the memory of indices, if they allow it."""
    return indices.astype(np.int32) if len(indices) < 1 << 31 else indices


def _chunks(sorted_lengths: Lengths, batch_tokens: int, offset: float) -> Indices:
    """Number the chunks of pairs that are sorted by target length.

    Long chunks mix target lengths, short ones leave few source lengths to choose from. Among ``n`` pairs of one
    target length, with source lengths that scatter in proportion to it, both kinds of padding are alike in
    chunks of about sqrt(n * batch_tokens) pairs; the factor was found on real corpora.
    """
    if not len(sorted_lengths):
        return np.zeros(0, dtype=np.int32)
    alike = np.bincount(sorted_lengths)
    share_of_chunk = np.zeros(len(alike))
    np.divide(1, np.sqrt(_CHUNK_SCALE * batch_tokens * alike), out=share_of_chunk, where=alike > 0)
    number = share_of_chunk[sorted_lengths]
    np.cumsum(number, out=number)
    number += offset
    return np.floor(number, out=number).astype(np.int32)


def _fill(
    in_order: Indices, source_lengths: Lengths, target_lengths: Lengths, batch_tokens: int
) -> list[Indices]:
    """Cut an order into batches, each as large as the budget allows."""
    longest = np.maximum(source_lengths, target_lengths)[in_order]
    batches, start = [], 0
    while start < len(in_order):
        # The first row alone says how many there can be at most; the longest of them says how many there are.
        most = max(batch_tokens // max(int(longest[start]), 1), 1)
        widest = np.maximum.accumulate(longest[start : start + most])
        padded = widest.astype(np.int64) * np.arange(1, len(widest) + 1)
        rows = max(int(np.searchsorted(padded, batch_tokens, side="right")), 1)
        batches.append(in_order[start : start + rows])
        start += rows
    return batches
