"""Corrections in a file that a server appends to while a command replaces it."""

from pathlib import Path
from threading import Thread

import pytest

from interlingua.corpus.corrections import (
    CORRECTIONS,
    Correction,
    add_corrections,
    append_correction,
    every_correction,
    read_corrections,
    remove_correction,
)


def of(source: str) -> Correction:
    return Correction(source, f"{source} better", "en", "de")


def test_what_is_appended_while_others_add_and_remove_is_not_lost(tmp_path: Path) -> None:
    add_corrections(tmp_path, [of("first")])

    def suggest() -> None:
        for number in range(300):
            assert append_correction(
                tmp_path / CORRECTIONS, of(f"suggested {number}"), most_bytes=10**9
            )

    suggesting = Thread(target=suggest)
    suggesting.start()
    for number in range(60):
        add_corrections(tmp_path, [of(f"added {number}"), of("passing")])
        remove_correction(tmp_path, "passing", ("en", "de"))
    suggesting.join()
    expected = {
        "first",
        *(f"suggested {n}" for n in range(300)),
        *(f"added {n}" for n in range(60)),
    }
    assert {each.source for each in read_corrections(tmp_path)} == expected


def test_a_line_without_its_end_spoils_nothing_that_follows(tmp_path: Path) -> None:
    path = tmp_path / CORRECTIONS
    path.write_text(of("one").to_json())
    assert append_correction(path, of("two"), most_bytes=10**9)
    assert [each.source for each in read_corrections(tmp_path)] == ["one", "two"]
    with path.open("a") as file:
        file.write('{"q": "half a')
    assert append_correction(path, of("three"), most_bytes=10**9)
    every, damaged = every_correction(tmp_path)
    assert [each.source for each in every] == ["one", "two", "three"]
    assert ["line 3: is not a correction" in each for each in damaged] == [True]


def test_a_full_file_takes_no_more(tmp_path: Path) -> None:
    path = tmp_path / CORRECTIONS
    assert append_correction(path, of("one"), most_bytes=10)
    assert not append_correction(path, of("two"), most_bytes=10)
    assert [each.source for each in read_corrections(tmp_path)] == ["one"]


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="directory"):
        append_correction(tmp_path / "gone" / CORRECTIONS, of("one"), most_bytes=10)
