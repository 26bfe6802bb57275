"""Several runs that differ only in their seed, as one line a metric: mean and spread.

A single run says little about a method when seeds alone move the score by as much as the method does.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from interlingua.errors import ConfigError
from interlingua.evaluation.report import EvaluationReport
from interlingua.evaluation.tables import Table, decimals_of, escape_latex

__all__ = ["RunsSummary", "Spread", "summarise_runs"]


@dataclass(frozen=True, slots=True)
class Spread:
    """One figure over all runs; ``deviation`` is the sample standard deviation, None for a single run."""

    name: str
    signature: str
    values: tuple[float, ...]
    is_of_program: bool = False
    """Whether another program scored; what its figures are out of is not known."""

    @property
    def mean(self) -> float:
        """Arithmetic mean."""
        return fmean(self.values)

    @property
    def deviation(self) -> float | None:
        """Standard deviation with n - 1 in the denominator."""
        return stdev(self.values) if len(self.values) > 1 else None

    @property
    def low(self) -> float:
        """Worst or best run: the smallest figure."""
        return min(self.values)

    @property
    def high(self) -> float:
        """Worst or best run: the largest figure."""
        return max(self.values)


@dataclass(frozen=True)
class RunsSummary:
    """Mean and spread of every figure that the runs share."""

    runs: int
    spreads: tuple[Spread, ...]

    def to_text(self, decimals: int = 2) -> str:
        """Write an aligned table for a terminal."""
        made = "\n".join(f"{each.name}  {each.signature}" for each in self._signed())
        return f"{self._heading()}\n\n{self._table(decimals).to_text()}\n\nSignatures\n{made}\n"

    def to_markdown(self, decimals: int = 2) -> str:
        """Write a GitHub table."""
        made = "\n".join(f"- {each.name}: `{each.signature}`" for each in self._signed())
        return f"{self._heading()}.\n\n{self._table(decimals).to_markdown()}\n\n{made}\n"

    def to_latex(self, decimals: int = 2) -> str:
        """Write a booktabs table; the signatures follow."""
        made = " \\\\\n".join(
            f"{escape_latex(each.name)}: \\texttt{{{escape_latex(each.signature)}}}"
            for each in self._signed()
        )
        head = f"% {self._heading()}; needs \\usepackage{{booktabs}}"
        return f"{head}\n\n{self._table(decimals).to_latex()}\n\n{made}\n"

    def to_json(self) -> str:
        """Write everything with full precision."""
        spreads = [
            {
                "name": each.name,
                "signature": each.signature,
                "mean": each.mean,
                "deviation": each.deviation,
                "low": each.low,
                "high": each.high,
                "values": each.values,
            }
            for each in self.spreads
        ]
        content = {
            "format": "interlingua-runs",
            "version": 1,
            "runs": self.runs,
            "spreads": spreads,
        }
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"

    def _heading(self) -> str:
        return f"{self.runs} {'run' if self.runs == 1 else 'runs'}"

    def _signed(self) -> list[Spread]:
        return [each for each in self.spreads if each.signature]

    def _table(self, decimals: int) -> Table:
        rows = [_row(each, decimals) for each in self.spreads]
        return Table(("Figure", "Mean", "Deviation", "Lowest", "Highest"), tuple(rows))


def _row(each: Spread, decimals: int) -> tuple[str, ...]:
    shown = decimals_of(each.values, decimals, is_of_program=each.is_of_program)
    deviation = "" if each.deviation is None else f"{each.deviation:.{shown}f}"
    figures = (f"{value:.{shown}f}" for value in (each.low, each.high))
    return (each.name, f"{each.mean:.{shown}f}", deviation, *figures)


def summarise_runs(reports: Sequence[EvaluationReport]) -> RunsSummary:
    """Bring the reports of several runs together.

    Raises:
        ConfigError: no report, or reports whose scores were not made in the same way.
    """
    if not reports:
        raise ConfigError("there is no run to summarise; give at least one report")
    first, *others = (_figures(report) for report in reports)
    for number, figures in enumerate(others, 2):
        if figures.keys() != first.keys():
            odd = sorted(" ".join(key) for key in figures.keys() ^ first.keys())
            raise ConfigError(
                f"run {number} was not scored as run 1 was ({'; '.join(odd)}); "
                "score every run with the same metrics, tokenization and references"
            )
    of_programs = {each.name for each in reports[0].scores if each.is_of_program}
    spreads = [
        Spread(
            name,
            signature,
            tuple(figures[name, signature] for figures in [first, *others]),
            name in of_programs,
        )
        for name, signature in first
    ]
    return RunsSummary(len(reports), tuple(spreads))


def _figures(report: EvaluationReport) -> dict[tuple[str, str], float]:
    health = report.health
    figures = {(each.name, each.signature): each.value for each in (*report.scores, *report.legacy)}
    figures["length ratio", ""] = health.length_ratio
    shares = {
        "exact matches": health.exact_share,
        "empty": health.empty_share,
        "repeating": health.repeating_share,
        "copied from the source": health.copied_share,
    }
    for name, share in shares.items():
        if share is not None:
            figures[f"{name} (%)", ""] = 100 * share
    return figures
