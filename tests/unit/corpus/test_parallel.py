from pathlib import Path

import pytest

from interlingua.corpus.pairs import SentencePair
from interlingua.corpus.parallel import language_of, read_parallel
from interlingua.corpus.scan import scan_parallel
from interlingua.errors import CorpusError


def _write(folder: Path, **texts: str | bytes) -> list[Path]:
    paths = []
    for name, text in texts.items():
        path = folder / name.replace("_", ".")
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        paths.append(path)
    return paths


def test_lines_become_pairs_with_their_numbers(tmp_path: Path) -> None:
    source, target = _write(tmp_path, a_ro="unu\ndoi\n", a_en="one\ntwo")
    assert read_parallel([source], [target]) == [
        SentencePair("unu", "one", 1),
        SentencePair("doi", "two", 2),
    ]


def test_line_numbers_go_on_through_several_files(tmp_path: Path) -> None:
    first, second, third, fourth = _write(
        tmp_path, a_ro="1\n2\n", b_ro="3\n", a_en="i\nj\n", b_en="k\n"
    )
    assert [pair.line for pair in read_parallel([first, second], [third, fourth])] == [1, 2, 3]


def test_pairs_with_a_blank_side_are_left_out_and_listed(tmp_path: Path) -> None:
    source, target = _write(tmp_path, a_ro="unu\n \ntrei\n\n", a_en="one\ntwo\n\u00a0\t\n\n")
    text = scan_parallel([source], [target])
    assert list(text.pairs()) == [SentencePair("unu", "one", 1)]
    assert text.parts[0].blank.tolist() == [1, 2, 3]
    report = text.report()
    assert report is not None
    assert report.startswith("3 pairs were left out because a side is blank: line 2, 3, 4 (")


def test_only_the_first_blank_lines_of_the_first_file_are_named(tmp_path: Path) -> None:
    first, second, other = _write(tmp_path, a_ro="\n" * 7 + "x", a_en="y\n" * 8, b_ro=" \nx\n")
    report = scan_parallel([first, other], [second, other]).report()
    assert report == (
        "8 pairs were left out because a side is blank: "
        f"line 1, 2, 3, 4, 5 ({first} | {second}) and 3 more"
    )


def test_nothing_is_reported_when_nothing_was_left_out(tmp_path: Path) -> None:
    source, target = _write(tmp_path, a_ro="unu\n", a_en="one\n")
    assert scan_parallel([source], [target]).report() is None


def test_carriage_returns_stay_in_the_text_and_are_reported(tmp_path: Path) -> None:
    source, target = _write(tmp_path, a_ro="unu\r\ndoi\r\n", a_en="one\r\ntwo\n")
    text = scan_parallel([source], [target])
    assert [pair.source for pair in text.pairs()] == ["unu\r", "doi\r"]
    report = text.report()
    assert report is not None
    assert report.startswith(f"{source}: every line ends in CR")
    assert f"{target}: 1 of 2 lines end in CR" in report


@pytest.mark.parametrize(("text", "count"), [("1\r\n2\r\n3", 2), ("1\r\n2\r\n3\n4\r\n", 3)])
def test_carriage_returns_are_counted(tmp_path: Path, text: str, count: int) -> None:
    lines = text.replace("\r", "")
    source, target = _write(tmp_path, a_ro=text, a_en=lines)
    report = scan_parallel([source], [target]).report()
    assert report is not None
    assert f"{source}: {count} of {len(lines.split())} lines end in CR" in report
    assert scan_parallel([target], [target]).report() is None


def test_unequal_files_are_refused_with_both_counts_and_the_first_lonely_line(
    tmp_path: Path,
) -> None:
    source, target = _write(tmp_path, a_ro="1\n2\n3\n", a_en="1\n2\n")
    with pytest.raises(
        CorpusError, match=r"a\.ro has 3 lines but .*a\.en has 2; line 3 of .*a\.ro has no"
    ):
        read_parallel([source], [target])


def test_a_file_that_is_no_text_is_named_even_when_the_counts_differ(tmp_path: Path) -> None:
    source, target = _write(tmp_path, a_ro=b"\x1f\x8b\x08\xff\n2\n3\n", a_en="1\n2\n")
    with pytest.raises(CorpusError, match=r"a\.ro, line 1, byte 1: is compressed by gzip"):
        read_parallel([source], [target])


def test_files_made_with_other_line_ends_are_recognised(tmp_path: Path) -> None:
    source, target = _write(tmp_path, a_ro="1\u20282\n3\n", a_en="1\n2\n3\n")
    with pytest.raises(CorpusError, match=r"a\.ro would have as many lines if CR"):
        read_parallel([source], [target])
    source, target = _write(tmp_path, a_ro="1\n2\n\n\n", a_en="1\n2\n")
    with pytest.raises(CorpusError, match=r"a\.ro ends in blank lines"):
        read_parallel([source], [target])


def test_an_empty_file_an_all_blank_corpus_and_uneven_lists_are_refused(tmp_path: Path) -> None:
    empty, text, blank = _write(tmp_path, a_ro="", a_en="one\n", b_ro=" \n")
    with pytest.raises(CorpusError, match=r"a\.ro: is empty"):
        read_parallel([empty], [text])
    with pytest.raises(CorpusError, match="all 1 pairs have a blank side"):
        read_parallel([blank], [text])
    with pytest.raises(CorpusError, match="1 source files but 2 target files"):
        read_parallel([text], [text, text])
    with pytest.raises(CorpusError, match="no source file"):
        read_parallel([], [text])
    with pytest.raises(CorpusError, match="no target file"):
        read_parallel([text], [])


@pytest.mark.parametrize(
    ("name", "language"),
    [("train.ro", "ro"), ("a/b.c/news.2014.de", "de"), ("train", None), ("train.", None)],
)
def test_the_language_is_the_last_suffix(name: str, language: str | None) -> None:
    assert language_of(Path(name)) == language
