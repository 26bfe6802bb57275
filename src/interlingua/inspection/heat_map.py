"""The one picture of a translation: where the model looked in the source as it wrote each token."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from interlingua.errors import ModelError
from interlingua.inspection.attention import (
    attention_axes,
    draw_weights,
    sums_to_one,
    trace_labels,
    write_tokens,
)
from interlingua.inspection.canvas import (
    INK,
    QUIET,
    figure_style,
    text_width,
    warn_of_missing,
    write_figure,
)
from interlingua.inspection.trace import Trace, trace_translation
from interlingua.translator import Translator

__all__ = ["draw_heat_map", "mean_cross_attention", "write_heat_map"]

LARGEST_SIDE = 30.0
NUMBERED_TOKENS = 24
"""Up to so many tokens a side there is room to write the weights into the cells."""
SMALLEST_NUMBER = 0.05


def write_heat_map(translator: Translator, text: str, path: Path) -> Path:
    """Translate ``text`` and write the picture of it, as PNG or SVG by the ending of ``path``.

    Raises:
        ConfigError: ``text`` holds nothing to translate.
        ModelError: the model has no attention to the source.
        OutputError: ``path`` cannot be written.
    """
    trace = trace_translation(translator, text)
    warn_of_missing(trace_labels(trace))
    return write_figure(draw_heat_map(trace), Path(path))


def mean_cross_attention(trace: Trace) -> Float[np.ndarray, "T S"]:
    """Return the attention to the source of the last layer, the mean over its heads.

    Raises:
        ModelError: the model has no attention to the source.
    """
    maps = trace.maps("cross")
    if not maps:
        raise ModelError("the model has no attention to the source to draw")
    mean: Float[np.ndarray, "T S"] = maps[-1].weights.mean(axis=0)
    return mean


def draw_heat_map(trace: Trace) -> Figure:
    """Draw the mean attention of the last decoder layer, source tokens on top, target tokens at the left."""
    weights, axes = mean_cross_attention(trace), attention_axes(trace, "cross")
    rows, columns = len(axes.rows), len(axes.columns)
    cell = min(
        0.46 if max(rows, columns) <= NUMBERED_TOKENS else 0.26, LARGEST_SIDE / max(rows, columns)
    )
    points = min(11.0, 72 * cell * 0.7)
    left = max(text_width(label, points) for label in axes.rows) + 0.6
    top = max(text_width(label, points) for label in axes.columns) + 1.0
    right, bottom = 0.35, 0.5
    width = max(left + columns * cell + right, 5.2)
    height = top + rows * cell + bottom
    with figure_style([*axes.rows, *axes.columns, trace.source, trace.target]):
        figure = Figure(figsize=(width, height))
        panel = figure.add_axes(
            (left / width, bottom / height, columns * cell / width, rows * cell / height)
        )
        draw_weights(panel, weights, Normalize(0.0, max(1.0, float(weights.max()))))
        write_tokens(panel, "top", axes.columns, points, name=axes.columns_name)
        write_tokens(panel, "left", axes.rows, points, name=axes.rows_name)
        _rule(panel, rows, columns)
        if max(rows, columns) <= NUMBERED_TOKENS:
            _write_numbers(panel, weights, 0.62 * points)
        figure.text(
            0.2 / width,
            1 - 0.2 / height,
            "Where the model looked as it wrote each token",
            fontsize=12,
            va="top",
        )
        figure.text(
            0.2 / width,
            0.16 / height,
            "cross-attention of the last layer, mean of its heads, in percent"
            + ("; each row sums to 100" if sums_to_one(weights) else ""),
            fontsize=7.5,
            color=QUIET,
            va="bottom",
        )
    return figure


def _rule(panel: Axes, rows: int, columns: int) -> None:
    """Draw thin white lines between the cells."""
    panel.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    panel.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    panel.grid(which="minor", color="white", linewidth=0.8)
    panel.tick_params(which="minor", length=0)
    for side in panel.spines.values():
        side.set_visible(False)


def _write_numbers(panel: Axes, weights: Float[np.ndarray, "T S"], points: float) -> None:
    for row, values in enumerate(weights.tolist()):
        for column, value in enumerate(_numbers(values)):
            if value is not None:
                panel.text(
                    column,
                    row,
                    value,
                    ha="center",
                    va="center",
                    fontsize=points,
                    color="white" if weights[row, column] > 0.55 else INK,
                )


def _numbers(values: Sequence[float]) -> list[str | None]:
    return [f"{100 * value:.0f}" if value >= SMALLEST_NUMBER else None for value in values]
