"""Drop the pairs of a corpus that would harm a model: both sides of a pair, never one.

The corpus is read twice: once to find what is to go, as ``doctor`` does, and once to write the rest. Between the two
there are 40 bytes a pair, whatever the lines hold.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.findings import show_text
from interlingua.corpus.languages import examine_languages
from interlingua.corpus.pair_rules import BITS, CODES, Limits, decode_line
from interlingua.corpus.survey import (
    Survey,
    default_processes,
    find_repeats,
    read_pairs,
    survey_corpus,
    survey_keys,
)
from interlingua.errors import ConfigError, CorpusError, OutputError
from interlingua.files import replace_file

__all__ = ["DEFAULT_RULES", "RULES", "Cleaned", "CleaningJob", "clean_corpus"]

RULES = (
    *dict.fromkeys(CODES.get(fault, fault) for fault in BITS),
    "swapped-sides",
    "duplicate",
    "near-duplicate",
    "leakage",
)
"""All rules, by the codes of the findings; a pair goes by the first rule in this order that it breaks."""

DEFAULT_RULES = tuple(rule for rule in RULES if rule != "number-mismatch")
"""The rules that apply when none are named: half of the pairs whose numbers differ say the same in words."""

_SAMPLES = 3
_SHOWN = 100

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class CleaningJob:
    """What is to be cleaned, by which rules.

    Attributes:
        source: the source file.
        target: the target file.
        output: folder for the two cleaned files, under the names that they have, and ``dropped.tsv``.
        rules: the rules that apply.
        limits: where a pair begins to be a fault.
        held_out: files of validation and test, two by two; pairs with a source of theirs leak.
        dropped: file for the numbers of the dropped lines; ``dropped.tsv`` in ``output`` by default.
        dry_run: look, and write none of the cleaned files.
        identify_languages: look for lines in another language, which takes longer than all the rest.
    """

    source: Path
    target: Path
    output: Path | None
    rules: tuple[str, ...] = DEFAULT_RULES
    limits: Limits = field(default_factory=Limits)
    held_out: tuple[tuple[Path, Path], ...] = ()
    dropped: Path | None = None
    dry_run: bool = False
    identify_languages: bool = False

    def check(self) -> None:
        """Refuse what cannot be meant, before anything is read.

        Raises:
            ConfigError: an unknown rule, ``leakage`` without files that could leak, or nowhere to write to.
            OutputError: the output is the input.
        """
        unknown = [rule for rule in self.rules if rule not in RULES]
        if unknown:
            raise ConfigError(f"rule {unknown[0]!r} is none of {', '.join(RULES)}")
        if not self.rules:
            raise ConfigError(f"no rule is left; name some of {', '.join(RULES)}")
        if self.rules == ("swapped-sides",) and not self.identify_languages:
            raise ConfigError("the rule swapped-sides needs --identify-languages")
        if self.rules == ("leakage",) and not self.held_out:
            raise ConfigError(
                "the rule leakage needs what could leak: --test-source and --test-target, or --valid-..."
            )
        if self.output is None and not self.dry_run:
            raise ConfigError(
                "nowhere to write to; give --output FOLDER, or --dry-run to look only"
            )
        inputs = [self.source, self.target, *(path for pair in self.held_out for path in pair)]
        for path in (*self.outputs, *filter(None, [self.dropped_file])):
            for given in inputs:
                if path.resolve() == given.resolve():
                    raise OutputError(f"{path}: is read from as well; write to another folder")

    @property
    def outputs(self) -> tuple[Path, ...]:
        """The two cleaned files, or none in a dry run."""
        if self.output is None or self.dry_run:
            return ()
        names = [self.source.name, self.target.name]
        if names[0] == names[1]:
            names = [f"source-{names[0]}", f"target-{names[1]}"]
        return self.output / names[0], self.output / names[1]

    @property
    def dropped_file(self) -> Path | None:
        """Where the list of dropped lines goes, or None."""
        if self.dropped is not None or self.dry_run or self.output is None:
            return self.dropped
        return self.output / "dropped.tsv"


@dataclass(frozen=True, slots=True)
class Sample:
    """A pair that went: its line, from 1, and the beginning of its two sides."""

    line: int
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What cleaning came to.

    Attributes:
        pairs: pairs before.
        kept: pairs after.
        counts: how many pairs each rule dropped; a pair counts for the first rule that it breaks.
        samples: some of them.
        outputs: the cleaned files; none in a dry run.
        dropped_file: the list of dropped lines, each with all its reasons.
    """

    pairs: int
    kept: int
    counts: dict[str, int]
    samples: dict[str, tuple[Sample, ...]]
    outputs: tuple[Path, ...]
    dropped_file: Path | None

    def to_json(self) -> str:
        """Tell a program."""
        told = {
            "pairs": self.pairs,
            "kept": self.kept,
            "dropped": self.pairs - self.kept,
            "rules": self.counts,
            "samples": {
                rule: [
                    {"line": each.line, "source": each.source, "target": each.target}
                    for each in samples
                ]
                for rule, samples in self.samples.items()
            },
            "outputs": [str(path) for path in self.outputs],
            "dropped_list": str(self.dropped_file) if self.dropped_file else None,
        }
        return json.dumps(told, ensure_ascii=False) + "\n"

    def to_text(self) -> str:
        """Tell a person."""
        share = (self.pairs - self.kept) / max(self.pairs, 1)
        lines = [
            f"{self.kept:,} of {self.pairs:,} pairs kept, {self.pairs - self.kept:,} dropped ({share:.2%})"
        ]
        for rule, count in self.counts.items():
            lines.append(f"\n{rule}: {count:,}")
            for each in self.samples[rule]:
                margin = f"  line {each.line}: "
                lines += [f"{margin}{each.source}", f"{'= ':>{len(margin)}}{each.target}"]
        lines.append("")
        lines += [f"written: {path}" for path in self.outputs]
        if self.dropped_file:
            lines.append(f"dropped lines and why: {self.dropped_file}")
        if not self.outputs:
            lines.append("nothing was written: a dry run")
        return "\n".join(lines) + "\n"


def clean_corpus(job: CleaningJob, *, processes: int | None = None) -> Cleaned:
    """Write the pairs of a corpus that break none of the rules, in their order, and tell what went and why.

    Args:
        job: what is to be cleaned.
        processes: how many may read at a time (None: one a core); the result does not depend on it.

    Raises:
        ConfigError, OutputError: see ``CleaningJob.check``.
        CorpusError: a file is missing, or the two sides are unequal: then nobody knows what a pair is.
    """
    job.check()
    survey = survey_corpus(
        job.source,
        job.target,
        job.limits,
        processes=default_processes() if processes is None else processes,
    )
    if survey.num_lines[0] != survey.num_lines[1]:
        raise CorpusError(
            f"{job.source} has {survey.num_lines[0]:,} lines but {job.target} has {survey.num_lines[1]:,}, so "
            "that the pairs are not known; interlingua doctor tells where the two part"
        )
    broken = _apply_rules(job, survey)
    reasons = _Reasons(broken, len(survey.faults))
    samples = _write(job, reasons)
    return Cleaned(
        pairs=len(survey.faults),
        kept=int(len(survey.faults) - np.count_nonzero(reasons.dropped)),
        counts=reasons.counts,
        samples=samples,
        outputs=job.outputs,
        dropped_file=job.dropped_file,
    )


def _apply_rules(job: CleaningJob, survey: Survey) -> dict[str, Mask]:
    """Return for each rule the pairs that break it."""
    broken = _apply_pair_rules(job, survey)
    keep = ~_any(broken, len(survey.faults))
    if "leakage" in job.rules:
        broken["leakage"] = np.zeros(len(keep), np.bool_)
        for files in job.held_out:
            held_out = survey_keys(*files)
            broken["leakage"] |= np.isin(survey.keys.plain_source, held_out.plain_source)
        keep &= ~broken["leakage"]
    # A pair that goes for another reason must not take its repetition with it: only the kept ones are compared.
    for rule, keys in (
        ("duplicate", survey.keys.pairs),
        ("near-duplicate", survey.keys.plain_pairs),
    ):
        if rule in job.rules:
            broken[rule] = np.zeros(len(keep), np.bool_)
            broken[rule][keep] = find_repeats(keys[keep])
            keep &= ~broken[rule]
    return broken


def _apply_pair_rules(job: CleaningJob, survey: Survey) -> dict[str, Mask]:
    """Return the pairs that break the rules that look at one pair only."""
    broken: dict[str, Mask] = {}
    for rule in job.rules:
        bits = sum(bit for fault, bit in BITS.items() if CODES.get(fault, fault) == rule)
        if bits:
            broken[rule] = (survey.faults & np.uint32(bits)) != 0
    if job.identify_languages:
        languages = examine_languages(job.source, job.target)
        if "wrong-language" in job.rules:
            broken["wrong-language"] |= languages.foreign
        if "swapped-sides" in job.rules:
            broken["swapped-sides"] = languages.swapped
    return broken


def _any(broken: dict[str, Mask], length: int) -> Mask:
    found = np.zeros(length, np.bool_)
    for mask in broken.values():
        found |= mask
    return found


class _Reasons:
    """Why pairs go: one bit a rule."""

    def __init__(self, broken: dict[str, Mask], length: int) -> None:
        self._rules = [rule for rule in RULES if rule in broken]
        self._bits = np.zeros(length, np.uint32)
        for place, rule in enumerate(self._rules):
            self._bits |= broken[rule].astype(np.uint32) << np.uint32(place)
        self.dropped: Mask = self._bits != 0
        first = (self._bits & (~self._bits + np.uint32(1)))[self.dropped]
        counts = {
            rule: int(np.count_nonzero(first == (1 << place)))
            for place, rule in enumerate(self._rules)
        }
        self.counts = {rule: count for rule, count in counts.items() if count}

    def of(self, place: int) -> list[str]:
        """Return the rules that a pair breaks, the one that it counts for first."""
        bits = int(self._bits[place])
        return [rule for number, rule in enumerate(self._rules) if bits >> number & 1]


def _write(job: CleaningJob, reasons: _Reasons) -> dict[str, tuple[Sample, ...]]:
    """Copy the lines that stay, and collect samples of those that go."""
    samples: dict[str, list[Sample]] = {rule: [] for rule in reasons.counts}
    with ExitStack() as stack:
        files = [stack.enter_context(replace_file(path)) for path in job.outputs]
        listed = job.dropped_file and stack.enter_context(replace_file(job.dropped_file))
        if listed:
            listed.write(b"line\treasons\n")
        for first, sides in _read_again(job, len(reasons.dropped)):
            dropped = reasons.dropped[first : first + len(sides[0])]
            for file, lines in zip(files, sides, strict=False):
                kept = [
                    line for line, gone in zip(lines, dropped.tolist(), strict=True) if not gone
                ]
                file.write(b"".join(line + b"\n" for line in kept))
            for place in np.flatnonzero(dropped).tolist():
                why = reasons.of(first + place)
                if len(samples[why[0]]) < _SAMPLES:
                    samples[why[0]].append(
                        Sample(first + place + 1, *(_show(lines[place]) for lines in sides))
                    )
                if listed:
                    listed.write(f"{first + place + 1}\t{','.join(why)}\n".encode())
    return {rule: tuple(found) for rule, found in samples.items()}


def _read_again(
    job: CleaningJob, num_pairs: int
) -> Iterator[tuple[int, tuple[Sequence[bytes], Sequence[bytes]]]]:
    first = 0
    for sources, targets in read_pairs(job.source, job.target):
        if len(sources) != len(targets) or first + len(sources) > num_pairs:
            break
        yield first, (sources, targets)
        first += len(sources)
    if first != num_pairs:
        raise CorpusError(
            f"{job.source} | {job.target}: were changed while they were read; run the same command again"
        )


def _show(line: bytes) -> str:
    text = decode_line(line[: 4 * _SHOWN])
    return show_text(text[:_SHOWN]) + (" ..." if len(text) > _SHOWN else "")
