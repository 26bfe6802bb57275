"""Drop the pairs of a corpus that would harm a model: both sides of a pair, never one; mend first what can be mended.

The corpus is read three times: to learn what is usual in it, to find what is to go, and to write the rest. What was found
lies on the disk, 28 bytes a pair, so that memory does not grow with the corpus.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.cleaning_job import DEFAULT_RULES, RULES, CleaningJob
from interlingua.corpus.cleaning_report import Cleaned
from interlingua.corpus.cleaning_writer import PairWriter
from interlingua.corpus.fingerprint import FileState
from interlingua.corpus.languages import Languages, examine_languages
from interlingua.corpus.pair_flags import PairFlags
from interlingua.corpus.pair_rules import (
    BITS,
    CODES,
    Limits,
    Profile,
    decode_line,
    find_faults,
    normalise,
)
from interlingua.corpus.repairs import repair_line
from interlingua.corpus.repeats import RepeatFinder
from interlingua.corpus.survey import (
    default_processes,
    hash_lines,
    look_ahead,
    map_in_order,
    read_pairs,
    survey_keys,
    worth_processes,
)
from interlingua.errors import CorpusError, OutputError
from interlingua.files import spelled_out, temporary_neighbour

__all__ = ["DEFAULT_RULES", "RULES", "Cleaned", "CleaningJob", "clean_corpus"]

Keys = NDArray[np.uint64]
Flags = NDArray[np.uint32]

_BIT = {rule: 1 << place for place, rule in enumerate(RULES)}
"""The flag of a pair that breaks a rule; the upper sixteen tell what was mended in it."""

_REPAIRS = 16


def clean_corpus(job: CleaningJob, *, processes: int | None = None) -> Cleaned:
    """Write the pairs of a corpus that break none of the rules, in their order, and tell what went and why.

    Memory does not grow with the corpus, unless languages are identified: then it is 70 bytes a pair.

    Args:
        job: what is to be cleaned.
        processes: how many may read at a time (None: one a core); the result does not depend on it.

    Raises:
        ConfigError, OutputError: see ``CleaningJob.check``.
        CorpusError: a file is missing, or the two sides are unequal: then nobody knows what a pair is.
    """
    job.check()
    corpus = job.corpus
    before = _ask_system(job)
    profile, num_lines = look_ahead(corpus.source, corpus.target)
    if num_lines[0] != num_lines[1]:
        raise CorpusError(
            f"{corpus.names[0]} has {num_lines[0]:,} lines but {corpus.names[1]} has {num_lines[1]:,}, so "
            "that the pairs are not known; interlingua doctor tells where the two part"
        )
    held_out = [survey_keys(part.source, part.target).plain_source for part in job.held_out]
    criteria = _Criteria.of(job, profile)
    wanted = worth_processes(default_processes() if processes is None else processes, num_lines[0])
    with _make_place(job) as folder:
        flags = PairFlags(folder)
        finder = RepeatFinder(folder, num_lines[0])
        judge = _Judge(job, held_out, flags, finder)
        tasks = ((*block, criteria) for block in _read(job, num_lines[0]))
        for judged in map_in_order(_judge, tasks, wanted):
            judge.take(judged)
        near = "near-duplicate" if "near-duplicate" in job.rules else "duplicate"
        exact = "duplicate" if "duplicate" in job.rules else near
        flags.set_repeats(finder.repeats(), _BIT[exact], _BIT[near])
        return _write(job, flags, before)


@dataclass(frozen=True, slots=True)
class _Criteria:
    """What a process needs to judge pairs.

    Attributes:
        rules: the faults of ``pair_rules`` that break a rule, and the flag of that rule.
        loose: whether pairs repeat each other that differ in writing only.
    """

    profile: Profile
    limits: Limits
    repair: bool
    rules: tuple[tuple[int, int], ...]
    exact: bool
    loose: bool
    leaks: bool

    @classmethod
    def of(cls, job: CleaningJob, profile: Profile) -> "_Criteria":
        faults = {
            rule: sum(bit for fault, bit in BITS.items() if CODES.get(fault, fault) == rule)
            for rule in job.rules
        }
        return cls(
            profile=profile,
            limits=job.limits,
            repair=job.repairs,
            rules=tuple((bits, _BIT[rule]) for rule, bits in faults.items() if bits),
            exact="duplicate" in job.rules,
            loose="near-duplicate" in job.rules,
            leaks="leakage" in job.rules and bool(job.held_out),
        )


@dataclass(frozen=True, slots=True)
class _Judged:
    """What became known of some pairs, by themselves; no keys where nobody will ask for them."""

    flags: Flags
    exact: Keys | None
    loose: Keys | None
    sources: Keys | None


def _judge(task: tuple[list[bytes], list[bytes], _Criteria]) -> _Judged:
    """Judge each pair by itself."""
    raw_sources, raw_targets, criteria = task
    sources = [decode_line(line) for line in raw_sources]
    targets = [decode_line(line) for line in raw_targets]
    flags = np.zeros(len(sources), np.uint32)
    if criteria.repair:
        for lines in (sources, targets):
            mended = [repair_line(line) for line in lines]
            lines[:] = [line for line, _ in mended]
            flags |= np.array([done for _, done in mended], np.uint32) << np.uint32(_REPAIRS)
    pairs = zip(sources, targets, strict=True)
    faults = np.array([find_faults(*pair, criteria.profile, criteria.limits) for pair in pairs])
    for bits, flag in criteria.rules:
        flags[faults & bits != 0] |= np.uint32(flag)
    exact = loose = plain = None
    if criteria.exact or criteria.loose:
        exact = hash_lines(f"{one}\n{other}" for one, other in zip(sources, targets, strict=True))
    if criteria.loose or criteria.leaks:
        sources = [normalise(line) or line for line in sources]
    if criteria.loose:
        targets = [normalise(line) or line for line in targets]
        loose = hash_lines(f"{one}\n{other}" for one, other in zip(sources, targets, strict=True))
    if criteria.leaks:
        plain = hash_lines(sources)
    return _Judged(flags, exact, loose, plain)


class _Judge:
    """Judges pairs by what is known of other text, in their order."""

    def __init__(
        self, job: CleaningJob, held_out: list[Keys], flags: PairFlags, finder: RepeatFinder
    ) -> None:
        self._held_out = np.concatenate([np.zeros(0, np.uint64), *held_out])
        self._languages = (
            examine_languages(job.corpus.source, job.corpus.target)
            if job.identify_languages
            else None
        )
        self._rules = job.rules
        self._flags = flags
        self._finder = finder

    def take(self, judged: _Judged) -> None:
        flags = judged.flags
        first = self._flags.num_pairs
        if judged.sources is not None:
            flags[np.isin(judged.sources, self._held_out)] |= np.uint32(_BIT["leakage"])
        if self._languages is not None:
            self._set_languages(flags, self._languages, slice(first, first + len(flags)))
        self._flags.append(flags)
        if judged.exact is not None:
            # A pair that goes for another reason must not take its repetition with it.
            kept = np.flatnonzero((flags & np.uint32((1 << _REPAIRS) - 1)) == 0)
            exact = judged.exact[kept]
            loose = exact if judged.loose is None else judged.loose[kept]
            self._finder.add(loose, exact, kept + first)

    def _set_languages(self, flags: Flags, found: Languages, here: slice) -> None:
        for rule, mask in (("wrong-language", found.foreign), ("swapped-sides", found.swapped)):
            if rule in self._rules:
                flags[mask[here]] |= np.uint32(_BIT[rule])


def _write(job: CleaningJob, flags: PairFlags, before: list[tuple[int, ...]]) -> Cleaned:
    """Copy the lines that stay, and list what went and what was mended; nothing appears if the files have changed."""
    with PairWriter(job) as writer:
        first = 0
        blocks = _read(job, flags.num_pairs)
        for stretch in flags.stretches():
            done = 0
            while done < len(stretch):
                sources, targets = next(blocks)
                some = stretch[done : done + len(sources)]
                reasons = some & np.uint32((1 << _REPAIRS) - 1)
                writer.write(first + done, (sources, targets), reasons, some >> np.uint32(_REPAIRS))
                done += len(sources)
            first += len(stretch)
        for _ in blocks:
            pass  # to find out whether there is more now than there was
        if _ask_system(job) != before:
            raise _changed(job)
        return writer.result()


def _read(job: CleaningJob, num_pairs: int) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Read the corpus in blocks.

    Raises:
        CorpusError: it has not as many pairs any more.
    """
    done = 0
    for sources, targets in read_pairs(job.corpus.source, job.corpus.target):
        done += len(sources)
        if len(sources) != len(targets) or done > num_pairs:
            done = -1
            break
        yield sources, targets
    if done != num_pairs:
        raise _changed(job)


def _ask_system(job: CleaningJob) -> list[tuple[int, ...]]:
    """Return what changes when somebody writes to the files."""
    states = [FileState.of(path) for path in (job.corpus.source, job.corpus.target)]
    return [(state.size, state.modified, state.inode) for state in states]


def _changed(job: CleaningJob) -> CorpusError:
    return CorpusError(
        f"{job.corpus.name}: was changed while it was read; run the same command again"
    )


@contextmanager
def _make_place(job: CleaningJob) -> Iterator[Path]:
    """Make a folder for what is found, on the disk of the output; it is gone when the block ends."""
    dry = job.output is None or job.dry_run
    folder = (
        Path(tempfile.mkdtemp(prefix="interlingua-clean-"))
        if job.output is None or dry
        else temporary_neighbour(spelled_out(job.output))
    )
    try:
        yield folder
    except OSError as error:
        raise OutputError(
            f"{folder}: cannot be written ({error.strerror or error}); cleaning needs 28 bytes a pair there"
            + (", or elsewhere with TMPDIR=PLACE" if dry else "")
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
