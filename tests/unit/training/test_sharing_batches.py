"""One global order of batches: what each of several processes computes of a batch."""

from itertools import chain, islice, zip_longest
from pathlib import Path

import pytest
from small_shards import write_shards

from interlingua.batching.batch import Batch
from interlingua.tokenization.pair import TokenizerPair
from interlingua.tokenization.train import train_tokenizer
from interlingua.training.data import Cursor, TrainingData
from interlingua.training.workers import Workers

PAIRS = 60


@pytest.fixture
def two_epochs(tmp_path: Path) -> list[Batch]:
    texts = [" ".join(f"{i * 7919}"[: 1 + i % 5]) for i in range(PAIRS)]
    tokenizer = train_tokenizer(texts, kind="word", vocabulary_size=300)
    ids = [tokenizer.encode(text).ids for text in texts]
    shards = write_shards(tmp_path / "shards", ids, [row[::-1] for row in ids])
    tokenizers = TokenizerPair(tokenizer, tokenizer, shared=True)
    data = TrainingData(shards, [], tokenizers, batch_tokens=24, max_length=20, seed=5)
    number = len(data.order(0)) + len(data.order(1))
    batches = [batch for batch, _ in islice(data.batches(Cursor()), number)]
    seen = [pair for batch in batches for pair in batch.pair_ids]
    assert sorted(seen[:PAIRS]) == sorted(seen[PAIRS:]) == [*range(PAIRS)]
    sizes = {len(batch.pair_ids) for batch in batches}
    assert min(sizes) < 5 < max(sizes)
    return batches


def rows_of(batch: Batch) -> list[tuple[int, list[int], list[int], list[int]]]:
    """Return what a batch holds, row by row, without padding."""
    lengths = zip(batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True)
    return [
        (
            batch.pair_ids[row],
            batch.source[row, :source].tolist(),
            batch.target_in[row, :target].tolist(),
            batch.target_out[row, :target].tolist(),
        )
        for row, (source, target) in enumerate(lengths)
    ]


@pytest.mark.parametrize("processes", range(1, 6))
def test_the_parts_of_all_processes_are_the_batch_in_its_order(
    processes: int, two_epochs: list[Batch]
) -> None:
    for batch in two_epochs:
        parts = [rows_of(Workers(rank, processes).share(batch)) for rank in range(processes)]
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
        in_turn = chain.from_iterable(zip_longest(*parts))
        assert [row for row in in_turn if row is not None] == rows_of(batch)
