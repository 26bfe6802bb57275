"""Metrics of tasks that are no translation: ROUGE for summaries, word or phoneme error rate, exact answers.

Each is a metric in sacreBLEU's sense, numbers a sentence that add up to the figure of a text, so that intervals and paired
tests draw sentences for them as they do for BLEU. The signature begins with the references and ends with the version of the formula.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from unicodedata import category

from sacrebleu.metrics.base import Metric, Score, Signature

from interlingua.corpus.words import is_unspaced, units_of

__all__ = ["ErrorRate", "ExactShare", "Rouge", "edit_distance", "longest_common_subsequence"]

_VERSION = "interlingua-2"
"""Of what is computed here: it changes when the same text would get another figure."""

RougeUnit = Literal["1", "2", "L"]


class _SignatureOfOurs(Signature):
    """What decides a figure that sacreBLEU does not know."""

    def __init__(self, args: dict[str, Any]) -> None:
        super().__init__(args)
        self.info |= args["told"]
        self.info["version"] = _VERSION


class _OfSentences(Metric):
    """A figure that is the quotient of two sums over sentences, times 100.

    Args:
        name: of the figure.
        references: complete references, each as long as the outputs.
        told: what the signature says besides.
    """

    _SIGNATURE_TYPE = _SignatureOfOurs

    def __init__(
        self, name: str, references: Sequence[Sequence[str]], told: Mapping[str, str]
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.name = name
        self.told = dict(told)
        self._ref_cache = self._cache_references(references)

    def _preprocess_segment(self, sent: str) -> str:
        return str(sent).strip()

    def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
        return {"refs": [self._units(each) for each in refs]}

    def _compute_segment_statistics(
        self, hypothesis: str, ref_kwargs: dict[str, Any]
    ) -> list[float]:
        return list(self._measure(self._units(hypothesis), ref_kwargs["refs"]))

    def _aggregate_and_compute(self, stats: list[list[float]]) -> Score:
        return self._compute_score_from_stats([sum(column) for column in zip(*stats, strict=True)])

    def _compute_score_from_stats(self, stats: Any) -> Score:
        return Score(self.name, 100.0 * float(stats[0]) / max(float(stats[1]), 1.0))

    def _units(self, text: str) -> tuple[str, ...]:
        """Cut a text into what is compared."""
        return tuple(text.split())

    @abstractmethod
    def _measure(
        self, output: tuple[str, ...], references: Sequence[tuple[str, ...]]
    ) -> tuple[float, float]:
        """Return what one sentence adds to each sum."""


class Rouge(_OfSentences):
    r"""F1 of ROUGE-1, ROUGE-2 or ROUGE-L: the mean over sentences, of the reference that is nearest, 0 to 100.

    .. math:: F = 2PR / (P + R) \qquad P = m / |output| \qquad R = m / |reference|

    m is the number of common words or pairs of words, or the length of the longest common subsequence. Words are runs of letters and
    digits in small letters, with the marks upon them, and are not stemmed, as in the ``rouge-score`` package, which however drops what
    is not ASCII. In a script without spaces each character is a word.

    Source: Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries", sections 2 and 3.
    """

    def __init__(self, unit: RougeUnit, references: Sequence[Sequence[str]]) -> None:
        self.unit = unit
        told = {"case": "lc", "tok": "words", "stem": "no", "mean": "sentences", "refs": "best"}
        super().__init__(f"ROUGE-{unit}", references, told)

    def _units(self, text: str) -> tuple[str, ...]:
        spelled = (
            sign if sign.isalnum() or category(sign)[0] == "M" else " " for sign in text.lower()
        )
        units = (unit for _, unit in units_of("".join(spelled)))
        return tuple(unit for unit in units if is_unspaced(unit) or any(map(str.isalnum, unit)))

    def _measure(
        self, output: tuple[str, ...], references: Sequence[tuple[str, ...]]
    ) -> tuple[float, float]:
        return max(self._f1(output, reference) for reference in references), 1.0

    def _f1(self, output: tuple[str, ...], reference: tuple[str, ...]) -> float:
        if self.unit == "L":
            common, sizes = (
                longest_common_subsequence(output, reference),
                len(output) + len(reference),
            )
        else:
            counts = [_counted(each, int(self.unit)) for each in (output, reference)]
            common, sizes = (counts[0] & counts[1]).total(), sum(each.total() for each in counts)
        return 2.0 * common / sizes if sizes else 0.0


class ErrorRate(_OfSentences):
    """Word error rate: words to add, drop or replace, a hundred words of the reference; 0 is best, and it can exceed 100.

    A word is what stands between spaces, case and punctuation included: where each phoneme stands by itself it is the phoneme error
    rate. Of several references the one that needs the smallest share of edits counts.
    """

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        super().__init__("WER", references, {"case": "mixed", "tok": "spaces", "refs": "best"})

    def _measure(
        self, output: tuple[str, ...], references: Sequence[tuple[str, ...]]
    ) -> tuple[float, float]:
        each = [(edit_distance(output, reference), len(reference)) for reference in references]
        edits, words = min(each, key=lambda found: (found[0] / max(found[1], 1), found[1]))
        return float(edits), float(words)


class ExactShare(_OfSentences):
    """Share of the outputs that equal a reference, spaces at the ends aside, 0 to 100: accuracy, where the answer is a class."""

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        super().__init__("exact", references, {"case": "mixed", "refs": "any"})

    def _units(self, text: str) -> tuple[str, ...]:
        return (text,)

    def _measure(
        self, output: tuple[str, ...], references: Sequence[tuple[str, ...]]
    ) -> tuple[float, float]:
        return float(output in references), 1.0


def edit_distance(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the fewest insertions, deletions and replacements that make one of the other (Levenshtein 1966)."""
    row = list(range(len(second) + 1))
    for place, unit in enumerate(first, 1):
        before, row[0] = row[0], place
        for other, wanted in enumerate(second, 1):
            before, row[other] = (
                row[other],
                min(row[other] + 1, row[other - 1] + 1, before + (unit != wanted)),
            )
    return row[-1]


def longest_common_subsequence(first: Sequence[object], second: Sequence[object]) -> int:
    """Return the length of the longest sequence that both contain in this order, with or without gaps."""
    row = [0] * (len(second) + 1)
    for unit in first:
        before = 0
        for other, wanted in enumerate(second, 1):
            before, row[other] = (
                row[other],
                before + 1 if unit == wanted else max(row[other], row[other - 1]),
            )
    return row[-1]


def _counted(units: tuple[str, ...], size: int) -> Counter[tuple[str, ...]]:
    """Count the runs of ``size`` units."""
    return Counter(zip(*(units[start:] for start in range(size)), strict=False))
