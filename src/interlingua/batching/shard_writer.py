"""Shards written chunk by chunk, so that neither memory nor an interruption limits how large they get.

While they are made, the files lie in ``NAME.unfinished`` beside the folder that they will be. A line in its ``log.jsonl``
follows each chunk, with the checksums of what was added. Whoever starts again with the same text and the same settings
checks these and goes on after the last whole chunk; anything behind it is cut off.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from interlingua.batching.shards import (
    FORMAT,
    MANIFEST,
    SIDES,
    VERSION,
    ShardManifest,
    Shards,
    open_shards,
)
from interlingua.errors import OutputError
from interlingua.files import replace_folder

__all__ = ["EncodedChunk", "ShardWriter", "clear_unfinished"]

_LOG = "log.jsonl"
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class EncodedChunk:
    """Some pairs of one part of a corpus, as the bytes that shards get longer by."""

    part: int
    pairs: int
    truncated: dict[str, int]
    rows: dict[str, bytes]

    @classmethod
    def of_ids(
        cls,
        part: int,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        lines: NDArray[np.int64],
        dtypes: Mapping[str, str],
    ) -> "EncodedChunk":
        """Turn the ids of pairs into bytes; ``dtypes`` says for each side what holds its ids."""
        rows = {"lines": lines.astype("<i8").tobytes()}
        for side, ids in zip(SIDES, (sources, targets), strict=True):
            lengths = np.fromiter(map(len, ids), dtype="<i4", count=len(ids))
            kind = np.dtype(dtypes[side]).newbyteorder("<")
            flat = np.fromiter(chain.from_iterable(ids), dtype=kind, count=int(lengths.sum()))
            rows[f"{side}_ids"] = flat.tobytes()
            rows[f"{side}_lengths"] = (lengths + np.int32(1)).astype("<i4").tobytes()
        return cls(part, len(lines), {}, rows)


class ShardWriter:
    """Makes a folder of shards, and can be stopped at any moment and taken up again.

    Call ``take_up`` or ``start_anew``, then ``append`` for each chunk that is missing, then ``finish``.
    """

    def __init__(
        self,
        folder: Path,
        *,
        made_from: Mapping[str, Any],
        id_dtypes: Mapping[str, str],
        keep_text: bool,
        num_parts: int = 1,
    ) -> None:
        self.folder = Path(folder)
        self.unfinished = _unfinished(self.folder)
        self.made_from = dict(made_from)
        self.dtypes = {"lines": "int64"}
        for side in SIDES:
            self.dtypes |= {f"{side}_ids": id_dtypes[side], f"{side}_lengths": "int32"}
            if keep_text:
                self.dtypes |= {f"{side}_text": "uint8", f"{side}_text_lengths": "int32"}
        self.chunks = 0
        """Chunks that are written."""
        self._parts = dict.fromkeys(range(num_parts), 0)
        self._truncated = dict.fromkeys(SIDES, 0)
        self._sizes = dict.fromkeys(self.dtypes, 0)
        self._digests = {name: hashlib.sha256() for name in self.dtypes}
        self._files: dict[str, BinaryIO] = {}

    @property
    def pairs(self) -> int:
        """Pairs that are written."""
        return sum(self._parts.values())

    def start_anew(self) -> None:
        """Begin with nothing, and clear away what an earlier attempt left.

        Raises:
            OutputError: the place cannot be written.
        """
        with self._told():
            shutil.rmtree(self.unfinished, ignore_errors=True)
            self.unfinished.mkdir(parents=True)
            (self.unfinished / _LOG).write_text(self._heading() + "\n", encoding="utf-8")
        self._open()

    def take_up(self) -> int:
        """Go on after the last whole chunk of an earlier attempt, if there is one; return how many there are.

        Raises:
            OutputError: the place cannot be written.
        """
        try:
            heading, *entries = (
                (self.unfinished / _LOG).read_text(encoding="utf-8").splitlines(keepends=True)
            )
        except (OSError, ValueError):
            heading, entries = "", []
        if heading != self._heading() + "\n":
            self.start_anew()
            return 0
        kept = len(heading.encode())
        with self._told():
            for entry in entries:
                if not entry.endswith("\n") or not self._has(entry):
                    break
                kept += len(entry.encode())
            os.truncate(self.unfinished / _LOG, kept)
            for name, size in self._sizes.items():
                with (self.unfinished / name).open("ab") as file:
                    file.truncate(size)
        self._open()
        return self.chunks

    def append(self, chunk: EncodedChunk) -> None:
        """Write the next chunk.

        Raises:
            OutputError: the disk is full, or the like; what was written before stays, to be taken up again.
        """
        with self._told():
            for name, file in self._files.items():
                if name != _LOG:
                    file.write(chunk.rows[name])
                    file.flush()
            entry = {
                "part": chunk.part,
                "pairs": chunk.pairs,
                "truncated": chunk.truncated,
                "sizes": {name: len(chunk.rows[name]) for name in self.dtypes},
                "sha256": {
                    name: hashlib.sha256(chunk.rows[name]).hexdigest() for name in self.dtypes
                },
            }
            self._files[_LOG].write(json.dumps(entry).encode() + b"\n")
            self._files[_LOG].flush()
        self._count(entry, chunk.rows)

    def finish(self) -> Shards:
        """Put the shards in place and open them.

        What can fail for want of room is done before any file is moved.

        Raises:
            OutputError: the disk is full, or the like; what was written before stays, to be taken up again.
        """
        with self._told():
            for file in self._files.values():
                file.flush()
                os.fsync(file.fileno())
                file.close()  # each may say only now that something did not arrive
        self._files = {}
        files = {
            name: {
                "dtype": dtype,
                "size": self._sizes[name],
                "sha256": self._digests[name].hexdigest(),
            }
            for name, dtype in self.dtypes.items()
            if not name.endswith("text_lengths")
        }
        with self._told(), replace_folder(self.folder) as fresh:
            stored = tuple(files)
            for name in self.dtypes:
                if name.endswith("lengths"):
                    offsets = name.replace("lengths", "offsets")
                    end = 0 if name.endswith("text_lengths") else 1
                    files[offsets] = _add_up(self.unfinished / name, fresh / offsets, end)
            manifest = ShardManifest(
                pairs=self.pairs,
                parts=tuple(self._parts[part] for part in sorted(self._parts)),
                truncated=self._truncated,
                made_from=self.made_from,
                files=files,
            )
            _write(fresh / MANIFEST, [manifest.to_json().encode()])
            for name in stored:
                _link(self.unfinished / name, fresh / name)
        shutil.rmtree(self.unfinished, ignore_errors=True)
        return open_shards(self.folder)

    def close(self) -> None:
        """Close the files; what is written stays, and what did not arrive any more is cut off by ``take_up``."""
        for file in self._files.values():
            with suppress(OSError):
                file.close()
        self._files = {}

    def _heading(self) -> str:
        """Say what is made, and from what; an earlier attempt must say the same to be taken up."""
        heading = {
            "format": f"{FORMAT}-unfinished",
            "version": VERSION,
            "dtypes": self.dtypes,
            "made_from": self.made_from,
        }
        return json.dumps(heading)

    def _open(self) -> None:
        with self._told():
            for name in (*self.dtypes, _LOG):
                self._files[name] = (self.unfinished / name).open("ab")

    def _has(self, line: str) -> bool:
        """Tell whether a chunk of the log is there with every byte, and count it if it is."""
        rows = {}
        try:
            entry = json.loads(line)
            for name in self.dtypes:
                with (self.unfinished / name).open("rb") as file:
                    file.seek(self._sizes[name])
                    rows[name] = file.read(entry["sizes"][name])
                if hashlib.sha256(rows[name]).hexdigest() != entry["sha256"][name]:
                    return False
            self._count(entry, rows)
        except (OSError, ValueError, KeyError, TypeError):
            return False
        return True

    def _count(self, entry: Mapping[str, Any], rows: Mapping[str, bytes]) -> None:
        self.chunks += 1
        self._parts[entry["part"]] = self._parts.get(entry["part"], 0) + entry["pairs"]
        for side, number in entry["truncated"].items():
            self._truncated[side] += number
        for name, row in rows.items():
            self._sizes[name] += len(row)
            self._digests[name].update(row)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(
                f"{self.folder}: cannot be written ({error.strerror or error}); "
                "check that the place exists, is yours to write, and has room"
            ) from error


def clear_unfinished(folder: Path) -> None:
    """Remove what a process left that was killed just after ``folder`` was finished."""
    shutil.rmtree(_unfinished(Path(folder)), ignore_errors=True)


def _unfinished(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.unfinished")


def _link(written: Path, place: Path) -> None:
    """Give a file its second name, so that its first one is still there if anything goes wrong.

    Not every file system has links. On one that has none the file loses its first name, so that whoever is killed
    just then begins anew.
    """
    try:
        os.link(written, place)
    except OSError:
        written.rename(place)


def _write(path: Path, rows: Iterable[bytes]) -> None:
    """Write a file, and let it arrive on the disk."""
    with path.open("wb") as file:
        file.writelines(rows)
        file.flush()
        os.fsync(file.fileno())


def _add_up(lengths: Path, offsets: Path, end: int) -> dict[str, Any]:
    """Write where each sentence starts, from lengths of which each counts ``end`` symbols that are not stored."""
    digest, size = hashlib.sha256(), 0

    def counted(rows: Iterable[bytes]) -> Iterator[bytes]:
        nonlocal size
        for row in rows:
            digest.update(row)
            size += len(row)
            yield row

    with lengths.open("rb") as file:
        first = np.zeros(1, dtype="<i8").tobytes()
        _write(offsets, counted(chain((first,), _sums(file, end))))
    return {"dtype": "int64", "size": size, "sha256": digest.hexdigest()}


def _sums(file: BinaryIO, end: int) -> Iterator[bytes]:
    total = 0
    while block := file.read(_BLOCK):
        sums = np.cumsum(np.frombuffer(block, dtype="<i4").astype(np.int64) - end) + total
        total = int(sums[-1])
        yield sums.astype("<i8").tobytes()
