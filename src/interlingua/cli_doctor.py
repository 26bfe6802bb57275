"""The ``doctor`` command: examine a corpus, a model or a run, or the machine."""

from pathlib import Path
from typing import TYPE_CHECKING

from interlingua.cli_flags import PartsFlags
from interlingua.cli_parts import plain_parts
from interlingua.cli_streams import open_output, read_aligned, say
from interlingua.errors import ConfigError

if TYPE_CHECKING:
    from interlingua.corpus.findings import Report

__all__ = ["doctor"]

_PARTS = PartsFlags()


def doctor(
    path: Path | None = None,
    *,
    parts: PartsFlags = _PARTS,
    html: str | None = None,
    json: bool = False,
) -> int:
    """Examine a corpus, a model, a run or this machine: what is wrong, and the command that mends it.

    A corpus is named by --source and --target, or by --pairs; a model or a run by its folder, and text to try it on by
    --source and --target; without anything the machine is examined. The exit status is 1 when a finding is an error.

    Args:
        path: run folder or model folder.
        html: file for the report as one page that needs nothing else.
        json: print {"findings": [...]}.
    """
    if path is not None:
        report = _examine_model(path, parts)
    elif parts == PartsFlags():
        from interlingua.inspection.environment import examine_environment

        report = examine_environment()
    else:
        report = _examine_files(parts)
    if html is not None:
        with open_output(html) as write:
            write(report.to_html())
    say(report.to_json() if json else report.to_text())
    return report.exit_status


def _examine_model(path: Path, parts: PartsFlags) -> "Report":
    from interlingua.corpus.pairs import SentencePair
    from interlingua.inspection.examination import examine_model

    if (parts.source is None) != (parts.target is None):
        raise ConfigError(
            "--source and --target go together: text and its translation, to try the model on"
        )
    if parts.source is None or parts.target is None:
        return examine_model(path)
    sources, (targets,) = read_aligned(parts.source, [parts.target])
    texts = zip(sources, targets, strict=True)
    return examine_model(path, [SentencePair(a, b, n) for n, (a, b) in enumerate(texts, 1)])


def _examine_files(parts: PartsFlags) -> "Report":
    with plain_parts(parts, "examine") as (training, held_out):
        from interlingua.corpus.doctor import examine_corpus

        return examine_corpus(training, held_out)
