"""The ids of a run: opened if they are there and fit, written if not, taken up if they were begun."""

from collections.abc import Callable
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import Any

from interlingua.batching.encoding import Encoder, encode_chunks
from interlingua.batching.shard_writer import ShardWriter, clear_unfinished
from interlingua.batching.shards import Shards, open_shards
from interlingua.config import RunConfig
from interlingua.corpus import scan
from interlingua.errors import CorpusError
from interlingua.hardware import num_cores
from interlingua.tokenization.pair import TokenizerPair
from interlingua.training.corpus_of_run import RunCorpus, kept_identity
from interlingua.training.directions_of_run import Part, tag_ids
from interlingua.training.run_folder import RunFolder, not_prepared

__all__ = ["reopen_shards", "shards_of"]

Say = Callable[[str], None]

_PAIRS_FOR_WORKERS = 60_000
"""Fewer pairs are not worth the half second that a process takes to start."""

_MOST_WORKERS = 16
"""Each takes memory for a tokenizer and a chunk, and this process puts away what more of them would cut."""


def shards_of(
    config: RunConfig,
    folder: RunFolder,
    corpus: RunCorpus,
    tokenizers: TokenizerPair,
    part: Part,
    say: Say,
    *,
    writes: bool = True,
) -> Shards:
    """Open the shards of one part if they are there and fit; else write them, or finish what was begun.

    Args:
        config: the configuration, its tokenization already chosen.
        folder: the run.
        corpus: its text.
        tokenizers: those that are saved in the run.
        part: ``training`` or ``validation``.
        say: is told what a user should know.
        writes: do what is missing; else it is an error.

    Raises:
        CorpusError: the text is not what it was when it was scanned.
        OutputError: the shards cannot be written.
        TrainingError: they do not fit, and nothing is to be written.
    """
    encoder = _encoder(config, tokenizers, part)
    made_from = _made_from(encoder, corpus.identity, folder, part)
    path = folder.shards / part
    try:
        shards = open_shards(path, made_from=made_from)
        if writes:
            clear_unfinished(path)
    except CorpusError as error:
        if not writes:
            raise not_prepared(path) from error
        # They are not there, of another version, damaged, or of something else: all is mended alike.
        text = corpus.training if part == "training" else corpus.validation
        shards = _write_shards(config, path, text, encoder, made_from, folder.tokenizer, say)
    for side, number in shards.manifest.truncated.items():
        if number:
            say(
                f"{part}: {number:,} {side} sentences were cut to batching.max_length = "
                f"{encoder.max_length} tokens"
            )
    return shards


def reopen_shards(
    config: RunConfig, folder: RunFolder, tokenizers: TokenizerPair, part: Part
) -> Shards:
    """Open the shards of one part as they were prepared, wherever the text is now.

    Raises:
        CorpusError: they are missing, damaged, or not those of this run.
    """
    identity = kept_identity(folder)
    made_from = _made_from(_encoder(config, tokenizers, part), identity, folder, part)
    return open_shards(folder.shards / part, made_from=made_from)


def _encoder(config: RunConfig, tokenizers: TokenizerPair, part: Part) -> Encoder:
    return Encoder(
        tokenizers,
        config.batching.max_length,
        prefixes=tag_ids(config.corpus, tokenizers, part),
        keep_text=part == "validation"
        or bool(config.tokenization.sampling)
        or config.corpus.noise > 0
        or config.corpus.denoise > 0,
        answers=None if config.corpus.text else config.model.answers,
    )


def _made_from(
    encoder: Encoder, identity: dict[str, Any], folder: RunFolder, part: Part
) -> dict[str, Any]:
    return {
        "corpus": identity,
        "part": part,
        "tokenizers": folder.tokenizer_checksums(),
        "max_length": encoder.max_length,
        "prefixes": [list(ids) for ids in encoder.prefixes],
        "keep_text": encoder.keep_text,
        "lines_a_chunk": scan.LINES_A_CHUNK,
        # Named only where it is so: the shards of all other runs stay good.
        **({"tags_words": True} if encoder.answers == "tokens" else {}),
        **({"classes": True} if encoder.answers == "sequence" else {}),
    }


def _write_shards(
    config: RunConfig,
    path: Path,
    text: scan.ParallelFiles,
    encoder: Encoder,
    made_from: dict[str, Any],
    tokenizers: Path,
    say: Say,
) -> Shards:
    writer = ShardWriter(
        path,
        made_from=made_from,
        id_dtypes=encoder.id_dtypes,
        keep_text=encoder.keep_text,
        num_parts=len(text.parts),
    )
    with closing(writer):
        done = writer.take_up()
        if done:
            say(
                f"{path.name}: goes on after the first {writer.pairs:,} pairs, which are cut already"
            )
        missing = islice((chunk for chunk in text.chunks() if chunk.num_pairs), done, None)
        most = min(config.training.threads or num_cores(), _MOST_WORKERS)
        first = list(islice(missing, most))
        workers = len(first) if len(text) >= _PAIRS_FOR_WORKERS else 1
        chunks = chain(first, missing)
        for chunk in encode_chunks(encoder, chunks, tokenizers=tokenizers, workers=workers):
            writer.append(chunk)
        return writer.finish()
