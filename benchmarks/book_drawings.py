"""Pictures for the walk through the paper that ``interlingua inspect`` does not draw: the numbers of one translation, part by part."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from interlingua.inspection.attention import draw_weights, write_tokens
from interlingua.inspection.canvas import (
    INK,
    QUIET,
    SIGNED,
    figure_style,
    text_width,
)
from interlingua.inspection.embeddings import principal_components
from interlingua.inspection.legible import label_of
from interlingua.inspection.trace import Trace
from interlingua.inspection.walk import HeadWalk, InputWalk

__all__ = [
    "DARK",
    "LIGHT",
    "Matrix",
    "draw_add_and_norm",
    "draw_attention_layer",
    "draw_input",
    "draw_large_positions",
    "draw_likeness",
    "draw_one_query",
    "heading",
    "labels_of",
    "largest",
    "matrix",
    "panel_at",
]

DARK, LIGHT = "#08519c", "#9ecae1"
Matrix = Float[np.ndarray, "_ _"]


def labels_of(trace: Trace, side: str) -> list[str]:
    tokens = {"source": trace.source_tokens, "target": trace.target_tokens}
    return [label_of(token.text) for token in tokens.get(side, trace.target_inputs)]


def heading(figure: Figure, title: str, note: str) -> None:
    width, height = figure.get_size_inches()
    figure.text(0.2 / width, 1 - 0.16 / height, title, fontsize=12, va="top", parse_math=False)
    figure.text(
        0.2 / width,
        1 - 0.43 / height,
        note,
        fontsize=8.5,
        va="top",
        color=QUIET,
        parse_math=False,
    )


def panel_at(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Add a panel at a place in inches."""
    across, up = figure.get_size_inches()
    return figure.add_axes((left / across, bottom / up, width / across, height / up))


def bare(panel: Axes) -> None:
    panel.set_xticks([])
    panel.set_yticks([])


def matrix(panel: Axes, values: Matrix, limit: float, title: str) -> None:
    """Draw numbers of either sign: white is zero."""
    norm = Normalize(-limit, limit)
    panel.imshow(values, cmap=SIGNED, norm=norm, aspect="auto", interpolation="nearest")
    panel.set_title(title, fontsize=8.5)
    bare(panel)


def largest(*values: Matrix) -> float:
    return max(float(np.abs(each[np.isfinite(each)]).max()) for each in values) or 1.0


def draw_input(walk: InputWalk, labels: Sequence[str]) -> Figure:
    """Draw embeddings, positions and their sum, one row a token."""
    rows = len(labels)
    left = max(text_width(label, 8.5) for label in labels) + 0.4
    limit = largest(walk.embeddings, walk.positions, walk.sums)
    parts = (
        (walk.embeddings, f"embeddings × √d = {walk.scale:.2f}"),
        (walk.positions, "positions"),
        (walk.sums, "sum: what the first layer reads"),
    )
    with figure_style(labels):
        figure = Figure(figsize=(left + 3 * 2.9, 0.24 * rows + 1.15))
        heading(
            figure,
            "What goes into the encoder",
            f"{rows} tokens × {walk.sums.shape[1]} numbers; white is 0, blue above, red below, to ±{limit:.2g}",
        )
        for place, (values, title) in enumerate(parts):
            panel = panel_at(figure, left + 2.9 * place, 0.15, 2.7, 0.24 * rows)
            matrix(panel, values, limit, title)
            if place == 0:
                write_tokens(panel, "left", labels, 8.5)
    return figure


def draw_large_positions(
    words: Matrix, near: Float[np.ndarray, "_"], far: Float[np.ndarray, "_"], labels: Sequence[str]
) -> Figure:
    """Draw words at two positions, with positions as they are and ten times as large."""
    with figure_style(labels):
        figure = Figure(figsize=(9.4, 5.0))
        heading(
            figure,
            "Positions that are too large hide the words",
            "each word twice, at the 3rd (dark) and at the 13th place (light), along the two principal components of all",
        )
        for place, times in enumerate((1.0, 10.0)):
            both = np.concatenate([words + times * near, words + times * far])
            distances = np.linalg.norm(both[:, None] - both[None], axis=-1)
            np.fill_diagonal(distances, np.inf)
            twin = (np.arange(len(both)) + len(words)) % len(both)
            found = float((distances.argmin(axis=1) == twin).mean())
            points = principal_components(both).coordinates
            panel = panel_at(figure, 0.3 + 4.6 * place, 0.25, 4.3, 3.85)
            name = "as they are" if times == 1 else f"{times:.0f} times as large"
            panel.set_title(
                f"positions {name}: {found:.0%} of the nearest are the same word", fontsize=9
            )
            bare(panel)
            one, other = points[: len(words)], points[len(words) :]
            for start, end in zip(one, other, strict=True):
                panel.plot(*zip(start, end, strict=True), color="#cbd2d9", linewidth=0.6, zorder=0)
            panel.scatter(*one.T, s=14, color=DARK, linewidths=0)
            panel.scatter(*other.T, s=14, color=LIGHT, linewidths=0)
            for label, (x, y) in zip(labels, one, strict=True):
                panel.annotate(
                    label,
                    (x, y),
                    xytext=(3, 2),
                    textcoords="offset points",
                    fontsize=7,
                    parse_math=False,
                )
    return figure


def draw_likeness(vectors: Matrix, labels: Sequence[str]) -> Figure:
    """Draw the cosine between every two embeddings."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    number = len(labels)
    left = max(text_width(label, 8.5) for label in labels) + 0.4
    side = 0.42 * number
    with figure_style(labels):
        figure = Figure(figsize=(left + side + 0.3, side + left + 0.9))
        heading(figure, "How alike words are", "cosine of their embeddings, times 100")
        panel = panel_at(figure, left, left, side, side)
        norm = Normalize(-1.0, 1.0)
        panel.imshow(cosines, cmap=SIGNED, norm=norm, interpolation="nearest")
        bare(panel)
        write_tokens(panel, "left", labels, 8.5)
        write_tokens(panel, "bottom", labels, 8.5)
        for row in range(number):
            for column in range(number):
                colour = "white" if abs(cosines[row, column]) > 0.6 else INK
                text = f"{100 * cosines[row, column]:.0f}"
                panel.text(column, row, text, ha="center", va="center", fontsize=7, color=colour)
    return figure


def draw_one_query(walk: HeadWalk, asks: int, labels: Sequence[str]) -> Figure:
    """Draw how one token gathers from all: its weights, the values, and their weighted sum."""
    rows = len(labels)
    left = max(text_width(label, 8.5) for label in labels) + 0.4
    tall = 0.26 * rows
    limit = largest(walk.value)
    weights = walk.weights[asks]
    with figure_style(labels):
        figure = Figure(figsize=(left + 6.9, tall + 1.75))
        heading(
            figure,
            f"What {labels[asks]} gathers",
            f"encoder layer {walk.layer}, head {walk.head}: weights times values, added up",
        )
        bars = panel_at(figure, left, 0.75, 1.7, tall)
        bars.barh(np.arange(rows), weights, color=DARK, height=0.7)
        bars.set_ylim(rows - 0.5, -0.5)
        bars.set_title("weights; their sum is 1", fontsize=8.5)
        bare(bars)
        bars.spines[["top", "right", "bottom"]].set_visible(False)
        write_tokens(bars, "left", labels, 8.5)
        for row, weight in enumerate(weights.tolist()):
            bars.text(weight + 0.01, row, f"{weight:.2f}", va="center", fontsize=7.5)
        bars.set_xlim(0, max(1.25 * float(weights.max()), 0.1))
        width = walk.value.shape[1]
        values = panel_at(figure, left + 2.0, 0.75, 2.2, tall)
        matrix(values, walk.value, limit, f"values: {rows} × {width}")
        weighed = panel_at(figure, left + 4.4, 0.75, 2.2, tall)
        matrix(weighed, weights[:, None] * walk.value, limit, "weight × value")
        total = panel_at(figure, left + 4.4, 0.28, 2.2, 0.26)
        matrix(total, walk.gathered[asks][None], limit, "")
        total.set_ylabel("sum", rotation=0, ha="right", va="center", fontsize=8.5)
    return figure


def draw_exponentials(walk: HeadWalk, asks: int, labels: Sequence[str]) -> Figure:
    """Draw what the exponential makes of one token's scores: above 1 what agrees with it, near 0 what does not."""
    query, key = walk.query[asks], walk.key
    cosines = key @ query / (np.linalg.norm(key, axis=1) * np.linalg.norm(query))
    scores = walk.products[asks] / walk.d_k**0.5
    rows = len(labels)
    left, tall = max(text_width(label, 8.5) for label in labels) + 0.4, 0.26 * rows
    with figure_style(labels):
        figure = Figure(figsize=(left + 7.6, max(tall, 1.6) + 1.75))
        heading(
            figure,
            f"What {labels[asks]} agrees with, and what the exponential makes of it",
            f"encoder layer {walk.layer}, head {walk.head}: the softmax divides by the sum of the bars in the middle",
        )
        for place, (values, origin, title) in enumerate(
            (
                (cosines, 0.0, "cosine of query and key"),
                (np.exp(scores), 1.0, "exp of the score; 1 for none"),
            )
        ):
            bars = panel_at(figure, left + 2.6 * place, 0.6, 2.2, tall)
            colours = [DARK if value > origin else LIGHT for value in values]
            bars.barh(np.arange(rows), values - origin, left=origin, color=colours, height=0.7)
            bars.axvline(origin, color=QUIET, linewidth=0.8)
            bars.set_ylim(rows - 0.5, -0.5)
            bars.set_title(title, fontsize=8.5)
            bars.spines[["top", "right", "left"]].set_visible(False)
            bars.set_yticks([])
            if not place:
                write_tokens(bars, "left", labels, 8.5)
        curve = panel_at(figure, left + 5.5, 0.6, 1.9, max(tall, 1.6))
        ends = float(min(scores.min(), -1.0)) - 0.2, float(max(scores.max(), 1.0)) + 0.2
        line = np.linspace(*ends, 200)
        curve.plot(line, np.exp(line), color=QUIET, linewidth=1.0)
        curve.scatter(scores, np.exp(scores), color=DARK, s=14, zorder=3)
        curve.axvline(0, color="#cbd2d9", linewidth=0.8, zorder=0)
        curve.axhline(1, color="#cbd2d9", linewidth=0.8, zorder=0)
        curve.set_title("exp", fontsize=8.5)
        curve.set_xlabel("score", fontsize=8.5)
        curve.spines[["top", "right"]].set_visible(False)
    return figure


def draw_attention_layer(walk: HeadWalk, rows: Sequence[str], columns: Sequence[str]) -> Figure:
    """Draw one masked head from queries and keys to what it gathers."""
    across, down = 0.24 * len(columns), 0.24 * len(rows)
    left = max(text_width(label, 8.0) for label in rows) + 0.45
    foot = max(text_width(label, 8.0) for label in columns) + 0.2
    width = 1.15
    hidden = ~np.array(walk.may_look)
    products = walk.products.astype(float)
    scaled = np.where(hidden, np.nan, products / np.sqrt(walk.d_k))
    with figure_style([*rows, *columns]):
        figure = Figure(figsize=(left + 4 * across + 3 * width + 2.0, foot + down + 1.3))
        heading(
            figure,
            "One head, from queries and keys to what is gathered",
            f"decoder self-attention, layer {walk.layer}, head {walk.head}; d_k = {walk.d_k}; hatched: hidden by the look-ahead mask",
        )
        place = left
        limit = largest(walk.query, walk.key, walk.value)
        for values, title in ((walk.query, "Q"), (walk.key.T, "Kᵀ")):
            tall = down if title == "Q" else min(down, 1.6)
            size = width if title == "Q" else across
            panel = panel_at(figure, place, foot + down - tall, size, tall)
            matrix(panel, values, limit, f"{title}: {values.shape[0]} × {values.shape[1]}")
            if title == "Q":
                write_tokens(panel, "left", rows, 8.0)
            place += size + 0.3
        for values, title in ((products, "Q Kᵀ"), (scaled, f"/ √{walk.d_k}, masked")):
            panel = panel_at(figure, place, foot, across, down)
            panel.set_facecolor("#eef1f4")
            matrix(panel, values, largest(values), f"{title}  ±{largest(values):.1f}")
            if title != "Q Kᵀ":
                hatch(panel, hidden)
            write_tokens(panel, "bottom", columns, 8.0)
            place += across + 0.3
        panel = panel_at(figure, place, foot, across, down)
        draw_weights(panel, walk.weights, Normalize(0.0, 1.0))
        panel.set_title("softmax: rows sum to 1", fontsize=8.5)
        write_tokens(panel, "bottom", columns, 8.0)
        place += across + 0.3
        for values, title in ((walk.value, "V"), (walk.gathered, "softmax · V")):
            panel = panel_at(figure, place, foot, width, down)
            matrix(panel, values, limit, f"{title}: {values.shape[0]} × {values.shape[1]}")
            place += width + 0.3
    return figure


def hatch(panel: Axes, hidden: np.ndarray) -> None:
    for row, column in zip(*np.nonzero(hidden), strict=True):
        panel.add_patch(
            FancyBboxPatch(
                (column - 0.5, row - 0.5),
                1,
                1,
                boxstyle="square,pad=0",
                facecolor="none",
                edgecolor="#cbd2d9",
                hatch="////",
                linewidth=0,
            )
        )


def draw_add_and_norm(walk: HeadWalk, place: int, label: str) -> Figure:
    """Draw what happens around an attention at one token: what came in, what is added, what goes on."""
    around = walk.around[place]
    parts = (
        (around.x, "what came in"),
        (around.sublayer, "what attention adds"),
        (around.sum, f"sum (mean {around.mean:.2f}, deviation {around.deviation:.2f})"),
        (
            around.out,
            f"normalised, gain and bias (mean {around.out.mean():.2f}, deviation {around.out.std():.2f})",
        ),
    )
    with figure_style([label]):
        figure = Figure(figsize=(7.2, 3.1))
        heading(
            figure,
            f"Add & Norm at {label}",
            f"{walk.kind} layer {walk.layer}: {len(around.x)} numbers of one token; the colours of a row end at its largest",
        )
        for row, (values, name) in enumerate(parts):
            panel = panel_at(figure, 0.25, 1.85 - 0.57 * row, 6.7, 0.24)
            matrix(panel, values[None], largest(values[None]), "")
            panel.set_title(f"{name}: ±{largest(values[None]):.2f}", fontsize=8.5, loc="left")
    return figure
