"""Pairs that teach an encoder what to answer: a tag for each token of the source, or one class for the whole of it."""

import numpy as np

from interlingua.batching.shards import Shards
from interlingua.config import RunConfig
from interlingua.errors import CorpusError

__all__ = ["check_answers", "choose_answers"]


def choose_answers(config: RunConfig) -> RunConfig:
    """Fill in what the head of an encoder reads, and how its answers are cut: whole words of a vocabulary of their own."""
    if config.model.kind != "encoder":
        return config
    answers = config.model.answers or ("tokens" if config.corpus.text else "sequence")
    update: dict[str, object] = {"model": config.model.model_copy(update={"answers": answers})}
    if not config.corpus.text:
        kinds = {"shared": False, "target_kind": config.tokenization.target_kind or "word"}
        update["tokenization"] = config.tokenization.model_copy(update=kinds)
    return config.model_copy(update=update)


def check_answers(config: RunConfig, shards: Shards) -> None:
    """Refuse a class that is not one word; whether tags fit is found out as the text is cut into tokens.

    Raises:
        CorpusError: a class of several tokens; the message names the line.
    """
    if config.model.kind != "encoder" or config.model.answers != "sequence":
        return
    lengths = np.asarray(shards.target_lengths)
    wrong = np.flatnonzero(lengths != 2)  # the class and the end symbol
    if not len(wrong):
        return
    first = int(wrong[0])
    line, count = shards.line(first), int(lengths[first]) - 1
    raise CorpusError(
        f"line {line:,}: its class has {count:,} tokens ({len(wrong):,} such lines); model.answers = sequence answers with one: "
        "write each class as one word, or take model.answers = tokens for a tag of each word"
    )
