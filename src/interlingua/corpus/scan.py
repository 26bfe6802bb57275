"""Parallel files that stay where they are: read from end to end, and then in parts, never held as a whole.

The first reading checks what there is to check, and notes where every twenty-thousandth line begins and the checksum of
what follows. So any chunk of lines can be read again on its own, by this process or another one, and is what it was.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise, zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.fingerprint import FileFingerprint, FileState, refuse_changed
from interlingua.corpus.lines import (
    LineBlock,
    count_lines,
    describe_carriage_returns,
    read_blocks,
    read_span,
)
from interlingua.corpus.pairs import SentencePair
from interlingua.errors import CorpusError

__all__ = ["LINES_A_CHUNK", "Chunk", "ParallelFiles", "ScannedPair", "check_sides", "scan_parallel"]

LINES_A_CHUNK = 20_000
"""What is read, cut into tokens and written at a time."""

Mask = NDArray[np.bool_]
Watch = Callable[[list[str]], object]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines that follow each other in two files, by their bytes.

    Attributes:
        part: which two files of a corpus, from 0.
        source_path: the source file.
        target_path: the target file.
        source_span: the bytes from the first line to the end of the last one.
        target_span: the same of the target.
        source_checksum: the CRC-32 of these bytes when they were scanned.
        target_checksum: the same of the target.
        first_line: number of the first line, counted through the files from 1.
        num_lines: how many lines.
        left_out: the lines, from 0 within the chunk, that are no pairs or belong to somebody else.
    """

    part: int
    source_path: Path
    target_path: Path
    source_span: tuple[int, int]
    target_span: tuple[int, int]
    source_checksum: int
    target_checksum: int
    first_line: int
    num_lines: int
    left_out: tuple[int, ...] = ()

    @property
    def num_pairs(self) -> int:
        """How many pairs are left."""
        return self.num_lines - len(self.left_out)

    def read(self) -> tuple[list[str], list[str]]:
        """Return the sources and the targets that are left.

        Raises:
            CorpusError: a file is not what it was when it was scanned.
        """
        sides = []
        for path, span, checksum in (
            (self.source_path, self.source_span, self.source_checksum),
            (self.target_path, self.target_span, self.target_checksum),
        ):
            lines = read_span(path, *span, checksum)
            for line in reversed(self.left_out):
                del lines[line]
            sides.append(lines)
        return sides[0], sides[1]

    def line_numbers(self) -> NDArray[np.int64]:
        """Return the line of each pair, counted through the files from 1."""
        lines = np.arange(self.first_line, self.first_line + self.num_lines, dtype=np.int64)
        return np.delete(lines, self.left_out) if self.left_out else lines


@dataclass(frozen=True, slots=True)
class ScannedPair:
    """Two files whose lines are translations of each other, after they were read.

    Attributes:
        source_path: the source file.
        target_path: the target file.
        source_print: what identifies the source file.
        target_print: what identifies the target file.
        source_starts: byte where each chunk of ``LINES_A_CHUNK`` lines begins; last, the end of the file.
        target_starts: the same of the target.
        source_checksums: the CRC-32 of each chunk, without a byte order mark.
        target_checksums: the same of the target.
        num_lines: lines of either file.
        blank: the lines, from 0, with a blank side.
        carriage_returns: lines of the source and of the target that end in CR, as in Windows; here CR is text.
    """

    source_path: Path
    target_path: Path
    source_print: FileFingerprint
    target_print: FileFingerprint
    source_starts: tuple[int, ...]
    target_starts: tuple[int, ...]
    source_checksums: tuple[int, ...]
    target_checksums: tuple[int, ...]
    num_lines: int
    blank: NDArray[np.int64]
    carriage_returns: tuple[int, int] = (0, 0)

    @property
    def remarks(self) -> list[str]:
        """Say of each file how many of its lines end in CR, if any do."""
        paths = zip((self.source_path, self.target_path), self.carriage_returns, strict=True)
        remarks = [describe_carriage_returns(path, count, self.num_lines) for path, count in paths]
        return [remark for remark in remarks if remark]


@dataclass(frozen=True, slots=True)
class ParallelFiles:
    """The pairs of parallel files, read anew whenever they are wanted.

    Attributes:
        parts: the files, two by two.
        usable: for each part, whether a line counts, one truth value a line.
        states: what the system said of each file before it was read, by its path as given.
    """

    parts: tuple[ScannedPair, ...]
    usable: tuple[Mask, ...] = ()
    states: dict[str, FileState] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(self.pairs_a_part)

    @property
    def pairs_a_part(self) -> tuple[int, ...]:
        """How many pairs each part has."""
        return tuple(int(np.count_nonzero(usable)) for usable in self.usable)

    @property
    def prints(self) -> dict[str, FileFingerprint]:
        """What identifies the files, by their paths as given."""
        return {
            path.as_posix(): found
            for part in self.parts
            for path, found in (
                (part.source_path, part.source_print),
                (part.target_path, part.target_print),
            )
        }

    def chunks(self) -> Iterator[Chunk]:
        """Yield all pairs in the order of the files, a chunk at a time; a chunk may have no pair left."""
        lines_before = 0
        for number, (part, usable) in enumerate(zip(self.parts, self.usable, strict=True)):
            chunks = zip(
                range(0, part.num_lines, LINES_A_CHUNK),
                pairwise(part.source_starts),
                pairwise(part.target_starts),
                part.source_checksums,
                part.target_checksums,
                strict=True,
            )
            for first, source_span, target_span, source_checksum, target_checksum in chunks:
                lines = usable[first : first + LINES_A_CHUNK]
                yield Chunk(
                    part=number,
                    source_path=part.source_path,
                    target_path=part.target_path,
                    source_span=source_span,
                    target_span=target_span,
                    source_checksum=source_checksum,
                    target_checksum=target_checksum,
                    first_line=lines_before + first + 1,
                    num_lines=len(lines),
                    left_out=tuple(np.flatnonzero(~lines).tolist()),
                )
            lines_before += part.num_lines

    def pairs(self, number: int | None = None) -> Iterator[SentencePair]:
        """Yield all pairs in their order, or ``number`` of them at even distances.

        Raises:
            CorpusError: a file is not what it was when it was scanned.
        """
        total, first = len(self), 0
        number = total if number is None else min(number, total)
        for chunk in self.chunks():
            places = np.arange(first, first + chunk.num_pairs)
            wanted = np.flatnonzero((places + 1) * number // total > places * number // total)
            first += chunk.num_pairs
            if not len(wanted):
                continue
            sources, targets = chunk.read()
            lines = chunk.line_numbers().tolist()
            for place in wanted.tolist():
                yield SentencePair(sources[place], targets[place], lines[place])

    def keep(self, kept: Mask) -> "ParallelFiles":
        """Return the pairs for which ``kept``, one truth value a pair in their order, is true."""
        parts, first = [], 0
        for usable, pairs in zip(self.usable, self.pairs_a_part, strict=True):
            lines = usable.copy()
            lines[usable] = kept[first : first + pairs]
            parts.append(lines)
            first += pairs
        return replace(self, usable=tuple(parts))

    def report(self) -> str | None:
        """Say what a user should know about the files, or None when there is nothing to say."""
        blank = [part for part in self.parts if len(part.blank)]
        remarks = [_report_blank(blank)] if blank else []
        ends = chain.from_iterable(part.remarks for part in self.parts)
        return "\n".join([*remarks, *ends]) or None

    def moved(
        self, places: Mapping[Path, Path], found: Mapping[str, FileState] | None = None
    ) -> "ParallelFiles":
        """Return the same after some of the files were moved.

        Args:
            places: from where to where.
            found: what the system says of files where they are now: to another disk they were copied, and are other files there.
        """
        parts = tuple(
            replace(
                part,
                source_path=places.get(part.source_path, part.source_path),
                target_path=places.get(part.target_path, part.target_path),
            )
            for part in self.parts
        )
        names = {old.as_posix(): new.as_posix() for old, new in places.items()}
        states = {names.get(name, name): state for name, state in self.states.items()}
        states |= {name: state for name, state in (found or {}).items() if name in states}
        return replace(self, parts=parts, states=states)

    def check_unchanged(self) -> None:
        """Raise a CorpusError if a file was written to since the scan began."""
        refuse_changed(self.states)


def scan_parallel(
    sources: Sequence[Path], targets: Sequence[Path], watch: Watch = lambda _: None
) -> ParallelFiles:
    """Read parallel files from end to end, the first source file with the first target file and so on.

    Both sides of every two files are counted before anything is read. Pairs with a blank side are left out and
    reported.

    Args:
        sources: files with one sentence a line.
        targets: the files of their translations.
        watch: is given the usable sources as they are read, some at a time.

    Raises:
        CorpusError: there are no files or not as many targets as sources; a file is missing, empty or not
            UTF-8; two files differ in lines; or every pair is blank.
    """
    check_sides(sources, targets)
    for source_path, target_path in zip(sources, targets, strict=True):
        _check_counts(source_path, target_path)
    states = {path.as_posix(): FileState.of(path) for path in (*sources, *targets)}
    parts = tuple(_scan(*paths, watch) for paths in zip(sources, targets, strict=True))
    found = ParallelFiles(
        parts,
        usable=tuple(_all_but(part.blank, part.num_lines) for part in parts),
        states=states,
    )
    if not len(found):
        raise CorpusError(
            f"{sources[0]} | {targets[0]}: all {sum(part.num_lines for part in parts):,} pairs have "
            "a blank side; give files that hold text"
        )
    return found


def check_sides(sources: Sequence[Path], targets: Sequence[Path]) -> None:
    """Raise a CorpusError unless there are as many target files as source files, and any."""
    if not sources or not targets:
        side = "source" if not sources else "target"
        raise CorpusError(f"no {side} file is given; name one, for example --{side} train.ro")
    if len(sources) != len(targets):
        raise CorpusError(
            f"{len(sources)} source files but {len(targets)} target files; each source file needs "
            "the file of its translations, in the same order"
        )


class _Side:
    """What one file tells while it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.digest = hashlib.sha256()
        self.starts: list[int] = []
        self.checksums: list[int] = []
        self.end = 0
        self.carriage_returns = 0

    def take(self, block: LineBlock) -> None:
        self.digest.update(block.data)
        self.starts.append(block.start)
        self.checksums.append(block.checksum)
        self.end = block.end
        if b"\r" in block.data:
            self.carriage_returns += sum(line.endswith("\r") for line in block.lines)

    def fingerprint(self, num_lines: int) -> FileFingerprint:
        return {"size": self.end, "sha256": self.digest.hexdigest(), "lines": num_lines}


def _scan(source_path: Path, target_path: Path, watch: Watch) -> ScannedPair:
    sides = _Side(source_path), _Side(target_path)
    blank: list[NDArray[np.int64]] = []
    num_lines = 0
    readers = [read_blocks(side.path, LINES_A_CHUNK) for side in sides]
    for source, target in zip_longest(*readers):
        if not (source and target and len(source.lines) == len(target.lines)):
            raise CorpusError(
                f"{source_path} | {target_path}: were changed while they were read; "
                "run the same command again"
            )
        for side, block in zip(sides, (source, target), strict=True):
            side.take(block)
        lines = _find_blank(source.lines, target.lines)
        blank.append(lines + num_lines)
        num_lines += len(source.lines)
        for line in reversed(lines.tolist()):
            del source.lines[line]
        watch(source.lines)
    return ScannedPair(
        source_path=source_path,
        target_path=target_path,
        source_print=sides[0].fingerprint(num_lines),
        target_print=sides[1].fingerprint(num_lines),
        source_starts=(*sides[0].starts, sides[0].end),
        target_starts=(*sides[1].starts, sides[1].end),
        source_checksums=tuple(sides[0].checksums),
        target_checksums=tuple(sides[1].checksums),
        num_lines=num_lines,
        blank=np.concatenate(blank),
        carriage_returns=(sides[0].carriage_returns, sides[1].carriage_returns),
    )


def _all_but(lines: NDArray[np.int64], num_lines: int) -> Mask:
    usable = np.ones(num_lines, dtype=np.bool_)
    usable[lines] = False
    return usable


def _find_blank(sources: list[str], targets: list[str]) -> NDArray[np.int64]:
    if all(map(str.strip, sources)) and all(map(str.strip, targets)):
        return np.zeros(0, dtype=np.int64)  # nearly always, and several times as fast
    sides = enumerate(zip(sources, targets, strict=True))
    blank = [line for line, (source, target) in sides if not (source.strip() and target.strip())]
    return np.array(blank, dtype=np.int64)


def _report_blank(parts: Sequence[ScannedPair]) -> str:
    first = parts[0]
    total = sum(len(part.blank) for part in parts)
    named = (first.blank[:5] + 1).tolist()
    others = total - len(named)
    return (
        f"{total:,} {'pair was' if total == 1 else 'pairs were'} left out "
        f"because a side is blank: line {', '.join(f'{line:,}' for line in named)} "
        f"({first.source_path} | {first.target_path})" + (f" and {others:,} more" if others else "")
    )


def _check_counts(source_path: Path, target_path: Path) -> None:
    source_count, target_count = count_lines(source_path), count_lines(target_path)
    for path, count in ((source_path, source_count), (target_path, target_count)):
        if count == 0:
            raise CorpusError(f"{path}: is empty; give a file with one sentence a line")
    if source_count == target_count:
        return
    longer, shorter = source_path, target_path
    if source_count < target_count:
        longer, shorter = target_path, source_path
    raise CorpusError(
        f"{source_path} has {source_count:,} lines but {target_path} has {target_count:,}; "
        f"line {min(source_count, target_count) + 1:,} of {longer} has no translation. "
        "Line N of one file must be the translation of line N of the other."
        + _line_end_hint(longer, shorter, max(source_count, target_count))
    )


def _line_end_hint(longer: Path, shorter: Path, wanted: int) -> str:
    """Recognise a file that was written by a tool with another idea of line ends.

    Reading also finds out whether one of the two is no text at all, which then is what the user should hear.
    """
    if _count_as_others_do(shorter)[0] == wanted:
        return (
            f" {shorter} would have as many lines if CR, U+0085, U+2028 and the like ended a line as well; "
            r"here only \n does: write \n in their place."
        )
    if _count_as_others_do(longer)[1]:
        return f" {longer} ends in blank lines: remove them if they are not meant."
    return ""


def _count_as_others_do(path: Path) -> tuple[int, bool]:
    """Count lines as ``str.splitlines`` would in the whole text; tell as well whether the last line is empty."""
    count, last = 0, list[str]()
    for block in read_blocks(path, LINES_A_CHUNK):
        count += len(("\n".join(last) + "\n").splitlines()) if last else 0
        last = block.lines
    text = "\n".join(last)
    return count + len(text.splitlines()), text.endswith("\n") or (count > 0 and not text)
