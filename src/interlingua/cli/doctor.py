"""The ``doctor`` command: examine a corpus, a model or a run, or the machine."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from interlingua.cli.flags import PartsFlags
from interlingua.cli.parts import plain_parts
from interlingua.cli.streams import note, open_named, read_aligned, say
from interlingua.errors import ConfigError

if TYPE_CHECKING:
    from interlingua.corpus.findings import Report
    from interlingua.corpus.plain_sides import PlainSides
    from interlingua.examination.corpus_size import Choice

__all__ = ["doctor"]

_PARTS = PartsFlags()


def doctor(
    path: Path | None = None,
    *,
    parts: PartsFlags = _PARTS,
    config: Path | None = None,
    html: str | None = None,
    json: bool = False,
) -> int:
    """Examine a corpus, model, run or this machine: what is wrong, and the command that mends it.

    A corpus is named by --source and --target, or by --pairs; a model or a run by its folder, and text to try it on by
    --source and --target; without anything the machine is examined. The exit status is 1 when a finding is an error.

    Args:
        path: run folder or model folder.
        config: configuration of a run, to see whether the corpus is large enough for its vocabulary and model; without
            other files, its corpus is examined.
        html: file for the report as one page that needs nothing else.
        json: print {"findings": [...]}.
    """
    with open_named(None if html is None else Path(html)) as write:
        report = _examine(path, parts, config)
        if write:
            write(report.to_html())
    say(report.to_json() if json else report.to_text())
    return report.exit_status


def _examine(path: Path | None, parts: PartsFlags, config: Path | None) -> "Report":
    if path is not None:
        return _examine_model(path, parts)
    if parts == PartsFlags() and config is None:
        from interlingua.examination.environment import examine_environment

        return examine_environment()
    return _examine_files(parts, config)


def _examine_model(path: Path, parts: PartsFlags) -> "Report":
    from interlingua.corpus.formats import UNNAMED
    from interlingua.corpus.pairs import SentencePair
    from interlingua.corpus.parallel import language_of
    from interlingua.directions import Direction
    from interlingua.examination.models_and_runs import examine_model

    if (parts.source is None) != (parts.target is None):
        raise ConfigError(
            "--source and --target go together: text and its translation, to try the model on"
        )
    if parts.source is None or parts.target is None:
        return examine_model(path)
    sources, (targets,) = read_aligned(parts.source, [parts.target])
    texts = zip(sources, targets, strict=True)
    pairs = [SentencePair(a, b, n) for n, (a, b) in enumerate(texts, 1)]
    direction = Direction(
        parts.source_lang or language_of(parts.source) or UNNAMED[0],
        parts.target_lang or language_of(parts.target) or UNNAMED[1],
    )
    return examine_model(path, pairs, direction)


def _examine_files(parts: PartsFlags, config: Path | None) -> "Report":
    from interlingua.corpus.doctor import examine_corpus

    if config is None:
        with plain_parts(parts, "examine") as (training, held_out):
            _pass_on_remarks(training, held_out)
            return examine_corpus(training, held_out)
    from interlingua.config_files import load_config
    from interlingua.examination.corpus_size import Choice, examine_size

    choice = Choice(load_config(config), config)
    if parts.source is None and parts.target is None and parts.pairs is None:
        parts = _files_of(choice, parts)
    with plain_parts(parts, "examine") as (training, held_out):
        _pass_on_remarks(training, held_out)
        return examine_corpus(training, held_out, judge_size=partial(examine_size, choice))


def _pass_on_remarks(training: "PlainSides", held_out: "dict[str, PlainSides]") -> None:
    for part in (training, *held_out.values()):
        for remark in part.remarks:
            note(remark)


def _files_of(choice: "Choice", parts: PartsFlags) -> PartsFlags:
    """Return ``parts`` with the corpus that a configuration names.

    Raises:
        ConfigError: it names none, or several.
    """
    corpus = choice.config.corpus
    if len(corpus.source) + len(corpus.pairs) != 1 or len(corpus.target) != len(corpus.source):
        raise ConfigError(
            f"{choice.path}: names {len(corpus.source) + len(corpus.pairs)} corpora, and one is examined at a time; "
            "say which: --source train.ro --target train.en"
        )
    named = [
        ("source", corpus.source),
        ("target", corpus.target),
        ("pairs", corpus.pairs),
    ]
    if parts.valid_source is None and parts.valid_pairs is None:
        named += [
            ("valid_source", corpus.valid_source),
            ("valid_target", corpus.valid_target),
            ("valid_pairs", corpus.valid_pairs),
        ]
    found = {name: paths[0] for name, paths in named if len(paths) == 1}
    return replace(
        parts,
        **found,
        source_lang=parts.source_lang or corpus.source_lang,
        target_lang=parts.target_lang or corpus.target_lang,
        columns=parts.columns or ",".join(corpus.columns) or None,
    )
