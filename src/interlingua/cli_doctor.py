"""The ``doctor`` command: examine a corpus, a model or a run, or the machine."""

from pathlib import Path
from typing import TYPE_CHECKING

from interlingua.cli_streams import open_output, say
from interlingua.errors import ConfigError

if TYPE_CHECKING:
    from interlingua.corpus.doctor import CorpusParts
    from interlingua.corpus.findings import Report

__all__ = ["doctor"]


def doctor(
    *,
    source: Path | None = None,
    target: Path | None = None,
    valid_source: Path | None = None,
    valid_target: Path | None = None,
    test_source: Path | None = None,
    test_target: Path | None = None,
    html: str | None = None,
    json: bool = False,
) -> int:
    """Examine a parallel corpus: what harms a model, in which lines, and the command that mends it.

    The exit status is 1 when a finding is an error.

    Args:
        source: source text, one sentence a line.
        target: target text, line by line the translation of the source.
        valid_source: validation source, to find what leaks from it into training.
        valid_target: validation target.
        test_source: test source, to find what leaks from it into training.
        test_target: test target.
        html: file for the report as one page that needs nothing else.
        json: print {"findings": [...]}.
    """
    from interlingua.corpus.doctor import CorpusParts

    if source is None or target is None:
        raise ConfigError(
            "nothing to examine; name the two sides of a corpus: --source train.ro --target train.en"
        )
    report = _examine(
        CorpusParts(source, target, valid_source, valid_target, test_source, test_target)
    )
    if html is not None:
        with open_output(html) as write:
            write(report.to_html())
    say(report.to_json() if json else report.to_text())
    return report.exit_status


def _examine(parts: "CorpusParts") -> "Report":
    from interlingua.corpus.doctor import examine_corpus

    return examine_corpus(parts)
