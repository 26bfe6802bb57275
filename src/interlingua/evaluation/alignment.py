"""Word alignments: reading and writing them, growing one from two directions, and their error rate.

A link joins word i of the source with word j of the target; words are what stands between spaces, counted from 0.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from interlingua.corpus.lines import read_lines
from interlingua.errors import CorpusError

__all__ = [
    "HEURISTICS",
    "AlignmentScore",
    "GoldLinks",
    "Heuristic",
    "Links",
    "format_links",
    "read_gold",
    "read_links",
    "score_alignment",
    "symmetrise",
    "transpose",
]

Links: TypeAlias = frozenset[tuple[int, int]]
"""The links of one sentence pair: (source word, target word), from 0."""

Heuristic = Literal[
    "intersection",
    "union",
    "grow-diagonal",
    "grow-diagonal-final",
    "grow-diag",
    "grow-diag-final",
    "grow-diag-final-and",
]
HEURISTICS: tuple[Heuristic, ...] = get_args(Heuristic)

_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


@dataclass(frozen=True, slots=True)
class GoldLinks:
    """What people said of one sentence pair."""

    sure: Links
    """Links that an alignment must have."""
    possible: Links
    """Links that it may have; the sure ones are among them."""


@dataclass(frozen=True, slots=True)
class AlignmentScore:
    """How well the alignments of a text agree with gold, over all links of all its sentences."""

    error_rate: float
    """``1 - (|A n S| + |A n P|) / (|A| + |S|)``, from 0 (right) to 1."""
    precision: float
    """``|A n P| / |A|``: the share of the links that are at least possible."""
    recall: float
    """``|A n S| / |S|``: the share of the sure links that were found."""
    links: int
    """``|A|``, the links that were made."""

    def to_dict(self) -> dict[str, float | int]:
        """Return the figures, shares as percentages."""
        return {
            "aer": 100 * self.error_rate,
            "precision": 100 * self.precision,
            "recall": 100 * self.recall,
            "links": self.links,
        }


def score_alignment(found: Sequence[Links], gold: Sequence[GoldLinks]) -> AlignmentScore:
    """Return the alignment error rate with precision and recall.

    Source: Och and Ney 2003, "A Systematic Comparison of Various Statistical Alignment Models", section 5.2.

    Raises:
        CorpusError: not as many alignments as gold ones, or nothing to compare.
    """
    if len(found) != len(gold):
        raise CorpusError(
            f"{len(found):,} alignments but {len(gold):,} lines of gold; they must correspond line by line"
        )
    made = sum(map(len, found))
    sure = sum(len(each.sure) for each in gold)
    if not sure:
        raise CorpusError("the gold alignment has no sure link; there is nothing to compare with")
    right = sum(len(links & each.sure) for links, each in zip(found, gold, strict=True))
    fitting = sum(len(links & each.possible) for links, each in zip(found, gold, strict=True))
    return AlignmentScore(
        error_rate=1 - (right + fitting) / (made + sure),
        precision=fitting / made if made else 0.0,
        recall=right / sure,
        links=made,
    )


def symmetrise(forward: Links, reverse: Links, heuristic: Heuristic = "grow-diagonal") -> Links:
    """Make one alignment of two directions, both as (source word, target word).

    To grow is to begin with the links of both and to add, as long as there are any, links of either that touch one that
    is there already, at a side or a corner. ``grow-diag`` adds those that give a word on either side its first link, as
    Moses does; ``grow-diagonal`` only those that give one to both words, as do the tables of published error rates
    for fast_align and GIZA++ that go by this name. ``-final`` then adds the links of either direction, near or not,
    that give a word its first (``grow-diagonal-final``: both words), and ``grow-diag-final-and`` those that give one to
    both. Where the order decides, links are taken from the first source word on.

    Source: Och and Ney 2003, section 5.3; Koehn et al. 2005, "Edinburgh System Description", for ``grow-diag``.
    """
    if heuristic == "intersection":
        return forward & reverse
    if heuristic == "union":
        return forward | reverse
    one_to_one = heuristic.startswith("grow-diagonal")
    grown = _Grown(forward & reverse)
    grown.grow(forward | reverse, both=one_to_one)
    if "final" in heuristic:
        for direction in (forward, reverse):
            grown.finish(direction, both=one_to_one or heuristic.endswith("and"))
    return frozenset(grown.links)


class _Grown:
    """An alignment that is being added to, and the words that have a link in it."""

    def __init__(self, links: Links) -> None:
        self.links = set(links)
        self.sources = {i for i, _ in links}
        self.targets = {j for _, j in links}

    def grow(self, union: Links, *, both: bool) -> None:
        """Add the neighbours of every link that are in ``union`` and concern a word, or two words, without one."""
        is_growing = True
        while is_growing:
            is_growing = False
            for i, j in sorted(self.links):
                for down, right in _NEIGHBOURS:
                    link = i + down, j + right
                    if link in union and self._is_new(link, both=both):
                        self._add(link)
                        is_growing = True

    def finish(self, direction: Links, *, both: bool) -> None:
        """Add the links of ``direction`` that concern a word, or two words, without one."""
        for link in sorted(direction):
            if self._is_new(link, both=both):
                self._add(link)

    def _is_new(self, link: tuple[int, int], *, both: bool) -> bool:
        free = (link[0] not in self.sources, link[1] not in self.targets)
        return all(free) if both else any(free)

    def _add(self, link: tuple[int, int]) -> None:
        self.links.add(link)
        self.sources.add(link[0])
        self.targets.add(link[1])


def transpose(links: Links) -> Links:
    """Turn (source word, target word) into (target word, source word)."""
    return frozenset((j, i) for i, j in links)


def format_links(links: Links) -> str:
    """Write links as Moses and fast_align do: ``0-0 1-2``, in order, from 0."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


def read_links(path: Path) -> list[Links]:
    """Read a file of alignments ``i-j``, one sentence pair a line, words counted from 0.

    Raises:
        CorpusError: the file is missing, or a line holds something else.
    """
    return [
        frozenset(link for link, _ in _parse(line, "-", f"{path}, line {number}"))
        for number, line in enumerate(read_lines(path), 1)
    ]


def read_gold(path: Path, words: Sequence[tuple[int, int]]) -> list[GoldLinks]:
    """Read alignments that people made: ``i-j`` is sure, ``ipj`` possible, words counted from 1.

    Args:
        path: the file, one sentence pair a line.
        words: source and target words of each line, to refuse gold that belongs to another text.

    Raises:
        CorpusError: the file is missing, has another number of lines, or names a word that is not there.
    """
    lines = read_lines(path)
    if len(lines) != len(words):
        raise CorpusError(
            f"{path}: has {len(lines):,} lines, but there are {len(words):,} sentence pairs; "
            "give the gold alignment of this text"
        )
    gold = []
    for number, (line, sizes) in enumerate(zip(lines, words, strict=True), 1):
        where = f"{path}, line {number}"
        links = [((i - 1, j - 1), kind) for (i, j), kind in _parse(line, "-p", where)]
        _check_words((link for link, _ in links), sizes, where)
        gold.append(
            GoldLinks(
                frozenset(link for link, kind in links if kind == "-"),
                frozenset(link for link, _ in links),
            )
        )
    return gold


def _parse(line: str, kinds: str, where: str) -> list[tuple[tuple[int, int], str]]:
    """Return the links of one line, each with the sign between its two numbers."""
    parsed = []
    for word in line.split():
        kind = next((sign for sign in kinds if sign in word), "")
        left, _, right = word.partition(kind) if kind else (word, "", "")
        if not (left.isascii() and left.isdigit() and right.isascii() and right.isdigit()):
            wanted = " or ".join(f"1{sign}2" for sign in kinds)
            raise CorpusError(f"{where}: {word!r} is no link between two words; write {wanted}")
        parsed.append(((int(left), int(right)), kind))
    return parsed


def _check_words(links: Iterable[tuple[int, int]], sizes: tuple[int, int], where: str) -> None:
    for i, j in links:
        if not (0 <= i < sizes[0] and 0 <= j < sizes[1]):
            raise CorpusError(
                f"{where}: links word {i + 1} with word {j + 1}, but the source has {sizes[0]} words and the target "
                f"{sizes[1]}; words are counted from 1, source first"
            )
