import hashlib
import json
import mmap
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_shards import write_shards

from interlingua.batching import shards as shards_module
from interlingua.batching.shards import open_shards
from interlingua.errors import CorpusError

_SOURCES = [[5, 6, 7], [], [8]]
_TARGETS = [[9], [10, 11], [70_000]]


def test_every_pair_comes_back_with_its_ids_and_lengths(tmp_path: Path) -> None:
    written = write_shards(tmp_path / "shards", _SOURCES, _TARGETS)
    for shards in (written, open_shards(tmp_path / "shards")):
        assert len(shards) == 3
        assert [shards.source(index).tolist() for index in range(3)] == _SOURCES
        assert [shards.target(index).tolist() for index in range(3)] == _TARGETS
        assert shards.source_lengths.tolist() == [4, 1, 2]
        assert shards.target_lengths.tolist() == [2, 3, 2]


def test_ids_are_mapped_not_loaded_and_cannot_be_changed(tmp_path: Path) -> None:
    shards = write_shards(tmp_path / "shards", _SOURCES, _TARGETS)
    owner: Any = shards.source(0)
    while isinstance(owner, np.ndarray):
        owner = owner.base
    assert isinstance(owner, mmap.mmap)
    assert shards.source(0).dtype == np.uint16
    assert shards.target(0).dtype == np.int32
    with pytest.raises(ValueError, match="read-only"):
        shards.source(0)[0] = 1


@pytest.mark.parametrize("sequences", [[], [[], []]])
def test_nothing_can_be_stored(tmp_path: Path, sequences: list[list[int]]) -> None:
    shards = write_shards(tmp_path / "shards", sequences, sequences)
    assert len(shards) == len(sequences)
    assert [shards.source(index).tolist() for index in range(len(shards))] == sequences


def test_shards_are_replaced_as_a_whole(tmp_path: Path) -> None:
    write_shards(tmp_path / "shards", _SOURCES, _TARGETS)
    (tmp_path / "shards" / "stray").write_text("old")
    assert len(write_shards(tmp_path / "shards", [[1]], [[2]])) == 1
    assert not (tmp_path / "shards" / "stray").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["shards"]


@pytest.mark.parametrize(
    "name", ["source_ids", "source_offsets", "source_lengths", "target_ids", "lines"]
)
def test_a_truncated_changed_or_missing_file_is_refused_by_name(tmp_path: Path, name: str) -> None:
    write_shards(tmp_path / "shards", _SOURCES, _TARGETS)
    path = tmp_path / "shards" / name
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), b""):
        path.write_bytes(damaged)
        with pytest.raises(CorpusError, match=f"{name}: is truncated or has been changed"):
            open_shards(tmp_path / "shards")
    path.unlink()
    with pytest.raises(CorpusError, match=f"{name}: cannot be read"):
        open_shards(tmp_path / "shards")


def test_whoever_is_told_to_stop_does_not_wait_until_large_shards_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_shards(tmp_path / "shards", [[1]] * 3_000, [[2]] * 3_000)
    monkeypatch.setattr(shards_module, "_BLOCK", 1)
    whole = hashlib.sha256

    class Slow:
        def __init__(self) -> None:
            self.digest = whole()

        def update(self, block: bytes) -> None:
            time.sleep(0.01)
            self.digest.update(block)

        def hexdigest(self) -> str:
            return self.digest.hexdigest()

    monkeypatch.setattr(hashlib, "sha256", Slow)
    main = threading.main_thread().ident
    threading.Timer(0.5, signal.pthread_kill, (main, signal.SIGINT)).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        open_shards(tmp_path / "shards")
    assert time.monotonic() - started < 20  # of minutes


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "does not describe shards"),
        ('{"format": "something else"}', "does not describe shards"),
        ('{"format": "interlingua-shards", "version": 99}', "is of version 99"),
        ('{"format": "interlingua-shards", "version": 1}', "is of version 1, and only 2"),
        ('{"format": "interlingua-shards", "version": 2}', "lacks its pairs"),
    ],
)
def test_a_foreign_manifest_is_refused(tmp_path: Path, manifest: str, message: str) -> None:
    write_shards(tmp_path / "shards", _SOURCES, _TARGETS)
    (tmp_path / "shards" / "manifest.json").write_text(manifest)
    with pytest.raises(CorpusError, match=message):
        open_shards(tmp_path / "shards")


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="is no folder of shards"):
        open_shards(tmp_path)


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        ("source_offsets", np.array([0, 1, 2, 3], "<i8"), "does not fit its ids"),
        ("target_lengths", np.array([2, 3], "<i4"), "does not fit the number of pairs"),
        ("lines", np.array([1, 2, 3, 4], "<i8"), "does not fit the number of pairs"),
    ],
)
def test_rows_that_do_not_fit_each_other_are_refused(
    tmp_path: Path, name: str, row: np.ndarray, message: str
) -> None:
    write_shards(tmp_path / "shards", _SOURCES, _TARGETS)
    path = tmp_path / "shards" / "manifest.json"
    manifest = json.loads(path.read_text())
    data = row.tobytes()
    digest = hashlib.sha256(data).hexdigest()
    manifest["files"][name] |= {"size": len(data), "sha256": digest}
    path.write_text(json.dumps(manifest))
    (tmp_path / "shards" / name).write_bytes(data)
    with pytest.raises(CorpusError, match=f"{name}: {message}"):
        open_shards(tmp_path / "shards")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"pairs": 4}, "its parts do not add up to its pairs"),
        ({"pairs": 4, "parts": [4]}, "source_offsets: does not fit its ids"),
        ({"parts": [1, 1]}, "its parts do not add up"),
        ({"parts": 3}, "is damaged"),
        ({"parts": [3.0]}, "a count is no whole number"),
        ({"parts": [4, -1]}, "a count is no whole number"),
        ({"pairs": True, "parts": [1]}, "a count is no whole number"),
        ({"truncated": {"source": "2"}}, "a count is no whole number"),
        ({"truncated": [1]}, "is damaged"),
        ({"made_from": None}, "is damaged"),
        ({"files": ["source_ids"]}, "is damaged"),
        ({"files": {}}, "is truncated or has been changed"),
    ],
)
def test_a_damaged_manifest_is_refused(
    tmp_path: Path, damage: dict[str, object], message: str
) -> None:
    write_shards(tmp_path / "shards", _SOURCES, _TARGETS)
    path = tmp_path / "shards" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | damage))
    with pytest.raises(CorpusError, match=message):
        open_shards(tmp_path / "shards")
