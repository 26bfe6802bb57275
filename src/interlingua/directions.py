"""From which language into which: the pairs of languages that one model knows, and the symbol that chooses one.

A model of several pairs reads a tag before every source, ``<2de>`` for German, which says what to translate into; what the
source is in it finds out by itself. A pair that it was never trained on, from one of its source languages into one of its
targets, is asked for in the same way: that is zero-shot translation.

Source: Johnson et al. 2017, "Google's multilingual neural machine translation system: enabling zero-shot translation".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from interlingua.errors import ConfigError

__all__ = [
    "DIRECTION",
    "Direction",
    "choose_direction",
    "contradictions_in_directions",
    "direction_of_text",
    "in_words",
]

_CODE = r"[^\s\x00-\x1f\x7f/\\<>:.-][^\s\x00-\x1f\x7f/\\<>:{}]*"
DIRECTION = f"^({_CODE.format('-')}-{_CODE.format('-')}|{_CODE.format('')}:{_CODE.format('')})$"
"""``en-de``, or with a colon where a code holds a hyphen: ``en:pt-BR``."""


@dataclass(frozen=True, slots=True)
class Direction:
    """Two languages, from one into the other."""

    source: str
    target: str

    @classmethod
    def read(cls, text: str) -> "Direction":
        """Read ``en-de`` or ``en:pt-BR``.

        Raises:
            ValueError: it is neither.
        """
        source, _, target = text.partition(":" if ":" in text else "-")
        if not source or not target:
            raise ValueError(f"{text!r} is no pair of languages such as en-de")
        return cls(source, target)

    @property
    def tag(self) -> str:
        """What stands before every source that is to be translated so."""
        return f"<2{self.target}>"

    def __str__(self) -> str:
        between = ":" if "-" in self.source + self.target else "-"
        return f"{self.source}{between}{self.target}"


def choose_direction(known: Sequence[Direction], to: str | None = None) -> Direction:
    """Return the direction that is meant; one that is not in ``known`` is zero-shot.

    Args:
        known: what the model was trained on, one at the least.
        to: language to translate into, ``ro``, which leaves the source open, or both, ``de-ro``; it need not be told where there
            is only one language to translate into.

    Raises:
        ConfigError: no language is told where one must be, or one that the model does not know.
    """
    sources = tuple(dict.fromkeys(each.source for each in known))
    targets = tuple(dict.fromkeys(each.target for each in known))
    if to is None:
        if len(targets) > 1:
            raise ConfigError(
                f"translates {in_words(known)}; say into which language: --to {' or '.join(targets)}"
            )
        return known[0]
    if to in targets:
        return next(each for each in known if each.target == to)
    try:
        asked = Direction.read(to)
    except ValueError:
        asked = None
    if asked is None or asked.target not in targets or asked.source not in sources:
        raise ConfigError(
            f"does not know {to}: it reads {', '.join(sources)} and writes {', '.join(targets)}, and was trained on "
            f"{in_words(known)}"
        )
    if asked.source == asked.target:
        raise ConfigError(f"{asked} is no translation; give two languages, such as --to {known[0]}")
    return asked


def direction_of_text(
    known: Sequence[Direction], to: str | None, language: str | None
) -> Direction | None:
    """Return the direction in which a text is translated, or None where its own language is not told.

    Args:
        known, to: as for :func:`choose_direction`.
        language: that the name of the text tells; None if it tells none, which is enough where one language only goes into the
            target.

    Raises:
        ConfigError: see :func:`choose_direction`.
    """
    found = choose_direction(known, to)
    if to not in (None, found.target):
        return found
    if language is None:
        return found if {each for each in known if each.target == found.target} == {found} else None
    sources = {each.source for each in known} - {found.target}
    return Direction(language, found.target) if language in sources else None


def contradictions_in_directions(
    names: Sequence[str],
    valid_names: Sequence[str],
    *,
    valid_files: int,
    languages: tuple[str | None, str | None],
    tags: Sequence[str],
    serves_both_ways: bool,
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong together in ``corpus.directions`` and what is told beside it: a key, and why.

    Args:
        names: the directions of the training files.
        valid_names: those of the validation files.
        valid_files: how many of these there are.
        languages: what is told of the languages of the whole corpus.
        tags: of the training files.
        serves_both_ways: whether a file is named for both directions.
    """
    if not names:
        if valid_names:
            yield (
                "corpus.valid_directions",
                "corpus.valid_directions is given without corpus.directions; give both",
            )
        return
    directions = [Direction.read(name) for name in (*names, *valid_names)]
    first = (directions[0].source, directions[0].target)
    if languages not in ((None, None), first):  # a resolved configuration names the first
        yield (
            "corpus.directions",
            "corpus.directions tells the languages of every file; leave out corpus.source_lang and corpus.target_lang",
        )
    for each in directions:
        if each.source == each.target:
            yield (
                "corpus.directions",
                f"corpus.directions has {each}, from a language into itself",
            )
        if each.tag in tags:
            yield (
                "corpus.tags",
                f"corpus.tags holds {each.tag}, which stands for the language {each.target} in this run; take another name",
            )
    if serves_both_ways and not valid_files:
        yield (
            "corpus.valid_source",
            "corpus.valid_source is missing: a corpus serves both directions, so that a pair split off for validation would "
            "still be in training the other way round; give validation files, which interlingua split can write",
        )
    if valid_names and len(valid_names) != valid_files:
        yield (
            "corpus.valid_directions",
            f"corpus.valid_directions has {len(valid_names)} and there are {valid_files} validation files; give one for "
            "each",
        )
    if not valid_names and valid_files not in (0, len(names)):
        yield (
            "corpus.valid_directions",
            f"corpus.valid_directions is missing: there are {valid_files} validation files and {len(names)} for training; "
            "give one for each validation file",
        )


def in_words(directions: Sequence[Direction]) -> str:
    """Name them for a person, at most ten."""
    named = ", ".join(map(str, directions[:10]))
    return f"{named} and {len(directions) - 10} more" if len(directions) > 10 else named
