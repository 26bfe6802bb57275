"""Any lines of a file are read without those before them."""

from pathlib import Path

import pytest

from interlingua.corpus.line_index import LineIndex


@pytest.mark.parametrize("end", ["", "\n"])
def test_lines_are_those_of_the_file(tmp_path: Path, end: str) -> None:
    path = tmp_path / "text.xx"
    path.write_text("one\n\nthrée\x85\nfour" + end, encoding="utf-8")
    index = LineIndex(path)
    assert len(index) == 4
    assert index.lengths.tolist() == [3, 0, 8, 4]
    assert index.read(0, 4) == ["one", "", "thrée\x85", "four"]
    assert index.read(2, 3) == ["thrée\x85"]
    assert index.pick([0, 3]) == ["one", "four"]


def test_places_outside_the_file_have_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "text.xx"
    path.write_text("one\ntwo\n", encoding="utf-8")
    index = LineIndex(path)
    assert index.read(-5, 1) == ["one"]
    assert index.read(1, 9) == ["two"]
    assert index.read(3, 9) == []


def test_a_byte_order_mark_is_no_text_and_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "text.xx"
    path.write_bytes(b"\xef\xbb\xbfone\n")
    assert LineIndex(path).read(0, 1) == ["one"]
    path.write_bytes(b"")
    assert len(LineIndex(path)) == 0
