"""The forms of parallel text: equal pairs whatever the form, and errors that name file, line and remedy."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from interlingua.corpus.formats import UNNAMED, PairReader, find_sides, open_pairs
from interlingua.corpus.pairs import SentencePair
from interlingua.errors import CorpusError

LANGUAGES = ("ro", "en")
PAIRS = [("unu\u0085 doi", "one two"), ("", "nothing"), ("trei \u2028", "three\x0c"), ("ș", "s\r.")]


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def sides(reader: PairReader) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in reader]


def refused(folder: Path, name: str, text: str | bytes, words: str, **how: object) -> None:
    reader = open_pairs(written(folder, name, text), **how)  # type: ignore[arg-type]
    with pytest.raises(CorpusError, match=re.escape(words)):
        list(reader)


def test_every_form_gives_the_same_pairs(tmp_path: Path) -> None:
    keys = [{"ro": a, "en": b} for a, b in PAIRS]
    files = [
        written(tmp_path, "a.tsv", "".join(f"{a}\t{b}\n" for a, b in PAIRS)),
        written(tmp_path, "a.tsv.gz", gzip.compress(f"{PAIRS[0][0]}\t{PAIRS[0][1]}\n".encode())),
        written(tmp_path, "a.jsonl", "".join(json.dumps(each) + "\n" for each in keys)),
        written(
            tmp_path, "b.ndjson", "".join(json.dumps({"translation": x}) + "\r\n" for x in keys)
        ),
        written(tmp_path, "c.jsonl", "\n\n".join(json.dumps(list(pair)) for pair in PAIRS)),
        written(
            tmp_path,
            "d.json",
            "".join(json.dumps({"source": a, "target": b, "n": 1}) + "\n" for a, b in PAIRS),
        ),
    ]
    written(tmp_path, "p.ro", "".join(f"{a}\n" for a, _ in PAIRS))
    written(tmp_path, "p.en.gz", gzip.compress("".join(f"{b}\n" for _, b in PAIRS).encode()))
    for path in [*files, tmp_path / "p", tmp_path]:
        wanted = PAIRS[:1] if path.name == "a.tsv.gz" else PAIRS
        assert sides(open_pairs(path, LANGUAGES)) == wanted, path


def test_a_reader_can_be_read_again_and_counts_anew(tmp_path: Path) -> None:
    reader = open_pairs(written(tmp_path, "a.tsv", "a\tb\r\nc\td\r\n"))
    assert sides(reader) == sides(reader) == [("a", "b"), ("c", "d")]
    assert reader.num_pairs == 2
    assert reader.remarks() == [
        f"{tmp_path}/a.tsv: 2 pairs ended in CR LF, as in Windows; the CR was left out"
    ]


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", '["a", "b"]\n\n["c", "d"]\n')
    assert [pair.line for pair in open_pairs(path)] == [1, 3]


def test_a_line_break_inside_a_segment_becomes_one_space_and_is_counted(tmp_path: Path) -> None:
    rows = [("a\nb", "c"), ("a \r\n\n  b", "c\n"), ("a\rb", "c")]
    path = written(tmp_path, "a.jsonl", "".join(json.dumps(list(row)) + "\n" for row in rows))
    reader = open_pairs(path)
    assert list(reader) == [
        SentencePair("a b", "c", 1),
        SentencePair("a b", "c", 2),
        SentencePair("a\rb", "c", 3),
    ]
    assert reader.remarks() == [
        f"{path}: 2 pairs had a line break inside a segment, which became a space"
    ]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("a\tb\n", "tsv"),
        ('{"source": "a", "target": "b"}\n', "jsonl"),
        ('<?xml version="1.0"?><tmx><body><tu><tuv xml:lang="ro"><seg>a</seg></tuv>'
         '<tuv xml:lang="en"><seg>b</seg></tuv></tu></body></tmx>', "tmx"),
    ],
)  # fmt: skip
def test_standard_input_is_known_by_what_comes(
    text: str, form: str, pipe_in: Callable[[bytes], None]
) -> None:
    for data in (text.encode(), gzip.compress(text.encode())):
        pipe_in(data)
        assert sides(open_pairs(Path("-"), LANGUAGES)) == [("a", "b")], form


def test_columns_of_a_table_are_chosen_by_number_or_by_heading(tmp_path: Path) -> None:
    path = written(tmp_path, "a.tsv", "id\ten\tro\n1\tone\tunu\n2\ttwo\tdoi\n")
    assert sides(open_pairs(path, columns=("ro", "en"))) == [("unu", "one"), ("doi", "two")]
    assert sides(open_pairs(path, columns=("3", "2")))[0] == ("ro", "en")
    path = written(tmp_path, "a.jsonl", '{"x": {"a": "unu"}, "y": "one"}\n')
    assert sides(open_pairs(path, columns=("x.a", "y"))) == [("unu", "one")]


@pytest.mark.parametrize(
    ("text", "columns", "words"),
    [
        ("a\tb\nc\n", None, "a.tsv, line 2: has 1 column, not 2; source and target stand on one"),
        ("a\tb\tc\n", None, "line 1: has 3 columns, not 2; say which two hold source and target:"),
        ("a\tb\nc\td\te\n", None, "a.tsv, line 2: has 3 columns, not 2"),
        ("a\tb\tc\nd\te\n", ("1", "3"), "a.tsv, line 2: has 2 columns, not 3"),
        ("a\tb\n", ("1", "3"), "line 1: has 2 columns, and columns 1 and 3 are asked for"),
        ("a\tb\n", ("0", "1"), "they count from 1"),
        ("a\tb\n", ("ro", "b"), "line 1: has no column ro; it has a, b: name two of these"),
        ("", None, "a.tsv: is empty"),
        ("a\tb\n", ("a", "b"), "a.tsv: holds no pairs"),
        (b"a\tb\nc\t\xff\n", None, "a.tsv, line 2, byte 3"),
    ],
)
def test_a_wrong_table_is_refused(
    tmp_path: Path, text: str | bytes, columns: tuple[str, str] | None, words: str
) -> None:
    refused(tmp_path, "a.tsv", text, words, columns=columns)


@pytest.mark.parametrize(("name", "text"), [("a.tsv", "a\tb\tc\n"), ("a.jsonl", '{"a": "x"}\n')])
def test_whoever_must_name_columns_is_told_the_flag_of_every_command(
    tmp_path: Path, name: str, text: str
) -> None:
    for words in (": --corpus.columns ", " (doctor, clean and split: --columns "):
        refused(tmp_path, name, text, words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('["a", "b"]\n{"a"\n', "a.jsonl, line 2: is not JSON (Expecting"),
        ("[" * 100_000 + "\n", "a.jsonl, line 1: is not JSON ("),
        ('{"a": "x", "b": "y"}\n', "line 1: has a, b, and it cannot be told which is the source"),
        ("3\n", "line 1: has a value of another kind, 3, and it cannot be told"),
        ("[]\n", "line 1: has no key, and it cannot be told"),
        ('["a", "b"]\n["a"]\n', "line 2: has no text under 1; correct or remove that line"),
        ('["a", "b"]\n["a", 7]\n', "line 2: has 7, which is no text, under 1"),
        ('["a", "b"]\n["a", null]\n', "line 2: has no text under 1"),
        ('["a", "b"]\n"ab"\n', "line 2: has no text under 0"),
        ('["\\ud800", "b"]\n', "a.jsonl, line 1, 0: '\\ud800' is half a character"),
        ('{\n "a": 1\n}\n', "a.jsonl, line 1: is not JSON"),
        ("\n \n", "a.jsonl: holds no pairs"),
        (b'["a", "\xff"]\n', "a.jsonl, line 1, byte 8"),
    ],
)
def test_wrong_json_lines_are_refused(tmp_path: Path, text: str | bytes, words: str) -> None:
    refused(tmp_path, "a.jsonl", text, words)


def test_a_memory_needs_its_languages_and_a_text_its_form(tmp_path: Path) -> None:
    refused(tmp_path, "a.tmx", "<tmx/>", "say which two: --source-lang en --target-lang de")
    refused(tmp_path, "a.txt", "unu\n", "a.txt, line 1: has neither a tab (TSV) nor a { (JSON")


def test_two_compressed_files_of_unequal_length_are_refused(tmp_path: Path) -> None:
    paths = (
        written(tmp_path, "a.ro.gz", gzip.compress(b"1\n2\n3\n4\n")),
        written(tmp_path, "a.en", b"1\n2\n"),
    )
    for both in (paths, paths[::-1]):
        with pytest.raises(
            CorpusError, match=r"a\.ro\.gz has 4 lines but .*a\.en has 2; line 3 of .*a\.ro\.gz"
        ):
            list(PairReader(both, LANGUAGES, None))


def test_a_moses_corpus_is_found_by_prefix_or_folder(tmp_path: Path) -> None:
    for name in ("train.ro", "train.en.xz", "notes.en", "README"):
        written(tmp_path, name, "x\n")
    files = (tmp_path / "train.ro", tmp_path / "train.en.xz")
    assert find_sides(tmp_path, LANGUAGES) == files
    assert find_sides(tmp_path / "train", LANGUAGES) == files
    for name in ("test.ro", "test.en", "few.src", "few.tgt"):
        written(tmp_path, name, "x\n")
    assert find_sides(tmp_path / "few", UNNAMED) == (tmp_path / "few.src", tmp_path / "few.tgt")
    with pytest.raises(
        CorpusError, match=r"holds several corpora \(test, train\); name one: .*/test"
    ):
        find_sides(tmp_path, LANGUAGES)
    with pytest.raises(CorpusError, match=r"there are no files train\.de and train\.en; check"):
        find_sides(tmp_path / "train", ("de", "en"))
    with pytest.raises(CorpusError, match="no such file"):
        find_sides(tmp_path / "absent", LANGUAGES)
    with pytest.raises(CorpusError, match="no such file"):
        find_sides(tmp_path / "a" / "b", LANGUAGES)
