"""Examine a parallel corpus: every finding with its lines, why it matters, and the command that mends it."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.damage import DAMAGES
from interlingua.corpus.findings import Finding, Report, Severity, show_text
from interlingua.corpus.languages import examine_languages, language_code
from interlingua.corpus.line_shift import Stretch, find_stretches
from interlingua.corpus.lines import read_raw_lines
from interlingua.corpus.pair_rules import BITS, CODES, Limits, decode_line
from interlingua.corpus.parallel import language_of
from interlingua.corpus.survey import (
    KeysOfLines,
    Survey,
    default_processes,
    find_repeats,
    survey_corpus,
    survey_keys,
)
from interlingua.errors import CorpusError

__all__ = ["CorpusParts", "examine_corpus"]

MOST_LINES = 10_000
"""Lines that a finding names at most; its message tells how many there are."""

SMALL = 10_000
"""Pairs below which a corpus is called small."""

_SHOWN = 70


@dataclass(frozen=True, slots=True)
class CorpusParts:
    """The files of a corpus, two by two; validation and test may be missing."""

    source: Path
    target: Path
    valid_source: Path | None = None
    valid_target: Path | None = None
    test_source: Path | None = None
    test_target: Path | None = None

    @property
    def held_out(self) -> dict[str, tuple[Path, Path]]:
        """The files of validation and test that are given.

        Raises:
            CorpusError: only one side of a part is given.
        """
        parts = {
            "validation": (self.valid_source, self.valid_target),
            "test": (self.test_source, self.test_target),
        }
        found = {}
        for name, (source, target) in parts.items():
            if (source is None) != (target is None):
                given = source or target
                raise CorpusError(f"{given}: is one side of the {name} part; give both sides")
            if source is not None and target is not None:
                found[name] = (source, target)
        return found

    def clean(self, *flags: str) -> str:
        """Write the command that cleans this corpus."""
        words = ["interlingua", "clean", "--source", str(self.source), "--target", str(self.target)]
        return " ".join([*map(shlex.quote, words), *flags, "--output cleaned"])


@dataclass(frozen=True, slots=True)
class _FaultFinding:
    """How the pairs with one fault are reported: why it matters, and from which share on it is how bad."""

    why: str
    warning_from: float
    """Share of the pairs from which it is a warning; fewer are a note."""
    error_from: float = 2.0


_FAULTS = {
    "empty": _FaultFinding("have a blank side; training leaves them out", 0.0),
    "copied": _FaultFinding(
        "have the source as their translation, and teach a model to copy instead of translating",
        0.005,
    ),
    "length-ratio": _FaultFinding(
        "are far longer on one side than is usual here, so that one side is cut, or something else",
        0.01,
    ),
    "long-line": _FaultFinding(
        "are longer than a sentence; training cuts them off, and one of them may fill the memory",
        0.01,
    ),
    "number-mismatch": _FaultFinding(
        "have numbers on one side that the other side does not have", 0.05
    ),
    "mixed-script": _FaultFinding(
        "have letters of an alphabet that is not that of their side, mostly look-alikes that make "
        "words unknown",
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


def examine_corpus(parts: CorpusParts, *, processes: int | None = None) -> Report:
    """Read the files of a corpus, and report what may harm a model that is trained on them.

    Args:
        parts: the files.
        processes: how many may read at a time (None: one a core).

    Raises:
        CorpusError: a file is missing or cannot be read, or one side of a part is.
    """
    held_out = parts.held_out
    survey = survey_corpus(
        parts.source,
        parts.target,
        Limits(),
        processes=default_processes() if processes is None else processes,
    )
    findings = [
        *_find_misalignment(parts, survey.num_lines),
        *_find_marks(parts, survey),
        *_find_faults(parts, survey),
        *_find_repeats(parts, survey.keys),
        *_find_language_faults(parts, survey),
        *_find_too_small(survey),
    ]
    for name, files in held_out.items():
        keys = survey_keys(*files)
        findings += _find_leaks(parts, name, survey.keys, keys)
    return Report(f"{parts.source} | {parts.target}", tuple(findings))


def _find_misalignment(parts: CorpusParts, counts: tuple[int, int]) -> Iterator[Finding]:
    """Compare the numbers of lines, and find where lines stop belonging together."""
    source, target = parts.source, parts.target
    for path, count in zip((source, target), counts, strict=True):
        if not count:
            yield Finding("empty", "error", (), f"{path} is empty.", "give a file that holds text")
    stretches = find_stretches(source, target, counts) if all(counts) else []
    before = 0
    remedies = []
    for stretch in stretches:
        remedies.append(_mend_shift(parts, stretch, before, counts))
        yield _report_stretch(stretch, len(stretches), min(counts), remedies[-1])
        before = before if stretch.lag is None else stretch.lag
    if counts[0] == counts[1]:
        return
    longer = source if counts[0] > counts[1] else target
    kept = min(counts)
    name = shlex.quote(str(longer))
    where = (
        f"They seem to part at line {stretches[0].first:,}."
        if stretches
        else f"No shift was found, so that the last lines of {longer} may be all that is too much."
    )
    yield Finding(
        code="unequal-lines",
        severity="error",
        lines=(stretches[0].first if stretches else kept + 1,),
        message=(
            f"{source} has {counts[0]:,} lines and {target} has {counts[1]:,}. Line N of one must be the "
            f"translation of line N of the other, so that training would refuse them. {where}"
        ),
        remedy=remedies[0] if stretches else f"head -n {kept} {name} > {name}.cut",
    )


def _report_stretch(stretch: Stretch, number: int, num_lines: int, remedy: str) -> Finding:
    lines = stretch.last - stretch.first + 1
    until = "to the end" if stretch.last >= num_lines else f"to line {stretch.last:,}"
    if stretch.lag is None:
        what = f"From line {stretch.first:,} {until} the two sides do not belong together, nor with lines nearby"
    else:
        what = (
            f"From about line {stretch.first:,} {until}, source line N belongs to target line "
            f"N {'+' if stretch.lag > 0 else '-'} {abs(stretch.lag)}"
        )
    again = " Mend the first one, and examine the result." if number > 1 else ""
    return Finding(
        code="line-shift",
        severity="error",
        lines=(stretch.first,),
        message=(
            f"{what} ({lines:,} lines, log odds {stretch.gain:,.0f}). A model would learn that every source may "
            f"mean anything.{again}"
        ),
        remedy=remedy,
    )


def _mend_shift(parts: CorpusParts, stretch: Stretch, before: int, counts: tuple[int, int]) -> str:
    """Write the command that takes out the lines too many, so that both sides go on together."""
    names = [shlex.quote(str(path)) for path in (parts.source, parts.target)]
    if stretch.lag is None:
        cut = f"{stretch.first},{stretch.last}d"
        return "; ".join(f"sed '{cut}' {name} > {name}.fixed" for name in names)
    more = stretch.lag - before
    first = stretch.first + (before if more > 0 else more)
    kept = min(counts[0] + min(more, 0), counts[1] - max(more, 0))
    cut = f"sed '{max(first, 1)},{max(first, 1) + abs(more) - 1}d'"
    edited, other = (names[1], names[0]) if more > 0 else (names[0], names[1])
    return (
        f"{cut} {edited} | head -n {kept} > {edited}.fixed; head -n {kept} {other} > {other}.fixed"
    )


def _find_language_faults(parts: CorpusParts, survey: Survey) -> Iterator[Finding]:
    """Compare the languages of the sides with the names of the files, and of single lines with their side."""
    found = examine_languages(parts.source, parts.target)
    named = [language_code(language_of(path)) for path in (parts.source, parts.target)]
    if None not in named and named[0] != named[1] and found.sides == (named[1], named[0]):
        yield Finding(
            "swapped-sides",
            "error",
            (),
            f"{parts.source} is in the language {found.sides[0]} and {parts.target} in {found.sides[1]}, the other "
            "way round than their names say: a model would translate in the wrong direction.",
            f"interlingua doctor --source {shlex.quote(str(parts.target))} "
            f"--target {shlex.quote(str(parts.source))}",
        )
    else:
        for path, name, language in zip(
            (parts.source, parts.target), named, found.sides, strict=True
        ):
            if name is not None and language is not None and name != language:
                yield Finding(
                    "wrong-language",
                    "error",
                    (),
                    f"{path} is in the language {language}, not in {name} as its name says.",
                    "give the right file",
                )
    copied = (survey.faults & np.uint32(BITS["copied"] | BITS["wrong-script"])) != 0
    told = (
        (
            "swapped-sides",
            found.swapped,
            "have changed sides: the source looks like the target side",
        ),
        (
            "wrong-language",
            found.foreign & ~copied,
            "have a side in another language than its file"
            + (f" ({_list_languages(found.others)})" if found.others else ""),
        ),
    )
    for code, mask, why in told:
        places = np.flatnonzero(mask)
        if len(places):
            share = len(places) / len(mask)
            several = len(places) > 2 and share >= 0.001
            yield Finding(
                code,
                "error" if share >= 0.02 and several else "warning" if several else "note",
                _number(places),
                f"{_count(len(places), 'pair')} ({share:.2%}) {why}. For example\n"
                + _quote(parts, int(places[0])),
                parts.clean(f"--rules {code} --identify-languages"),
            )


def _list_languages(others: dict[str, int]) -> str:
    ranked = sorted(others.items(), key=lambda item: -item[1])
    more = f" and {len(ranked) - 4} more" if len(ranked) > 4 else ""
    return ", ".join(f"{code}: {count:,}" for code, count in ranked[:4]) + more


def _find_too_small(survey: Survey) -> Iterator[Finding]:
    pairs = len(survey.faults)
    if pairs < SMALL:
        yield Finding(
            "too-small",
            "note",
            (),
            f"{_count(pairs, 'pair')} with {survey.words[0]:,} source and {survey.words[1]:,} target words are few "
            "to learn to translate from; a small vocabulary and a small model lose least.",
            "add pairs; what train would choose: interlingua plan with the same --source and --target",
        )


def _find_marks(parts: CorpusParts, survey: Survey) -> Iterator[Finding]:
    for path, marked, ended in zip(
        (parts.source, parts.target), survey.marks, survey.carriage_returns, strict=True
    ):
        name = shlex.quote(str(path))
        if marked:
            yield Finding(
                "encoding",
                "note",
                (1,),
                f"{path} begins with a byte order mark; it is left out here, but other tools take it for text.",
                f"sed -i '1s/^\\xef\\xbb\\xbf//' {name}",
            )
        if ended:
            yield Finding(
                "encoding",
                "warning",
                (),
                f"{ended:,} lines of {path} end in CR, as in Windows; it would be learnt as text.",
                f"sed -i 's/\\r$//' {name}",
            )


def _find_faults(parts: CorpusParts, survey: Survey) -> Iterator[Finding]:
    for fault, told in _FAULTS.items():
        places = np.flatnonzero(survey.faults & BITS[fault])
        if not len(places):
            continue
        code = CODES.get(fault, fault)
        share = len(places) / len(survey.faults)
        yield Finding(
            code=code,
            severity=_rank(share, told.warning_from, told.error_from),
            lines=_number(places),
            message=(
                f"{_count(len(places), 'pair')} ({share:.2%}) {told.why}. For example\n"
                + _quote(parts, int(places[0]))
            ),
            remedy=parts.clean(f"--rules {code}"),
        )


def _find_repeats(parts: CorpusParts, keys: KeysOfLines) -> Iterator[Finding]:
    exact, near = find_repeats(keys.pairs), find_repeats(keys.plain_pairs)
    sources = find_repeats(keys.plain_source) & ~near
    near &= ~exact
    told = (
        (
            "duplicate",
            exact,
            0.01,
            "were there before; they count double, and in a split they leak",
        ),
        (
            "near-duplicate",
            near,
            0.05,
            "were there before but for case, spaces or punctuation; they count double",
        ),
    )
    for code, mask, warning_from, why in told:
        places = np.flatnonzero(mask)
        if len(places):
            share = len(places) / len(mask)
            yield Finding(
                code,
                _rank(share, warning_from, 2.0),
                _number(places),
                f"{_count(len(places), 'pair')} ({share:.2%}) {why}. For example\n"
                + _quote(parts, int(places[0])),
                parts.clean(f"--rules {code}"),
            )
    places = np.flatnonzero(sources)
    if len(places):
        yield Finding(
            "repeated-source",
            "note",
            _number(places),
            f"{_count(len(places), 'pair')} ({len(places) / len(sources):.2%}) translate a source that an "
            "earlier pair translates otherwise; that is no fault. Where some pairs are held back for "
            "validation, all translations of a source go together.",
            "nothing to mend",
        )


def _find_leaks(
    parts: CorpusParts, name: str, training: KeysOfLines, held_out: KeysOfLines
) -> Iterator[Finding]:
    """Find what of ``held_out`` is also in training; the lines are those of the training files."""
    flag = "valid" if name == "validation" else "test"
    files = parts.held_out[name]
    remedy = parts.clean(
        f"--rules leakage --{flag}-source {shlex.quote(str(files[0]))} "
        f"--{flag}-target {shlex.quote(str(files[1]))}"
    )
    places = np.flatnonzero(np.isin(training.plain_source, held_out.plain_source))
    leaked = int(np.isin(held_out.plain_source, training.plain_source).sum())
    exact = int(np.isin(held_out.source, training.source).sum())
    pairs = int(np.isin(held_out.plain_pairs, training.plain_pairs).sum())
    if leaked:
        share = leaked / len(held_out.source)
        yield Finding(
            "leakage",
            "error" if share >= 0.01 else "warning",
            _number(places),
            f"{_count(leaked, 'source')} of {len(held_out.source):,} in the {name} part ({share:.2%}) "
            f"{'is' if leaked == 1 else 'are'} also in training, {exact:,} of them letter by letter and the "
            f"others but for case, spaces or punctuation; {pairs:,} with the same translation. Scores on them "
            f"tell what was learnt by heart. For example\n{_quote(parts, int(places[0]))}",
            remedy,
        )
    targets = np.isin(held_out.plain_target, training.plain_target)
    targets &= ~np.isin(held_out.plain_source, training.plain_source)
    if targets.any():
        places = np.flatnonzero(np.isin(training.plain_target, held_out.plain_target[targets]))
        yield Finding(
            "leakage",
            "note",
            _number(places),
            f"{_count(int(targets.sum()), 'target')} of the {name} part also translate other sources in "
            "training, as short sentences do.",
            "nothing to mend, unless there are long sentences among them",
        )


def _rank(share: float, warning_from: float, error_from: float) -> Severity:
    if share >= error_from:
        return "error"
    return "warning" if share >= warning_from else "note"


def _number(places: NDArray[np.intp]) -> tuple[int, ...]:
    return tuple((places[:MOST_LINES] + 1).tolist())


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _quote(parts: CorpusParts, place: int) -> str:
    sides = [_read_line(path, place) for path in (parts.source, parts.target)]
    return f"line {place + 1}: {sides[0]}\n{' ' * len(f'line {place + 1}')}= {sides[1]}"


def _read_line(path: Path, place: int) -> str:
    for lines in read_raw_lines(path, 10_000):
        if place < len(lines):
            text = decode_line(lines[place])
            return show_text(text[:_SHOWN]) + (" ..." if len(text) > _SHOWN else "")
        place -= len(lines)
    return ""
