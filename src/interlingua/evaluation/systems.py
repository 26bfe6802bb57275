"""Several systems, each trained from several seeds, on several test sets: means, spreads, and what is more than chance.

Every system is compared with the first one. Where both have one seed, the p-value is the one of ``significance``: the paired
bootstrap of the ``sacrebleu`` command, number by number. Where one has several, other seeds count like other sentences: the
variance of the difference is that of the bootstrap, sentences drawn with replacement and the same for all, and that of the seeds;
the difference over its root follows Student's t, with as many degrees of freedom as Welch and Satterthwaite reckon.

Sources: Koehn 2004, "Statistical Significance Tests for Machine Translation Evaluation"; Bouthillier et al. 2021,
"Accounting for Variance in Machine Learning Benchmarks" (all that chance decides counts); Welch 1947, "The generalization of
Student's problem when several different population variances are involved".
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev, variance

import numpy as np

from interlingua.errors import ConfigError, CorpusError
from interlingua.evaluation.bootstrap import (
    FEWEST_SENTENCES,
    TOO_FEW,
    Resampled,
    p_value,
    resample,
    two_sided_t,
)
from interlingua.evaluation.external import SegmentMetric, resample_segments
from interlingua.evaluation.metrics import (
    LOWER_IS_BETTER,
    build_metric,
    check_counts,
    check_metrics,
    choose_tokenizer,
)
from interlingua.evaluation.tables import Table, decimals_of, escape_latex

__all__ = ["Figure", "SystemOutputs", "SystemsTable", "TestSet", "compare_systems"]

_BOOTSTRAP = "paired bootstrap"
_WELCH = "Welch's t over seeds and a paired bootstrap of sentences"
_MARKS = ((0.01, "‡"), (0.05, "†"))
_LATEX_MARKS = {"‡": r"$^{\ddagger}$", "†": r"$^{\dagger}$", "": ""}


@dataclass(frozen=True, slots=True)
class TestSet:
    """A text and its translation, of one name."""

    __test__ = False  # no test of pytest

    name: str
    sources: tuple[str, ...]
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SystemOutputs:
    """What a system says: ``outputs[seed][test set]`` is a list of lines."""

    name: str
    outputs: tuple[tuple[tuple[str, ...], ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """One system on one test set by one metric."""

    system: str
    test_set: str
    metric: str
    values: tuple[float, ...]
    """One a seed."""
    p_value: float | None
    """Against the first system; None for that one itself, and where the two are equal."""
    signature: str
    higher_is_better: bool
    sentences: int
    decimals: int = 2
    """How many it is written with, as every system by this metric is."""

    @property
    def mean(self) -> float:
        """Mean over the seeds."""
        return fmean(self.values)

    @property
    def mark(self) -> str:
        """Daggers: two below p = 0.01, one below 0.05; none of a few sentences."""
        if self.p_value is None or self.sentences < FEWEST_SENTENCES:
            return ""
        return next((mark for level, mark in _MARKS if self.p_value < level), "")

    def to_text(self) -> str:
        """Write mean, deviation over the seeds, and mark."""
        spread = f" ± {stdev(self.values):.{self.decimals}f}" if len(self.values) > 1 else ""
        return f"{self.mean:.{self.decimals}f}{spread}{self.mark}"


@dataclass(frozen=True, slots=True)
class SystemsTable:
    """Every figure, system by system."""

    systems: tuple[str, ...]
    test_sets: tuple[str, ...]
    sentences: tuple[int, ...]
    figures: tuple[Figure, ...]
    seeds: tuple[int, ...]
    failures: tuple[str, ...] = ()
    """Of each program that failed, and whose figures are left out, why it did."""

    def to_text(self) -> str:
        """Write an aligned table and what its marks mean."""
        made = "\n".join(f"{name}  {signature}" for name, signature in self._signatures())
        return f"{self._table().to_text()}\n\n{self._legend()}\n\nSignatures\n{made}\n"

    def to_latex(self) -> str:
        r"""Write a ``tabular`` with the rules of booktabs; the best mean of each column is bold, the first system has no marks."""
        columns = self._columns()
        lines = [f"% {self._legend()}"]
        lines += [f"% {name}: {signature}" for name, signature in self._signatures()]
        sets = " & ".join(
            rf"\multicolumn{{{len(self._metrics())}}}{{c}}{{{escape_latex(name)}}}"
            for name in self.test_sets
        )
        heads = " & ".join(escape_latex(metric) for _, metric in columns)
        lines += [
            rf"\begin{{tabular}}{{l{'r' * len(columns)}}}",
            r"\toprule",
            rf" & {sets} \\",
            rf"System & {heads} \\",
            r"\midrule",
        ]
        for system in self.systems:
            cells = [self._latex_cell(self._at(system, *column)) for column in columns]
            lines.append(rf"{escape_latex(system)} & {' & '.join(cells)} \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"

    def to_json(self) -> str:
        """Write everything with full precision."""
        figures = [
            {
                "system": each.system,
                "test_set": each.test_set,
                "metric": each.metric,
                "sentences": each.sentences,
                "values": each.values,
                "mean": each.mean,
                "p_value": each.p_value,
                "signature": each.signature,
            }
            for each in self.figures
        ]
        content = {"format": "interlingua-systems", "version": 1, "figures": figures}
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"

    def _latex_cell(self, figure: Figure) -> str:
        column = [
            each
            for each in self.figures
            if (each.test_set, each.metric) == (figure.test_set, figure.metric)
        ]
        best = (max if figure.higher_is_better else min)(each.mean for each in column)
        decimals = figure.decimals
        mean = f"{figure.mean:.{decimals}f}"
        is_best = len(column) > 1 and mean == f"{best:.{decimals}f}"
        shown = rf"\textbf{{{mean}}}" if is_best else mean
        spread = ""
        if figure.values[1:]:
            spread = rf"\,{{\footnotesize$\pm${stdev(figure.values):.{decimals}f}}}"
        return f"{shown}{spread}{_LATEX_MARKS[figure.mark]}"

    def _table(self) -> Table:
        columns = self._columns()
        several = len(self.test_sets) > 1
        header = [f"{name} {metric}" if several else metric for name, metric in columns]
        rows = [
            (system, *(self._at(system, *column).to_text() for column in columns))
            for system in self.systems
        ]
        return Table(("System", *header), tuple(rows))

    def _legend(self) -> str:
        seeds = ", ".join(map(str, dict.fromkeys(self.seeds)))
        sizes = ", ".join(
            f"{name} {number:,} sentences"
            for name, number in zip(self.test_sets, self.sentences, strict=True)
        )
        few = "; no mark: " + TOO_FEW if min(self.sentences) < FEWEST_SENTENCES else ""
        return _one_line(
            f"† p < 0.05, ‡ p < 0.01 against {self.systems[0]} ({self._tests()}); "
            f"mean ± deviation over seeds ({seeds}); {sizes}{few}"
        )

    def _tests(self) -> str:
        used = {self.test_of(system) for system in self.systems[1:]}
        if len(used) > 1:
            return f"{_BOOTSTRAP} where both have one seed, elsewhere {_WELCH}"
        return used.pop() if used else _BOOTSTRAP

    def test_of(self, system: str) -> str:
        """Name the test by which a system differs from the first one by more than chance: each pair has its own."""
        number = self.seeds[self.systems.index(system)]
        return _BOOTSTRAP if number == self.seeds[0] == 1 else _WELCH

    def _metrics(self) -> list[str]:
        return list(dict.fromkeys(each.metric for each in self.figures))

    def _columns(self) -> list[tuple[str, str]]:
        return [(name, metric) for name in self.test_sets for metric in self._metrics()]

    def _at(self, system: str, test_set: str, metric: str) -> Figure:
        wanted = (system, test_set, metric)
        return next(e for e in self.figures if (e.system, e.test_set, e.metric) == wanted)

    def _signatures(self) -> list[tuple[str, str]]:
        """Return how each metric was made, on one line each: a comment of LaTeX ends with its line."""
        made = dict.fromkeys((each.metric, each.signature) for each in self.figures)
        return [(metric, _one_line(signature)) for metric, signature in made]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def compare_systems(
    systems: Sequence[SystemOutputs],
    test_sets: Sequence[TestSet],
    metrics: Sequence[str] = ("bleu", "chrf"),
    *,
    segment_metrics: Sequence[SegmentMetric] = (),
    target_lang: str | None = None,
) -> SystemsTable:
    """Score every system on every test set, and compare each with the first.

    A program that fails is left out, and told in ``failures``: what was translated for hours, and our own figures, are not to be lost.

    Raises:
        ConfigError: a metric or tokenization that does not exist or is not installed.
        CorpusError: nothing to score, or outputs of another length than the test set.
    """
    tokenize = choose_tokenizer(target_lang)
    figures: list[Figure] = []
    failures: dict[str, str] = {}
    for number, test_set in enumerate(test_sets):
        outputs = [seed[number] for system in systems for seed in system.outputs]
        for system in systems:
            _check_length(system, number, test_set)
        for name in check_metrics(metrics, tokenize):
            metric = build_metric(name, [test_set.references], tokenize)
            resampled = resample(metric, outputs)
            made = str(metric.get_signature())
            figures += _figures(systems, test_set, resampled, made)
        for other in (each for each in segment_metrics if each.name not in failures):
            try:
                resampled = resample_segments(other, test_set.sources, outputs, test_set.references)
            except ConfigError as error:
                failures[other.name] = f"{error}; {other.name} is left out"
                continue
            figures += _figures(systems, test_set, resampled, other.signature)
    figures = [each for each in figures if each.metric not in failures]
    order = {system.name: place for place, system in enumerate(systems)}
    return SystemsTable(
        systems=tuple(system.name for system in systems),
        test_sets=tuple(each.name for each in test_sets),
        sentences=tuple(len(each.references) for each in test_sets),
        figures=tuple(sorted(figures, key=lambda each: order[each.system])),
        seeds=tuple(len(system.outputs) for system in systems),
        failures=tuple(failures.values()),
    )


def _check_length(system: SystemOutputs, number: int, test_set: TestSet) -> None:
    for seed in system.outputs:
        outputs = seed[number]
        if len(outputs) != len(test_set.references):
            raise CorpusError(
                f"{test_set.name}: an output of {system.name} has {len(outputs):,} lines and the reference "
                f"{len(test_set.references):,}; they must correspond line by line"
            )
        check_counts(outputs, [test_set.references])


def _figures(
    systems: Sequence[SystemOutputs],
    test_set: TestSet,
    resampled: Sequence[Resampled],
    signature: str,
) -> list[Figure]:
    """Make the figures of one metric from the draws of sentences of all seeds, one after the other."""
    scored = iter(resampled)
    by_system = [[next(scored) for _ in system.outputs] for system in systems]
    is_of_program = resampled[0].is_of_program
    decimals = decimals_of((each.value for each in resampled), is_of_program=is_of_program)
    figures = []
    for place, (system, seeds) in enumerate(zip(systems, by_system, strict=True)):
        name = seeds[0].name
        figures.append(
            Figure(
                system=system.name,
                test_set=test_set.name,
                metric=name,
                values=tuple(each.value for each in seeds),
                p_value=_compare_seeds(seeds, by_system[0]) if place > 0 else None,
                signature=signature,
                higher_is_better=is_of_program or name not in LOWER_IS_BETTER,
                sentences=len(test_set.references),
                decimals=decimals,
            )
        )
    return figures


def _compare_seeds(system: Sequence[Resampled], baseline: Sequence[Resampled]) -> float | None:
    """Return how easily chance makes such a difference of two systems; None where they do not differ at all."""
    draws, others = (np.mean([seed.draws for seed in each], axis=0) for each in (system, baseline))
    if np.array_equal(draws, others) and fmean(e.value for e in system) == fmean(
        e.value for e in baseline
    ):
        return None
    if len(system) == len(baseline) == 1:
        return p_value(system[0], baseline[0])
    scores = [[seed.value for seed in each] for each in (system, baseline)]
    by_seeds = [(variance(each) / len(each), len(each) - 1) for each in scores if len(each) > 1]
    if len(by_seeds) == 1:  # a single seed is taken to vary as the other system's do
        (part, freedom), number = by_seeds[0], max(map(len, scores))
        by_seeds = [(part * (1 + number), freedom)]
    parts = [(float(np.var(draws - others, ddof=1)), len(draws) - 1), *by_seeds]
    whole = sum(part for part, _ in parts)
    least = 1 / (len(draws) + 1)  # no finite number of draws tells of less
    if not whole:
        return least
    of_all = whole**2 / sum(part**2 / of for part, of in parts)
    t = (fmean(scores[0]) - fmean(scores[1])) / math.sqrt(whole)
    return max(two_sided_t(t, of_all), least)
