"""Shards that are written chunk by chunk, and taken up again after an interruption at any byte."""

import io
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

from interlingua.batching import shard_writer
from interlingua.batching.shard_writer import EncodedChunk, ShardWriter
from interlingua.batching.shards import StoredPairs, open_shards
from interlingua.errors import CorpusError, OutputError

DTYPES = {"source": "uint16", "target": "int32"}
MADE_FROM = {"corpus": ["a", "b"], "max_length": 9}
CHUNKS = [
    ([[5, 6], [7]], [[8], [70_000, 9]]),
    ([[]], [[1]]),
    ([[3, 3, 3], [4]], [[], [2]]),
]


def writer_of(folder: Path, **changed: object) -> ShardWriter:
    return ShardWriter(
        folder / "shards", made_from=MADE_FROM | changed, id_dtypes=DTYPES, keep_text=False
    )


def chunk_of(number: int) -> EncodedChunk:
    sources, targets = CHUNKS[number]
    lines = np.arange(10 * number, 10 * number + len(sources))
    chunk = EncodedChunk.of_ids(number // 2, sources, targets, lines, DTYPES)
    chunk.truncated.update(source=1, target=0)
    return chunk


def write(folder: Path, numbers: Sequence[int]) -> ShardWriter:
    writer = writer_of(folder)
    writer.take_up()
    for number in numbers:
        writer.append(chunk_of(number))
    return writer


def check(folder: Path) -> None:
    shards = open_shards(folder / "shards", made_from=MADE_FROM)
    sources = [ids for chunk in CHUNKS for ids in chunk[0]]
    targets = [ids for chunk in CHUNKS for ids in chunk[1]]
    assert [shards.source(index).tolist() for index in range(len(shards))] == sources
    assert [shards.target(index).tolist() for index in range(len(shards))] == targets
    assert shards.source_lengths.tolist() == [len(ids) + 1 for ids in sources]
    assert [shards.line(index) for index in range(len(shards))] == [0, 1, 10, 20, 21]
    assert shards.parts == (3, 2)
    assert shards.manifest.truncated == {"source": 3, "target": 0}
    assert [path.name for path in folder.iterdir()] == ["shards"]


def test_chunks_become_one_folder(tmp_path: Path) -> None:
    write(tmp_path, [0, 1, 2]).finish()
    check(tmp_path)


@pytest.mark.parametrize("done", [0, 1, 2, 3])
def test_an_interrupted_writer_goes_on_after_the_last_whole_chunk(
    tmp_path: Path, done: int
) -> None:
    write(tmp_path, range(done)).close()
    again = writer_of(tmp_path)
    assert again.take_up() == done
    for number in range(done, 3):
        again.append(chunk_of(number))
    again.finish()
    check(tmp_path)


@pytest.mark.parametrize("name", ["log.jsonl", "source_ids", "target_lengths", "lines"])
def test_whatever_a_killed_process_left_at_the_end_is_made_good(tmp_path: Path, name: str) -> None:
    write(tmp_path, [0, 1]).close()
    path = tmp_path / "shards.unfinished" / name
    whole = path.read_bytes()
    for left in (whole[:-1], whole + b"\0\1\2", b"", whole[:-1] + bytes([whole[-1] ^ 1])):
        path.write_bytes(left)
        again = writer_of(tmp_path)
        done = again.take_up()
        assert done <= 2
        for number in range(done, 2):
            again.append(chunk_of(number))
        again.close()
        assert path.read_bytes() == whole
    again = writer_of(tmp_path)
    assert again.take_up() == 2
    again.append(chunk_of(2))
    again.finish()
    check(tmp_path)


def test_what_was_made_from_something_else_is_not_taken_up(tmp_path: Path) -> None:
    write(tmp_path, [0, 1]).close()
    other = writer_of(tmp_path, max_length=10)
    assert other.take_up() == 0
    other.append(chunk_of(0))
    other.finish()
    assert len(open_shards(tmp_path / "shards")) == 2
    with pytest.raises(CorpusError, match="was made from another text or tokenizer"):
        open_shards(tmp_path / "shards", made_from=MADE_FROM)


class Full(io.RawIOBase):
    """A file on a disk without room."""

    def writable(self) -> bool:
        return True

    def write(self, _: object) -> int:
        raise OSError(28, "No space left on device")


def test_what_fails_to_arrive_at_the_very_end_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = write(tmp_path, [0, 1, 2])
    late = io.BufferedWriter(Full())
    late.write(b"0")
    writer._files["target_ids"].close()
    monkeypatch.setitem(writer._files, "target_ids", late)
    with pytest.raises(OutputError, match="No space left on device"):
        writer.finish()
    writer.close()
    again = writer_of(tmp_path)
    assert again.take_up() == 3
    again.finish()
    check(tmp_path)


def test_a_disk_that_fills_up_is_told_and_what_is_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = write(tmp_path, [0])

    writer._files["target_ids"].close()
    monkeypatch.setitem(writer._files, "target_ids", io.BufferedWriter(Full()))
    files = list(writer._files.values())
    with pytest.raises(OutputError, match=r"shards: cannot be written \(No space left on device"):
        writer.append(chunk_of(1))
    writer.close()  # where what the buffer holds fails to arrive once more
    assert all(file.closed for file in files)
    again = writer_of(tmp_path)
    assert again.take_up() == 1
    for number in (1, 2):
        again.append(chunk_of(number))
    again.finish()
    check(tmp_path)


@pytest.mark.parametrize("step", ["offsets", "manifest"])
def test_without_links_a_disk_that_fills_up_at_the_end_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    writer = write(tmp_path, [0, 1, 2])
    put = shard_writer._write

    def fill_up(path: Path, rows: Iterable[bytes]) -> None:
        if step in path.name:
            raise OSError(28, "No space left on device")
        put(path, rows)

    with monkeypatch.context() as patch:
        patch.setattr(shard_writer, "_write", fill_up)
        with pytest.raises(OutputError, match="No space left on device"):
            writer.finish()
    again = writer_of(tmp_path)
    assert again.take_up() == 3
    again.finish()
    check(tmp_path)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    writer = ShardWriter(
        tmp_path / "file" / "shards", made_from={}, id_dtypes=DTYPES, keep_text=False
    )
    with pytest.raises(OutputError, match="cannot be written"):
        writer.take_up()


def test_kept_text_comes_back_with_its_line(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path / "shards", made_from=MADE_FROM, id_dtypes=DTYPES, keep_text=True)
    writer.take_up()
    for number, (source, target) in enumerate([("ă", "a"), ("", "日本")]):
        chunk = EncodedChunk.of_ids(0, [[1]], [[2]], np.array([number + 5]), DTYPES)
        for side, text in (("source", source), ("target", target)):
            chunk.rows[f"{side}_text"] = text.encode()
            chunk.rows[f"{side}_text_lengths"] = np.array([len(text.encode())], "<i4").tobytes()
        writer.append(chunk)
    pairs = StoredPairs(writer.finish())
    assert [(pair.source, pair.target, pair.line) for pair in pairs] == [
        ("ă", "a", 5),
        ("", "日本", 6),
    ]
    assert pairs[-1] == pairs[1:][0]
    with pytest.raises(IndexError):
        pairs[2]
    files = json.loads((tmp_path / "shards/manifest.json").read_text())["files"]
    assert set(files) == {path.name for path in (tmp_path / "shards").iterdir()} - {"manifest.json"}


def test_shards_without_text_say_so(tmp_path: Path) -> None:
    shards = write(tmp_path, [0, 1, 2]).finish()
    assert not shards.keeps_text
    with pytest.raises(CorpusError, match="keep no text"):
        shards.text(0)
