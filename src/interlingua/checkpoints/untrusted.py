"""Reading files that somebody else made, possibly in order to do harm: nothing is executed, and memory is bounded.

Sizes are looked at before anything is read, shapes before a tensor is made, and what a header promises is compared
with the bytes that there are.
"""

import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import Tensor

from interlingua.errors import ModelError

__all__ = [
    "LARGEST_TABLE",
    "LARGEST_VOCABULARY",
    "check_shapes",
    "check_table_size",
    "check_vocabulary",
    "integer",
    "read_file",
    "read_json",
    "read_safetensors",
    "refuse_large_directory",
    "refuse_special_file",
    "safetensors_shapes",
]

LARGEST_VOCABULARY = 1_000_000
_LONGEST_PIECE = 512
_SURROGATE = re.compile("[\ud800-\udfff]")
LARGEST_TABLE = 1 << 26
"""Positions times d_model; the table of positions is not in the file, so that its size is only a promise."""
_LARGEST_JSON = 12 << 20
"""Empty lists and objects take twenty-five times as much memory as disk; real vocabularies have one to seven million bytes."""
_LARGEST_HEADER = 8 << 20
_MOST_TENSORS = 10_000
_LARGEST_DIRECTORY = 4 << 20
_LONGEST_END = 76 + 22 + (1 << 16)
"""Bytes at the end of an archive that say where its directory is: two records of ZIP64, one of ZIP, its comment."""


def refuse_special_file(path: Path, largest: int | None = None) -> int:
    """Return the size of a file; a link must lead to one.

    Raises:
        ModelError: it is missing, a folder, a device or a pipe, or larger than ``largest`` bytes.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        raise ModelError(f"{path}: is missing; fetch the model again") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})") from error
    if not stat.S_ISREG(found.st_mode):
        raise ModelError(f"{path}: is not a file; fetch the model again")
    if largest is not None and found.st_size > largest:
        raise ModelError(
            f"{path}: has {found.st_size:,} bytes, and no such file of a model has more than {largest:,}"
        )
    return found.st_size


def refuse_large_directory(path: Path) -> None:
    """Raise a ModelError if the directory of a ZIP archive, which ``zipfile`` reads whole, is larger than that of any model."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _LONGEST_END))
        tail = file.read()
    end = tail.rfind(b"PK\x05\x06")
    found = tail[end + 12 : end + 16]
    records = (tail[end - 76 : end - 72], tail[end - 20 : end - 16])
    if end >= 76 and records == (b"PK\x06\x06", b"PK\x06\x07"):  # ZIP64, as torch writes it
        found = tail[end - 36 : end - 28]
    if end >= 0 and int.from_bytes(found, "little") > _LARGEST_DIRECTORY:
        raise ModelError(
            f"{path}: its directory is larger than that of any model; fetch the model again"
        )


def read_file(path: Path, largest: int = _LARGEST_JSON) -> bytes:
    """Return the content of a file of at most ``largest`` bytes.

    Raises:
        ModelError: it cannot be read, or is larger.
    """
    refuse_special_file(path, largest)
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})") from None


def read_json(path: Path, largest: int = _LARGEST_JSON) -> Any:
    """Return what a JSON file says.

    Raises:
        ModelError: it is not UTF-8 or not JSON, nested too deeply, too large, or says one thing twice.
    """
    content = read_file(path, largest)
    try:
        return json.loads(
            content.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number
        )
    except RecursionError:
        raise ModelError(f"{path}: is nested too deeply for a file of a model") from None
    except ValueError as error:
        raise ModelError(f"{path}: is not whole JSON ({error}); fetch the model again") from None


def integer(
    config: Mapping[str, Any], name: str, path: Path | str, smallest: int, largest: int
) -> int:
    """Return a number of a configuration.

    Raises:
        ModelError: it is missing, no whole number, or out of range.
    """
    value = config.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not smallest <= value <= largest:
        shown = "missing" if value is None else repr(value)[:40]
        raise ModelError(f"{path}: {name} is {shown}; it takes {smallest:,} to {largest:,}")
    return value


def safetensors_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shape of each tensor of a safetensors file, without reading any.

    Raises:
        ModelError: it is none, or its header is too large, or promises other bytes than there are.
    """
    size = refuse_special_file(path)
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, _LARGEST_HEADER):
        raise ModelError(f"{path}: is not a whole safetensors file (its header); fetch it again")
    try:
        with safe_open(path, framework="pt") as tensors:
            names = list(tensors.keys())
            if len(names) > _MOST_TENSORS:
                raise ModelError(f"{path}: has {len(names):,} tensors, which no model has")
            return {name: tuple(tensors.get_slice(name).get_shape()) for name in names}
    except (SafetensorError, OSError, ValueError, OverflowError) as error:
        raise ModelError(
            f"{path}: is not a whole safetensors file ({_one_line(error)}); fetch it again"
        ) from None


def read_safetensors(path: Path, names: Sequence[str]) -> dict[str, Tensor]:
    """Return some tensors of a file whose shapes were checked before.

    Raises:
        ModelError: it cannot be read.
    """
    try:
        with safe_open(path, framework="pt") as tensors:
            return {name: tensors.get_tensor(name) for name in names}
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read ({_one_line(error)}); fetch it again") from None


def check_shapes(
    path: Path,
    found: Mapping[str, tuple[int, ...]],
    wanted: Mapping[str, tuple[int, ...]],
    promised_by: str = "config.json",
) -> None:
    """Compare the shapes of tensors with those that a configuration, ``promised_by``, promises.

    Raises:
        ModelError: a tensor is missing, or has another shape.
    """
    for name, shape in wanted.items():
        if name not in found:
            raise ModelError(f"{path}: lacks the tensor {name!r}, which {promised_by} promises")
        if tuple(found[name]) != tuple(shape):
            raise ModelError(
                f"{path}: the tensor {name!r} has shape {tuple(found[name])} instead of {tuple(shape)}; "
                f"{promised_by} or the vocabulary belongs to another model"
            )


def check_table_size(path: Path, positions: int, d_model: int) -> None:
    """Raise a ModelError if a table of positions would be larger than that of any model."""
    if positions * d_model > LARGEST_TABLE:
        raise ModelError(
            f"{path}: asks for {positions:,} positions of width {d_model:,}, which no model has"
        )


def check_vocabulary(path: Path, pieces: Sequence[object]) -> None:
    """Raise a ModelError unless ``pieces`` are texts of reasonable number and length."""
    if not 0 < len(pieces) <= LARGEST_VOCABULARY:
        raise ModelError(f"{path}: has {len(pieces):,} pieces, which no model has")
    for piece in pieces:
        if not isinstance(piece, str) or len(piece) > _LONGEST_PIECE or _SURROGATE.search(piece):
            raise ModelError(f"{path}: holds {repr(piece)[:40]}, which is no piece of a vocabulary")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name[:40]!r} stands in it twice")
        found[name] = value
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
