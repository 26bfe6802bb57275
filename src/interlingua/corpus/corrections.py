"""Corrections: sources whose right translation somebody told, one a line of JSON, as ``/suggest`` of the server keeps them.

A folder of corrections has the file ``corrections.jsonl``, whose lines are ``{"q": source, "s": better translation, "source":
code, "target": code}``. Of two corrections of one source the later counts. What else is in the folder can be made again, and whoever
deletes the file begins anew.

A server may append to the file while a command replaces it: whoever does either locks the file itself, so that nothing is lost.
"""

import codecs
import fcntl
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO

from interlingua.directions import Direction
from interlingua.errors import CorpusError, OutputError
from interlingua.files import hold_folder, replace_file, sync_folder

__all__ = [
    "CORRECTIONS",
    "Correction",
    "FollowedCorrections",
    "add_corrections",
    "append_correction",
    "bare",
    "corrections_file",
    "every_correction",
    "read_corrections",
    "remove_correction",
]

CORRECTIONS = "corrections.jsonl"

_SHOWS_NOTHING = "\ufeff\u200b\u2060"
"""Byte order mark, space of no width, word joiner: what a copied text may have at its ends, and nobody sees."""
_OURS = re.compile(r"\..*|memory\..+\.safetensors|adapter|adaptation(\..*)?")
"""What we write beside it."""


def bare(text: str) -> str:
    """Return a text without white space, and what shows nothing, at its ends."""
    while (shorter := text.strip().strip(_SHOWS_NOTHING)) != text:
        text = shorter
    return text


@dataclass(frozen=True, slots=True)
class Correction:
    """A source text, its right translation, and their language codes."""

    source: str
    target: str
    source_lang: str
    target_lang: str

    @property
    def direction(self) -> Direction:
        """From which language into which."""
        return Direction(self.source_lang, self.target_lang)

    def place(self, spelling: Callable[[str], Hashable] = str) -> tuple[Direction, Hashable]:
        """What there is one correction of; ``spelling`` as :func:`add_corrections` has it."""
        return (self.direction, spelling(self.source))

    def to_json(self) -> str:
        """Write one line, without its end."""
        form = {
            "q": self.source,
            "s": self.target,
            "source": self.source_lang,
            "target": self.target_lang,
        }
        return json.dumps(form, ensure_ascii=False)


def corrections_file(folder: Path) -> Path:
    """Return the file of a folder of corrections; where nothing else is than what we write beside it, it may not be there yet.

    Raises:
        CorpusError: there is no such folder, it cannot be looked into, or it holds something else.
    """
    folder = Path(folder)
    path = folder / CORRECTIONS
    try:
        if not folder.is_dir():
            what = "is a file, not a folder" if folder.exists() else "does not exist"
            raise CorpusError(
                f"{folder}: {what}; give the folder that interlingua correct names, or make one with it"
            )
        is_other = not path.exists() and not all(map(_OURS.fullmatch, os.listdir(folder)))
    except OSError as error:
        raise CorpusError(f"{folder}: cannot be read ({error.strerror or error})") from error
    if is_other:
        raise CorpusError(
            f"{folder}: holds no {CORRECTIONS}; give the folder that interlingua correct names"
        )
    return path


def read_corrections(folder: Path) -> list[Correction]:
    """Return the corrections in ``folder``, the later of two of one source only, in the order in which they were told.

    Raises:
        CorpusError: there is no such folder, or its file is damaged; names the line.
    """
    found: dict[tuple[Direction, Hashable], Correction] = {}
    for each in _undamaged(folder):
        found.pop(each.place(), None)
        found[each.place()] = each
    return list(found.values())


def every_correction(folder: Path) -> tuple[list[Correction], list[str]]:
    """Return the corrections in ``folder`` in the order in which they were told, of one source perhaps several, and what is wrong
    with each line that is none.

    Raises:
        CorpusError: there is no such folder, or its file cannot be read.
    """
    path, content = _read(folder)
    return _read_lines(path, content)


class FollowedCorrections:
    """The corrections of a folder, for who looks again and again: of a file that only grew, what was added is read alone.

    Args:
        folder: the corrections.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.damaged: list[str] = []
        """What is wrong with each line so far that is no correction."""
        self._sha256 = b""
        self._size = self._lines = 0

    def read(self) -> tuple[list[Correction], bool]:
        """Return what was told since the last call, or, if the file did not only grow, all that it holds; and whether it is all.

        Raises:
            CorpusError: there is no such folder, or its file cannot be read.
        """
        path, content = _read(self.folder)
        before = hashlib.sha256(memoryview(content)[: self._size])
        has_grown = self._size > 0 and before.digest() == self._sha256
        if not has_grown:
            before, self._size, self._lines, self.damaged = hashlib.sha256(), 0, 0, []
        added = content[self._size :]
        found, damaged = _read_lines(path, added, self._lines + 1)
        self.damaged = [*self.damaged, *damaged]
        before.update(added)
        self._sha256, self._size = before.digest(), len(content)
        self._lines += added.count(b"\n")
        if not content.endswith(b"\n"):
            self._size = 0  # the last line may be half of one, and is not added to but completed
        return found, not has_grown


def _read(folder: Path) -> tuple[Path, bytes]:
    """Return the file of a folder of corrections, and its content."""
    path = corrections_file(folder)
    try:
        return path, path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read ({error.strerror or error})") from error


def _read_lines(path: Path, content: bytes, first: int = 1) -> tuple[list[Correction], list[str]]:
    """Return the corrections of whole lines, and what is wrong with each that is none; ``first`` is the number of the first."""
    found, damaged = [], []
    if first == 1:
        content = content.removeprefix(codecs.BOM_UTF8)
    for number, line in enumerate(content.split(b"\n"), first):
        if line.strip():
            try:
                found.append(_read_line(f"{path}, line {number}", line))
            except CorpusError as error:
                damaged.append(str(error))
    return found, damaged


def _undamaged(folder: Path) -> list[Correction]:
    every, damaged = every_correction(folder)
    if damaged:
        raise CorpusError(damaged[0])
    return every


def add_corrections(
    folder: Path,
    corrections: Sequence[Correction],
    spelling: Callable[[str], Hashable] = str,
) -> tuple[int, int]:
    """Add corrections to a folder, which is made if it is not there; return how many are new, and how many took another's place.

    Args:
        folder: for the corrections.
        corrections: what is told now.
        spelling: gives what is equal of two sources that are one for the model, which then has one correction of both.

    Raises:
        CorpusError: the folder holds something else, or its file is damaged.
        OutputError: it cannot be written, or another process is writing to it.
    """
    spelling = _spelled_beforehand(folder, spelling)
    new = {each.place(spelling): each for each in corrections}
    with _held(folder):
        every = _undamaged(folder)
        places = [each.place(spelling) for each in every]
        replaced = len(set(places) & new.keys())
        # What two lines tell of one source stays: the model may be able to use the earlier one only.
        kept = [each for each, place in zip(every, places, strict=True) if place not in new]
        _write(folder, [*kept, *new.values()])
    return len(new) - replaced, replaced


def append_correction(path: Path, correction: Correction, *, most_bytes: int) -> bool:
    """Append to a file of corrections, which is made if it is not there; return whether there was room for it.

    What was told of is on the disk. What was left without the end of its line, by an editor or a killed program, does not spoil what
    follows.

    Raises:
        OSError: it cannot be written; nothing of it is left then.
    """
    with _locked(path) as file:
        size = file.seek(0, os.SEEK_END)
        if size > most_bytes:
            return False
        is_whole = size == 0 or os.pread(file.fileno(), 1, size - 1) == b"\n"
        line = f"{'' if is_whole else chr(10)}{correction.to_json()}\n".encode()
        try:
            while line:  # a disk that becomes full takes a part first
                line = line[file.write(line) :]
            os.fsync(file.fileno())
            if size == 0:
                sync_folder(path.resolve().parent)
        except OSError:
            # Half a line would spoil the file for whoever reads it strictly.
            with suppress(OSError):
                file.truncate(size)
            raise
    return True


def remove_correction(
    folder: Path,
    source: str,
    direction: Direction,
    spelling: Callable[[str], Hashable] = str,
) -> list[Correction]:
    """Remove the correction of a source text, in all its spellings, and return what was removed, the latest last.

    If there is none, those are removed whose source differs in white space only.

    Args:
        folder: the corrections.
        source: the text.
        direction: from which language into which.
        spelling: as :func:`add_corrections` has it.

    Raises:
        CorpusError: there is none.
        OutputError: the folder cannot be written, or another process is writing to it.
    """
    corrections_file(folder)
    spelling = _spelled_beforehand(folder, spelling)
    with _held(folder):
        every = _undamaged(folder)
        own = [each for each in every if each.direction == direction]
        wanted = spelling(source)
        removed = [each for each in own if spelling(each.source) == wanted]
        removed = removed or [each for each in own if each.source.split() == source.split()]
        if not removed:
            raise CorpusError(
                f"{folder}: holds no correction of this text from {direction.source} to {direction.target}; "
                "--list shows those that there are"
            )
        gone = set(removed)
        _write(folder, [each for each in every if each not in gone])
    return removed


def _spelled_beforehand(
    folder: Path, spelling: Callable[[str], Hashable]
) -> Callable[[str], Hashable]:
    """Return a spelling that knows the sources of a folder by heart: to spell them takes long, and a server waits for the file."""
    spelled = cache(spelling)
    for each in _undamaged(folder) if folder.exists() else ():
        spelled(each.source)
    return spelled


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    busy = OutputError(f"{folder}: another process is writing corrections here; try again")
    with hold_folder(folder, busy=busy, remedy="choose another --corrections"):
        try:
            with _locked(folder / CORRECTIONS):
                yield
        except OSError as error:
            raise OutputError(
                f"{folder / CORRECTIONS}: cannot be written ({error.strerror or error}); choose another --corrections"
            ) from error


@contextmanager
def _locked(path: Path) -> Iterator[BinaryIO]:
    """Open a file to append to, which nobody else appends to or replaces meanwhile."""
    while True:
        with path.open("ab+", buffering=0) as file:  # what failed is not tried again on closing
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                is_there = os.path.samestat(os.fstat(file.fileno()), path.stat())
            except FileNotFoundError:
                is_there = False
            if is_there:  # else it was replaced while this one waited
                yield file
                return


def _write(folder: Path, corrections: Sequence[Correction]) -> None:
    """Replace the file, or what it is a link to, whose owner may go on appending to it."""
    path = (folder / CORRECTIONS).resolve()
    before = path.stat()
    with replace_file(path) as file:
        file.write("".join(f"{each.to_json()}\n" for each in corrections).encode())
        for owner, group in ((-1, before.st_gid), (before.st_uid, -1)):
            with suppress(OSError):  # not everybody may give a file away
                os.fchown(file.fileno(), owner, group)
        with suppress(OSError):
            os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))


def _read_line(place: str, line: bytes) -> Correction:
    try:
        content = json.loads(line.decode("utf-8"))
        fields = [content[name] for name in ("q", "s", "source", "target")]
        if not all(isinstance(field, str) for field in fields):
            raise TypeError("q, s, source and target must be text")
        "".join(fields).encode()  # JSON can write half a surrogate pair, which is no text
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        told = f"lacks {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise CorpusError(
            f'{place}: is not a correction ({told}); a line is {{"q": "source text", "s": "its translation", '
            '"source": "en", "target": "de"}'
        ) from error
    return Correction(*fields)
