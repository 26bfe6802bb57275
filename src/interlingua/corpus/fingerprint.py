"""What identifies a corpus: the size, checksum and number of lines of its files, for ``corpus.lock``.

A checksum costs a reading of the whole file. So what the system says of a file (its size, its times, its place on the
disk) is remembered beside the checksum, and while none of that has changed, the checksum is believed. A file that was
changed less than two seconds before it was read is always read again, since clocks of file systems are coarse.
"""

import hashlib
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypedDict

from interlingua.corpus.lines import LineCounter, read_chunks
from interlingua.errors import CorpusError

__all__ = [
    "FileFingerprint",
    "FileState",
    "are_remembered",
    "fingerprint",
    "refuse_changed",
    "remember",
    "remembered_or_read",
]

_COARSE = 2 * 10**9
"""Nanoseconds within which two changes may bear the same time."""


class FileFingerprint(TypedDict):
    """One file: its size in bytes, its SHA-256 in hexadecimal, and its number of lines."""

    size: int
    sha256: str
    lines: int


@dataclass(frozen=True, slots=True)
class FileState:
    """What the system says of a file, without reading it, and when it was asked; times in nanoseconds."""

    size: int
    modified: int
    changed: int
    inode: int
    device: int
    asked: int

    @classmethod
    def of(cls, path: Path) -> "FileState":
        """Ask the system.

        Raises:
            CorpusError: the file is missing or cannot be looked at.
        """
        asked = time.time_ns()
        try:
            found = os.stat(path)
        except FileNotFoundError as error:
            raise CorpusError(f"{path}: no such file; check the name and the folder") from error
        except (OSError, ValueError) as error:
            raise CorpusError(f"{path}: cannot be read ({error}); check its rights") from error
        times = found.st_mtime_ns, found.st_ctime_ns
        return cls(found.st_size, *times, found.st_ino, found.st_dev, asked)

    def is_still(self, now: "FileState") -> bool:
        """Tell whether nothing was written to the file between the two moments."""
        same = (self.size, self.modified, self.changed, self.inode, self.device) == (
            now.size,
            now.modified,
            now.changed,
            now.inode,
            now.device,
        )
        return same and max(self.modified, self.changed) + _COARSE < self.asked


def refuse_changed(states: Mapping[str, FileState]) -> None:
    """Raise a CorpusError if a file was written to since the system said this of it."""
    for name, before in states.items():
        now = FileState.of(Path(name))
        if (before.size, before.modified, before.inode) != (now.size, now.modified, now.inode):
            raise CorpusError(
                f"{name}: has been changed while it was read; run the same command again"
            )


def fingerprint(paths: Iterable[Path]) -> dict[str, FileFingerprint]:
    """Return the fingerprint of each file under its path as given, ready for JSON.

    Raises:
        CorpusError: a file is missing or not readable.
    """
    return {Path(path).as_posix(): _of_file(Path(path)) for path in paths}


def remember(
    states: Mapping[str, FileState], prints: Mapping[str, FileFingerprint]
) -> dict[str, Any]:
    """Put together what ``remembered_or_read`` wants to see again, ready for JSON.

    Args:
        states: of each file, asked for before it was read.
        prints: what was then read.
    """
    return {
        os.path.abspath(name): {"state": asdict(states[name]), "fingerprint": dict(prints[name])}
        for name in states
    }


def remembered_or_read(
    paths: Iterable[Path], memory: Mapping[str, Any]
) -> tuple[dict[str, FileState], dict[str, FileFingerprint]]:
    """Return the state of each file, and what ``fingerprint`` would: read are only those that changed or are new.

    Raises:
        CorpusError: a file is missing or not readable.
    """
    states: dict[str, FileState] = {}
    prints: dict[str, FileFingerprint] = {}
    for path in paths:
        name = Path(path).as_posix()
        states[name] = FileState.of(path)
        prints[name] = _recall(memory.get(os.path.abspath(path)), states[name]) or _of_file(path)
    return states, prints


def are_remembered(states: Mapping[str, FileState], memory: Mapping[str, Any]) -> bool:
    """Tell whether ``remembered_or_read`` read none of these files."""
    return all(_recall(memory.get(os.path.abspath(name)), now) for name, now in states.items())


def _recall(known: Any, now: FileState) -> FileFingerprint | None:
    try:
        if known is not None and FileState(**known["state"]).is_still(now):
            told = known["fingerprint"]
            return {"size": told["size"], "sha256": told["sha256"], "lines": told["lines"]}
    except (TypeError, KeyError):
        return None
    return None


def _of_file(path: Path) -> FileFingerprint:
    digest, counter = hashlib.sha256(), LineCounter()
    for chunk in read_chunks(path):
        digest.update(chunk)
        counter.add(chunk)
    return {"size": counter.size, "sha256": digest.hexdigest(), "lines": counter.lines}
