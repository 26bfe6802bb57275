"""Files in parts: what is done is not done again, and nobody else's work is taken for one's own."""

from pathlib import Path

import pytest

from interlingua.bulk.parts import FileJob, find_files, only_one
from interlingua.errors import ConfigError, CorpusError, OutputError

REQUEST = {"model": "abc", "options": {}}


def make(folder: Path, lines: int = 25) -> Path:
    source = folder / "text.ro"
    source.write_text("".join(f"linia {n}\n" for n in range(lines)), encoding="utf-8")
    return source


def job(source: Path, request: dict[str, object] | None = None) -> FileJob:
    return FileJob(source, source.parent / "out", request or REQUEST, part_lines=10)


def shout(lines: list[str]) -> str:
    return "".join(f"{line.upper()}\n" for line in lines)


def test_parts_become_one_file_in_order(tmp_path: Path) -> None:
    work = job(make(tmp_path))
    work.begin()
    parts = work.waiting()
    assert [part.num_lines for part in parts] == [10, 10, 5]
    for part in reversed(parts):
        work.keep(part, shout(part.read()))
    work.finish()
    assert work.output.read_text() == "".join(f"LINIA {n}\n" for n in range(25))
    assert not list((tmp_path / "out/.interlingua").glob("*/")), "parts are cleared away"


def test_what_was_kept_is_not_done_again(tmp_path: Path) -> None:
    source = make(tmp_path)
    first = job(source)
    first.begin()
    first.keep(first.waiting()[1], "a\n" * 10)
    again = job(source)
    assert [part.number for part in again.waiting()] == [0, 2]
    for part in again.waiting():
        again.keep(part, shout(part.read()))
    again.finish()
    assert again.output.read_text().count("a\n") == 10
    assert job(source).is_done
    assert job(source).waiting() == []


def test_what_an_earlier_version_began_goes_on_and_is_written_down_anew(tmp_path: Path) -> None:
    source = make(tmp_path)
    job(source).begin()
    now: dict[str, object] = {"model": "def", "options": {}}
    with pytest.raises(ConfigError, match="was begun with another"):
        job(source, now)
    again = FileJob(source, tmp_path / "out", now, 10, REQUEST)
    again.begin()
    assert len(job(source, now).waiting()) == 3


@pytest.mark.parametrize("change", ["text", "request"])
def test_parts_of_something_else_are_refused(tmp_path: Path, change: str) -> None:
    source = make(tmp_path)
    job(source).begin()
    request = REQUEST
    if change == "text":
        source.write_text(source.read_text().replace("linia 3", "linia x"))
    elif change == "request":
        request = {"model": "other", "options": {}}
    with pytest.raises(
        ConfigError, match=r"was begun with another text, model, option or corrections"
    ):
        job(source, request)


@pytest.mark.parametrize("size", [5, 10, 1_000])
@pytest.mark.parametrize("damage", ["", "{", "[]", '{"parts": [[]]}'])
def test_a_file_that_was_begun_keeps_to_its_parts(tmp_path: Path, size: int, damage: str) -> None:
    source = make(tmp_path)
    begun = job(source)
    begun.begin()
    begun.keep(begun.waiting()[0], "x\n" * 10)
    again = FileJob(source, tmp_path / "out", REQUEST, part_lines=size)
    assert again.waiting() == begun.waiting()
    if damage:
        (tmp_path / "out/.interlingua/text.ro.json").write_text(damage)
        with pytest.raises(ConfigError, match="was begun with another"):
            FileJob(source, tmp_path / "out", REQUEST, part_lines=size)


def test_a_file_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    source = make(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/text.ro").write_text("mine")
    with pytest.raises(OutputError, match="is there already"):
        job(source)
    assert (tmp_path / "out/text.ro").read_text() == "mine"


def test_lines_that_are_lost_are_noticed(tmp_path: Path) -> None:
    work = job(make(tmp_path))
    part = work.waiting()[0]
    with pytest.raises(OutputError, match="9 lines instead of 10"):
        work.keep(part, "x\n" * 9)


def test_a_text_that_changes_meanwhile_is_noticed(tmp_path: Path) -> None:
    source = make(tmp_path)
    part = job(source).waiting()[0]
    source.write_text(source.read_text().replace("linia 3", "linia y"))
    with pytest.raises(CorpusError):
        part.read()


def test_a_byte_order_mark_and_a_last_line_without_end(tmp_path: Path) -> None:
    source = tmp_path / "text.ro"
    source.write_bytes("\ufeffunu\ndoi".encode())
    (part,) = job(source).waiting()
    assert part.read() == ["unu", "doi"]


def test_an_empty_file_stays_one(tmp_path: Path) -> None:
    work = job(make(tmp_path, lines=0))
    work.begin()
    assert work.waiting() == []
    work.finish()
    assert work.output.read_bytes() == b""


def test_files_of_a_folder_by_name(tmp_path: Path) -> None:
    (tmp_path / ".hidden").write_text("")
    (tmp_path / "below").mkdir()
    for name in ("b.txt", "a.txt"):
        (tmp_path / name).write_text("")
    assert [path.name for path in find_files(tmp_path)] == ["a.txt", "b.txt"]
    with pytest.raises(CorpusError, match="holds no file"):
        find_files(tmp_path / "below")
    with pytest.raises(CorpusError, match="does not exist"):
        find_files(tmp_path / "missing")


def test_two_commands_do_not_write_the_same_folder(tmp_path: Path) -> None:
    with (
        only_one(tmp_path / "out"),
        pytest.raises(OutputError, match="another process"),
        only_one(tmp_path / "out"),
    ):
        pass
