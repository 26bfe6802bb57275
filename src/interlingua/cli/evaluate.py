"""The ``evaluate`` command: translate a test set with one or several models, and score what comes out."""

from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from interlingua.checkpoints.model_folder import check_model_folder
from interlingua.cli.flags import MachineFlags, ScoreFlags, SearchFlags
from interlingua.cli.marks import (
    note_marks,
    note_other_languages,
    note_zero_shot,
    towards_text,
)
from interlingua.cli.streams import open_output, say
from interlingua.corpus.lines import one_line
from interlingua.errors import ConfigError
from interlingua.evaluation.bootstrap import p_value
from interlingua.evaluation.external import (
    SegmentMetric,
    read_metrics,
    resample_segments,
    try_out,
)
from interlingua.evaluation.metrics import bounded
from interlingua.evaluation.report import EvaluationReport, evaluate_outputs
from interlingua.evaluation.runs import RunsSummary, summarise_runs
from interlingua.evaluation.significance import Comparison
from interlingua.translator import Translator

__all__ = ["evaluate_models"]


def evaluate_models(
    models: Sequence[Path],
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    score: ScoreFlags,
    search: SearchFlags,
    machine: MachineFlags,
    to: str | None = None,
    texts: Sequence[Path] = (),
    corrections: Path | None = None,
) -> None:
    """Print the report on one model, or the mean and spread of several, as ``score.format`` wants it.

    ``texts`` are where the sources and the references were read; the name of the first tells its language to a model of several pairs. A program that fails after
    the translations is left out of the report, and told when that is printed. The model of ``score.against`` follows no corrections,
    so that a model against itself tells what they are worth.

    Raises:
        ConfigError: no model, an unknown metric, a program that fails, or flags that need a single model or reference.
        CorpusError: corrections that cannot be read, or are of other languages.
        ModelError: a model that cannot be read.
        OutputError: the translations cannot be written.
    """
    metrics, programs = read_metrics(score.metrics, score.metric_command, score.comet)
    if not models:
        raise ConfigError("no model is given; name a run folder or a model folder")
    if len(models) > 1 and (score.against or score.output):
        raise ConfigError("--against and --output go with one model; leave out the others")
    if programs and len(references) > 1:
        raise ConfigError(
            f"{programs[0].name}: takes one reference, and {len(references)} are given; leave out the others"
        )
    for model in (*models, *filter(None, [score.against])):
        check_model_folder(model, to)
    try_out(programs, sources, references[0])
    # The output is opened before anything is translated: an hour of work must not end at a name without a folder.
    with open_output(score.output) if score.output else nullcontext(_ignore) as write:
        how = (search, machine, to, texts)
        baseline = score.against and _translate(score.against, sources, *how).lines
        translated = [_translate(model, sources, *how, corrections) for model in models]
        write("".join(f"{line}\n" for line in translated[0].lines))
    reports = [
        replace(
            evaluate_outputs(
                sources,
                each.lines,
                references,
                metrics=metrics,
                against=baseline or None,
                target_lang=each.target_lang,
            ),
            direction=each.direction,
            is_zero_shot=each.is_zero_shot,
        )
        for each in translated
    ]
    others = [baseline] if baseline else []
    failures = []
    for program in programs:
        try:
            reports = [
                _add_score(program, report, sources, [each.lines, *others], references[0])
                for report, each in zip(reports, translated, strict=True)
            ]
        except ConfigError as error:
            failures.append(f"{error}; {program.name} is left out")
    report = reports[0] if len(reports) == 1 else summarise_runs(reports)
    say(_write(report, "json" if score.json else score.format))
    if failures:
        raise ConfigError("; ".join(failures))


def _ignore(_: str) -> None:
    """Take the place of a file that nobody asked for."""


def _add_score(
    program: SegmentMetric,
    report: EvaluationReport,
    sources: Sequence[str],
    systems: Sequence[Sequence[str]],
    references: Sequence[str],
) -> EvaluationReport:
    """Return a report with what another program says of the system, and of another if there are two."""
    resampled = resample_segments(program, sources, systems, references)
    score, *others = (bounded(each, program.signature, len(sources)) for each in resampled)
    comparisons = [Comparison(score, other, p_value(*resampled), len(sources)) for other in others]
    return replace(
        report,
        scores=(*report.scores, score),
        comparisons=(*report.comparisons, *comparisons),
    )


@dataclass(frozen=True, slots=True)
class _Outputs:
    """What one model says, and into which language; of one of several pairs, in which direction ("into en" where its source is not told)."""

    lines: list[str]
    target_lang: str
    direction: str | None
    is_zero_shot: bool


def _translate(
    model: Path,
    sources: Sequence[str],
    search: SearchFlags,
    machine: MachineFlags,
    to: str | None,
    texts: Sequence[Path],
    corrections: Path | None = None,
) -> _Outputs:
    translator = Translator.load(
        model,
        device=machine.device,
        dtype=search.dtype,
        threads=machine.threads,
        to=to,
        corrections=corrections,
    )
    direction = None
    if translator.directions:
        translator, direction = towards_text(translator, to, texts[0] if texts else None)
    if corrections and translator.corrections is None:
        raise ConfigError(
            f"{model}: corrections are of one pair of languages; say both, --to {direction}"
        )
    note_zero_shot(translator)
    note_other_languages(translator, model, *texts)
    translations = translator.translate(
        sources,
        beam_size=search.beam_size,
        length_penalty=search.length_penalty,
        batch_tokens=search.batch_tokens,
    )
    note_marks(
        Counter(flag for each in translations for flag in each.flags), translator.max_source_length
    )
    return _Outputs(
        [one_line(each.text) for each in translations],
        translator.target_lang,
        direction,
        translator.is_zero_shot,
    )


def _write(report: EvaluationReport | RunsSummary, form: str) -> str:
    if form == "json":
        return report.to_json()
    if form == "markdown":
        return report.to_markdown()
    return report.to_latex() if form == "latex" else report.to_text()
