"""Files and folders appear whole or not at all, and what killed processes left behind is dealt with."""

import errno
import fcntl
import os
import subprocess
import sys
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import pytest

from interlingua import files
from interlingua.errors import OutputError, TrainingError
from interlingua.files import (
    clear_left_overs,
    hold_folder,
    refuse_to_write_over,
    remove_folder,
    replace_file,
    replace_folder,
    write_text,
)

KILLED_BETWEEN_THE_RENAMES = """
import os, pathlib, signal, sys
from interlingua import files
from interlingua.files import replace_folder
files._renameat2 = lambda: None  # a system that cannot swap two names
rename = pathlib.Path.rename
def rename_once(self, target):
    rename(self, target)
    pathlib.Path.rename = rename
    if signal.{signal} == signal.SIGINT:  # a shell that runs in the background passes it on as ignored
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.kill(os.getpid(), signal.{signal})
    signal.pause()
with replace_folder(pathlib.Path(sys.argv[1])) as new:
    (new / "weights").write_text("new")
    pathlib.Path.rename = rename_once
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder called ``model`` with one file in it."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights").write_text("old")
    return tmp_path / "model"


@pytest.fixture(scope="module")
def dead() -> int:
    """The number of a process that is gone."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def end_between_the_renames(folder: Path, signal: str) -> None:
    script = KILLED_BETWEEN_THE_RENAMES.format(signal=signal)
    subprocess.run(
        [sys.executable, "-c", script, str(folder)], check=False, capture_output=True, timeout=60
    )


def replace(folder: Path, text: str) -> None:
    with replace_folder(folder) as new:
        (new / "weights").write_text(text)


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX")
def test_ctrl_c_between_the_two_renames_leaves_the_old_folder(folder: Path) -> None:
    end_between_the_renames(folder, "SIGINT")
    assert (folder / "weights").read_text() == "old"
    assert list(folder.parent.iterdir()) == [folder]


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX")
def test_the_next_write_puts_back_what_a_kill_between_the_renames_took_away(folder: Path) -> None:
    end_between_the_renames(folder, "SIGKILL")
    assert not folder.exists()

    def fail() -> None:
        with replace_folder(folder):
            raise RuntimeError("no better than the first")

    with pytest.raises(RuntimeError, match="no better"):
        fail()
    assert (folder / "weights").read_text() == "old"
    assert list(folder.parent.iterdir()) == [folder]


@pytest.mark.skipif(os.name != "posix", reason="elsewhere nobody is known to be dead")
def test_a_write_clears_away_what_dead_processes_left_of_the_same_name(
    folder: Path, dead: int
) -> None:
    place = folder.parent
    for name in (f".model.tmp-{dead}", f".model.old-{dead}", f".other.tmp-{dead}"):
        (place / name).mkdir()
        (place / name / "weights").write_text("half")
    replace(folder, "new")
    assert (folder / "weights").read_text() == "new"
    assert {path.name for path in place.iterdir()} == {"model", f".other.tmp-{dead}"}


def test_what_a_living_process_is_writing_is_left_alone(folder: Path) -> None:
    theirs = folder.parent / f".model.tmp-{os.getppid()}"
    theirs.mkdir()
    replace(folder, "new")
    assert theirs.is_dir()


@pytest.mark.skipif(os.name != "posix", reason="elsewhere nobody is known to be dead")
def test_a_file_left_half_written_by_a_dead_process_is_cleared_away(
    tmp_path: Path, dead: int
) -> None:
    (tmp_path / f".out.txt.tmp-{dead}").write_text("half")
    write_text(tmp_path / "out.txt", "whole")
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


@pytest.mark.skipif(os.name != "posix", reason="elsewhere nobody is known to be dead")
def test_left_overs_of_any_name_are_cleared_away_or_put_back(folder: Path, dead: int) -> None:
    place = folder.parent
    for name in (f".step-7.tmp-{dead}", f".model.old-{dead}", f".lost.old-{dead}"):
        (place / name).mkdir()
        (place / name / "weights").write_text("theirs")
    (place / f".out.txt.tmp-{dead}").write_text("half")
    (place / f".step-8.tmp-{os.getppid()}").mkdir()
    clear_left_overs(place)
    names = {path.name for path in place.iterdir()}
    assert names == {"model", "lost", f".step-8.tmp-{os.getppid()}"}
    assert (folder / "weights").read_text() == "old"
    assert (place / "lost" / "weights").read_text() == "theirs"
    clear_left_overs(place / "absent")


@pytest.mark.skipif(files._renameat2() is None, reason="this system cannot swap two names")
def test_whoever_reads_while_a_folder_is_replaced_finds_a_whole_one(folder: Path) -> None:
    with ThreadPool(1) as pool:
        writing = pool.apply_async(lambda: [replace(folder, f"new {n}") for n in range(50)])
        found = set()
        while not writing.ready():
            found.add((folder / "weights").read_text().split()[0])
        writing.get()
    assert found <= {"old", "new"}
    assert (folder / "weights").read_text() == "new 49"


@pytest.mark.parametrize("can_swap", [True, False])
def test_a_new_name_that_is_not_sure_to_last_is_taken_back(
    folder: Path, can_swap: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can_swap:
        monkeypatch.setattr(files, "_renameat2", lambda: None)

    sync = files.sync_folder

    def fail_outside(path: Path) -> None:
        if path == folder.parent:
            raise OSError(5, "Input/output error")
        sync(path)

    monkeypatch.setattr(files, "sync_folder", fail_outside)
    for path in (folder, folder.with_name("fresh")):
        with (
            pytest.raises(OutputError, match="Input/output error"),
            replace_folder(path) as new,
        ):
            (new / "weights").write_text("new")
    assert (folder / "weights").read_text() == "old"
    assert list(folder.parent.iterdir()) == [folder]


def test_what_a_check_refuses_replaces_nothing(folder: Path) -> None:
    def refuse(new: Path) -> None:
        raise OutputError(f"{(new / 'weights').read_text()} is no good")

    with (
        pytest.raises(OutputError, match="new is no good"),
        replace_folder(folder, check=refuse) as new,
    ):
        (new / "weights").write_text("new")
    assert (folder / "weights").read_text() == "old"
    assert list(folder.parent.iterdir()) == [folder]


def test_a_removed_folder_leaves_nothing(folder: Path) -> None:
    remove_folder(folder)
    remove_folder(folder)
    assert list(folder.parent.iterdir()) == []


def test_a_file_in_the_way_of_a_folder_stays(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("mine")
    with pytest.raises(OutputError, match="is a file"), replace_folder(tmp_path / "model"):
        pass
    assert (tmp_path / "model").read_text() == "mine"


def test_a_folder_in_the_way_of_a_file_is_told(folder: Path) -> None:
    with pytest.raises(OutputError, match="is a folder"), replace_file(folder):
        pass


def test_a_folder_that_cannot_be_locked_is_not_said_to_be_busy(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    busy = TrainingError("busy")
    with (
        pytest.raises(OutputError, match="cannot be locked"),
        hold_folder(folder, busy=busy, remedy="choose another"),
    ):
        pass


def test_a_folder_that_was_renamed_before_it_could_be_locked_is_not_held(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock

    def late(*asked: Any) -> None:
        folder.rename(folder.with_name("renamed"))
        lock(*asked)

    monkeypatch.setattr(fcntl, "flock", late)
    busy = TrainingError("busy")
    with (
        pytest.raises(TrainingError, match="busy"),
        hold_folder(folder, busy=busy, remedy="choose another"),
    ):
        pytest.fail("it was held")


def test_a_file_has_one_identity_and_a_device_none(tmp_path: Path) -> None:
    text, linked, new = (tmp_path / name for name in ("text", "linked", "new"))
    text.write_text("old")
    linked.symlink_to(text)
    refuse_to_write_over([text], [new, Path(os.devnull), Path(os.devnull)])
    refuse_to_write_over([Path(os.devnull)], [Path(os.devnull)])
    with pytest.raises(OutputError, match="linked: is read from as well"):
        refuse_to_write_over([text], [new, linked])
    for path in (new, text):
        with pytest.raises(OutputError, match="is to be written twice"):
            refuse_to_write_over([], [path, path.parent / "." / path.name])


def test_a_folder_without_a_name_of_its_own_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match="has no name"), replace_folder(Path()):
        pytest.fail("it was begun")
