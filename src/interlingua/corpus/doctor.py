"""Examine a parallel corpus: every finding with its lines, why it matters, and the command that mends it."""

from dataclasses import dataclass
from pathlib import Path

from interlingua.corpus.findings import Finding, Report
from interlingua.corpus.lines import count_lines

__all__ = ["CorpusParts", "examine_corpus"]


@dataclass(frozen=True, slots=True)
class CorpusParts:
    """The files of a corpus, two by two; validation and test may be missing."""

    source: Path
    target: Path
    valid_source: Path | None = None
    valid_target: Path | None = None
    test_source: Path | None = None
    test_target: Path | None = None


def examine_corpus(parts: CorpusParts) -> Report:
    """Read the files of a corpus, and report what may harm a model that is trained on them.

    Raises:
        CorpusError: a file is missing or cannot be read.
    """
    findings: list[Finding] = []
    counts = count_lines(parts.source), count_lines(parts.target)
    if counts[0] != counts[1]:
        longer = parts.source if counts[0] > counts[1] else parts.target
        first = min(counts)
        findings.append(
            Finding(
                code="unequal-lines",
                severity="error",
                lines=(first + 1,),
                message=(
                    f"{parts.source} has {counts[0]:,} lines and {parts.target} has {counts[1]:,}. Line N of "
                    "one must be the translation of line N of the other, so training would refuse them."
                ),
                remedy=f"head -n {first} {longer} > {longer}.cut",
            )
        )
    return Report(f"{parts.source} | {parts.target}", tuple(findings))
