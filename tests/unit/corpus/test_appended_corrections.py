"""Corrections in a file that a server appends to while a command replaces it."""

import errno
import fcntl
import os
import resource
from pathlib import Path
from threading import Thread

import pytest

from interlingua.corpus.corrections import (
    CORRECTIONS,
    Correction,
    FollowedCorrections,
    add_corrections,
    append_correction,
    corrections_file,
    every_correction,
    read_corrections,
    remove_correction,
)
from interlingua.directions import Direction
from interlingua.errors import CorpusError


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
        remove_correction(tmp_path, "passing", Direction("en", "de"))
    suggesting.join()
    expected = {
        "first",
        *(f"suggested {n}" for n in range(300)),
        *(f"added {n}" for n in range(60)),
    }
    assert {each.source for each in read_corrections(tmp_path)} == expected


def test_nobody_waits_for_the_file_while_sources_are_spelled(tmp_path: Path) -> None:
    add_corrections(tmp_path, [of("first"), of("second")])
    spelled = []

    def spell(source: str) -> str:
        with (tmp_path / CORRECTIONS).open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error, if somebody holds it
        spelled.append(source)
        return source

    assert add_corrections(tmp_path, [of("second"), of("third")], spell) == (1, 1)
    assert sorted(spelled) == ["first", "second", "third"]
    assert remove_correction(tmp_path, "second", Direction("en", "de"), spell) == [of("second")]


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


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / CORRECTIONS
    path.write_text(of("one").to_json() + "\n", encoding="utf-8-sig")
    follows = FollowedCorrections(tmp_path)
    assert follows.read() == ([of("one")], True)
    assert append_correction(path, of("two"), most_bytes=10**9)
    assert follows.read() == ([of("two")], False)
    assert every_correction(tmp_path) == ([of("one"), of("two")], [])


def test_a_full_file_takes_no_more(tmp_path: Path) -> None:
    path = tmp_path / CORRECTIONS
    assert append_correction(path, of("one"), most_bytes=10)
    assert not append_correction(path, of("two"), most_bytes=10)
    assert [each.source for each in read_corrections(tmp_path)] == ["one"]


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="directory"):
        append_correction(tmp_path / "gone" / CORRECTIONS, of("one"), most_bytes=10)


def test_a_disk_that_becomes_full_in_the_middle_of_a_line_leaves_none_of_it(tmp_path: Path) -> None:
    path = tmp_path / CORRECTIONS
    assert append_correction(path, of("one"), most_bytes=10**9)
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            append_correction(path, of("two"), most_bytes=10**9)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert append_correction(path, of("three"), most_bytes=10**9)
    assert [each.source for each in read_corrections(tmp_path)] == ["one", "three"]


def test_what_is_acknowledged_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, synced = tmp_path / CORRECTIONS, []
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(path.read_bytes().count(b"\n")))
    assert append_correction(path, of("one"), most_bytes=10**9)
    assert synced == [1, 1]  # the line, and the name of the file
    assert append_correction(path, of("two"), most_bytes=10**9)
    assert synced == [1, 1, 2]


def test_a_line_that_the_disk_does_not_take_is_not_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / CORRECTIONS
    assert append_correction(path, of("one"), most_bytes=10**9)

    def fail(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="Input/output error"):
            append_correction(path, of("two"), most_bytes=10**9)
    assert [each.source for each in read_corrections(tmp_path)] == ["one"]


def test_a_folder_that_cannot_even_be_looked_for_is_told(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"cannot be read|does not exist"):
        corrections_file(tmp_path / ("x" * 300))


def test_of_a_file_that_only_grew_what_was_added_is_read_alone(tmp_path: Path) -> None:
    path = tmp_path / CORRECTIONS
    follows = FollowedCorrections(tmp_path)
    assert follows.read() == ([], True)
    for number, name in enumerate(("one", "two", "three")):
        assert append_correction(path, of(name), most_bytes=10**9)
        assert follows.read() == ([of(name)], number == 0)
    assert follows.read() == ([], False)
    with path.open("a") as file:
        file.write("damaged\n" + of("half").to_json())
    assert follows.read() == ([of("half")], False)
    assert ["line 4: is not" in each for each in follows.damaged] == [True]
    assert append_correction(path, of("five"), most_bytes=10**9)
    every = [of(name) for name in ("one", "two", "three", "half", "five")]
    assert follows.read() == (every, True)  # behind a line that had no end
    assert ["line 4: is not" in each for each in follows.damaged] == [True]


def test_a_file_that_was_changed_and_grew_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / CORRECTIONS
    add_corrections(tmp_path, [of("one"), of("two")])
    follows = FollowedCorrections(tmp_path)
    follows.read()
    changed = path.read_text().replace("one", "eno") + of("three").to_json() + "\n"
    path.write_text(changed)
    assert follows.read() == ([of("eno"), of("two"), of("three")], True)
    remove_correction(tmp_path, "eno", Direction("en", "de"))
    assert follows.read() == ([of("two"), of("three")], True)
    path.unlink()
    assert follows.read() == ([], True)
