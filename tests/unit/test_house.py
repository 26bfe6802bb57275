"""The order of the rooms is told in three places; here they are held to the real tree."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import interlingua
from interlingua.cli import main

ROOT = Path(__file__).parents[2]
PACKAGE = Path(interlingua.__file__).parent


def rooms_of(text: str, pattern: str) -> list[str]:
    return re.findall(pattern, text, flags=re.MULTILINE)


def told_by_the_docstring() -> list[str]:
    return rooms_of(interlingua.__doc__ or "", r"^\* ``(\w+)``")


def test_every_room_of_the_docstring_is_there_and_none_is_missing() -> None:
    told = told_by_the_docstring()
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    files = {"translator"}
    assert set(told) == folders | files


def test_readme_and_architecture_tell_the_same_order() -> None:
    told = told_by_the_docstring()
    for page in ("README.md", "docs/architecture.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        tree = rooms_of(text, r"^  (\w+)(?:/|\.py) ")
        assert [name for name in tree if name in told] == told, page


def test_help_tells_the_same_order(capsys) -> None:
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    told = told_by_the_docstring()
    rooms = [name for name in rooms_of(printed, r"^  (\w+): ") if name in told]
    assert rooms == told


def test_imports_follow_the_same_order() -> None:
    layers = re.search(r"^layers = \[(.*?)\]", (ROOT / "pyproject.toml").read_text(), re.M | re.S)
    assert layers is not None
    names = re.findall(r'"interlingua\.(\w+)"', layers[1])[::-1]
    told = told_by_the_docstring()
    assert [name for name in names if name in told] == told


@pytest.mark.parametrize(
    "room", sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py")), ids=str
)
def test_every_file_is_named_in_the_docstring_of_its_room(room: str) -> None:
    told = set(re.findall(r"``(\w+)``", import_module(f"interlingua.{room}").__doc__ or ""))
    files = {path.stem for path in (PACKAGE / room).glob("*.py")} - {"__init__"}
    assert files <= told


def test_public_names_are_what_all_says() -> None:
    assert sorted(interlingua.__all__) == list(interlingua.__all__)
    assert len(interlingua.__all__) <= 10
    for name in interlingua.__all__:
        assert getattr(interlingua, name) is not None


def test_every_relative_link_in_the_docs_leads_somewhere() -> None:
    pages = [ROOT / "README.md", *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_no_two_files_of_tests_have_one_name() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))  # pytest imports them by their names alone
