"""The ids of all pairs in files that are mapped into memory, so that a corpus may be larger than it.

A folder holds for each side the ids of all sentences one after the other, and where each sentence starts; and
``manifest.json`` with the sizes and checksums of these files. Nothing is pickled.
"""

import hashlib
import json
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlingua.errors import CorpusError
from interlingua.files import replace_folder

__all__ = ["Shards", "open_shards", "write_shards"]

_FORMAT = "interlingua-shards"
_VERSION = 1
_SIDES = ("source", "target")
_MANIFEST = "manifest.json"
_REMEDY = "delete the folder and prepare the corpus again"

Ids = NDArray[np.integer[Any]]
Offsets = NDArray[np.int64]


class Shards:
    """The ids of all pairs, without special symbols; ``shards.source(i)`` is a read-only view of a file."""

    def __init__(
        self, source_ids: Ids, source_offsets: Offsets, target_ids: Ids, target_offsets: Offsets
    ) -> None:
        self._source_ids = source_ids
        self._target_ids = target_ids
        self._source_offsets = source_offsets
        self._target_offsets = target_offsets
        self.source_lengths: NDArray[np.int64] = np.diff(source_offsets) + 1
        """Tokens of each source as they stand in a batch, the end symbol included."""
        self.target_lengths: NDArray[np.int64] = np.diff(target_offsets) + 1
        """Tokens of each target as they stand in a batch, the end symbol included."""

    def __len__(self) -> int:
        return len(self.source_lengths)

    def source(self, index: int) -> Ids:
        """Return the source ids of pair ``index``."""
        return self._source_ids[self._source_offsets[index] : self._source_offsets[index + 1]]

    def target(self, index: int) -> Ids:
        """Return the target ids of pair ``index``."""
        return self._target_ids[self._target_offsets[index] : self._target_offsets[index + 1]]


def write_shards(
    folder: Path, sources: Iterable[Sequence[int]], targets: Iterable[Sequence[int]]
) -> Shards:
    """Write the ids of all pairs into ``folder``, which appears whole or not at all, and open it.

    Raises:
        CorpusError: there are not as many targets as sources.
        OutputError: the folder cannot be written.
    """
    folder = Path(folder)
    sides = [_gather(sources), _gather(targets)]
    counts = [len(offsets) - 1 for _, offsets in sides]
    if counts[0] != counts[1]:
        raise CorpusError(
            f"{folder}: {counts[0]:,} sources but {counts[1]:,} targets; each needs its translation"
        )
    with replace_folder(folder) as fresh:
        for side, (ids, offsets) in zip(_SIDES, sides, strict=True):
            np.save(fresh / f"{side}_ids.npy", ids, allow_pickle=False)
            np.save(fresh / f"{side}_offsets.npy", offsets, allow_pickle=False)
        manifest = {
            "format": _FORMAT,
            "version": _VERSION,
            "pairs": counts[0],
            "files": {name: _describe(fresh / name) for name in _file_names()},
        }
        (fresh / _MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    return open_shards(folder)


def open_shards(folder: Path) -> Shards:
    """Open a folder that ``write_shards`` wrote, after checking that every byte is still what it was.

    Raises:
        CorpusError: the folder is missing, not of this kind or version, incomplete or changed.
    """
    folder = Path(folder)
    manifest = _read_manifest(folder / _MANIFEST)
    for name in _file_names():
        _check(folder / name, manifest["files"].get(name))
    sides: list[tuple[Ids, Offsets]] = []
    for side in _SIDES:
        ids, offsets = _load(folder / f"{side}_ids.npy"), _load(folder / f"{side}_offsets.npy")
        if len(offsets) != manifest["pairs"] + 1 or int(offsets[-1]) != len(ids):
            raise CorpusError(f"{folder / side}_offsets.npy: does not fit its ids; {_REMEDY}")
        sides.append((ids, offsets))
    return Shards(*sides[0], *sides[1])


def _gather(sequences: Iterable[Sequence[int]]) -> tuple[Ids, Offsets]:
    ids, offsets = array("i"), array("q", [0])
    for sequence in sequences:
        ids.extend(sequence)
        offsets.append(len(ids))
    gathered = np.asarray(ids, dtype=np.int32)
    small = gathered.size == 0 or (gathered.min() >= 0 and gathered.max() <= 0xFFFF)
    return gathered.astype(np.uint16 if small else np.int32), np.asarray(offsets, dtype=np.int64)


def _file_names() -> list[str]:
    return [f"{side}_{part}.npy" for side in _SIDES for part in ("ids", "offsets")]


def _describe(path: Path) -> dict[str, int | str]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"size": file.tell(), "sha256": digest}


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CorpusError(
            f"{path}: is missing, so this is no folder of shards; {_REMEDY}"
        ) from error
    except (OSError, ValueError) as error:
        raise CorpusError(f"{path}: cannot be read ({error}); {_REMEDY}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise CorpusError(f"{path}: does not describe shards; {_REMEDY}")
    if manifest.get("version") != _VERSION:
        raise CorpusError(
            f"{path}: is of version {manifest.get('version')!r}, and only {_VERSION} can be read; {_REMEDY}"
        )
    if not isinstance(manifest.get("files"), dict) or not isinstance(manifest.get("pairs"), int):
        raise CorpusError(f"{path}: lacks its list of files or its number of pairs; {_REMEDY}")
    return manifest


def _check(path: Path, expected: object) -> None:
    try:
        found = _describe(path)
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read ({error.strerror}); {_REMEDY}") from error
    if found != expected:
        raise CorpusError(
            f"{path}: is truncated or has been changed since it was written; {_REMEDY}"
        )


def _load(path: Path) -> NDArray[Any]:
    try:
        loaded: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise CorpusError(f"{path}: is not an array ({error}); {_REMEDY}") from error
    if loaded.ndim != 1 or loaded.dtype.kind not in "iu":
        raise CorpusError(f"{path}: does not hold a row of integers; {_REMEDY}")
    return loaded
