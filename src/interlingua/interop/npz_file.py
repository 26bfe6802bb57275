"""An ``.npz`` file that somebody else made: arrays of numbers alone, never larger than the file itself.

The format is a ZIP archive of ``.npy`` files. numpy would unpack whatever it holds, and unpickle it if asked; here the
directory of the archive and the header of each array are compared with the bytes that there are, before any is read.
"""

import ast
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlingua.checkpoints.untrusted import refuse_large_directory, refuse_special_file
from interlingua.errors import ModelError

__all__ = ["ArrayHeader", "npz_headers", "read_array"]

_LONGEST_HEADER = 10_000
_MOST_ARRAYS = 10_000
_ADVICE = "fetch the model again"


@dataclass(frozen=True, slots=True)
class ArrayHeader:
    """What the file says of one array, found to be true of its size."""

    shape: tuple[int, ...]
    dtype: "np.dtype[Any]"
    fortran_order: bool
    start: int
    """Bytes of its entry before the numbers begin."""


def npz_headers(path: Path) -> dict[str, ArrayHeader]:
    """Return the header of each array by name, without reading any array.

    Raises:
        ModelError: it is no such archive, or damaged; an array is pickled, or larger than its bytes; a name stands in
            it twice or leads outside; it would grow when it is unpacked.
    """
    size = refuse_special_file(path)
    with _opened(path) as archive:
        entries = archive.infolist()
        _refuse_bombs(path, entries, size)
        headers = {}
        for entry in entries:
            name = entry.filename.removesuffix(".npy")
            with archive.open(entry) as file:
                headers[name] = _read_header(path, name, file, entry.file_size)
        return headers


def read_array(path: Path, name: str, header: ArrayHeader) -> NDArray[Any]:
    """Return one array, whose header was checked before.

    Raises:
        ModelError: it cannot be read.
    """
    with _opened(path) as archive:
        names = set(archive.namelist())
        content = archive.read(f"{name}.npy" if f"{name}.npy" in names else name)
        flat = np.frombuffer(content, header.dtype, offset=header.start)
        return flat.reshape(header.shape, order="F" if header.fortran_order else "C")


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open the archive; what goes wrong inside the block is told in one line."""
    try:
        refuse_large_directory(path)
        with zipfile.ZipFile(path) as archive:
            yield archive
    except ModelError:
        raise
    except (
        *(zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError),
        *(ValueError, TypeError, KeyError, RuntimeError, NotImplementedError, OverflowError),
    ) as error:
        why = " ".join(str(error).split())[:120]
        raise ModelError(
            f"{path}: is not a whole .npz file ({why or type(error).__name__}); {_ADVICE}"
        ) from None


def _refuse_bombs(path: Path, entries: list[zipfile.ZipInfo], size: int) -> None:
    if len(entries) > _MOST_ARRAYS:
        raise ModelError(f"{path}: holds {len(entries):,} arrays, which no model has")
    if sum(entry.file_size for entry in entries) > size:
        raise ModelError(
            f"{path}: grows when it is unpacked, as no file of Marian does; {_ADVICE}, or save it with numpy.savez"
        )
    seen: set[str] = set()
    for entry in entries:
        name = entry.filename
        if name.startswith("/") or ".." in name.split("/") or name.endswith("/"):
            raise ModelError(f"{path}: names a place outside itself ({name[:60]!r}); {_ADVICE}")
        if name.removesuffix(".npy") in seen:
            raise ModelError(f"{path}: holds {name[:60]!r} twice; {_ADVICE}")
        seen.add(name.removesuffix(".npy"))


def _read_header(path: Path, name: str, file: Any, size: int) -> ArrayHeader:
    """Read the header of a ``.npy`` file, of versions 1 to 3."""
    start = file.read(8)
    if start[:6] != b"\x93NUMPY" or start[6:7] not in (b"\x01", b"\x02", b"\x03"):
        raise ModelError(f"{path}: {name[:60]!r} is not an array of numpy; {_ADVICE}")
    form, width = ("<H", 2) if start[6] == 1 else ("<I", 4)
    (length,) = struct.unpack(form, file.read(width))
    if length > _LONGEST_HEADER:
        raise ModelError(f"{path}: {name[:60]!r} has a header of {length:,} bytes; {_ADVICE}")
    found = _parse(path, name, file.read(length))
    shape, dtype = found.get("shape"), _dtype(path, name, found.get("descr"))
    if not isinstance(shape, tuple) or not all(type(each) is int and each >= 0 for each in shape):
        raise ModelError(f"{path}: {name[:60]!r} has no shape; {_ADVICE}")
    begin = 8 + width + length
    if begin + prod(shape) * dtype.itemsize != size:
        raise ModelError(f"{path}: {name[:60]!r} has other bytes than its shape says; {_ADVICE}")
    return ArrayHeader(shape, dtype, found.get("fortran_order") is True, begin)


def _parse(path: Path, name: str, text: bytes) -> Mapping[str, Any]:
    """Read the dictionary of a header: a Python literal, of which nothing is evaluated."""
    try:
        found = ast.literal_eval(text.decode("latin-1").strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        found = None
    if not isinstance(found, dict):
        raise ModelError(f"{path}: {name[:60]!r} has a damaged header; {_ADVICE}")
    return found


def _dtype(path: Path, name: str, descr: object) -> "np.dtype[Any]":
    """Return the type of the numbers; objects, which are pickles, and structures are refused."""
    if isinstance(descr, str) and len(descr) <= 4 and descr[:1] in "<|=>":
        kind, width = descr[1:2], descr[2:]
        if kind in "fiubS" and width in ("1", "2", "4", "8"):
            return np.dtype(descr)
    raise ModelError(
        f"{path}: {name[:60]!r} holds {str(descr)[:40]!r}, which are not numbers (pickles are never read); {_ADVICE}"
    )
