"""Compressed files: what they hold comes out, and a damaged one says what is wrong with it."""

import bz2
import gzip
import lzma
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from interlingua.corpus import packed
from interlingua.corpus.packed import PackedFile, is_packed, without_packing
from interlingua.errors import CorpusError

zstd = pytest.importorskip("backports.zstd" if sys.version_info < (3, 14) else "compression.zstd")

TEXT = (
    "unu\r\ndoi\u0085 \u2028\n\n" + "".join(f"linia {i * 7919}\n" for i in range(20_000)) + "gata"
)
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd.compress,
}


def read(path: Path) -> list[str]:
    with PackedFile(path) as file:
        return list(file.lines())


@pytest.mark.parametrize("kind", PACK)
def test_lines_are_those_of_the_unpacked_file_whatever_its_name(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "text"
    path.write_bytes(PACK[kind](TEXT.encode()))
    assert is_packed(path)
    assert read(path) == TEXT.split("\n")


def test_a_plain_file_with_the_name_of_a_compressed_one_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    path.write_text("unu\n")
    assert not is_packed(path)
    assert read(path) == ["unu"]


@pytest.mark.parametrize("kind", PACK)
def test_files_put_one_behind_the_other_are_read_to_the_end(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "text"
    path.write_bytes(PACK[kind](b"unu\nd") + PACK[kind](b"oi\n"))
    assert read(path) == ["unu", "doi"]


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("kept", [0.999, 0.5, 0.1])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, kind: str, kept: float) -> None:
    path = tmp_path / "text"
    whole = PACK[kind](TEXT.encode())
    path.write_bytes(whole[: int(kept * len(whole))])
    with pytest.raises(CorpusError, match=f"text.*ends in the middle of its {kind} data.*again"):
        read(path)


@pytest.mark.parametrize("kind", PACK)
def test_a_damaged_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "text"
    whole = bytearray(PACK[kind](TEXT.encode()))
    whole[len(whole) // 2 : len(whole) // 2 + 64] = bytes(64)
    path.write_bytes(whole)
    with pytest.raises(CorpusError, match=f"text.*(is damaged|ends in the middle).*{kind}"):
        read(path)


@pytest.mark.parametrize("kind", PACK)
def test_wrong_bytes_are_named_by_line_and_byte(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "text"
    path.write_bytes(PACK[kind](b"unu\ndo\xe3i\n"))
    with pytest.raises(CorpusError, match=r"text, line 2, byte 3 \(byte 7 of the file\): 0xe3"):
        read(path)


def test_a_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(gzip.compress("\ufeffunu\n\ufeffdoi\n".encode()))
    assert read(path) == ["unu", "\ufeffdoi"]
    path.write_bytes(gzip.compress("\ufeff".encode()))
    assert read(path) == []


def test_a_line_that_never_ends_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(packed.LONGEST // 2**20 + 1):
            file.write(bytes(2**20))
    assert path.stat().st_size < 100_000
    with pytest.raises(CorpusError, match=r"line 1: is longer than 16 MiB; give a text with one"):
        read(path)


def test_a_zip_archive_and_missing_files_are_told(tmp_path: Path) -> None:
    path = tmp_path / "text.zip"
    path.write_bytes(b"PK\x03\x04rest")
    with pytest.raises(CorpusError, match="is a zip archive; unpack it first"):
        read(path)
    with pytest.raises(CorpusError, match="no such file"):
        read(tmp_path / "none")
    with pytest.raises(CorpusError, match="is a folder"):
        read(tmp_path)


def test_zstandard_without_its_library_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "text.zst"
    path.write_bytes(zstd.compress(b"unu\n"))
    for module in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(CorpusError, match=r"unpack it .*pip install '\.\[zstd\]'"):
        read(path)


def test_a_pipe_is_read_once_and_standard_input_as_well(
    tmp_path: Path, pipe_in: Callable[[bytes], None]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert is_packed(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(gzip.compress(TEXT.encode()),))
    writer.start()
    assert read(pipe) == TEXT.split("\n")
    writer.join()
    pipe_in(gzip.compress(b"unu\ndoi\n"))
    assert read(Path("-")) == ["unu", "doi"]
    assert not sys.stdin.buffer.closed


def test_size_and_checksum_are_those_of_the_file_itself(tmp_path: Path) -> None:
    from interlingua.corpus.fingerprint import fingerprint

    path = tmp_path / "text"
    path.write_bytes(gzip.compress(TEXT.encode()))
    with PackedFile(path) as file:
        next(file.lines())
        size, sha256 = file.finish()
    told = fingerprint([path])[path.as_posix()]
    assert (size, sha256) == (told["size"], told["sha256"])


def test_the_suffix_of_compression_is_no_part_of_the_name() -> None:
    assert without_packing("train.ro.gz") == "train.ro"
    assert without_packing("train.ro") == "train.ro"
