"""The notebooks, cell by cell, as somebody works through them."""

import contextlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))
BLANK = "..."


@dataclass(frozen=True)
class Exercise:
    """A cell with a blank, its solution, and wrong answers with what should be said of each."""

    code: str
    check: str
    """The next cell of code, which says whether an answer is right."""
    solution: str
    wrong: tuple[tuple[str, str], ...]

    def answered(self, answer: str) -> str:
        return self.code.replace(BLANK, answer)


def content_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def steps_of(path: Path) -> Iterator[str | Exercise]:
    """Yield what is run, in its order: code as it stands, and exercises together with their checks."""
    cells = [cell for cell in content_of(path)["cells"] if cell["cell_type"] == "code"]
    waiting = iter(cells)
    for cell in waiting:
        code, exercise = "".join(cell["source"]), cell["metadata"].get("exercise")
        if exercise is None:
            yield code
        else:
            wrong = tuple((each["answer"], each["told"]) for each in exercise["wrong"])
            yield Exercise(code, "".join(next(waiting)["source"]), exercise["solution"], wrong)


def run_code(code: str, names: dict[str, Any]) -> str:
    """Run a cell among the names of those before it, and return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "cell", "exec"), names)
    return printed.getvalue()
