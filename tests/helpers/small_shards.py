"""Shards of ids that a test has at hand."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from interlingua.batching.shard_writer import EncodedChunk, ShardWriter
from interlingua.batching.shards import SIDES, Shards, id_dtype


def write_shards(
    folder: Path, sources: Iterable[Sequence[int]], targets: Iterable[Sequence[int]]
) -> Shards:
    """Write the ids of pairs, and open them; the folder appears whole or not at all."""
    sides = [list(sources), list(targets)]
    largest = [max((max(ids, default=0) for ids in side), default=0) for side in sides]
    dtypes = {side: id_dtype(most + 1) for side, most in zip(SIDES, largest, strict=True)}
    writer = ShardWriter(folder, made_from={"ids": "given"}, id_dtypes=dtypes, keep_text=False)
    writer.start_anew()
    lines = np.arange(1, len(sides[0]) + 1)
    writer.append(EncodedChunk.of_ids(0, sides[0], sides[1], lines, dtypes))
    return writer.finish()
