"""Which lines are in another language than their side, and which pairs have changed sides.

Two judges. A character model of each side, learnt from the corpus itself, knows no language and tells the two sides
from each other. ``py3langid``, whose model comes with the package, knows 140 languages; a line counts only if it is
sure, and the language of a side is that of most blocks of its lines, as single short sentences tell too little.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.language_codes import two_letters
from interlingua.corpus.pair_rules import decode_line
from interlingua.corpus.parallel import language_of
from interlingua.corpus.survey import read_pairs

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

__all__ = [
    "TRIGRAM_BUCKETS",
    "Languages",
    "are_alike",
    "examine_languages",
    "is_another",
    "language_code",
    "language_named",
    "language_of_lines",
    "names_another",
    "rank_languages",
    "trigrams",
]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

TRIGRAM_BUCKETS = 1 << 16
"""Numbers that three characters in a row may get."""

_LEARNT_LINES = 30_000
_RARE = 0.01
"""What three characters that were never seen count."""

_IDENTIFIED = 20_000
"""Lines of either side that are asked about one by one: all, or those least like their side."""

_BLOCK_LINES = 20
_BLOCKS = 40
_SURE, _LIKELY, _ALONE = 8.0, 3.0, 15.0
"""Log odds from which a line counts; from which it does if several others do; and if it is the only one."""

_SEVERAL = 3
_ALIKE = (
    {"en", "pcm"}, {"zh", "wuu", "yue"}, {"hi", "mr", "bho", "mai"}, {"de", "lb"}, {"ro", "la"}, {"fr", "oc"},
    {"no", "nb", "nn", "da"}, {"hr", "bs", "sr", "sh"}, {"id", "ms"}, {"es", "gl", "an"}, {"fa", "prs"},
)  # fmt: skip
"""Languages whose single lines the identification takes for each other."""

_APART, _APART_A_CHARACTER = 6.0, 0.25


@dataclass(frozen=True, slots=True)
class Languages:
    """What the languages of a corpus are.

    Attributes:
        sides: the language of source and target as two letters; None if the blocks of a side do not agree.
        swapped: the pairs whose source looks like the target side, and the other way round.
        foreign: the pairs of which one side is in another language.
        others: the languages that these are in, and how many lines each has.
    """

    sides: tuple[str | None, str | None]
    swapped: Mask
    foreign: Mask
    others: dict[str, int]


def language_code(code: str | None) -> str | None:
    """Return the two letters of a language code (``deu_Latn``, ``de-AT``), or the code if it is none we know."""
    if code is None:
        return None
    plain = two_letters(code)
    return plain if plain in _identifier().labels else None


def language_named(path: Path, known: Collection[str]) -> str | None:
    """Return the language that the name of a file tells: one of ``known``, or any other that there is; ``text.txt`` tells none.

    It is written as in ``known``: ``text.ron`` tells ``ro`` there.
    """
    suffix = language_of(path)
    if suffix is None or suffix in known:
        return suffix
    alike = {each for each in known if two_letters(each) == two_letters(suffix)}
    if len(alike) == 1:
        return alike.pop()
    return suffix if language_code(suffix) else None


def examine_languages(source: Path, target: Path) -> Languages:
    """Read a parallel corpus, and tell which lines are not in the language of their side.

    Raises:
        CorpusError: a file is missing or not readable.
    """
    models = _learn_sides(source, target)
    scores, first = [], 0
    for sources, targets in _blocks(source, target):
        scores.append(models.score(sources, targets, is_learnt=first < models.learnt))
        first += len(sources)
    # (4, lines): like the own side rather than the other one, for source and target; like the own side at all
    found = np.concatenate([np.zeros((4, 0)), *scores], axis=1)
    apart = [_is_apart(found[side], found[2 + side]) for side in (0, 1)]
    sides = [
        language_of_lines((each[side] for each in _blocks(source, target)), found.shape[1])
        for side in (0, 1)
    ]
    if sides[0] is not None and sides[0] == sides[1]:
        apart = [np.zeros_like(each) for each in apart]
    others = Counter[str]()
    foreign, own = np.zeros_like(apart[0]), [np.zeros_like(each) for each in apart]
    for side, language in enumerate(sides):
        if language is None:
            continue
        places = _least_alike(found[2 + side])
        guesses = _identify_lines(source, target, side, places, language)
        own[side][places] = True
        own[side][[place for place, _, _ in guesses]] = False
        for place, code in _choose_sure(guesses, language):
            foreign[place] = True
            others[code] += 1
            if code == sides[1 - side] or are_alike(code, sides[1 - side] or ""):
                apart[side][place] = True
    swapped = apart[0] & apart[1]
    foreign |= (apart[0] & ~own[0]) | (apart[1] & ~own[1])
    return Languages((sides[0], sides[1]), swapped, foreign & ~swapped, dict(others))


@dataclass(frozen=True, slots=True)
class _SideModels:
    """What is usual on either side, by three characters in a row.

    Attributes:
        tables: (2, buckets) the logarithms of their chances.
        others: the same, of each being seen once less: what the other lines say of a line that was learnt from.
        learnt: how many lines, the first ones, were learnt from.
    """

    tables: Floats
    others: Floats
    learnt: int

    def score(self, sources: Sequence[str], targets: Sequence[str], *, is_learnt: bool) -> Floats:
        """Return (4, lines): like the own side rather than the other, of both sides; like the own side at all."""
        rows = []
        for side, lines in enumerate((sources, targets)):
            buckets, starts, lengths = trigrams(lines)
            table = self.others[side] if is_learnt else self.tables[side]
            own = np.add.reduceat(table[buckets], starts)
            other = np.add.reduceat(self.tables[1 - side][buckets], starts)
            rows.append((own - other, own / lengths))
        return np.stack([rows[0][0], rows[1][0], rows[0][1], rows[1][1]])


def _learn_sides(source: Path, target: Path) -> _SideModels:
    counts = np.zeros((2, TRIGRAM_BUCKETS))
    learnt = 0
    for sides in _blocks(source, target):
        if learnt >= _LEARNT_LINES:
            break
        for side, lines in enumerate(sides):
            buckets, _, _ = trigrams(lines)
            counts[side] += np.bincount(buckets, minlength=TRIGRAM_BUCKETS)
        learnt += len(sides[0])
    totals = np.log(counts.sum(axis=1, keepdims=True) + _RARE * TRIGRAM_BUCKETS)
    tables = np.log(counts + _RARE) - totals
    return _SideModels(tables, np.log(np.maximum(counts - 1, 0) + _RARE) - totals, learnt)


def trigrams(lines: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return the buckets of all trigrams of ``lines``, where those of each line begin, and how many there are."""
    padded = [f" {line[:400].casefold()}  " for line in lines]
    text = "".join(padded).encode("utf-32-le", "surrogatepass")
    characters = np.frombuffer(text, np.uint32).astype(np.int64)
    mixed = characters * 7919
    mixed[:-1] += characters[1:] * 104729
    mixed[:-2] += characters[2:] * 1299709
    lengths = np.array([len(line) for line in padded], np.int64)
    starts = np.cumsum(lengths) - lengths
    return (mixed ^ (mixed >> 15)) % TRIGRAM_BUCKETS, starts, lengths.astype(np.float64)


def _is_apart(odds: Floats, mean: Floats) -> Mask:
    """Tell which lines look like the other side; ``mean`` only gives the length of what ``odds`` sums up."""
    usual = np.median(odds) if len(odds) else 0.0
    return (odds < -_APART) & (usual > 2 * _APART) & (odds < -_APART_A_CHARACTER * usual)


def _least_alike(mean: Floats) -> NDArray[np.intp]:
    if len(mean) <= _IDENTIFIED:
        return np.arange(len(mean))
    return np.sort(np.argpartition(mean, _IDENTIFIED)[:_IDENTIFIED])


def _blocks(source: Path, target: Path) -> Iterator[tuple[list[str], list[str]]]:
    for sources, targets in read_pairs(source, target):
        both = min(len(sources), len(targets))
        if both:
            yield (
                [decode_line(line) for line in sources[:both]],
                [decode_line(line) for line in targets[:both]],
            )


def language_of_lines(chunks: Iterable[Sequence[str]], num_lines: int) -> str | None:
    """Return the language that two thirds of the blocks of a text have, or None.

    Args:
        chunks: its lines, some at a time.
        num_lines: how many these are.
    """
    every = max(1, num_lines // (_BLOCK_LINES * _BLOCKS))
    votes: Counter[str] = Counter()
    words: Counter[str] = Counter()
    number = 0
    for lines in chunks:
        for start in range(0, len(lines), _BLOCK_LINES):
            if number % every == 0:
                text = " ".join(lines[start : start + _BLOCK_LINES])
                votes[_identify(text)] += 1
                words.update(text.split())
            number += 1
    few = (
        2 * len(words) < words.total() ** 0.6
    )  # commands, letters: no language has so few different words
    if not votes or few:
        return None
    language, most = votes.most_common(1)[0]
    return language if most * 3 >= votes.total() * 2 else None


def _identify_lines(
    source: Path, target: Path, side: int, places: NDArray[np.intp], language: str
) -> list[tuple[int, str, float]]:
    """Ask about single lines; return those that look like another language, which, and the log odds."""
    guesses: list[tuple[int, str, float]] = []
    first = 0
    for sides in _blocks(source, target):
        lines = sides[side]
        inside = places[(places >= first) & (places < first + len(lines))]
        for place in inside.tolist():
            text = lines[place - first]
            if sum(map(str.isalpha, text[:200])) < 8:
                continue
            if _identify(text[:400]) != language:
                ranked = rank_languages(text[:400])
                own = next((score for code, score in ranked if code == language), -np.inf)
                guesses.append((place, ranked[0][0], ranked[0][1] - own))
        first += len(lines)
    return guesses


def _choose_sure(guesses: list[tuple[int, str, float]], language: str) -> list[tuple[int, str]]:
    """Return the lines that surely are in another language, and in which: one that others have too needs less."""
    sure = Counter(code for _, code, odds in guesses if odds >= _SURE)
    return [
        (place, code)
        for place, code, odds in guesses
        if odds >= (_LIKELY if sure[code] >= _SEVERAL else _ALONE) and not are_alike(language, code)
    ]


def are_alike(one: str, other: str) -> bool:
    """Tell whether ``py3langid`` takes single lines of one language for the other."""
    return any(one in group and other in group for group in _ALIKE)


def names_another(path: Path, language: str) -> bool:
    """Tell whether the name of a file tells another language, where both are languages (``txt`` is none) and not as good as one."""
    told = language_of(path)
    if told in (None, language):
        return False
    return is_another(told, language)


def is_another(one: str | None, other: str) -> bool:
    """Tell whether two codes are of two languages, neither as good as the other."""
    first, second = language_code(one), language_code(other)  # deu is de
    if first is None or second is None:
        return False
    return first != second and not are_alike(first, second)


def _identify(text: str) -> str:
    language: str = _identifier().classify(text.encode("utf-8", "replace"))[0]
    return language


def rank_languages(text: str) -> list[tuple[str, float]]:
    """Return every language that ``py3langid`` knows with the logarithm of its odds, likeliest first.

    All odds are the same where it finds nothing in ``text`` that it could judge by.
    """
    ranked: list[tuple[str, float]] = _identifier().rank(text.encode("utf-8", "replace"))
    return ranked


@cache
def _identifier() -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)
