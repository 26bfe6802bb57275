"""How attention to the source emerges: the same sentence at every validation of a run, from ``samples.jsonl``."""

import json
import math
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


def draw_emergence(samples: Sequence[Sample]) -> Figure:
    """Draw one sentence at up to eight validations, evenly spread, the first and the last among them."""
    chosen = _spread(samples, NUM_PANELS)
    columns = min(NUM_COLUMNS, len(chosen))
    rows = math.ceil(len(chosen) / columns)
    cut = [min(len(sample.target_tokens), LARGEST_ROWS) for sample in chosen]
    width_of_panel = max(1.6, PITCH * max(len(sample.source_tokens) for sample in chosen))
    height_of_panel = max(1.6, PITCH * max(cut))
    source_labels = [label_of(token) for token in chosen[0].source_tokens]
    target_labels = [[label_of(token) for token in sample.target_tokens] for sample in chosen]
    every = [label for labels in target_labels for label in labels]
    left = max(text_width(label, LABEL_POINTS) for label in every) + 0.3
    below = max(text_width(label, LABEL_POINTS) for label in source_labels) + 0.25
    width = max(columns * (left + width_of_panel) + 1.1, 6.0)
    row_height = 0.35 + height_of_panel
    height = 0.95 + rows * row_height + below + 0.1
    norm = Normalize(0.0, 1.0)
    with figure_style([*source_labels, *every, chosen[0].source]):
        figure = Figure(figsize=(width, height))
        for place, sample in enumerate(chosen):
            row, column = divmod(place, columns)
            x = column * (left + width_of_panel) + left
            y = height - 0.95 - (row + 1) * row_height
            size = PITCH * max(cut[place], 1) if height_of_panel > 1.6 else height_of_panel
            panel = figure.add_axes(
                (
                    x / width,
                    (y + height_of_panel - size) / height,
                    width_of_panel / width,
                    size / height,
                )
            )
            draw_weights(panel, sample.attention[: cut[place]], norm)
            write_tokens(panel, "left", target_labels[place][: cut[place]], LABEL_POINTS)
            more = len(sample.target_tokens) - cut[place]
            panel.set_title(f"step {sample.step:,}" + (f" (+ {more} tokens)" if more else ""))
            if place + columns >= len(chosen):
                write_tokens(panel, "bottom", source_labels, LABEL_POINTS)
        _finish(figure, chosen[0], norm)
    return figure


def _finish(figure: Figure, sample: Sample, norm: Normalize) -> None:
    width, height = figure.get_size_inches()
    title = " ".join(sample.source.split())
    title = title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1] + "…"
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
        title,
        color=QUIET,
        fontsize=8.5,
        va="top",
        parse_math=False,
    )
    box = (1 - 0.8 / width, 1 - 3.0 / height, 0.09 / width, 1.6 / height)
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
