r"""Files that may be compressed, read as what they hold: gzip, bzip2, xz, Zstandard, or nothing; ``-`` is standard input.

The first bytes decide, not the name: browsers unpack a ``.gz`` and keep its name. Whatever the size, memory is that of
one piece, and a line has a largest length, so that a small file which unpacks to terabytes of one line is refused.
"""

import bz2
import gzip
import hashlib
import io
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from interlingua.corpus.lines import explain_not_utf8, open_bytes
from interlingua.errors import CorpusError, how_to_install

__all__ = [
    "LONGEST",
    "STANDARD_INPUT",
    "PackedFile",
    "is_packed",
    "kind_of",
    "name_of",
    "without_packing",
]

STANDARD_INPUT = "-"
LONGEST = 16 * 2**20
"""Bytes of the longest line, or characters of the longest segment, that is still taken for text."""

_PIECE = 1 << 16
_BOM = "\ufeff"
_HEADS = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x50\x2a\x4d\x18", "zstd"),  # a skippable frame, which some writers put first
    (b"PK\x03\x04", "zip"),
)


_SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".zstd")


def kind_of(head: bytes) -> str | None:
    """Tell by its first six bytes how a file is compressed, or None."""
    return next((kind for start, kind in _HEADS if head.startswith(start)), None)


def is_pipe(path: Path) -> bool:
    """Tell whether a file can be read only once: standard input, or a pipe."""
    return str(path) == STANDARD_INPUT or _is_special(path)


def is_packed(path: Path) -> bool:
    """Tell whether a file has to be unpacked before its lines can be found: it is compressed, or a pipe.

    Raises:
        CorpusError: the file is missing or not readable.
    """
    if _is_special(path):
        return True
    with open_bytes(path) as file:
        return kind_of(file.read(6)) is not None


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def without_packing(name: str) -> str:
    """Return the name of a file without the suffix of its compression: ``train.ro.gz`` gives ``train.ro``."""
    return next((name.removesuffix(end) for end in _SUFFIXES if name.endswith(end)), name)


def name_of(path: Path) -> str:
    """Say which file, for a message."""
    return "standard input" if str(path) == STANDARD_INPUT else str(path)


class PackedFile:
    """A file as what it holds; a context manager.

    Attributes:
        name: for messages.
        kind: how it is compressed, or None.
        line: the line that was read last, from 1.
    """

    def __init__(self, path: Path, *, keep_bytes: bool = False) -> None:
        """Open the file.

        Args:
            path: which, or ``-``.
            keep_bytes: make half a surrogate pair of each byte that is not UTF-8, as ``surrogateescape`` does, and
                do not refuse it.

        Raises:
            CorpusError: it is missing, not readable, or compressed in a way that cannot be undone here.
        """
        self.name = name_of(path)
        self.line = 0
        self._errors = "surrogateescape" if keep_bytes else "strict"
        self._watched = _Watched(_open(path))
        self._raw = io.BufferedReader(self._watched, _PIECE)
        with self._told():
            self.kind = kind_of(self._raw.peek(6))
        self._file = _unpack(self._raw, self.kind, self.name)

    def __enter__(self) -> "PackedFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; standard input stays open."""
        self._file.close()
        self._raw.close()

    def finish(self) -> tuple[int, str]:
        """Read what is left of the file itself; return its size in bytes and its SHA-256 in hexadecimal."""
        with self._told():
            while self._raw.read(_PIECE):
                pass
        return self._watched.size, self._watched.digest.hexdigest()

    def peek(self) -> bytes:
        """Return some of the first bytes that the file holds, and leave them there.

        Raises:
            CorpusError: the file is damaged.
        """
        with self._told():
            return self._file.peek(_PIECE)

    def pieces(self) -> Iterator[bytes]:
        """Yield what the file holds, piece by piece.

        Raises:
            CorpusError: the file is damaged or cut off.
        """
        while True:
            with self._told():
                piece = self._file.read(_PIECE)
            if not piece:
                return
            yield piece

    def lines(self) -> Iterator[str]:
        r"""Yield the lines, which end at ``\n`` and nothing else, without it; a byte order mark is left out.

        Raises:
            CorpusError: the file is damaged or cut off, holds bytes that are not UTF-8, or a line without end.
        """
        before, head = 0, b""
        while True:
            with self._told():
                line = self._file.readline(LONGEST + 1)
            if not line:
                return
            if len(line) > LONGEST:
                raise CorpusError(
                    f"{self.name}, line {self.line + 1}: is longer than {LONGEST // 2**20} MiB; "
                    "give a text with one sentence a line"
                )
            head = head or line[:16]
            try:
                text = line.decode("utf-8", self._errors)
            except UnicodeDecodeError as error:
                raise explain_not_utf8(self.name, line, error, head, before, self.line) from error
            if not before:
                text = text.removeprefix(_BOM)
                if not text:
                    return  # a byte order mark, and nothing after it
            self.line += 1
            before += len(line)
            yield text.removesuffix("\n")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Explain what goes wrong while the file is read and unpacked."""
        try:
            yield
        except EOFError as error:
            raise CorpusError(
                f"{self._where()}: ends in the middle of its {self.kind} data, as a file does whose copy or "
                "download was cut off; copy or download it again"
            ) from error
        except Exception as error:
            if _is_damage(error):
                raise CorpusError(
                    f"{self._where()}: is damaged ({self.kind}: {str(error).rstrip('.')}); "
                    "copy or download it again"
                ) from error
            if isinstance(error, OSError):
                raise CorpusError(
                    f"{self.name}: cannot be read to its end ({error.strerror or error}); "
                    "check the disk or the network that it is on"
                ) from error
            raise

    def _where(self) -> str:
        return f"{self.name}, after line {self.line:,}" if self.line else self.name


class _Watched(io.RawIOBase):
    """A stream whose bytes are counted and digested as they are read."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.size = 0
        self.digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self.digest.update(data)
        self.size += len(data)
        return len(data)

    def close(self) -> None:
        if sys.stdin is None or self._stream is not sys.stdin.buffer:
            self._stream.close()
        super().close()


def _open(path: Path) -> BinaryIO:
    if str(path) != STANDARD_INPUT:
        return open_bytes(path)
    if sys.stdin is None or sys.stdin.isatty():
        raise CorpusError(
            "standard input: nothing is piped in; for example: zcat corpus.tsv.gz | interlingua ..."
        )
    return sys.stdin.buffer


def _unpack(raw: Any, kind: str | None, name: str) -> io.BufferedReader:
    if kind is None:
        return raw
    if kind == "zip":
        raise CorpusError(f"{name}: is a zip archive; unpack it first: unzip")
    if kind == "gzip":
        return io.BufferedReader(gzip.GzipFile(fileobj=raw), _PIECE)
    if kind == "zstd":
        file = _zstd(name)(raw)
    else:
        file = {"bzip2": bz2.BZ2File, "xz": lzma.LZMAFile}[kind](raw)
    return io.BufferedReader(file, _PIECE)


def _zstd(name: str) -> Any:
    """Return the class that reads Zstandard: of Python 3.14 itself, or of its backport."""
    for module in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(module).ZstdFile
        except ImportError:
            continue
    raise CorpusError(
        f"{name}: is compressed by Zstandard, which Python reads from 3.14 on; unpack it (unzstd), or install what reads it: "
        f"{how_to_install('zstd')}"
    )


def _is_damage(error: Exception) -> bool:
    if isinstance(error, zlib.error | lzma.LZMAError | gzip.BadGzipFile):
        return True
    if type(error).__name__ == "ZstdError":
        return True
    # bz2 has no error of its own: an OSError of the system has a number, that of bz2 has none.
    return isinstance(error, OSError) and error.errno is None
