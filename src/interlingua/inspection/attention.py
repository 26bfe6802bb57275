"""Who looks at whom: every layer and head of one kind of attention, with tokens on both axes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from interlingua.errors import ModelError
from interlingua.inspection.canvas import (
    QUIET,
    SEQUENTIAL,
    add_colorbar,
    figure_style,
    text_width,
)
from interlingua.inspection.legible import label_of
from interlingua.inspection.trace import AttentionKind, Trace

__all__ = [
    "AttentionAxes",
    "attention_axes",
    "draw_attention",
    "draw_weights",
    "sums_to_one",
    "trace_labels",
    "write_tokens",
]

LARGEST_SIDE = 60.0
"""Inches; beyond this viewers give up, so the cells shrink instead."""
LABEL_POINTS = 8.0
TOKEN_PITCH = 0.17
"""Inches between tokens, so that their labels do not touch."""
SMALLEST_PANEL = 1.5
SMALLEST_PITCH = 0.1
"""Inches; where tokens are closer, only some are named."""

HorizontalAlignment = Literal["left", "center", "right"]
VerticalAlignment = Literal["top", "center", "bottom"]
Side = Literal["left", "bottom", "top"]

_DIRECTIONS: dict[Side, tuple[tuple[int, int], HorizontalAlignment, VerticalAlignment]] = {
    "left": ((-1, 0), "right", "center"),
    "bottom": ((0, -1), "center", "top"),
    "top": ((0, 1), "center", "bottom"),
}
"""Where texts go from a side of a panel, and how they are anchored."""

_TITLES: dict[AttentionKind, str] = {
    "encoder": "Encoder self-attention: where each source token looks",
    "decoder": "Decoder self-attention: where the model looks in what it has written",
    "cross": "Cross-attention: where the model looks in the source while it writes",
}


@dataclass(frozen=True, slots=True)
class AttentionAxes:
    """What stands along the two axes of one kind of attention."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    rows_name: str
    columns_name: str


def trace_labels(trace: Trace) -> list[str]:
    """Return every token of a trace as its figures show it."""
    return [label_of(token.text) for token in (*trace.source_tokens, *trace.target_tokens)]


def attention_axes(trace: Trace, kind: AttentionKind) -> AttentionAxes:
    """Return the labels of one kind of attention; a row looks, a column is looked at."""
    source = tuple(label_of(token.text) for token in trace.source_tokens)
    target = tuple(label_of(token.text) for token in trace.target_tokens)
    source_name, target_name = f"source: {trace.source_lang}", f"target: {trace.target_lang}"
    if kind == "encoder":
        return AttentionAxes(source, source, source_name, source_name)
    if kind == "cross":
        return AttentionAxes(target, source, target_name, source_name)
    inputs = tuple(label_of(token.text) for token in trace.target_inputs)
    return AttentionAxes(target, inputs, f"{target_name}, next", f"{target_name}, so far")


@dataclass(frozen=True, slots=True)
class _Plan:
    """Sizes in inches, found before anything is drawn, so that they follow from the tokens alone."""

    panel: tuple[float, float]
    left: float
    below: float
    step: int
    points: float
    bottom: float = 0.3
    gap: float = 0.16
    top: float = 0.85
    heading: float = 0.26
    right: float = 1.0


def draw_attention(trace: Trace, kind: AttentionKind) -> Figure:
    """Draw layers as rows and heads as columns, all in one colour scale, which begins at 0.

    Raises:
        ModelError: the model has no attention of this kind.
    """
    maps = trace.maps(kind)
    if not maps:
        raise ModelError(f"the model has no {kind} attention to draw")
    axes = attention_axes(trace, kind)
    heads = max(map.weights.shape[0] for map in maps)
    plan = _plan(axes, len(maps), heads)
    norm = Normalize(0.0, max(float(map.weights.max()) for map in maps) or 1.0)
    width = plan.left + heads * plan.panel[0] + (heads - 1) * plan.gap + plan.right
    row_height = plan.heading + plan.panel[1] + plan.below
    height = plan.top + len(maps) * row_height + plan.bottom
    with figure_style([*axes.rows, *axes.columns]):
        figure = Figure(figsize=(width, height))
        for row, map in enumerate(maps):
            for head in range(map.weights.shape[0]):
                x = plan.left + head * (plan.panel[0] + plan.gap)
                y = height - plan.top - (row + 1) * row_height + plan.below
                panel = figure.add_axes(
                    (x / width, y / height, plan.panel[0] / width, plan.panel[1] / height)
                )
                panel.set_title(f"layer {map.layer} · head {head + 1}", pad=4)
                draw_weights(panel, map.weights[head], norm)
                _write_axes(panel, axes, plan, left=head == 0, last=row == len(maps) - 1)
        _finish(figure, trace, kind, plan, norm)
    return figure


def sums_to_one(weights: Float[np.ndarray, "*H T S"]) -> bool:
    """Whether every row is a distribution, as softmax makes it; a variant may do otherwise."""
    return bool(np.allclose(weights.sum(axis=-1), 1.0, atol=1e-3))


def draw_weights(panel: Axes, weights: Float[np.ndarray, "T S"], norm: Normalize) -> None:
    """Draw one matrix: row 0 on top, dark where the weight is great."""
    panel.imshow(weights, cmap=SEQUENTIAL, norm=norm, aspect="auto", interpolation="nearest")
    panel.set_xticks([])
    panel.set_yticks([])


def write_tokens(
    panel: Axes, side: Side, labels: Sequence[str], points: float, *, name: str = "", step: int = 1
) -> None:
    """Write every ``step``-th token along one side of a panel, and ``name`` beyond them.

    They are texts of their own, because matplotlib writes tick labels anew whenever it draws, and what no font
    can show must be hidden from PNG alone (see ``canvas``).
    """
    beyond = 72 * max((text_width(label, points) for label in labels), default=0.0) + 8
    (dx, dy), ha, va = _DIRECTIONS[side]
    across = panel.get_yaxis_transform() if side == "left" else panel.get_xaxis_transform()
    edge = 1 if side == "top" else 0
    for place in range(0, len(labels), step):
        panel.annotate(
            labels[place],
            (edge, place) if side == "left" else (place, edge),
            xycoords=across,
            xytext=(3 * dx, 3 * dy),
            textcoords="offset points",
            ha=ha,
            va=va,
            rotation=0 if side == "left" else 90,
            fontsize=points,
            parse_math=False,
        )
    panel.annotate(
        name,
        (edge, 0.5) if side == "left" else (0.5, edge),
        xycoords="axes fraction",
        xytext=(beyond * dx, beyond * dy),
        textcoords="offset points",
        ha=ha,
        va=va,
        rotation=90 if side == "left" else 0,
        color=QUIET,
        parse_math=False,
    )


def _write_axes(panel: Axes, axes: AttentionAxes, plan: _Plan, *, left: bool, last: bool) -> None:
    """Columns below every panel, rows left of the first of each layer."""
    name = axes.columns_name if last else ""
    write_tokens(panel, "bottom", axes.columns, plan.points, name=name, step=plan.step)
    if left:
        write_tokens(panel, "left", axes.rows, plan.points, name=axes.rows_name, step=plan.step)


def _plan(axes: AttentionAxes, layers: int, heads: int) -> _Plan:
    below = max(text_width(label, LABEL_POINTS) for label in axes.columns) + 0.2
    room = LARGEST_SIDE - 4.0
    width = _fit(TOKEN_PITCH * len(axes.columns), room / heads - 0.16)
    height = _fit(TOKEN_PITCH * len(axes.rows), room / layers - 0.26 - below)
    pitch = min(width / len(axes.columns), height / len(axes.rows))
    step = math.ceil(SMALLEST_PITCH / pitch)
    points = min(LABEL_POINTS, 72 * pitch * step * 0.7)
    left = max(text_width(label, points) for label in axes.rows) + 0.5
    return _Plan((width, height), max(left, 0.8), below, step, points)


def _fit(wanted: float, room: float) -> float:
    """Return the side of a panel: as wanted where there is room, but never too small to see."""
    return max(min(max(wanted, SMALLEST_PANEL), room), 1.0)


def _finish(
    figure: Figure, trace: Trace, kind: AttentionKind, plan: _Plan, norm: Normalize
) -> None:
    width, height = figure.get_size_inches()
    figure.text(
        0.25 / width, 1 - 0.2 / height, _TITLES[kind], fontsize=12, va="top", parse_math=False
    )
    note = "rows look at columns"
    if all(sums_to_one(map.weights) for map in trace.maps(kind)):
        note += "; each row sums to 1"
    if plan.step > 1:
        note += (
            f"; one token in {plan.step} is named: "
            f"{len(trace.source_tokens)} + {len(trace.target_tokens)} tokens are too many to name all"
        )
    figure.text(0.25 / width, 1 - 0.46 / height, note, color=QUIET, va="top", fontsize=8)
    bar = min(2.5, plan.panel[1])
    box = (
        1 - (plan.right - 0.2) / width,
        1 - (plan.top + plan.heading + bar) / height,
        0.09 / width,
        bar / height,
    )
    add_colorbar(figure, box, norm, "weight")
