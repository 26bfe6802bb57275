"""A corpus in any form becomes two plain files, with every byte and every line that it has."""

import gzip
import lzma
import shlex
import subprocess
from pathlib import Path

import pytest

from interlingua.corpus.plain_sides import plain_sides
from interlingua.errors import CorpusError

SOURCE, TARGET = b"unu\ndoi \xe4\ntrei\n", b"one\r\ntwo\n"


def test_plain_files_stay_where_they_are(tmp_path: Path) -> None:
    named = tmp_path / "a.ro", tmp_path / "a.en"
    named[0].write_bytes(SOURCE)
    named[1].write_bytes(TARGET)
    with plain_sides(named) as sides:
        assert (sides.source, sides.target) == named
        assert sides.languages == ("ro", "en")
        assert sides.unpacking is None
        assert sides.flags("test") == ["--test-source", str(named[0]), "--test-target", str(named[1])]  # fmt: skip


def test_packed_sides_keep_wrong_bytes_and_unequal_numbers_of_lines(tmp_path: Path) -> None:
    named = tmp_path / "a.ro.gz", tmp_path / "a b.en.xz"
    named[0].write_bytes(gzip.compress(SOURCE))
    named[1].write_bytes(lzma.compress(TARGET))
    with plain_sides(named) as sides:
        assert sides.source.read_bytes() == SOURCE
        assert sides.target.read_bytes() == TARGET
        assert sides.languages == ("ro", "en")
        assert sides.names == (str(named[0]), str(named[1]))
        places = sides.source, sides.target
        commands, _, again = (sides.unpacking or "").rpartition(" && ")
    assert not any(place.exists() for place in places)
    subprocess.run(commands, shell=True, check=True, cwd=tmp_path)
    assert shlex.split(again)[-3::2] == ["a.ro", "a b.en"]
    assert (tmp_path / "a.ro").read_bytes() == SOURCE
    assert (tmp_path / "a b.en").read_bytes() == TARGET


def test_one_file_with_both_sides(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("x\tunu\tone\nx\t\ttwo\n", encoding="utf-8")
    with plain_sides((path,), ("ro", "en"), ("2", "3")) as sides:
        assert sides.source.read_text(encoding="utf-8") == "unu\n\n"
        assert sides.target.read_text(encoding="utf-8") == "one\ntwo\n"
        assert sides.flags() == [
            *("--pairs", str(path), "--source-lang", "ro", "--target-lang", "en"),
            *("--columns", "2,3"),
        ]
        assert sides.unpacking is not None
        assert sides.unpacking.startswith(f"interlingua split --pairs {path} ")


def test_a_prefix_names_two_files(tmp_path: Path) -> None:
    for language in ("ro", "en"):
        (tmp_path / f"a.{language}").write_text("x\n", encoding="utf-8")
    with plain_sides((tmp_path / "a",), ("ro", "en")) as sides:
        assert (sides.source.name, sides.target.name) == ("a.ro", "a.en")
        assert sides.unpacking is None


def test_a_missing_or_damaged_file_is_named(tmp_path: Path) -> None:
    named = tmp_path / "a.ro", tmp_path / "a.en.gz"
    named[1].write_bytes(gzip.compress(b"one\n" * 1000)[:-12])
    with pytest.raises(CorpusError, match=r"a\.ro: no such file"), plain_sides(named):
        pass
    named[0].write_bytes(SOURCE)
    with pytest.raises(CorpusError, match=r"a\.en\.gz.*cut off"), plain_sides(named):
        pass
