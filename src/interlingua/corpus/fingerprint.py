"""What identifies a corpus: the size, checksum and number of lines of its files, for ``corpus.lock``."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict

from interlingua.corpus.lines import count_lines
from interlingua.errors import CorpusError

__all__ = ["FileFingerprint", "fingerprint"]


class FileFingerprint(TypedDict):
    """One file: its size in bytes, its SHA-256 in hexadecimal, and its number of lines."""

    size: int
    sha256: str
    lines: int


def fingerprint(paths: Iterable[Path]) -> dict[str, FileFingerprint]:
    """Return the fingerprint of each file under its path as given, ready for JSON.

    Raises:
        CorpusError: a file is missing or not readable.
    """
    return {Path(path).as_posix(): _of_file(Path(path)) for path in paths}


def _of_file(path: Path) -> FileFingerprint:
    lines = count_lines(path)
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read ({error.strerror}); check its rights") from error
    return {"size": size, "sha256": digest, "lines": lines}
