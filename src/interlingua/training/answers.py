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
        tokens = config.tokenization
        kinds: dict[str, object] = {"shared": False, "target_kind": tokens.target_kind or "word"}
        if answers == "tokens":
            kinds["kind"] = tokens.kind or "word"
        update["tokenization"] = tokens.model_copy(update=kinds)
    return config.model_copy(update=update)


def check_answers(config: RunConfig, shards: Shards) -> None:
    """Refuse pairs whose target is no answer to the source.

    Raises:
        CorpusError: a class of several tokens, or not as many tags as tokens; the message names the line.
    """
    if config.model.kind != "encoder" or config.corpus.text:
        return
    answers = np.asarray(shards.target_lengths)
    is_one = config.model.answers == "sequence"
    wrong = np.flatnonzero(answers != (2 if is_one else np.asarray(shards.source_lengths)))
    if not len(wrong):
        return
    first = int(wrong[0])
    line, count = shards.line(first), int(answers[first]) - 1
    if is_one:
        raise CorpusError(
            f"line {line:,}: its class has {count:,} tokens ({len(wrong):,} such lines); model.answers = sequence answers with one: "
            "write each class as one word, or take model.answers = tokens for tags"
        )
    raise CorpusError(
        f"line {line:,}: {count:,} tags for {int(shards.source_lengths[first]) - 1:,} tokens ({len(wrong):,} such lines); give each "
        "token its tag, with spaces between, and tokenization.kind = word"
    )
