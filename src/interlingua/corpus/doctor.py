"""Examine a parallel corpus: every finding with its lines, why it matters, and the command that mends it."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from interlingua.corpus.damage import DAMAGES
from interlingua.corpus.findings import Finding, Report
from interlingua.corpus.language_findings import find_language_faults
from interlingua.corpus.languages import Languages, examine_languages
from interlingua.corpus.misalignment import find_misalignment
from interlingua.corpus.pair_rules import BITS, CODES, Limits
from interlingua.corpus.plain_sides import PlainSides
from interlingua.corpus.repeats import find_repeats
from interlingua.corpus.survey import (
    KeysOfLines,
    Survey,
    default_processes,
    look_ahead,
    survey_corpus,
    survey_keys,
)
from interlingua.corpus.telling import (
    cleaning_command,
    count,
    name_lines,
    on_plain_files,
    rank,
    show_pair,
    tell_pairs,
    where_they_stand,
)

__all__ = ["SMALL", "examine_corpus"]

SMALL = 10_000
"""Pairs below which a corpus is called small."""


@dataclass(frozen=True, slots=True)
class _FaultFinding:
    """How the pairs with one fault are reported: why it matters, and from which share on it is how bad."""

    why: str
    warning_from: float
    """Share of the pairs from which it is a warning; fewer are a note."""
    error_from: float = 2.0


_FAULTS = {
    "empty": _FaultFinding("have a blank side, which training leaves out", 0.0),
    "copied": _FaultFinding(
        "have the source as the translation, which teaches a model to copy",
        0.005,
        error_from=0.5,
    ),
    "length-ratio": _FaultFinding(
        "are far longer on one side than is usual here: the other side is cut, or says something else",
        0.01,
    ),
    "long-line": _FaultFinding(
        "are longer than a sentence: training cuts off the rest, and one such line may fill the memory",
        0.01,
    ),
    "number-mismatch": _FaultFinding(
        "have numbers on one side that the other side does not have", 0.05
    ),
    "mixed-script": _FaultFinding(
        "have letters of another alphabet than that side, mostly look-alikes that make words unknown",
        0.0,
    ),
    "wrong-script": _FaultFinding("have a side that is in another script than its file", 0.0, 0.02),
    "invalid-utf8": _FaultFinding(f"hold {DAMAGES['invalid-utf8'][0]}", 0.0, 0.0),
    "entity": _FaultFinding(f"hold {DAMAGES['entity'][0]}", 0.01),
    "tag": _FaultFinding(f"hold {DAMAGES['tag'][0]}", 0.01),
} | {
    kind: _FaultFinding(f"hold {what}", 0.0)
    for kind, (what, _) in DAMAGES.items()
    if kind not in ("invalid-utf8", "entity", "tag")
}


def examine_corpus(
    training: PlainSides,
    held_out: Mapping[str, PlainSides] | None = None,
    *,
    processes: int | None = None,
    judge_size: Callable[[int], Iterable[Finding]] = lambda _: (),
) -> Report:
    """Read the files of a corpus, and report what may harm a model that is trained on them.

    Args:
        training: what would be trained on.
        held_out: the parts that must not be trained on, by their names: "validation", "test".
        processes: how many may read at a time (None: one a core).
        judge_size: says whether so many pairs are enough for what is to be trained on them.

    Raises:
        CorpusError: a file is missing or cannot be read.
    """
    survey = survey_corpus(
        training.source,
        training.target,
        Limits(),
        processes=default_processes() if processes is None else processes,
    )
    languages = examine_languages(training.source, training.target)
    findings = [
        *find_misalignment(training, survey.num_lines),
        *_find_marks(training, survey),
        *_find_faults(training, survey, languages),
        *_find_repeats(training, survey.keys),
        *find_language_faults(training, survey, languages),
        *_find_too_small(training, survey),
        *judge_size(len(survey.faults)),
    ]
    for name, part in (held_out or {}).items():
        findings += _find_leaks(training, part, name, survey.keys)
    return Report(training.name, where_they_stand(training, findings))


def _find_too_small(sides: PlainSides, survey: Survey) -> Iterator[Finding]:
    pairs = len(survey.faults)
    if pairs < SMALL:
        yield Finding(
            "too-small",
            "note",
            (),
            f"{count(pairs, 'pair')} with {survey.words[0]:,} source and {survey.words[1]:,} target words are few "
            "to learn to translate from; a small vocabulary and a small model lose least.",
            "add pairs; what train would choose: "
            + shlex.join(["interlingua", "plan", *sides.flags()]),
        )


def _find_marks(sides: PlainSides, survey: Survey) -> Iterator[Finding]:
    files = zip(sides.names, (sides.source, sides.target), strict=True)
    for (path, file), marked, ended in zip(
        files, survey.marks, survey.carriage_returns, strict=True
    ):
        name = shlex.quote(str(file))
        if marked:
            yield Finding(
                "encoding",
                "note",
                (1,),
                f"{path} begins with a byte order mark; it is left out here, but other tools take it for text.",
                on_plain_files(sides, f"sed -i '1s/^\\xef\\xbb\\xbf//' {name}"),
            )
        if ended:
            yield Finding(
                "encoding",
                "warning",
                (),
                f"{count(ended, 'line')} of {path} {'ends' if ended == 1 else 'end'} in CR, as in Windows; it would be "
                "learnt as text.",
                on_plain_files(sides, f"sed -i 's/\\r$//' {name}"),
            )


def _find_faults(sides: PlainSides, survey: Survey, languages: Languages) -> Iterator[Finding]:
    for fault, told in _FAULTS.items():
        found = (survey.faults & BITS[fault]) != 0
        if fault == "wrong-script":
            found &= ~languages.swapped  # which is told by itself
        places = np.flatnonzero(found)
        if not len(places):
            continue
        code = CODES.get(fault, fault)
        share = len(places) / len(survey.faults)
        yield Finding(
            code=code,
            severity=rank(share, told.warning_from, told.error_from),
            lines=name_lines(places),
            message=tell_pairs(sides, places, len(survey.faults), told.why),
            remedy=cleaning_command(sides, "--rules", code),
        )


def _find_repeats(sides: PlainSides, keys: KeysOfLines) -> Iterator[Finding]:
    exact, near = find_repeats(keys.pairs), find_repeats(keys.plain_pairs)
    sources = find_repeats(keys.plain_source) & ~near
    near &= ~exact
    told = (
        ("duplicate", exact, 0.01, "were there before, so as to count double, and leak in a split"),
        (
            "near-duplicate",
            near,
            0.05,
            "were there before but for case, spaces or punctuation, so as to count double",
        ),
    )
    for code, mask, warning_from, why in told:
        places = np.flatnonzero(mask)
        if len(places):
            yield Finding(
                code,
                rank(len(places) / len(mask), warning_from),
                name_lines(places),
                tell_pairs(sides, places, len(mask), why),
                cleaning_command(sides, "--rules", code),
            )
    places = np.flatnonzero(sources)
    if len(places):
        yield Finding(
            "repeated-source",
            "note",
            name_lines(places),
            f"{count(len(places), 'pair')} ({len(places) / len(sources):.2%}) "
            f"{'translates' if len(places) == 1 else 'translate'} a source that an earlier pair translates otherwise; "
            "that is no fault. Where some pairs are held back for validation, all translations of a source go together.",
            "nothing to mend",
        )


def _find_leaks(
    sides: PlainSides, part: PlainSides, name: str, training: KeysOfLines
) -> Iterator[Finding]:
    """Find what of a held-out part is also in training; the lines are those of the training files."""
    _, (sources, others) = look_ahead(part.source, part.target)
    if sources != others:
        yield Finding(
            "unequal-lines",
            "error",
            (),
            f"{part.names[0]} of the {name} part has {sources:,} lines and {part.names[1]} has {others:,}, so that it is not known which "
            "of them belong together; what of it is also in training was not looked for.",
            "find the line that is missing: interlingua doctor "
            + shlex.join(["--source", str(part.source), "--target", str(part.target)]),
        )
        return
    held_out = survey_keys(part.source, part.target)
    flags = part.flags("valid" if name == "validation" else "test")
    leaks = np.isin(held_out.plain_source, training.plain_source)
    if leaked := int(leaks.sum()):
        places = np.flatnonzero(np.isin(training.plain_source, held_out.plain_source))
        exact = int(np.isin(held_out.source, training.source).sum())
        pairs = int(np.isin(held_out.plain_pairs, training.plain_pairs).sum())
        share = leaked / len(held_out.source)
        yield Finding(
            "leakage",
            rank(share, 0.0, 0.01),
            name_lines(places),
            f"{count(leaked, 'source')} of {len(held_out.source):,} in the {name} part ({share:.2%}) "
            f"{'is' if leaked == 1 else 'are'} also in training, {exact:,} of them letter by letter and {leaked - exact:,} "
            f"but for case, spaces or punctuation; {pairs:,} with the same translation. Scores on what was learnt by "
            f"heart tell nothing. The first line in training is\n{show_pair(sides, int(places[0]))}",
            cleaning_command(sides, "--rules", "leakage", *flags),
        )
    targets = np.isin(held_out.plain_target, training.plain_target) & ~leaks
    if number := int(targets.sum()):
        places = np.flatnonzero(np.isin(training.plain_target, held_out.plain_target[targets]))
        yield Finding(
            "leakage",
            "note",
            name_lines(places),
            f"{count(number, 'target')} of the {name} part also {'translates' if number == 1 else 'translate'} other "
            "sources in training, as short sentences do.",
            "nothing to mend, unless there are long sentences among them",
        )
