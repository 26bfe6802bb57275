"""One reading of a parallel corpus that leaves a few numbers a pair: its faults, and what tells whether it repeats.

The lines are looked at by several processes, some at a time and in order, and forgotten: what stays is 36 bytes a pair.
"""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.lines import check_encoding, read_raw_lines
from interlingua.corpus.pair_rules import (
    Limits,
    Profile,
    decode_line,
    find_faults,
    measure_profile,
    normalise,
)
from interlingua.errors import CorpusError

__all__ = [
    "KeysOfLines",
    "Survey",
    "default_processes",
    "hash_lines",
    "look_ahead",
    "map_in_order",
    "read_pairs",
    "survey_corpus",
    "survey_keys",
    "worth_processes",
]

Keys = NDArray[np.uint64]
Mask = NDArray[np.bool_]

LINES_A_BLOCK = 5000
_SAMPLED = 500
_SAMPLED_BLOCKS = 40
_WORTH_PROCESSES = 40_000
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class KeysOfLines:
    """A number for each line of two sides that stands for its text: eight bytes of BLAKE2b.

    Two different texts have the same number with a chance of one in a million among six million.

    Attributes:
        source: of the source as it is.
        target: of the target as it is.
        plain_source: of the letters and digits of the source, without case.
        plain_target: the same of the target.
    """

    source: Keys
    target: Keys
    plain_source: Keys
    plain_target: Keys

    @property
    def pairs(self) -> Keys:
        """Of both sides as they are."""
        return _join(self.source, self.target)

    @property
    def plain_pairs(self) -> Keys:
        """Of the letters and digits of both sides."""
        return _join(self.plain_source, self.plain_target)


@dataclass(frozen=True, slots=True)
class Survey:
    """What is known of a corpus after one reading.

    Attributes:
        num_lines: lines of the source and of the target.
        profile: what is usual in it.
        faults: the faults of each pair, as in ``pair_rules``; as many as the shorter side has lines.
        keys: what tells whether lines repeat.
        carriage_returns: how many lines of either side end in CR.
        marks: whether either file begins with a byte order mark.
        characters: characters of either side.
        words: words of either side.
    """

    num_lines: tuple[int, int]
    profile: Profile
    faults: NDArray[np.uint32]
    keys: KeysOfLines
    carriage_returns: tuple[int, int]
    marks: tuple[bool, bool]
    characters: tuple[int, int]
    words: tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Looked:
    faults: NDArray[np.uint32]
    keys: NDArray[np.uint64]
    """(4, lines)"""
    counts: NDArray[np.int64]
    """Lines that end in CR, characters, words; of the source, then of the target."""


def read_pairs(source: Path, target: Path) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Read both sides a block at a time, as bytes and without a byte order mark; the last blocks may be unequal.

    Raises:
        CorpusError: a file is missing or not readable.
    """
    first = True
    sides = (read_raw_lines(path, LINES_A_BLOCK) for path in (source, target))
    for sources, targets in zip_longest(*sides, fillvalue=[]):
        if first:
            for lines in (sources, targets):
                lines[:1] = [line.removeprefix(_BOM) for line in lines[:1]]
            first = False
        yield sources, targets


def survey_corpus(source: Path, target: Path, limits: Limits, *, processes: int = 1) -> Survey:
    """Read a parallel corpus, and look at every pair.

    Args:
        source: the source file.
        target: the target file.
        limits: where a pair begins to be a fault.
        processes: how many may work at a time; small corpora are read by this one.

    Raises:
        CorpusError: a file is missing or not readable.
    """
    profile, num_lines = look_ahead(source, target)
    tasks = (
        (sources[: len(targets)], targets[: len(sources)], profile, limits)
        for sources, targets in read_pairs(source, target)
    )
    looked = list(map_in_order(_look, tasks, worth_processes(processes, min(num_lines))))
    faults = np.concatenate([np.zeros(0, np.uint32), *(each.faults for each in looked)])
    keys = np.concatenate([np.zeros((4, 0), np.uint64), *(each.keys for each in looked)], axis=1)
    counts = sum((each.counts for each in looked), np.zeros(6, np.int64)).tolist()
    return Survey(
        num_lines=num_lines,
        profile=profile,
        faults=faults,
        keys=KeysOfLines(*keys),
        carriage_returns=(counts[0], counts[3]),
        marks=(_begins_with_mark(source), _begins_with_mark(target)),
        characters=(counts[1], counts[4]),
        words=(counts[2], counts[5]),
    )


def survey_keys(source: Path, target: Path) -> KeysOfLines:
    """Read another part of a corpus (validation, test) for what tells whether its lines repeat.

    Raises:
        CorpusError: a file is missing or not readable, or has lines without their translation, which would be looked for nowhere.
    """
    keys = []
    for sources, targets in read_pairs(source, target):
        if len(sources) != len(targets):
            longer, shorter = (source, target) if len(sources) > len(targets) else (target, source)
            raise CorpusError(
                f"{longer}: has more lines than {shorter}; line N of a held-out text must be the translation of line N"
            )
        keys.append(_keys_of(list(map(decode_line, sources)), list(map(decode_line, targets))))
    return KeysOfLines(*np.concatenate([np.zeros((4, 0), np.uint64), *keys], axis=1))


def _join(one: Keys, other: Keys) -> Keys:
    joined: Keys = one * np.uint64(0x9E3779B97F4A7C15) + (other ^ (other >> np.uint64(29)))
    return joined


def look_ahead(source: Path, target: Path) -> tuple[Profile, tuple[int, int]]:
    """Count the lines of either side, and take some from everywhere to learn what is usual.

    Raises:
        CorpusError: a file is missing, not readable, or in another encoding than UTF-8.
    """
    num_sources = num_targets = 0
    samples: list[list[tuple[bytes, bytes]]] = []
    every = 1
    for block, (sources, targets) in enumerate(read_pairs(source, target)):
        num_sources += len(sources)
        num_targets += len(targets)
        if block == 0:
            check_encoding(source, sources)
            check_encoding(target, targets)
        if block % every == 0:
            samples.append(list(zip(sources[:_SAMPLED], targets[:_SAMPLED], strict=False)))
        if len(samples) == 2 * _SAMPLED_BLOCKS:  # of a long corpus, fewer blocks are looked at
            del samples[1::2]
            every *= 2
    pairs = [(decode_line(one), decode_line(other)) for sample in samples for one, other in sample]
    return measure_profile(pairs), (num_sources, num_targets)


def _begins_with_mark(path: Path) -> bool:
    first = next(read_raw_lines(path, 1), [b""])
    return first[0].startswith(_BOM)


_Task = tuple[list[bytes], list[bytes], Profile, Limits]
_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


def worth_processes(processes: int, num_pairs: int) -> int:
    """Return how many processes to take for so many pairs: few pairs are done before a second one has started."""
    return processes if num_pairs > _WORTH_PROCESSES else 1


def map_in_order(
    work: Callable[[_Given], _Made], tasks: Iterable[_Given], processes: int
) -> Iterator[_Made]:
    """Do each task, in order; two more than there are processes are in memory at most."""
    if processes < 2:
        yield from map(work, tasks)
        return
    # Started anew and not forked: a fork would copy the locks of other threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, initializer=_leave_interrupts) as pool:
        waiting: deque[Future[_Made]] = deque()
        try:
            for task in tasks:
                waiting.append(pool.submit(work, task))
                if len(waiting) == processes + 2:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _leave_interrupts() -> None:
    """Let only the parent hear Ctrl-C, which then ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _look(task: _Task) -> _Looked:
    raw_sources, raw_targets, profile, limits = task
    sources = [decode_line(line) for line in raw_sources]
    targets = [decode_line(line) for line in raw_targets]
    faults = np.fromiter(
        (
            find_faults(source, target, profile, limits)
            for source, target in zip(sources, targets, strict=True)
        ),
        dtype=np.uint32,
        count=len(sources),
    )
    counts = [
        number
        for lines in (sources, targets)
        for number in (
            sum(line.endswith("\r") for line in lines),
            sum(map(len, lines)),
            sum(line.count(" ") + 1 for line in lines),
        )
    ]
    return _Looked(faults, _keys_of(sources, targets), np.array(counts, np.int64))


def _keys_of(sources: list[str], targets: list[str]) -> NDArray[np.uint64]:
    kinds = [
        sources,
        targets,
        [normalise(line) or line for line in sources],
        [normalise(line) or line for line in targets],
    ]
    return np.stack([hash_lines(lines) for lines in kinds])


def hash_lines(lines: Iterable[str]) -> Keys:
    """Return eight bytes of BLAKE2b of each line, which may hold half surrogate pairs, as a number."""
    digests = b"".join(
        blake2b(line.encode("utf-8", "surrogateescape"), digest_size=8).digest() for line in lines
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def default_processes() -> int:
    """Return how many processes this machine has cores for."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
