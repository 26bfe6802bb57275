"""The pairs of a run as ids, and the batches of each epoch."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import accumulate
from threading import Thread
from typing import overload

import numpy as np

from interlingua.batching.batch import Batch, Rows, batch_for
from interlingua.batching.mixing import draw_pairs, ever_draws
from interlingua.batching.order import epoch_order
from interlingua.batching.shards import Shards
from interlingua.corpus.denoising import Denoising
from interlingua.corpus.half_prompt import HalfPrompt
from interlingua.corpus.input_noise import InputNoise
from interlingua.corpus.masking import Masking
from interlingua.corpus.pairs import SentencePair
from interlingua.directions import Direction
from interlingua.errors import CorpusError
from interlingua.tokenization.pair import TokenizerPair

__all__ = ["Cursor", "TrainingData"]


_PAIRS_COUNTED = 1_000_000
"""Of a larger corpus so many pairs tell how many batches make an epoch: a choice need not be exact to a batch."""

_BATCHES_AHEAD = 100
"""So many batches before the end of an epoch the order of the next one is begun."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """How much of the data has been consumed: whole epochs, and batches of the one under way."""

    epoch: int = 0
    batch: int = 0


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Batches as a pure function of (seed, epoch, corpus), so that a resume needs only a cursor.

    With subword sampling or noise the ids of a pair differ from epoch to epoch; the shards then give only the lengths by
    which batches are made, and the text of ``pairs`` is cut anew.
    """

    shards: Shards
    pairs: Sequence[SentencePair]
    """The text of the pairs, where it is wanted: for subword sampling, for noise, and for validation. Else none."""
    tokenizers: TokenizerPair
    batch_tokens: int
    max_length: int
    seed: int
    sampling: float = 0.0
    noise: InputNoise | Denoising | None = None
    weights: tuple[float, ...] = ()
    """How often the pairs of each part of the corpus come in an epoch; none is once."""
    prefixes: tuple[tuple[int, ...], ...] = ()
    """For each part, the ids before every source; in the shards they are already."""
    directions: tuple[Direction, ...] = ()
    """For each part, from which language into which, if the model has several pairs of them."""
    masking: Masking | None = None
    """What an encoder has to guess; sources and targets are then the same text."""
    has_classes: bool = False
    """Targets are classes: whatever is done to a source, they are what the shards have."""
    writes_on: bool = False
    """Sources are left out, as a language model has none; what is shown is the second half of a text after the first."""
    ahead: dict[int, Future[list[np.ndarray]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Orders of epochs to come, while another thread works on them."""

    def batches(self, cursor: Cursor) -> Iterator[tuple[Batch, Cursor]]:
        """Yield batches from ``cursor`` on, without end, each with the cursor that follows it.

        Raises:
            CorpusError: there will never be one.
        """
        if not ever_draws(self.shards.parts, self.weights):
            raise CorpusError(
                f"no epoch has a pair: the files have {', '.join(map(str, self.shards.parts))} usable pairs, and "
                f"corpus.weights = {', '.join(map(str, self.weights)) or 'none'}; raise the weights, or add pairs"
            )
        epoch, start = cursor.epoch, cursor.batch
        while True:
            order = self.ahead.pop(epoch).result() if epoch in self.ahead else self.order(epoch)
            for index in range(start, len(order)):
                if index == len(order) - _BATCHES_AHEAD:
                    self.order_ahead(epoch + 1)
                done = index + 1 == len(order)
                following = Cursor(epoch + 1, 0) if done else Cursor(epoch, index + 1)
                yield self.batch(order[index], epoch), following
            epoch, start = epoch + 1, 0

    def order(self, epoch: int) -> list[np.ndarray]:
        """Return the pairs of each batch of one epoch."""
        drawn = self.drawn(epoch)
        batches = epoch_order(
            *self._lengths(drawn), batch_tokens=self.batch_tokens, seed=self.seed, epoch=epoch
        )
        return batches if drawn is None else [drawn[places] for places in batches]

    def order_ahead(self, epoch: int) -> None:
        """Begin to compute the order of an epoch beside other work: that of millions of pairs takes a second.

        Not in a thread of a pool, which a process that is told to stop would wait for at its end.
        """
        if epoch not in self.ahead:
            self.ahead.clear()
            ahead: Future[list[np.ndarray]] = Future()
            self.ahead[epoch] = ahead
            Thread(target=self._order_into, args=(ahead, epoch), daemon=True).start()

    def _order_into(self, ahead: Future[list[np.ndarray]], epoch: int) -> None:
        try:
            ahead.set_result(self.order(epoch))
        except BaseException as error:  # for whoever asks for the order
            ahead.set_exception(error)

    def drawn(self, epoch: int) -> np.ndarray | None:
        """Return the pairs of one epoch, or None where it has each of them once."""
        return draw_pairs(self.shards.parts, self.weights, seed=self.seed, epoch=epoch)

    @property
    def target_tokens(self) -> int:
        """Target tokens of the first epoch, the end symbols included."""
        return int(self._lengths(self.drawn(0))[1].sum(dtype=np.int64))

    def count_batches(self, batch_tokens: int) -> int:
        """Return how many batches of so many tokens make an epoch, whatever the seed; of many pairs about."""
        source, target = self._lengths(self.drawn(0))
        every = max(1, len(source) // _PAIRS_COUNTED)
        order = epoch_order(
            source[::every], target[::every], batch_tokens=batch_tokens, seed=0, epoch=0
        )
        return every * len(order)

    def _lengths(self, drawn: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        lengths = self.shards.source_lengths, self.shards.target_lengths
        return lengths if drawn is None else (lengths[0][drawn], lengths[1][drawn])

    @property
    def learns_from_text(self) -> bool:
        """Whether it is one text that is guessed or written on, and no translation."""
        return self.writes_on or self.masking is not None

    @property
    def shown(self) -> Sequence[SentencePair]:
        """The pairs as the first epoch has them: what is translated to validate, and kept to prove copies with."""
        if self.masking is not None:
            return _Shown(self.pairs, Denoising(self.masking.share, 1.0, 0, self.seed))
        if self.writes_on:
            return _Shown(self.pairs, HalfPrompt())
        return _Shown(self.pairs, self.noise) if self.noise else self.pairs

    def once(self) -> Iterator[Batch]:
        """Yield every pair once, in the order of the first epoch: for validation."""
        for indices in self.order(0):
            yield self.batch(indices, 0)

    def batch(self, indices: np.ndarray, epoch: int) -> Batch:
        """Pad the pairs at ``indices`` into one batch."""
        pair_ids = indices.tolist()
        guessed: list[list[bool]] = []
        if self._are_stored:
            read, write = (self.shards.rows(side, indices) for side in ("source", "target"))
        else:
            sources, targets = zip(*(self._ids(index, epoch) for index in pair_ids), strict=True)
            if self.masking is not None:
                hidden = [
                    self.masking.apply(ids, epoch=epoch, pair=index)
                    for ids, index in zip(sources, pair_ids, strict=True)
                ]
                sources, guessed = tuple(ids for ids, _ in hidden), [marks for _, marks in hidden]
            read, write = Rows.of(sources), Rows.of(targets)
        batch = batch_for(self.tokenizers, read, write, pair_ids)
        return batch.guessing(guessed, self.tokenizers.target.pad_id) if guessed else batch

    @property
    def _are_stored(self) -> bool:
        """Whether the ids of every epoch are those of the shards."""
        return not (self.sampling or self.noise or self.masking or self.writes_on)

    def _ids(self, index: int, epoch: int) -> tuple[list[int], list[int]]:
        source, target = self._both_ids(index, epoch)
        return ([] if self.writes_on else source), target

    def _both_ids(self, index: int, epoch: int) -> tuple[list[int], list[int]]:
        longest = self.max_length - 1
        if self.noise is not None:
            pair = self.pairs[index]
            spoiled = self.noise.apply(pair.source, pair.target, epoch=epoch, pair=index)
            if spoiled is not None:
                source, target = self._cut_both(*spoiled, index, epoch)
                if self.has_classes:
                    target = self.shards.target(index).tolist()
                may_be_cut = not isinstance(self.noise, InputNoise)
                # What is spoiled beyond its length keeps to the text as it is: else the source would be cut, and not the target.
                if may_be_cut or max(len(source), len(target)) <= longest:
                    return source[:longest], target[:longest]
        if not self.sampling:
            return self.shards.source(index).tolist(), self.shards.target(index).tolist()
        pair = self.pairs[index]
        source, target = self._cut_both(pair.source, pair.target, index, epoch)
        return source[:longest], target[:longest]

    def _cut_both(
        self, source: str, target: str, index: int, epoch: int
    ) -> tuple[list[int], list[int]]:
        return (
            [*self._prefix(index), *self._cut(source, index, epoch, 0)],
            self._cut(target, index, epoch, 1),
        )

    def _cut(self, text: str, index: int, epoch: int, side: int) -> list[int]:
        tokenizer = self.tokenizers.target if side else self.tokenizers.source
        return tokenizer.encode_sampled(
            text, probability=self.sampling, seed=self.seed, epoch=epoch, pair=index, side=side
        )

    def _prefix(self, index: int) -> tuple[int, ...]:
        if not self.prefixes:
            return ()
        return self.prefixes[bisect_right(list(accumulate(self.shards.parts)), index)]


@dataclass(frozen=True, slots=True)
class _Shown(Sequence[SentencePair]):
    """Pairs under the noise of the first epoch."""

    pairs: Sequence[SentencePair]
    noise: InputNoise | Denoising | HalfPrompt

    def __len__(self) -> int:
        return len(self.pairs)

    @overload
    def __getitem__(self, index: int) -> SentencePair: ...

    @overload
    def __getitem__(self, index: slice) -> list[SentencePair]: ...

    def __getitem__(self, index: int | slice) -> SentencePair | list[SentencePair]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        pair = self.pairs[place]
        spoiled = self.noise.apply(pair.source, pair.target, epoch=0, pair=place)
        return replace(pair, source=spoiled[0], target=spoiled[1]) if spoiled else pair
