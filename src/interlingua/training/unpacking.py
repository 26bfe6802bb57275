"""Corpora that are not two plain files of lines, unpacked into such files once, in the ``corpus/`` of their run.

Everything after that reads lines: chunks by their bytes, checksums, several processes. What is unpacked lies beside the
run until the run is held by this process, so that a corpus which turns out to be damaged leaves nothing behind. Its
``unpacked.json`` tells what each file was made from; while that has not changed, nothing is unpacked again.
"""

import hashlib
import io
import json
import os
import select
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any, cast

from interlingua.config import CorpusConfig
from interlingua.corpus.fingerprint import (
    FileFingerprint,
    FileState,
    are_remembered,
    refuse_changed,
    remember,
    remembered_or_read,
)
from interlingua.corpus.formats import PairReader, open_pairs
from interlingua.corpus.packed import STANDARD_INPUT, is_packed, is_pipe
from interlingua.corpus.scan import check_sides
from interlingua.directions import Direction
from interlingua.errors import CorpusError, OutputError
from interlingua.files import replace_folder, temporary_neighbour, write_text
from interlingua.training.directions_of_run import Part, directions_of
from interlingua.training.run_folder import RunFolder, not_prepared

__all__ = ["RECORD", "Origin", "PlainFiles", "find_plain_files", "tell_if_input_is_awaited"]

Json = dict[str, Any]

RECORD = "unpacked.json"
_VERSION = 1
_LINES_AT_ONCE = 5_000
_QUIET_SECONDS = 3.0
"""So long nothing may come through standard input before somebody is told that it is waited for."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a plain file was made from, ready for ``corpus.lock``."""

    paths: tuple[str, ...]
    sizes: tuple[int, ...]
    checksums: tuple[str, ...]

    def to_json(self) -> list[Json]:
        """Name each file with its size and checksum."""
        rows = zip(self.paths, self.sizes, self.checksums, strict=True)
        return [{"path": path, "size": size, "sha256": sha256} for path, size, sha256 in rows]


@dataclass(slots=True, weakref_slot=True)
class PlainFiles:
    """The text of a run as files of lines, two by two.

    Attributes:
        training: source and target of each corpus to train on.
        validation: the same of those that were held back; none if they are split off.
        named: the files that the user named, in their order.
        origins: by the path of a plain file, what it was unpacked from.
        remarks: what a user should know about the unpacking.
        places: where each file that lies beside the run is going to be.
    """

    training: tuple[tuple[Path, Path], ...]
    validation: tuple[tuple[Path, Path], ...]
    named: tuple[Path, ...]
    origins: dict[Path, Origin] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    places: dict[Path, Path] = field(default_factory=dict)
    _records: list[Json] = field(default_factory=list)
    _states: dict[str, FileState] = field(default_factory=dict)
    _prints: dict[str, FileFingerprint] = field(default_factory=dict)

    def settle(self, folder: RunFolder) -> Mapping[Path, Path]:
        """Move what was unpacked into the run, which this process holds; return what is where now.

        Raises:
            OutputError: the run cannot be written.
        """
        if not self.places:
            if self._states:  # known by their content alone; from now on without a reading
                write_text(folder.corpus / RECORD, self._record())
            return {}
        with replace_folder(folder.corpus) as new:
            for place, final in self.places.items():
                shutil.move(place, new / final.name)
                state = FileState.of(new / final.name)
                self._states[final.as_posix()] = state
            write_text(new / RECORD, self._record())
        # They are empty, and a process that is killed later would leave them.
        for place in {each.parent for each in self.places}:
            shutil.rmtree(place, ignore_errors=True)
        moved, self.places = self.places, {}
        self.training = _moved(self.training, moved)
        self.validation = _moved(self.validation, moved)
        self.origins = {moved.get(path, path): origin for path, origin in self.origins.items()}
        return moved

    def _record(self) -> str:
        seen = remember(self._states, self._prints)
        record = {"version": _VERSION, "corpora": self._records, "seen": seen}
        return json.dumps(record, indent=2) + "\n"


def find_plain_files(
    corpus: CorpusConfig,
    languages: tuple[str, str],
    folder: RunFolder,
    *,
    writes: bool,
    fresh: bool = False,
) -> PlainFiles:
    """Return the text of a run as files of lines; what is none is unpacked, unless that was done before.

    Args:
        corpus: which files.
        languages: of source and target, unless ``corpus.directions`` tells those of each file.
        folder: the run; nothing in it is touched before ``settle``.
        writes: unpack what is missing; else it is an error.
        fresh: the run there is going to be moved away, and what it has with it.

    Raises:
        CorpusError: a file is missing, damaged, or not of its form; or named for two directions that it does not tell apart.
        OutputError: there is no room to unpack.
        TrainingError: something has to be unpacked, and nothing is to be written.
    """
    columns = (corpus.columns[0], corpus.columns[1]) if corpus.columns else None
    readers: list[tuple[Part, PairReader]] = []
    sides: tuple[tuple[Part, tuple[Path, ...], tuple[Path, ...], tuple[Path, ...]], ...] = (
        ("training", corpus.source, corpus.target, corpus.pairs),
        ("validation", corpus.valid_source, corpus.valid_target, corpus.valid_pairs),
    )
    for part, sources, targets, pairs in sides:
        if sources or targets:
            check_sides(sources, targets)
        directions = directions_of(corpus, part)
        told = iter([(each.source, each.target) for each in directions] or repeat(languages))
        for paths in zip(sources, targets, strict=True):
            readers.append((part, PairReader(paths, next(told), None)))
        readers += [(part, open_pairs(path, next(told), columns)) for path in pairs]
    _refuse_one_order_for_two_directions([reader for _, reader in readers])
    packed = [not _is_plain(reader) for _, reader in readers]
    named = tuple(path for _, reader in readers for path in reader.paths)
    if not any(packed):
        return PlainFiles(*_by_part(readers, [reader.paths for _, reader in readers]), named)
    jobs = [
        _Job(part, number, reader, reader.languages)
        for number, ((part, reader), is_job) in enumerate(zip(readers, packed, strict=True), 1)
        if is_job
    ]
    known = None if fresh else _recall(jobs, folder.corpus)
    if known is not None:
        plain = _assemble(readers, jobs, known.records, named, folder.corpus)
        if not known.is_remembered:
            plain._records = known.records
            plain._states, plain._prints = known.states, known.prints
        return plain
    if not writes:
        raise not_prepared(folder.corpus)
    return _unpack_all(readers, jobs, named, folder)


def _refuse_one_order_for_two_directions(readers: Iterable[PairReader]) -> None:
    """Raise a CorpusError if a file with its sides in one order is named for two directions: one of them would be learnt wrongly."""
    before: dict[Path, PairReader] = {}
    for reader in readers:
        if len(reader.paths) == 1 and not is_pipe(reader.paths[0]):
            other = before.setdefault(reader.paths[0].resolve(), reader)
            if other.languages != reader.languages and not reader.names_languages():
                raise CorpusError(
                    f"{reader.name}: is named for {Direction(*other.languages)} and {Direction(*reader.languages)}, and is read alike for both, "
                    "as nothing in it tells the languages of its sides; name it once, and for the other direction a file with its sides "
                    "exchanged, or write it as JSON Lines with the languages as keys, without corpus.columns"
                )


@dataclass(frozen=True, slots=True)
class _Job:
    """One corpus to unpack."""

    part: Part
    number: int
    reader: PairReader
    languages: tuple[str, str]

    @property
    def names(self) -> tuple[str, str]:
        """What the two files are called."""
        source, target = self.languages
        same = source == target
        return (
            f"{self.part}-{self.number}.{source}" + (".source" if same else ""),
            f"{self.part}-{self.number}.{target}" + (".target" if same else ""),
        )

    @property
    def how(self) -> Json:
        """What decides, together with the files, what comes out."""
        reader = self.reader
        return {
            "part": self.part,
            "names": list(self.names),
            "files": len(reader.paths),
            "languages": list(reader.languages),
            "columns": list(reader.columns or ()),
        }


def _is_plain(reader: PairReader) -> bool:
    return len(reader.paths) == 2 and not any(map(is_packed, reader.paths))


def _by_part(
    readers: Sequence[tuple[Part, PairReader]], paths: Sequence[tuple[Path, ...]]
) -> tuple[tuple[tuple[Path, Path], ...], tuple[tuple[Path, Path], ...]]:
    of = [(part, (both[0], both[1])) for (part, _), both in zip(readers, paths, strict=True)]
    return (
        tuple(both for part, both in of if part == "training"),
        tuple(both for part, both in of if part == "validation"),
    )


def _assemble(
    readers: Sequence[tuple[Part, PairReader]],
    jobs: Sequence[_Job],
    records: Sequence[Json],
    named: tuple[Path, ...],
    place: Path,
) -> PlainFiles:
    """Put the files that were unpacked to ``place`` between those that are plain already."""
    paths: list[tuple[Path, ...]] = [reader.paths for _, reader in readers]
    origins: dict[Path, Origin] = {}
    remarks: list[str] = []
    for job, record in zip(jobs, records, strict=True):
        both = place / job.names[0], place / job.names[1]
        paths[job.number - 1] = both
        originals = record["originals"]
        origin = Origin(
            tuple(path.as_posix() for path in job.reader.paths),
            tuple(each["size"] for each in originals),
            tuple(each["sha256"] for each in originals),
        )
        origins |= dict.fromkeys(both, origin)
        remarks += record["remarks"]
    return PlainFiles(*_by_part(readers, paths), named, origins, tuple(remarks))


def _unpack_all(
    readers: Sequence[tuple[Part, PairReader]],
    jobs: Sequence[_Job],
    named: tuple[Path, ...],
    folder: RunFolder,
) -> PlainFiles:
    if sum(path == Path(STANDARD_INPUT) for path in named) > 1:
        raise CorpusError("standard input: is named twice, and can be read only once")
    place = _make_place(folder.path)
    states: dict[str, FileState] = {}
    prints: dict[str, FileFingerprint] = {}
    try:
        for job in jobs:
            states |= _states_of(job.reader.paths)
        records = [_unpack(job, place) for job in jobs]
        refuse_changed(states)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    plain = _assemble(readers, jobs, records, named, place)
    for job, record in zip(jobs, records, strict=True):
        for path, found in zip(job.reader.paths, record["originals"], strict=True):
            if path.as_posix() in states:
                size, sha256 = found["size"], found["sha256"]
                prints[path.as_posix()] = {"size": size, "sha256": sha256, "lines": 0}
        for name in job.names:
            plain.places[place / name] = folder.corpus / name
            prints[(folder.corpus / name).as_posix()] = record["texts"][name]
    plain._records, plain._states, plain._prints = records, states, prints
    weakref.finalize(plain, shutil.rmtree, place, ignore_errors=True)
    return plain


def _make_place(run: Path) -> Path:
    """Make a folder on the disk of the run if that is possible, so that moving into it costs nothing."""
    run = Path(os.path.abspath(run))
    try:
        return temporary_neighbour(run.with_name(f"{run.name}.corpus"))
    except (OutputError, ValueError):
        return Path(tempfile.mkdtemp(prefix="interlingua-corpus-"))


def _states_of(paths: Iterable[Path]) -> dict[str, FileState]:
    """Ask the system about those that are files and can be asked again."""
    return {path.as_posix(): FileState.of(path) for path in paths if path.is_file()}


def _unpack(job: _Job, place: Path) -> Json:
    """Write the two files of one corpus; return what there is to remember."""
    reader = job.reader
    digests = hashlib.sha256(), hashlib.sha256()
    sizes = [0, 0]
    usable = 0
    try:
        with (
            (place / job.names[0]).open("wb") as source,
            (place / job.names[1]).open("wb") as target,
        ):
            files = source, target
            waiting: tuple[list[str], list[str]] = ([], [])

            def put() -> None:
                for side, lines in enumerate(waiting):
                    data = "".join(lines).encode("utf-8")
                    if not sizes[side] and data.startswith(b"\xef\xbb\xbf"):
                        data = b"\xef\xbb\xbf" + data  # else a reader would take it for a mark
                    files[side].write(data)
                    digests[side].update(data)
                    sizes[side] += len(data)
                    lines.clear()

            for pair in reader:
                waiting[0].append(f"{pair.source}\n")
                waiting[1].append(f"{pair.target}\n")
                usable += bool(pair.source.strip() and pair.target.strip())
                if len(waiting[0]) == _LINES_AT_ONCE:
                    put()
            put()
    except OSError as error:
        raise OutputError(
            f"{place}: cannot be written ({error.strerror or error}); the text of {reader.name} needs room there"
        ) from error
    if not usable:
        raise CorpusError(
            f"{reader.name}: all {reader.num_pairs:,} pairs have a blank side; give files that hold text"
        )
    texts = {
        name: {"size": size, "sha256": digest.hexdigest(), "lines": reader.num_pairs}
        for name, size, digest in zip(job.names, sizes, digests, strict=True)
    }
    originals = [{"size": size, "sha256": sha256} for size, sha256 in reader.files]
    return {"how": job.how, "originals": originals, "texts": texts, "remarks": reader.remarks()}


@dataclass(frozen=True, slots=True)
class _Known:
    """What is remembered of jobs that were done, and of their files as they are now."""

    records: list[Json]
    states: dict[str, FileState]
    prints: dict[str, FileFingerprint]
    is_remembered: bool
    """No file had to be read."""


def _recall(jobs: Sequence[_Job], place: Path) -> _Known | None:
    """Return what is remembered of ``jobs`` if they were done before and nothing has changed since, or None."""
    states: dict[str, FileState] = {}
    prints: dict[str, FileFingerprint] = {}
    try:
        known = json.loads((place / RECORD).read_text(encoding="utf-8"))
        records: list[Json] = known["corpora"]
        if known["version"] != _VERSION or [job.how for job in jobs] != [r["how"] for r in records]:
            return None
        for job, record in zip(jobs, records, strict=True):
            found = _look_at(job, record, place, known["seen"])
            if found is None:
                return None
            states, prints = states | found[0], prints | found[1]
        is_remembered = are_remembered(states, known["seen"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, CorpusError):
        return None
    return _Known(records, states, prints, is_remembered)


def _look_at(
    job: _Job, record: Json, place: Path, seen: Json
) -> tuple[dict[str, FileState], dict[str, FileFingerprint]] | None:
    """Return the files of a job as they are now; None if one is not what it was."""
    paths = [path for path in job.reader.paths if str(path) != STANDARD_INPUT]
    if len(paths) < len(job.reader.paths) and _is_piped():
        return None
    wanted: dict[str, Json] = {}
    for path, before in zip(job.reader.paths, record["originals"], strict=True):
        if path in paths:
            wanted[path.as_posix()] = before
            if not path.is_file() or path.stat().st_size != before["size"]:
                return None
    for name in job.names:
        wanted[(place / name).as_posix()] = record["texts"][name]
    states, prints = remembered_or_read(map(Path, wanted), seen)
    if any(prints[name]["sha256"] != before["sha256"] for name, before in wanted.items()):
        return None
    return states, prints


def tell_if_input_is_awaited(
    corpus: CorpusConfig, folder: RunFolder, say: Callable[[str], None]
) -> None:
    """Say what is waited for where a run has read standard input before: a pipe that nobody writes to may be slow, or left open."""
    named = (corpus.source, corpus.target, corpus.pairs)
    valid = (corpus.valid_source, corpus.valid_target, corpus.valid_pairs)
    is_named = any(Path(STANDARD_INPUT) in paths for paths in (*named, *valid))
    if not is_named or not (folder.corpus / RECORD).exists():
        return
    try:
        if sys.stdin is None or sys.stdin.isatty():
            return
        ready, _, _ = select.select([sys.stdin], [], [], _QUIET_SECONDS)
    except (OSError, ValueError):  # closed, or put in its place by somebody
        return
    if not ready:
        say(
            "standard input: is open, and nothing comes; waiting for the text, or for its end: with < /dev/null the run goes on "
            "with what it read before"
        )


def _is_piped() -> bool:
    """Tell whether there is anything to read on standard input; if not, what was read before counts."""
    try:
        if sys.stdin is None or sys.stdin.isatty():
            return False
        return bool(cast("io.BufferedReader[Any]", sys.stdin.buffer).peek(1))
    except (OSError, ValueError, AttributeError):  # closed, or put in its place by somebody
        return False


def _moved(
    pairs: Iterable[tuple[Path, Path]], moved: Mapping[Path, Path]
) -> tuple[tuple[Path, Path], ...]:
    return tuple((moved.get(one, one), moved.get(other, other)) for one, other in pairs)
