"""The ``doctor`` command: examine a corpus, a model or a run, or the machine."""

from typing import TYPE_CHECKING

from interlingua.cli_flags import PartsFlags
from interlingua.cli_streams import open_output, say
from interlingua.errors import ConfigError

if TYPE_CHECKING:
    from interlingua.corpus.findings import Report

__all__ = ["doctor"]

_PARTS = PartsFlags()


def doctor(*, parts: PartsFlags = _PARTS, html: str | None = None, json: bool = False) -> int:
    """Examine a parallel corpus: what harms a model, in which lines, and the command that mends it.

    The exit status is 1 when a finding is an error.

    Args:
        html: file for the report as one page that needs nothing else.
        json: print {"findings": [...]}.
    """
    report = _examine_files(parts)
    if html is not None:
        with open_output(html) as write:
            write(report.to_html())
    say(report.to_json() if json else report.to_text())
    return report.exit_status


def _examine_files(parts: PartsFlags) -> "Report":
    from interlingua.corpus.doctor import CorpusParts, examine_corpus

    if parts.source is None or parts.target is None:
        raise ConfigError(
            "nothing to examine; name the two sides of a corpus: --source train.ro --target train.en"
        )
    return examine_corpus(
        CorpusParts(
            parts.source,
            parts.target,
            parts.valid_source,
            parts.valid_target,
            parts.test_source,
            parts.test_target,
        )
    )
