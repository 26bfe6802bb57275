"""The pages that map the paper to the code say nothing that is not there."""

import ast
import re
from pathlib import Path

import pytest

from interlingua.config import list_settings

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "interlingua"
MAP = ROOT / "docs" / "paper-to-code.md"
DEVIATIONS = ROOT / "docs" / "deviations.md"
SECTIONS = [
    "3",
    "3.1",
    "3.2.1",
    "3.2.2",
    "3.2.3",
    "3.3",
    "3.4",
    "3.5",
    "4",
    "5.1",
    "5.2",
    "5.3",
    "5.4",
    "6.1",
    "6.2",
]


def rows_of(page: Path) -> list[list[str]]:
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return [row for row in cells if set(row[0]) != {"-"}]


def code_in(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


MAPPED = [row for row in rows_of(MAP) if row[0] != "section"]


def names_in(path: Path) -> set[str]:
    """Functions, classes, methods as Class.method, and constants of one file."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = [each for each in node.body if isinstance(each, ast.FunctionDef)]
            names |= {f"{node.name}.{each.name}" for each in inner}
        if isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


@pytest.fixture(scope="module")
def tests_there_are() -> set[str]:
    found = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        found |= set(re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), re.M))
    return found


@pytest.mark.parametrize("row", MAPPED, ids=[f"{row[0]}: {row[1]}" for row in MAPPED])
def test_every_file_and_name_in_the_map_exists(row: list[str]) -> None:
    (file,) = code_in(row[2])
    assert (PACKAGE / file).is_file()
    assert set(code_in(row[3])) <= names_in(PACKAGE / file)


def test_the_map_covers_every_section_that_describes_the_model_and_its_training() -> None:
    assert set(SECTIONS) <= {row[0].split(",")[0] for row in MAPPED}
    text = MAP.read_text(encoding="utf-8")
    assert all(f"equation {number} " in text for number in (1, 2, 3))


@pytest.mark.parametrize("page", [MAP, DEVIATIONS], ids=["map", "deviations"])
def test_every_test_that_a_page_names_exists(page: Path, tests_there_are: set[str]) -> None:
    named = {code for row in rows_of(page) for code in code_in(row[-1]) if code[:5] == "test_"}
    assert len(named) > 20
    assert named <= tests_there_are


def test_every_setting_that_the_deviations_name_exists() -> None:
    settings = {setting.key for setting in list_settings()}
    sections = "|".join({setting.section for setting in list_settings() if setting.section})
    named = set(re.findall(rf"`((?:{sections})\.[a-z_]+)", DEVIATIONS.read_text(encoding="utf-8")))
    assert len(named) > 15
    assert named <= settings


def test_every_deviation_has_a_name_of_its_own() -> None:
    names = [code_in(row[0])[0] for row in rows_of(DEVIATIONS) if row[0].startswith("`")]
    assert len(names) > 20
    assert len(set(names)) == len(names)
