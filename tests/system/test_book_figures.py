"""The figures of the walk through the paper can be drawn again, and the page shows all of them."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from stock import Stock, environment

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs" / "images" / "book"


@pytest.mark.slow
def test_the_figures_of_the_walk_are_drawn_from_a_run(
    made_once: Callable[..., Path], tmp_path: Path
) -> None:
    run = Stock(made_once).folder("demo") / "runs/demo-ro-en"
    script = ROOT / "benchmarks" / "book_figures.py"
    subprocess.run(
        [sys.executable, str(script), str(run), str(tmp_path)],
        env=environment(),
        check=True,
        capture_output=True,
    )
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {path.name for path in FIGURES.iterdir()}
    for path in tmp_path.iterdir():
        assert path.read_text(encoding="utf-8").startswith("<?xml"), path.name


def test_the_walk_shows_every_figure_once() -> None:
    page = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    shown = re.findall(r"images/book/([\w-]+\.svg)", page)
    assert sorted(shown) == sorted(path.name for path in FIGURES.iterdir())
