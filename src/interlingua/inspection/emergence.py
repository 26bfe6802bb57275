"""How attention to the source emerges: the same sentence at every validation of a run, from ``samples.jsonl``."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from interlingua.errors import ModelError
from interlingua.inspection.attention import draw_weights, write_tokens
from interlingua.inspection.canvas import QUIET, add_colorbar, figure_style, text_width
from interlingua.inspection.legible import label_of

__all__ = ["Sample", "draw_emergence", "read_samples"]

NUM_PANELS = 8
NUM_COLUMNS = 4
LARGEST_ROWS = 40
PITCH = 0.16
LABEL_POINTS = 7.5
TOP = 0.7
"""Inches for the title of the figure."""
HEADING = 0.3
"""Inches for the title of a panel."""
LONGEST_TITLE = 110


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One sentence at one validation."""

    step: int
    number: int
    """Which of the sentences, from 1."""
    source: str
    output: str
    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    attention: Float[np.ndarray, "T S"]
    """The mean over heads of the last layer's attention to the source."""


def read_samples(path: Path) -> list[list[Sample]]:
    """Read ``samples.jsonl`` of a run: for each sentence its samples by step.

    Raises:
        ModelError: the file cannot be read, or a line of it is damaged.
    """
    try:
        lines = Path(path).read_bytes().decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(
            f"{path}: cannot be read ({error}); give a model folder instead"
        ) from error
    sentences: dict[int, dict[int, Sample]] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip():
            sample = _read_sample(line, path, number)
            sentences.setdefault(sample.number, {})[sample.step] = sample
    return [[samples[step] for step in sorted(samples)] for _, samples in sorted(sentences.items())]


def draw_emergence(
    samples: Sequence[Sample], *, source_name: str = "source", target_name: str = "target"
) -> Figure:
    """Draw one sentence at up to eight validations, evenly spread, the first and the last among them.

    The outputs before the last, which may ramble, are cut to a length that leaves the others visible.
    """
    chosen = _spread(samples, NUM_PANELS)
    panels = _cut(chosen)
    columns = min(NUM_COLUMNS, len(panels))
    source = [label_of(token) for token in chosen[0].source_tokens]
    every = [label for panel in panels for label in panel.rows]
    panel_width = max(1.6, PITCH * len(source))
    left = max(text_width(label, LABEL_POINTS) for label in every) + 0.45
    below = max(text_width(label, LABEL_POINTS) for label in source) + 0.35
    lines = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    heights = [max(PITCH * len(panel.rows) for panel in line) for line in lines]
    width = max(columns * (left + panel_width) + 1.0, 6.0)
    height = TOP + sum(heights) + len(lines) * (HEADING + below) + 0.25
    norm = Normalize(0.0, 1.0)
    with figure_style([*source, *every, chosen[0].source]):
        figure = Figure(figsize=(width, height))
        y = height - TOP
        for line, line_height in zip(lines, heights, strict=True):
            y -= HEADING
            for column, panel in enumerate(line):
                x, size = column * (left + panel_width) + left, PITCH * len(panel.rows)
                box = (x / width, (y - size) / height, panel_width / width, size / height)
                axes = figure.add_axes(box)
                axes.set_title(panel.title)
                draw_weights(axes, panel.weights, norm)
                name = target_name if column == 0 else ""
                write_tokens(axes, "left", panel.rows, LABEL_POINTS, name=name)
                name = source_name if line is lines[-1] else ""
                write_tokens(axes, "bottom", source, LABEL_POINTS, name=name)
            y -= line_height + below
        _finish(figure, chosen[0], norm)
    return figure


@dataclass(frozen=True, slots=True, eq=False)
class _Panel:
    """What is drawn of one sample."""

    title: str
    rows: list[str]
    weights: Float[np.ndarray, "T S"]


def _cut(samples: Sequence[Sample]) -> list[_Panel]:
    most = min(LARGEST_ROWS, len(samples[-1].target_tokens) + 4)
    panels = []
    for sample in samples:
        rows = [label_of(token) for token in sample.target_tokens[:most]]
        more = len(sample.target_tokens) - len(rows)
        title = f"step {sample.step:,}" + (f" (+ {more} tokens)" if more else "")
        panels.append(_Panel(title, rows, sample.attention[:most]))
    return panels


def _finish(figure: Figure, sample: Sample, norm: Normalize) -> None:
    width, height = figure.get_size_inches()
    sentence = " ".join(sample.source.split())
    if len(sentence) > LONGEST_TITLE:
        sentence = sentence[: LONGEST_TITLE - 1] + "…"
    figure.text(
        0.25 / width,
        1 - 0.2 / height,
        "How attention to the source emerges in training",
        fontsize=12,
        va="top",
    )
    figure.text(
        0.25 / width,
        1 - 0.46 / height,
        label_of(sentence, longest=LONGEST_TITLE, show_spaces=False),
        color=QUIET,
        fontsize=8.5,
        va="top",
        parse_math=False,
    )
    bar = min(1.6, height - TOP - HEADING)
    box = (1 - 0.75 / width, 1 - (TOP + HEADING + bar) / height, 0.09 / width, bar / height)
    add_colorbar(figure, box, norm, "weight")


def _spread(samples: Sequence[Sample], number: int) -> list[Sample]:
    """Choose ``number`` at even distances, the first and the last among them."""
    if len(samples) <= number:
        return list(samples)
    last = len(samples) - 1
    return [samples[round(place * last / (number - 1))] for place in range(number)]


def _read_sample(line: str, path: Path, number: int) -> Sample:
    try:
        record: dict[str, Any] = json.loads(line)
        sample = Sample(
            step=int(record["step"]),
            number=int(record["sample"]),
            source=str(record["source"]),
            output=str(record["output"]),
            source_tokens=tuple(map(str, record["source_tokens"])),
            target_tokens=tuple(map(str, record["target_tokens"])),
            attention=np.asarray(record["attention"], dtype=np.float64),
        )
        expected = (len(sample.target_tokens), len(sample.source_tokens))
        if sample.attention.shape != expected:
            raise ValueError(f"attention has the shape {sample.attention.shape}, not {expected}")
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"{path}: line {number} is damaged ({error}); remove that line, or inspect the model folder"
        ) from error
    return sample
