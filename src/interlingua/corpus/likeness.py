"""How likely two lines are translations of each other, learnt from a corpus in languages that need not be known.

Which words go together (IBM model 1, Brown et al. 1993, asked only about lines that it was not trained on), how long
translations are, and that numbers and names stay the same: a logistic regression makes of these the log odds that two
lines belong together, against lines that stand elsewhere.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Likeness",
    "LineNumbers",
    "LineReader",
    "learn_likeness",
    "untaught_likeness",
    "words_of",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Table = NDArray[np.float32]

WORDS = 16
"""Words of a line that are looked at: those that occur least, and so tell most."""

VOCABULARY = 2500
"""Words of either side whose translations are learnt."""

_UNKNOWN = 1  # 0 is no word
_LIMIT = 6.0
"""Log odds beyond which a line is not believed: no line may outvote a dozen others."""

_NEAREST, _FARTHEST = 9, 60
_ITERATIONS = 4

_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0951-\u0957"
    "\u0962\u0963\u0981-\u0dff"
)
_WORD = re.compile(f"\\d+|[^\\W\\d_](?:[^\\W\\d_]|[{_MARKS}])*|[^\\w\\s]")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)


def words_of(text: str) -> list[str]:
    """Cut a line into what a translation may share or answer: stems, numbers, signs; pieces where no spaces stand."""
    words = []
    for word in _WORD.findall(text.casefold()):
        if word.isascii():
            words.append(word if word[0].isdigit() else word[:5])
        elif _UNSPACED.match(word):
            size = 1 if word[0] >= "\u3400" else 2 if word[0] >= "\u3040" else 4
            words += [word[at : at + size] for at in range(max(1, len(word) - size + 1))]
        else:
            words.append(word[:2] if "\uac00" <= word[0] <= "\ud7a3" else word[:5])
    return words


class LineNumbers:
    """Lines of one side as numbers.

    Attributes:
        ids: (lines, WORDS) the words by the vocabulary of this side; 0 is none, 1 one that is in no vocabulary.
        prints: (lines, WORDS) what tells whether a word of the other side has the same form; 0 is none.
        lengths: (lines,) logarithm of the characters, 3 being added.
    """

    def __init__(
        self, lines: Sequence[str], vocabulary: dict[str, int], counts: Counter[str]
    ) -> None:
        self.ids = np.zeros((len(lines), WORDS), np.int32)
        self.prints = np.zeros((len(lines), WORDS), np.uint32)
        self.lengths = np.log(np.array([len(line) + 3 for line in lines], np.float64))
        for row, line in enumerate(lines):
            words = list(dict.fromkeys(words_of(line)))
            if len(words) > WORDS:
                words = sorted(words, key=lambda word: counts.get(word, 0))[:WORDS]
            if words:
                end = len(words)
                self.ids[row, :end] = [vocabulary.get(word, _UNKNOWN) for word in words]
                self.prints[row, :end] = [
                    crc32(word.encode("utf-8", "surrogateescape")) | 1 for word in words
                ]

    def __len__(self) -> int:
        return len(self.ids)


class LineReader:
    """Turns lines of either side into numbers, by the words that a sample of the corpus has."""

    def __init__(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        self._counts: list[Counter[str]] = []
        self._vocabularies: list[dict[str, int]] = []
        self.chances: list[Floats] = []
        """For each side, the share of the lines that have each word of the vocabulary."""
        for lines in (sources, targets):
            counts = Counter(word for line in lines for word in set(words_of(line)))
            kept = [(word, count) for word, count in counts.most_common(VOCABULARY) if count > 1]
            chances = np.array([1.0, 1.0, *(count / len(lines) for _, count in kept)])
            self._counts.append(counts)
            self._vocabularies.append({word: place for place, (word, _) in enumerate(kept, 2)})
            self.chances.append(chances)

    def read(self, side: int, lines: Sequence[str]) -> LineNumbers:
        """Return the lines of side 0, the source, or 1, the target, as numbers."""
        return LineNumbers(lines, self._vocabularies[side], self._counts[side])

    @property
    def sizes(self) -> tuple[int, int]:
        """The sizes of the two vocabularies."""
        return len(self.chances[0]), len(self.chances[1])


@dataclass(slots=True)
class Likeness:
    """The log odds that lines belong together.

    Attributes:
        forward: for each fold of the corpus, p(target word | source word) as the other folds taught it.
        backward: the same of p(source word | target word).
        chances: see ``LineReader``.
        rare: the chance of a word that is in no vocabulary.
        ratio: median logarithm of the target length by the source length.
        spread: how much that varies.
        target_mean: median logarithm of the target length.
        target_spread: how much that varies.
        weights: what each feature counts.
    """

    forward: list[Table]
    backward: list[Table]
    chances: list[Floats]
    rare: float
    ratio: float
    spread: float
    target_mean: float
    target_spread: float
    weights: Floats

    def score(
        self,
        source: LineNumbers,
        target: LineNumbers,
        rows: Ints,
        columns: Ints,
        folds: Ints | None,
    ) -> Floats:
        """Return the log odds that source lines ``rows`` and target lines ``columns`` belong together.

        Args:
            source: the source lines.
            target: the target lines.
            rows: which source lines.
            columns: as many target lines.
            folds: the fold of each of ``rows``; None if they took no part in the learning.
        """
        logits = self.features(source, target, rows, columns, folds) @ self.weights
        scores: Floats = np.clip(logits, -_LIMIT, _LIMIT)
        return scores

    def features(
        self,
        source: LineNumbers,
        target: LineNumbers,
        rows: Ints,
        columns: Ints,
        folds: Ints | None,
    ) -> Floats:
        """Return (pairs, 6): how well words explain words, both ways, in sum and by word; lengths; 1."""
        given, asked = source.ids[rows], target.ids[columns]
        same = source.prints[rows][:, :, None] == target.prints[columns][:, None, :]
        same &= (given > 0)[:, :, None]
        forward = self._explain(self.forward, self.chances[1], (given, asked), same, folds)
        same = same.transpose(0, 2, 1)
        backward = self._explain(self.backward, self.chances[0], (asked, given), same, folds)
        columns_found = [
            np.clip(forward, -20, 30),
            np.clip(backward, -20, 30),
            forward / np.maximum((asked > 0).sum(axis=1), 1),
            backward / np.maximum((given > 0).sum(axis=1), 1),
            self._compare_lengths(source.lengths[rows], target.lengths[columns]),
            np.ones(len(rows)),
        ]
        return np.stack(columns_found, axis=1)

    def _compare_lengths(self, source: Floats, target: Floats) -> Floats:
        """Return the log likelihood of the target length given the source, by that of any target length."""
        here = ((target - source - self.ratio) / self.spread) ** 2 / 2 + np.log(self.spread)
        there = ((target - self.target_mean) / self.target_spread) ** 2 / 2
        compared: Floats = np.clip(there + np.log(self.target_spread) - here, -8, 4)
        return compared

    def _explain(
        self,
        tables: list[Table],
        chances: Floats,
        words: tuple[NDArray[np.int32], NDArray[np.int32]],
        same: Mask,
        folds: Ints | None,
    ) -> Floats:
        """Return by how much the words of one side make those of the other more likely than they are anyway."""
        given, asked = words
        count = np.maximum((given > 0).sum(axis=1), 1)[:, None]
        found = np.zeros(asked.shape, np.float32)
        for fold, table in enumerate(tables if folds is not None else tables[:1]):
            mine = slice(None) if folds is None else folds == fold
            found[mine] = table[given[mine][:, :, None], asked[mine][:, None, :]].sum(axis=1)
        chance = np.where(asked > 1, chances[asked], self.rare)
        learnt = np.log(0.6 + 0.4 * found / count / chance) * (asked > 1)
        equal = np.where(same.any(axis=1), np.log(1 + 0.1 / count / chance), -np.inf)
        explained: Floats = np.maximum(learnt, equal).sum(axis=1)
        return explained


def untaught_likeness(source: LineNumbers, target: LineNumbers, reader: LineReader) -> Likeness:
    """Return what can be said before anything is learnt: numbers and names stay, and long lines stay long."""
    spread = float(target.lengths.std() + 0.05)
    return Likeness(
        forward=[np.zeros(reader.sizes, np.float32)],
        backward=[np.zeros(reader.sizes[::-1], np.float32)],
        chances=reader.chances,
        rare=0.5 / len(source),
        ratio=float(np.median(target.lengths) - np.median(source.lengths)),
        spread=max(0.6 * spread, 0.15),
        target_mean=float(np.median(target.lengths)),
        target_spread=spread,
        weights=np.array([0.15, 0.15, 0.0, 0.0, 0.7, 0.0]),
    )


def learn_likeness(
    source: LineNumbers,
    target: LineNumbers,
    reader: LineReader,
    pairs: tuple[Ints, Ints],
    folds: Ints,
) -> Likeness:
    """Learn from pairs of lines, some of which may be wrong.

    Args:
        source: the source lines.
        target: the target lines.
        reader: what read them.
        pairs: source lines, and the target lines that they belong to.
        folds: the part of the corpus that each source line is in, a number from 0.
    """
    rows, columns = pairs
    number = int(folds.max()) + 1
    learnt = untaught_likeness(source, target, reader)
    residual = target.lengths[columns] - source.lengths[rows]
    learnt.ratio = float(np.median(residual))
    learnt.spread = float(1.4826 * np.median(np.abs(residual - learnt.ratio)) + 0.03)
    kept = [folds[rows] != fold for fold in range(number)]
    together = _Together(source.ids[rows], target.ids[columns], reader.sizes)
    learnt.forward = [together.train(pairs_kept, 0) for pairs_kept in kept]
    learnt.backward = [together.train(pairs_kept, 1) for pairs_kept in kept]
    rng = np.random.default_rng(1)
    others = len(target)
    farthest = max(_NEAREST + 1, min(_FARTHEST, others // 2))
    signs = rng.choice([-1, 1], len(rows))
    far = (columns + rng.integers(_NEAREST, farthest, len(rows)) * signs) % others
    near = (columns + rng.integers(1, 3, len(rows)) * signs) % others
    right = learnt.features(source, target, rows, columns, folds[rows])
    wrong = [learnt.features(source, target, rows, each, folds[rows]) for each in (far, near)]
    learnt.weights = _regress(right, np.concatenate(wrong))
    return learnt


class _Together:
    """The words of either side that stand in a pair of lines together, as IBM model 1 counts them.

    Only those that do are kept: a table of all words by all words would be a hundred times as large, and most of the time.
    """

    def __init__(
        self, given: NDArray[np.int32], asked: NDArray[np.int32], sizes: tuple[int, int]
    ) -> None:
        known = (given > _UNKNOWN)[:, :, None] & (asked > _UNKNOWN)[:, None, :]
        self._sizes = sizes
        self._pairs, ours, theirs = np.nonzero(known)
        keys = given[self._pairs, ours].astype(np.int64) * sizes[1] + asked[self._pairs, theirs]
        self._kinds, self._kind = np.unique(keys, return_inverse=True)
        self._places = self._pairs * WORDS + ours, self._pairs * WORDS + theirs
        self._words = np.divmod(self._kinds, sizes[1])

    def train(self, kept: Mask, side: int) -> Table:
        """Return p(word of the other side | word of this ``side``) from the ``kept`` pairs, 0 for words unknown."""
        chosen = np.flatnonzero(kept[self._pairs])
        kind, place = self._kind[chosen], self._places[1 - side][chosen]
        chances = np.ones(len(self._kinds))
        for _ in range(_ITERATIONS):
            share = chances[kind]
            share /= np.bincount(place, share)[place] + 1e-9
            counts = np.bincount(kind, share, len(self._kinds))
            words = self._words[side]
            # The 1 makes a word that was seen once unsure of what it means.
            chances = counts / (np.bincount(words, counts)[words] + 1.0)
        table = np.zeros(self._sizes if side == 0 else self._sizes[::-1], np.float32)
        table[self._words[side], self._words[1 - side]] = chances
        return table


def _regress(right: Floats, wrong: Floats) -> Floats:
    """Fit a logistic regression with a light ridge, both classes weighing the same."""
    features = np.concatenate([right, wrong])
    answers = np.concatenate([np.ones(len(right)), np.zeros(len(wrong))])
    share = np.concatenate(
        [np.ones(len(right)), np.full(len(wrong), len(right) / max(len(wrong), 1))]
    )
    scale = features.std(axis=0) + 1e-9
    scale[-1] = 1.0
    features = features / scale
    weights, ridge = np.zeros(features.shape[1]), np.eye(features.shape[1])
    for _ in range(15):
        chance = 1 / (1 + np.exp(-np.clip(features @ weights, -30, 30)))
        gradient = features.T @ (share * (answers - chance)) - ridge @ weights
        curvature = (features * (share * chance * (1 - chance))[:, None]).T @ features + ridge
        weights = weights + np.clip(np.linalg.solve(curvature, gradient), -3, 3)
    weights[:-1] = np.maximum(weights[:-1], 0)  # more alike is never a sign against a pair
    scaled: Floats = weights / scale
    return scaled
