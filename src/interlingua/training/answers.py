"""Pairs that teach an encoder what to answer: a tag for each token of the source, or one class for the whole of it."""

from collections.abc import Callable
from typing import Literal

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


def check_answers(
    config: RunConfig,
    shards: Shards,
    part: Literal["training", "validation"],
    unknown_id: int,
    say: Callable[[str], None],
) -> None:
    """Refuse what cannot be learnt as a class or a tag, and tell what no training pair has.

    Whether there are as many tags as words is found out as the text is cut into tokens.

    Args:
        config: of the run.
        shards: its pairs.
        part: what they are for.
        unknown_id: of the target's vocabulary, which is learnt from the training pairs.
        say: is told how many validation pairs no answer can be right for.

    Raises:
        CorpusError: a class that is not one word, or answers to learn beyond the size of their vocabulary; the message names a line.
    """
    if config.model.kind != "encoder" or config.corpus.text:
        return
    what = "class" if config.model.answers == "sequence" else "tag"
    if what == "class":
        lengths = np.asarray(shards.target_lengths)
        wrong = np.flatnonzero(lengths != 2)  # the class and the end symbol
        if len(wrong):
            first = int(wrong[0])
            line, count = shards.line(first), int(lengths[first]) - 1
            raise CorpusError(
                f"line {line:,}: its class has {count:,} tokens ({len(wrong):,} such lines); model.answers = sequence answers with "
                "one: write each class as one word, or take model.answers = tokens for a tag of each word"
            )
    unknown = shards.with_target_id(unknown_id)
    if not len(unknown):
        return
    if part == "training":
        raise CorpusError(
            f"line {shards.line(int(unknown[0])):,}: its {what} is not in the vocabulary of answers ({len(unknown):,} such lines), "
            "which is too small for all, cuts words into pieces, or is that of an earlier model; give a larger "
            "tokenization.vocabulary_size and no tokenization.target_kind, or begin with the encoder alone (--encoder-from)"
        )
    say(
        f"{len(unknown):,} validation pairs have a {what} that no training pair has, and no answer to them is right; "
        "see that both have all"
    )
