"""The figures of the walk through the paper can be drawn again, and the page shows all of them."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from stock import Stock, environment

from interlingua.model.architecture import Architecture
from interlingua.model.recurrent import make_recurrence
from interlingua.model.transformer import Transformer

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs" / "images" / "book"
LARGEST = 200_000
"""Bytes of a figure."""


@pytest.fixture
def drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test import the programs that draw."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")


@pytest.mark.slow
def test_the_figures_of_the_walk_are_drawn_from_a_run(
    made_once: Callable[..., Path], tmp_path: Path
) -> None:
    run = Stock(made_once).folder("demo") / "runs/demo-ro-en"
    script, figures = ROOT / "benchmarks" / "book_figures.py", tmp_path / "figures"
    tried = ("--recurrences", str(tmp_path), "--updates", "30")
    subprocess.run(
        [sys.executable, str(script), str(run), str(figures), *tried],
        env=environment(),
        check=True,
        capture_output=True,
    )
    drawn = {path.name for path in figures.iterdir()}
    assert drawn == {path.name for path in FIGURES.iterdir()}
    for path in figures.iterdir():
        assert path.read_text(encoding="utf-8").startswith("<?xml"), path.name


def test_the_walk_shows_every_figure_once() -> None:
    page = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    shown = re.findall(r"images/book/([\w-]+\.svg)", page)
    assert sorted(shown) == sorted(path.name for path in FIGURES.iterdir())


def test_every_seed_has_its_figures_in_sections_that_the_walk_has() -> None:
    page = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    sections = set(re.findall(r"^###? (\d[\d.]*) ", page, re.MULTILINE))
    rows = re.findall(r"^\| (0\d\d.*) \| (.*) \|$", page, re.MULTILINE)
    named = re.findall(r"section (\d(?:\.\d)*)", " ".join(place for _, place in rows))
    assert named
    assert set(named) <= sections
    seeds = {seed for figure, _ in rows for seed in re.findall(r"\b00\d\b", figure)}
    assert seeds == {"000", "001", "002", "003", "004"}


def test_no_figure_of_the_walk_is_large() -> None:
    assert [path.name for path in FIGURES.iterdir() if path.stat().st_size > LARGEST] == []


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
@pytest.mark.usefixtures("drawing")
def test_the_gates_that_are_drawn_lead_to_the_states_of_the_model(kind) -> None:
    from book_recurrences import walk_recurrence

    torch.manual_seed(1)
    recurrence, words = make_recurrence(kind, 5, 4), torch.randn(6, 5)
    for bias in (recurrence.bias_ih_l0, recurrence.bias_hh_l0):
        torch.nn.init.normal_(bias)
    with torch.inference_mode():
        reading = walk_recurrence(recurrence, words)
        states = recurrence(words[None])[0][0]
    assert reading.kind == kind
    torch.testing.assert_close(torch.tensor(reading.states), states)


@pytest.mark.usefixtures("drawing")
def test_the_parts_of_a_layer_that_are_drawn_lead_to_what_it_gives() -> None:
    from book_parts import walk_encoder_layer

    torch.manual_seed(1)
    sizes = Architecture(encoder_layers=2, decoder_layers=1, d_model=8, d_ff=12, heads=2)
    model = Transformer(sizes, source_vocabulary=9, target_vocabulary=9).eval()
    source = torch.tensor([[3, 5, 4, 2]])
    with torch.inference_mode():
        memory = model.encode(source).vectors[0]
    walk = walk_encoder_layer(model, source, layer=2)
    torch.testing.assert_close(torch.tensor(walk.out), memory)
