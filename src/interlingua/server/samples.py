"""Sentences that a model was trained with, to know its languages by."""

from contextlib import suppress
from pathlib import Path

from interlingua.batching.shards import StoredPairs, open_shards
from interlingua.checkpoints.model_folder import find_model_folder
from interlingua.checkpoints.sentences import SENTENCES, read_sentences
from interlingua.corpus.pairs import SentencePair
from interlingua.directions import Direction
from interlingua.errors import InterlinguaError

__all__ = ["sample_pairs"]

_MOST = 2_000


def sample_pairs(folder: Path, direction: Direction | None = None) -> list[SentencePair]:
    """Return pairs of the corpus of a run, from its validation part, or those kept with a model; none if there are none.

    Of a model of several pairs of languages ``direction`` says which; those that are kept with the model are told apart.
    """
    if direction is not None:
        with suppress(InterlinguaError):
            return list(read_sentences(find_model_folder(folder) / SENTENCES, direction))
        return []
    with suppress(InterlinguaError):  # a model folder by itself has no shards
        return list(StoredPairs(open_shards(folder / "shards" / "validation"))[:_MOST])
    with suppress(InterlinguaError):  # damaged sentences: languages are then told in another way
        return list(read_sentences(find_model_folder(folder) / SENTENCES))[:_MOST]
    return []
