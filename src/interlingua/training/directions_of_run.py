"""The symbols before the sources of a run: the language to translate into, and what kind of text it is."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from interlingua.batching.shards import Shards
from interlingua.config import CorpusConfig
from interlingua.corpus.language_codes import two_letters
from interlingua.corpus.languages import names_another
from interlingua.corpus.pairs import SentencePair
from interlingua.corpus.parallel import language_of
from interlingua.directions import Direction
from interlingua.tokenization.pair import TokenizerPair

__all__ = [
    "Part",
    "direction_of_files",
    "directions_of",
    "doubts_about_directions",
    "pairs_by_direction",
    "symbols_of",
    "tag_ids",
]

Part = Literal["training", "validation"]


def directions_of(corpus: CorpusConfig, part: Part = "training") -> tuple[Direction, ...]:
    """Return from which language into which each file of a part goes; nothing where the model is of one pair.

    Pairs that are split off for validation are those of the training files.
    """
    is_own = part == "validation" and bool(corpus.valid_directions)
    names = corpus.valid_directions if is_own else corpus.directions
    return tuple(Direction.read(name) for name in names)


def direction_of_files(source: Path, target: Path, known: Sequence[Direction]) -> Direction | None:
    """Return which of the ``known`` directions two files go, by their names; None where these tell none, or one that is not known.

    ``text.eng`` is English where the model calls it ``en``, unless it knows both or several that it could be.
    """
    names = language_of(source) or "", language_of(target) or ""
    spellings: tuple[Callable[[str], str], ...] = (str, two_letters)
    for spelled in spellings:
        told = tuple(map(spelled, names))
        alike = {each for each in known if (spelled(each.source), spelled(each.target)) == told}
        if len(alike) == 1:
            return alike.pop()
    return None


def doubts_about_directions(corpus: CorpusConfig) -> list[str]:
    """Say where the name of a file tells another language than its direction, which pair is validated and never learnt, and which is learnt and never validated."""
    learnt, judged = directions_of(corpus), directions_of(corpus, "validation")
    doubts = []
    for key, directions, sources, targets in (
        ("directions", learnt, corpus.source, corpus.target),
        ("valid_directions", judged, corpus.valid_source, corpus.valid_target),
    ):
        for each, source, target in zip(directions, sources, targets, strict=False):
            doubts += [
                f"{path}: is in {language_of(path)}, by its name, and in {language} by corpus.{key}, which counts"
                for path, language in ((source, each.source), (target, each.target))
                if names_another(path, language)
            ]
    doubts += [
        f"corpus.valid_directions has {each}, of which no pair is trained on: its score is that of a pair that was never seen (zero-shot)"
        for each in dict.fromkeys(judged)
        if each not in learnt
    ]
    doubts += [
        f"corpus.directions has {each}, of which no pair is validated: nothing tells how good it is, nor takes it into account for which "
        "weights are the best"
        for each in dict.fromkeys(learnt)
        if judged and each not in judged
    ]
    return doubts


def symbols_of(corpus: CorpusConfig) -> tuple[str, ...]:
    """Return the symbols that the source's vocabulary must have, each once: tags of languages, then those of files."""
    every = (*directions_of(corpus), *directions_of(corpus, "validation"))
    return tuple(dict.fromkeys((*(each.tag for each in every), *filter(None, corpus.tags))))


def tag_ids(
    corpus: CorpusConfig, tokenizers: TokenizerPair, part: Part = "training"
) -> tuple[tuple[int, ...], ...]:
    """Return for each file the ids that go before its sources; of the tags of files validation has none."""
    directions = directions_of(corpus, part)
    tags = corpus.tags if part == "training" else ()
    if not any(tags) and not directions:
        return ()
    pieces = tokenizers.source.all_tokens()
    files = range(max(len(directions), len(tags)))
    named = [
        (directions[file].tag if directions else "", tags[file] if tags else "") for file in files
    ]
    return tuple(tuple(pieces.index(tag) for tag in each if tag) for each in named)


def pairs_by_direction(
    shards: Shards, pairs: Sequence[SentencePair], directions: Sequence[Direction]
) -> dict[Direction, list[SentencePair]]:
    """Put the pairs of files of one direction together, in the order in which directions come first; none has none."""
    found: dict[Direction, list[SentencePair]] = {each: [] for each in directions}
    first = 0
    for direction, size in zip(directions, shards.parts if directions else (), strict=True):
        found[direction] += pairs[first : first + size]
        first += size
    return {direction: some for direction, some in found.items() if some}
