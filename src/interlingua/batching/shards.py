"""The ids of all pairs in files that are mapped into memory, so that a corpus may be larger than it.

A folder holds rows of little-endian numbers, one after the other: for each side the ids of all sentences, where each
sentence starts and how long it is; the line that each pair came from; where subwords are sampled, the text too. Its
``manifest.json`` has the sizes and checksums of these files, and says what they were made from. Nothing is pickled.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from interlingua.batching.batch import Rows
from interlingua.corpus.pairs import SentencePair
from interlingua.errors import CorpusError

__all__ = [
    "FORMAT",
    "MANIFEST",
    "SIDES",
    "VERSION",
    "ShardManifest",
    "Shards",
    "StoredPairs",
    "id_dtype",
    "open_shards",
    "read_manifest",
    "shard_names",
]

FORMAT = "interlingua-shards"
VERSION = 2
SIDES = ("source", "target")
MANIFEST = "manifest.json"
_REMEDY = "delete the folder and prepare the corpus again"
_BLOCK = 1 << 20
"""Bytes that are read at a time."""
_DTYPES = ("uint8", "uint16", "int32", "int64")

Ids = NDArray[np.integer[Any]]
Row = NDArray[np.integer[Any]]
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ShardManifest:
    """What ``manifest.json`` says."""

    pairs: int
    parts: tuple[int, ...]
    """Pairs from each two files of the corpus, in their order."""
    truncated: dict[str, int]
    """Sentences of each side that were cut to the longest length."""
    made_from: Json
    """The text, the tokenizers and the settings that decide what is in the shards."""
    files: dict[str, Json]
    """Size, checksum and kind of number of each file."""

    def to_json(self) -> str:
        """Write it for ``read_manifest``."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "pairs": self.pairs,
            "parts": list(self.parts),
            "truncated": self.truncated,
            "made_from": self.made_from,
            "files": self.files,
        }
        return json.dumps(content, indent=2) + "\n"


class Shards:
    """The ids of all pairs, without begin and end; ``shards.source(i)`` is a read-only view of a file."""

    def __init__(self, rows: Mapping[str, Row], manifest: ShardManifest) -> None:
        self.manifest = manifest
        self.parts = manifest.parts
        """Pairs from each two files of the corpus; pair 0 is the first of the first part."""
        self._rows = rows
        self.source_lengths: Row = rows["source_lengths"]
        """Tokens of each source as they stand in a batch, the end symbol included."""
        self.target_lengths: Row = rows["target_lengths"]
        """Tokens of each target as they stand in a batch, the end symbol included."""

    def __len__(self) -> int:
        return len(self.source_lengths)

    def source(self, index: int) -> Ids:
        """Return the source ids of pair ``index``."""
        return self._cut("source_ids", "source_offsets", index)

    def target(self, index: int) -> Ids:
        """Return the target ids of pair ``index``."""
        return self._cut("target_ids", "target_offsets", index)

    def rows(self, side: str, indices: Row) -> Rows:
        """Return the ids of several pairs, of the ``source`` or the ``target``, one after the other."""
        offsets = self._rows[f"{side}_offsets"]
        starts = offsets[indices].astype(np.int64)
        lengths = offsets[indices + 1].astype(np.int64) - starts
        ends = lengths.cumsum()
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
            starts - ends + lengths, lengths
        )
        return Rows(self._rows[f"{side}_ids"][places], lengths)

    def line(self, index: int) -> int:
        """Return the line of pair ``index``, counted through the files of the corpus from 1."""
        return int(self._rows["lines"][index])

    def with_target_id(self, symbol: int) -> Row:
        """Return, in order, the pairs whose target has the id ``symbol``."""
        places = np.flatnonzero(self._rows["target_ids"] == symbol)
        return np.unique(np.searchsorted(self._rows["target_offsets"], places, side="right") - 1)

    @property
    def keeps_text(self) -> bool:
        """Whether the text of the pairs is kept as well."""
        return "source_text" in self._rows

    def text(self, index: int) -> SentencePair:
        """Return the text of pair ``index``.

        Raises:
            CorpusError: these shards keep no text.
        """
        if not self.keeps_text:
            raise CorpusError(f"these shards keep no text; {_REMEDY}")
        source, target = (
            bytes(self._cut(f"{side}_text", f"{side}_text_offsets", index)).decode("utf-8")
            for side in SIDES
        )
        return SentencePair(source, target, self.line(index))

    def _cut(self, name: str, offsets: str, index: int) -> Row:
        places = self._rows[offsets]
        return self._rows[name][places[index] : places[index + 1]]


class StoredPairs(Sequence[SentencePair]):
    """The pairs of shards that keep their text, each read when it is asked for."""

    def __init__(self, shards: Shards) -> None:
        self._shards = shards

    def __len__(self) -> int:
        return len(self._shards)

    @overload
    def __getitem__(self, index: int) -> SentencePair: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SentencePair]: ...
    def __getitem__(self, index: int | slice) -> SentencePair | Sequence[SentencePair]:
        """Return one pair, or several."""
        places = range(len(self))[index]
        if isinstance(places, range):
            return [self._shards.text(place) for place in places]
        return self._shards.text(places)


def shard_names(*, keep_text: bool) -> tuple[str, ...]:
    """Return the names of the files of a folder of shards, but for the manifest."""
    names = [f"{side}_{row}" for side in SIDES for row in ("ids", "offsets", "lengths")]
    texts = [f"{side}_{row}" for side in SIDES for row in ("text", "text_offsets")]
    return (*names, "lines", *(texts if keep_text else ()))


def id_dtype(vocabulary_size: int) -> str:
    """Return the smallest kind of number that holds the ids of a vocabulary."""
    return "uint16" if vocabulary_size <= 1 << 16 else "int32"


def open_shards(folder: Path, *, made_from: Json | None = None) -> Shards:
    """Open a folder of shards, after checking that every byte is still what it was.

    Args:
        folder: what a ``ShardWriter`` wrote.
        made_from: what they must have been made from; None takes any.

    Raises:
        CorpusError: the folder is missing, not of this kind or version, incomplete, changed, or made from
            something else.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    if made_from is not None and manifest.made_from != made_from:
        raise CorpusError(f"{folder}: was made from another text or tokenizer; {_REMEDY}")
    names = shard_names(keep_text="source_text" in manifest.files)
    # A pool waits for its threads, whatever has happened: an error, or a signal to stop.
    over = Event()
    with ThreadPoolExecutor(min(len(names), os.cpu_count() or 1)) as threads:
        try:
            given = ((folder, name, manifest.files.get(name), over) for name in names)
            for check in [threads.submit(_check, *each) for each in given]:
                check.result()
        finally:
            over.set()
    rows = {name: _load(folder / name, manifest.files[name]["dtype"]) for name in names}
    for name in names:
        if name.endswith("_lengths") or name == "lines":
            if len(rows[name]) != manifest.pairs:
                raise CorpusError(f"{folder / name}: does not fit the number of pairs; {_REMEDY}")
        elif name.endswith(("_ids", "_text")):
            offsets = name.removesuffix("_ids") + "_offsets"
            if len(rows[offsets]) != manifest.pairs + 1 or int(rows[offsets][-1]) != len(
                rows[name]
            ):
                raise CorpusError(f"{folder / offsets}: does not fit its ids; {_REMEDY}")
    return Shards(rows, manifest)


def read_manifest(folder: Path) -> ShardManifest:
    """Read what a folder of shards says of itself, without opening them.

    Raises:
        CorpusError: it is missing, damaged, or of another kind or version.
    """
    path = Path(folder) / MANIFEST
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CorpusError(
            f"{path}: is missing, so this is no folder of shards; {_REMEDY}"
        ) from error
    except (OSError, ValueError) as error:
        raise CorpusError(f"{path}: cannot be read ({error}); {_REMEDY}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CorpusError(f"{path}: does not describe shards; {_REMEDY}")
    if content.get("version") != VERSION:
        raise CorpusError(
            f"{path}: is of version {content.get('version')!r}, and only {VERSION} can be read; {_REMEDY}"
        )
    try:
        pairs, parts = content["pairs"], tuple(content["parts"])
        truncated, made_from = dict(content["truncated"]), dict(content["made_from"])
        files = dict(content["files"])
        if any(type(n) is not int or n < 0 for n in (pairs, *parts, *truncated.values())):
            raise TypeError("a count is no whole number")
        if sum(parts) != pairs:
            raise ValueError("its parts do not add up to its pairs")
    except KeyError as error:
        raise CorpusError(f"{path}: lacks its {error.args[0]}; {_REMEDY}") from error
    except (TypeError, ValueError) as error:
        raise CorpusError(f"{path}: is damaged ({error}); {_REMEDY}") from error
    return ShardManifest(pairs, parts, truncated, made_from, files)


def _check(folder: Path, name: str, expected: Any, over: Event) -> None:
    """Compare a file with what the manifest says of it, unless that is ``over``: then nobody asks for the answer."""
    digest = hashlib.sha256()
    try:
        with (folder / name).open("rb") as file:
            while not over.is_set() and (block := file.read(_BLOCK)):
                digest.update(block)
            found = {"size": file.tell(), "sha256": digest.hexdigest()}
    except OSError as error:
        raise CorpusError(
            f"{folder / name}: cannot be read ({error.strerror}); {_REMEDY}"
        ) from error
    if not isinstance(expected, dict) or expected != found | {"dtype": expected.get("dtype")}:
        raise CorpusError(
            f"{folder / name}: is truncated or has been changed since it was written; {_REMEDY}"
        )


def _load(path: Path, dtype: object) -> Row:
    if dtype not in _DTYPES:
        raise CorpusError(f"{path}: holds numbers of an unknown kind ({dtype!r}); {_REMEDY}")
    kind = np.dtype(str(dtype)).newbyteorder("<")
    if path.stat().st_size == 0:
        return np.zeros(0, dtype=kind)  # nothing cannot be mapped
    if path.stat().st_size % kind.itemsize:
        raise CorpusError(f"{path}: does not hold a row of integers; {_REMEDY}")
    # A plain view of it: to cut a memmap itself takes three times as long.
    return np.asarray(np.memmap(path, dtype=kind, mode="r"))
