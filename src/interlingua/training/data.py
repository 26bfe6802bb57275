"""The pairs of a run as ids, and the batches of each epoch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from interlingua.batching.batch import Batch, make_batch
from interlingua.batching.order import epoch_order
from interlingua.batching.shards import Shards
from interlingua.corpus.pairs import SentencePair
from interlingua.tokenization.pair import TokenizerPair

__all__ = ["Cursor", "TrainingData"]


@dataclass(frozen=True, slots=True)
class Cursor:
    """How much of the data has been consumed: whole epochs, and batches of the one under way."""

    epoch: int = 0
    batch: int = 0


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Batches as a pure function of (seed, epoch, corpus), so that a resume needs only a cursor.

    With subword sampling the ids of a pair differ from epoch to epoch; the shards then give only the lengths by
    which batches are made, and the text of ``pairs`` is cut anew.
    """

    shards: Shards
    pairs: Sequence[SentencePair]
    """The text of the pairs, where it is wanted: for subword sampling, and for validation. Else none."""
    tokenizers: TokenizerPair
    batch_tokens: int
    max_length: int
    seed: int
    sampling: float = 0.0

    def batches(self, cursor: Cursor) -> Iterator[tuple[Batch, Cursor]]:
        """Yield batches from ``cursor`` on, without end, each with the cursor that follows it."""
        epoch, start = cursor.epoch, cursor.batch
        while True:
            order = self.order(epoch)
            for index in range(start, len(order)):
                done = index + 1 == len(order)
                following = Cursor(epoch + 1, 0) if done else Cursor(epoch, index + 1)
                yield self.batch(order[index], epoch), following
            epoch, start = epoch + 1, 0

    def order(self, epoch: int) -> list[np.ndarray]:
        """Return the pairs of each batch of one epoch."""
        return epoch_order(
            self.shards.source_lengths,
            self.shards.target_lengths,
            batch_tokens=self.batch_tokens,
            seed=self.seed,
            epoch=epoch,
        )

    def once(self) -> Iterator[Batch]:
        """Yield every pair once, in the order of the first epoch: for validation."""
        for indices in self.order(0):
            yield self.batch(indices, 0)

    def batch(self, indices: np.ndarray, epoch: int) -> Batch:
        """Pad the pairs at ``indices`` into one batch."""
        pair_ids = [int(index) for index in indices]
        return make_batch(
            [self._ids(index, epoch, 0) for index in pair_ids],
            [self._ids(index, epoch, 1) for index in pair_ids],
            tuple(pair_ids),
            source_pad=self.tokenizers.source.pad_id,
            source_end=self.tokenizers.source.end_id,
            target_pad=self.tokenizers.target.pad_id,
            target_begin=self.tokenizers.target.begin_id,
            target_end=self.tokenizers.target.end_id,
        )

    def _ids(self, index: int, epoch: int, side: int) -> list[int]:
        if not self.sampling:
            stored = self.shards.source(index) if side == 0 else self.shards.target(index)
            ids: list[int] = stored.tolist()
            return ids
        pair = self.pairs[index]
        tokenizer = self.tokenizers.source if side == 0 else self.tokenizers.target
        sampled = tokenizer.encode_sampled(
            pair.source if side == 0 else pair.target,
            probability=self.sampling,
            seed=self.seed,
            epoch=epoch,
            pair=index,
            side=side,
        )
        return sampled[: self.max_length - 1]
