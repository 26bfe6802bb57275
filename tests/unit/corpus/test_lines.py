from collections.abc import Callable
from pathlib import Path

import pytest

from interlingua.corpus.lines import (
    count_lines,
    one_cell,
    one_line,
    read_blocks,
    read_lines,
    read_span,
    write_lines,
    write_sides,
)
from interlingua.corpus.pairs import SentencePair
from interlingua.errors import CorpusError, OutputError


def _file(folder: Path, data: bytes) -> Path:
    path = folder / "text.en"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\nb", ["a", "b"]),
        (b"a\n\nb\n\n", ["a", "", "b", ""]),
        (b"a\r\nb\r\n", ["a\r", "b\r"]),
        (b"a\x0b\x0c\x1cb\n", ["a\x0b\x0c\x1cb"]),
        ("a\u0085b\u2028c\u2029d\n".encode(), ["a\u0085b\u2028c\u2029d"]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb\xbf\n", [""]),
        (b"a\xef\xbb\xbf\n", ["a\ufeff"]),
        (b"a\x00b\n", ["a\x00b"]),
    ],
)
def test_a_line_ends_at_a_line_feed_and_nowhere_else(
    tmp_path: Path, data: bytes, lines: list[str]
) -> None:
    path = _file(tmp_path, data)
    assert read_lines(path) == lines
    assert count_lines(path) == len(lines)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that fails")
@pytest.mark.parametrize(
    "read",
    [
        read_lines,
        count_lines,
        lambda path: list(read_blocks(path, 10)),
        lambda path: read_span(path, 0, 10, 0),
    ],
    ids=["lines", "count", "blocks", "span"],
)
def test_a_file_that_fails_while_it_is_read_is_named(read: Callable[[Path], object]) -> None:
    with pytest.raises(
        CorpusError, match=r"/proc/self/mem: cannot be read to its end \(Input/output"
    ):
        read(Path("/proc/self/mem"))


def test_invalid_bytes_are_refused_with_file_line_and_byte(tmp_path: Path) -> None:
    path = _file(tmp_path, b"good\nstill \xc3\xa4 good\nbad \xff here\n")
    with pytest.raises(
        CorpusError, match=r"text\.en, line 3, byte 5 \(byte 24 of the file\): 0xff"
    ):
        read_lines(path)


@pytest.mark.parametrize("data", [b"a\n\xc3", b"a\n\xed\xa0\x80\n", b"a\n\xc0\xaf\n"])
def test_truncated_surrogate_and_overlong_forms_are_invalid(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(CorpusError, match=r"line 2, byte 1 \(byte 3 of the file\)"):
        read_lines(_file(tmp_path, data))


@pytest.mark.parametrize(
    ("data", "remedy"),
    [
        ("hello\n".encode("utf-16"), "UTF-16"),
        (b"\x1f\x8b\x08\x00\xff", "gunzip"),
    ],
)
def test_another_format_is_named_with_the_way_out(tmp_path: Path, data: bytes, remedy: str) -> None:
    with pytest.raises(CorpusError, match=remedy):
        read_lines(_file(tmp_path, data))


@pytest.mark.parametrize("read", [read_lines, count_lines])
def test_a_missing_file_and_a_folder_are_corpus_errors(tmp_path: Path, read) -> None:
    with pytest.raises(CorpusError, match="no such file"):
        read(tmp_path / "absent.en")
    with pytest.raises(CorpusError, match=r"is a folder|cannot be read"):
        read(tmp_path)
    with pytest.raises(CorpusError, match="not a file name"):
        read(Path("a\x00b"))


def test_lines_are_counted_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlingua.corpus.lines._BLOCK", 3)
    for data in (b"\xef\xbb\xbfab\n\ncd", b"ab\ncdef\n", b"abc", b"ab\n"):
        path = _file(tmp_path, data)
        assert count_lines(path) == len(read_lines(path))


def test_a_line_feed_inside_a_line_is_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    path = _file(tmp_path, b"old\n")
    with pytest.raises(OutputError, match="line 2: holds a line feed"):
        write_lines(path, ["a", "b\nc"])
    assert path.read_bytes() == b"old\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["text.en"]


def test_an_unpaired_surrogate_is_refused_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"line 1, character 3: '\\udcff'"):
        write_lines(tmp_path / "out.en", ["ab\udcff"])
    assert not (tmp_path / "out.en").exists()


def test_writing_no_lines_gives_an_empty_file(tmp_path: Path) -> None:
    write_lines(tmp_path / "out.en", [])
    assert (tmp_path / "out.en").read_bytes() == b""


def test_every_line_end_becomes_one_space() -> None:
    text = "one\r\ntwo\rthree\nfour\n\nsix\tseven\u2028"
    assert one_line(text) == "one two three four  six\tseven\u2028"
    assert one_cell(text) == "one two three four  six seven\u2028"


def test_both_sides_are_written_as_they_come(tmp_path: Path) -> None:
    paths = tmp_path / "out.ro", tmp_path / "out.en"
    write_sides(paths, (SentencePair(f"\ufeffs {n}", f"t {n}", n) for n in range(100)))
    assert read_lines(paths[0]) == [f"\ufeffs {n}" for n in range(100)]
    assert read_lines(paths[1]) == [f"t {n}" for n in range(100)]
    with pytest.raises(OutputError, match=r"out\.en, line 1: holds a line feed"):
        write_sides(paths, [SentencePair("a", "b\nc", 1)])
    assert len(read_lines(paths[0])) == 100
