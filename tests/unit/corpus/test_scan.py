"""Files that are read in chunks hold the same pairs as files that are read as a whole."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from interlingua.corpus import scan
from interlingua.corpus.fingerprint import fingerprint
from interlingua.corpus.lines import read_lines
from interlingua.corpus.scan import ParallelFiles, scan_parallel
from interlingua.errors import CorpusError


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "LINES_A_CHUNK", 3)


def files_of(folder: Path, *texts: tuple[str, str]) -> ParallelFiles:
    sides: tuple[list[Path], list[Path]] = ([], [])
    for number, text in enumerate(texts):
        for side, suffix, content in zip(sides, ("ro", "en"), text, strict=True):
            path = folder / f"{number}.{suffix}"
            path.write_bytes(content.encode())
            side.append(path)
    return scan_parallel(*sides)


@pytest.fixture
def files(tmp_path: Path) -> ParallelFiles:
    first = "\ufeffa\nă\u2028b\n\nd\ne\r\nf\ng", "1\n2\n3\n4\n5\n6\n7\n"
    second = "h\n \nj\nk\n", "8\n9\n\n11"
    return files_of(tmp_path, first, second)


def test_chunks_give_every_usable_pair_once_in_order_with_its_line(files: ParallelFiles) -> None:
    pairs = list(files.pairs())
    assert [pair.source for pair in pairs] == ["a", "ă\u2028b", "d", "e\r", "f", "g", "h", "k"]
    assert [pair.target for pair in pairs] == ["1", "2", "4", "5", "6", "7", "8", "11"]
    assert [pair.line for pair in pairs] == [1, 2, 4, 5, 6, 7, 8, 11]
    assert files.pairs_a_part == (6, 2)
    assert len(files) == 8
    chunks = list(files.chunks())
    assert [chunk.num_pairs for chunk in chunks] == [2, 3, 1, 1, 1]
    assert [chunk.part for chunk in chunks] == [0, 0, 0, 1, 1]


def test_one_reading_tells_what_identifies_the_files(files: ParallelFiles) -> None:
    paths = [path for part in files.parts for path in (part.source_path, part.target_path)]
    assert files.prints == fingerprint(paths)
    for path in paths:
        found = files.prints[path.as_posix()]
        assert found["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert found["lines"] == len(read_lines(path))


@pytest.mark.parametrize("number", [0, 1, 3, 7, 8, 100])
def test_a_sample_is_spread_evenly_and_always_the_same(files: ParallelFiles, number: int) -> None:
    sample = list(files.pairs(number))
    every = list(files.pairs())
    assert len(sample) == min(number, len(every))
    places = [every.index(pair) for pair in sample]
    assert places == sorted(set(places))
    gaps = np.diff([-1, *places, len(every)])
    assert gaps.max() <= len(every) / max(number, 1) + 1
    assert list(files.pairs(number)) == sample


def test_kept_pairs_and_the_others_are_all_pairs(files: ParallelFiles) -> None:
    kept = np.array([True, False, False, True, True, False, False, True])
    first, second = files.keep(kept), files.keep(~kept)
    assert [pair.line for pair in first.pairs()] == [1, 5, 6, 11]
    assert [pair.line for pair in second.pairs()] == [2, 4, 7, 8]
    assert [pair.line for pair in first.keep(np.array([False, True, True, True])).pairs()] == [
        *(5, 6, 11),
    ]


def test_a_chunk_of_a_file_that_has_changed_is_refused(files: ParallelFiles) -> None:
    path = files.parts[0].target_path
    path.write_text("1\n2 3\n4\n5\n6\n7\n8\n")
    with pytest.raises(CorpusError, match=r"0\.en: has been changed since it was read"):
        list(files.pairs())
    path.write_bytes(b"\xff\n" * 7)
    with pytest.raises(CorpusError, match=r"0\.en: has been changed since it was read"):
        list(files.pairs())


def test_a_chunk_whose_lines_say_something_else_is_refused(files: ParallelFiles) -> None:
    path = files.parts[0].source_path
    whole = path.read_bytes()
    assert whole.startswith(b"\xef\xbb\xbf")
    path.write_bytes(whole.replace(b"f\n", b"F\n"))
    with pytest.raises(CorpusError, match=r"0\.ro: has been changed since it was read"):
        list(files.pairs())
    path.write_bytes(whole)
    assert len(list(files.pairs())) == 8


def test_a_file_that_is_written_to_meanwhile_is_noticed(files: ParallelFiles) -> None:
    files.check_unchanged()
    path = files.parts[1].source_path
    before = path.stat()
    path.write_text(path.read_text().replace("h", "x"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    with pytest.raises(CorpusError, match=r"1\.ro: has been changed while it was read"):
        files.check_unchanged()


def test_wrong_bytes_in_a_later_chunk_are_named_by_their_place_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.ro").write_bytes(b"a\nb\nc\nd\nx\xc3(y\nf\n")
    (tmp_path / "a.en").write_text("a\nb\nc\nd\ne\nf\n")
    with pytest.raises(CorpusError, match=r"a\.ro, line 5, byte 2 \(byte 10 of the file\): 0xc3"):
        scan_parallel([tmp_path / "a.ro"], [tmp_path / "a.en"])


@pytest.mark.parametrize(
    ("shorter", "wanted"),
    [("a\u2028b\nc\nd\n", 4), ("a\nb\x0bc\nd", 4), ("a\nb\nc\nd\x0c\n", 4), ("a\r\nb\n\nd\n", 4)],
)
def test_lines_are_counted_as_other_tools_do(tmp_path: Path, shorter: str, wanted: int) -> None:
    path = tmp_path / "text"
    path.write_bytes(shorter.encode())
    text = "\n".join(read_lines(path))
    count, ends_blank = scan._count_as_others_do(path)
    assert count == len(text.splitlines())
    assert ends_blank == text.endswith("\n")
