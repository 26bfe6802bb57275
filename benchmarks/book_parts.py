"""Pictures of one layer for the walk through the paper: its heads, its feed-forward network, all of it, and a batch with padding."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from book_diagrams import arrow, box, colour_of
from book_drawings import DARK, LIGHT, heading, largest, matrix, panel_at
from jaxtyping import Bool, Float, Int
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from torch import Tensor

from interlingua.inspection.attention import draw_weights, write_tokens
from interlingua.inspection.canvas import INK, QUIET, figure_style, text_width
from interlingua.model.attention_maps import record_attention
from interlingua.model.encoder import EncoderLayer
from interlingua.model.transformer import Transformer

__all__ = [
    "BatchWalk",
    "LayerWalk",
    "draw_batch",
    "draw_dimensions",
    "draw_encoder_layer",
    "draw_feed_forward",
    "draw_heads",
    "draw_waves",
    "walk_batch",
    "walk_encoder_layer",
]


@dataclass(frozen=True, slots=True, eq=False)
class LayerWalk:
    """One layer of the encoder on one sentence, part by part; normalisation after the sublayer, as in the paper."""

    layer: int
    x: Float[np.ndarray, "S D"]
    query: Float[np.ndarray, "H S K"]
    key: Float[np.ndarray, "H S K"]
    value: Float[np.ndarray, "H S Kv"]
    weights: Float[np.ndarray, "H S S"]
    heads: Float[np.ndarray, "H S Kv"]
    joined: Float[np.ndarray, "S HKv"]
    w_output: Float[np.ndarray, "HKv D"]
    attended: Float[np.ndarray, "S D"]
    """What attention adds."""
    between: Float[np.ndarray, "S D"]
    """After the first Add & Norm."""
    inner: Float[np.ndarray, "S F"]
    """After the maximum."""
    fed: Float[np.ndarray, "S D"]
    """What the feed-forward network adds."""
    out: Float[np.ndarray, "S D"]


@dataclass(frozen=True, slots=True, eq=False)
class BatchWalk:
    """The first encoder attention on a batch."""

    real: Bool[np.ndarray, "B S"]
    weights: Float[np.ndarray, "B H S S"]


def walk_encoder_layer(model: Transformer, source: Int[Tensor, "1 S"], layer: int) -> LayerWalk:
    """Compute one layer, counted from 1, by its own matrices."""
    mask = torch.ones(1, 1, 1, source.size(1), dtype=torch.bool)
    with torch.inference_mode():
        x = model.source_embedding(source)
        for below in model.encoder.layers[: layer - 1]:
            x = below(x, mask)
        own = model.encoder.layers[layer - 1]
        assert isinstance(own, EncoderLayer)
        assert not own.around_attention.pre
        attention, feed = own.self_attention, own.feed_forward
        query = attention.query(x).unflatten(-1, (attention.heads, -1)).transpose(1, 2)
        key, value = attention.keys_and_values(x)
        weights = attention.weigh(query, key, mask)
        heads = weights @ value
        joined = heads.transpose(1, 2).flatten(2)
        attended = attention.output(joined)
        between = own.around_attention.norm(x + attended)
        inner = feed.inner(between).clamp(min=0)
        fed = feed.outer(inner)
        out = own.around_feed_forward.norm(between + fed)
    return LayerWalk(
        layer=layer,
        x=array(x),
        query=array(query),
        key=array(key),
        value=array(value),
        weights=array(weights),
        heads=array(heads),
        joined=array(joined),
        w_output=attention.output.weight.detach().T.numpy(),
        attended=array(attended),
        between=array(between),
        inner=array(inner),
        fed=array(fed),
        out=array(out),
    )


def array(x: Tensor) -> np.ndarray:
    """Return the one sentence of a batch of one."""
    return x[0].numpy()


def walk_batch(model: Transformer, source: Int[Tensor, "B S"]) -> BatchWalk:
    """Pass sentences of different lengths through the encoder at once."""
    with torch.inference_mode(), record_attention(model) as maps:
        memory = model.encode(source)
    weights = maps["encoder.layers.0.self_attention"][0]
    return BatchWalk(memory.mask.numpy(), weights.numpy())


def draw_heads(walk: LayerWalk, labels: Sequence[str]) -> Figure:
    """Draw all heads of a layer side by side, their concatenation, and the product with the output matrix."""
    heads, rows, width = walk.query.shape
    d_model = walk.x.shape[1]
    left = max(text_width(label, 8.0) for label in labels) + 0.3
    tall, pitch = 0.155 * rows, 0.155 * rows + 0.52
    asked, given = largest(walk.query, walk.key), largest(walk.value, walk.heads)
    with figure_style(labels):
        bottom = 0.35
        top = bottom + heads * pitch
        figure = Figure(figsize=(left + 10.75, top + 0.75))
        heading(
            figure,
            f"{heads} heads side by side",
            f"encoder layer {walk.layer}; every head has a query, a key and a value of {width} numbers a token, and weights of its own; "
            "white is 0, blue above, red below",
        )
        middle = (top + bottom - 0.3) / 2
        panel = panel_at(figure, left, middle - tall / 2, 1.5, tall)
        matrix(panel, walk.x, largest(walk.x), f"came in: {rows} × {d_model}")
        write_tokens(panel, "left", labels, 8.0)
        for number in range(heads):
            at = top - (number + 1) * pitch + 0.1
            place = left + 1.85
            for values, name, limit in (
                (walk.query, "Q", asked),
                (walk.key, "K", asked),
                (walk.value, "V", given),
            ):
                panel = panel_at(figure, place, at, 0.75, tall)
                matrix(panel, values[number], limit, f"{name}{subscript(number)}: {rows} × {width}")
                place += 0.95
            panel = panel_at(figure, place, at, tall, tall)
            draw_weights(panel, walk.weights[number], Normalize(0.0, 1.0))
            panel.set_title(f"weights{subscript(number)}: {rows} × {rows}", fontsize=8.5)
            place += tall + 0.25
            panel = panel_at(figure, place, at, 0.75, tall)
            matrix(panel, walk.heads[number], given, f"head{subscript(number)}: {rows} × {width}")
        place += 1.05
        panel = panel_at(figure, place, middle - tall / 2, 1.5, tall)
        matrix(panel, walk.joined, given, f"side by side: {rows} × {walk.joined.shape[1]}")
        for number in range(1, heads):
            panel.axvline(number * width - 0.5, color=INK, linewidth=0.7)
        panel = panel_at(figure, place + 0.1, middle + tall / 2 + 0.4, 1.3, 1.3)
        matrix(
            panel,
            walk.w_output,
            largest(walk.w_output),
            f"Wᴼ: {walk.w_output.shape[0]} × {d_model}",
        )
        panel = panel_at(figure, place + 1.75, middle - tall / 2, 1.5, tall)
        matrix(panel, walk.attended, largest(walk.attended), f"times Wᴼ + b: {rows} × {d_model}")
    return figure


def subscript(number: int) -> str:
    return "₁₂₃₄₅₆₇₈₉"[number] if number < 9 else f" {number + 1}"


def draw_batch(walk: BatchWalk, labels: Sequence[Sequence[str]]) -> Figure:
    """Draw the weights of a batch, a row a sentence and a column a head, with what the padding mask hides."""
    sentences, heads, length, _ = walk.weights.shape
    left = max(text_width(label, 8.0) for each in labels for label in each) + 0.35
    below = left - 0.1
    side = 0.165 * length
    with figure_style([label for each in labels for label in each]):
        height = sentences * (side + below + 0.62) + 0.75
        figure = Figure(figsize=(left + heads * (side + 0.18) + 0.2, height))
        heading(
            figure,
            f"The weights of a batch: {sentences} × {heads} × {length} × {length}",
            f"encoder layer 1; a row is a sentence, a column a head; hatched: padding, which nobody looks at "
            f"(mask: {sentences} × 1 × 1 × {length})",
        )
        norm = Normalize(0.0, float(walk.weights.max()))
        for row in range(sentences):
            bottom = height - 0.75 - (row + 1) * (side + below + 0.62) + below + 0.34
            hidden = ~walk.real[row]
            for head in range(heads):
                panel = panel_at(figure, left + head * (side + 0.18), bottom, side, side)
                draw_weights(panel, walk.weights[row, head], norm)
                panel.set_title(f"sentence {row + 1} · head {head + 1}", fontsize=8.5)
                hide(panel, hidden, length)
                write_tokens(panel, "bottom", labels[row], 8.0)
                if head == 0:
                    write_tokens(panel, "left", labels[row], 8.0)
            strip = panel_at(figure, left, bottom - below - 0.24, side, 0.13)
            draw_weights(strip, walk.real[row][None].astype(float), Normalize(0.0, 2.0))
            strip.text(
                length - 0.2,
                0,
                f"mask of sentence {row + 1}: {int(walk.real[row].sum())} of {length} may be looked at",
                va="center",
                fontsize=8,
                color=QUIET,
            )
    return figure


def hide(panel: Axes, hidden: Bool[np.ndarray, "S"], length: int) -> None:
    """Hatch the columns of padding."""
    for column in np.flatnonzero(hidden):
        panel.axvspan(
            column - 0.5,
            column + 0.5,
            facecolor="none",
            edgecolor="#cbd2d9",
            hatch="////",
            linewidth=0,
        )
    panel.set_xlim(-0.5, length - 0.5)


def draw_feed_forward(walks: Sequence[LayerWalk], labels: Sequence[str]) -> Figure:
    """Draw what comes in, what the maximum leaves open, and what goes on, for every token of some layers."""
    rows = len(labels)
    left = max(text_width(label, 8.0) for label in labels) + 0.35
    tall = 0.17 * rows
    with figure_style(labels):
        height = len(walks) * (tall + 0.45) + 0.75
        figure = Figure(figsize=(left + 8.9, height))
        inside = walks[0].inner.shape[1]
        heading(
            figure,
            "The feed-forward network at every token",
            f"encoder; each token by itself: {walks[0].x.shape[1]} numbers in, {inside} inside of which the maximum leaves some "
            f"above 0, {walks[0].x.shape[1]} out",
        )
        for number, walk in enumerate(walks):
            bottom = height - 0.75 - (number + 1) * (tall + 0.45) + 0.12
            panel = panel_at(figure, left, bottom, 1.5, tall)
            matrix(
                panel,
                walk.between,
                largest(walk.between),
                f"layer {walk.layer}, came in: {rows} × {walk.between.shape[1]}",
            )
            write_tokens(panel, "left", labels, 8.0)
            panel = panel_at(figure, left + 1.7, bottom, 3.4, tall)
            draw_weights(
                panel, walk.inner, Normalize(0.0, float(np.quantile(walk.inner, 0.99)) or 1.0)
            )
            panel.set_title(f"inside, after the maximum: {rows} × {inside}", fontsize=8.5)
            share = (walk.inner > 0).mean(axis=1)
            bars = panel_at(figure, left + 5.3, bottom, 1.4, tall)
            bars.barh(np.arange(rows), share, color=LIGHT, height=0.7)
            bars.set_ylim(rows - 0.5, -0.5)
            bars.set_xlim(0, max(1.3 * float(share.max()), 0.1))
            bars.set_title("above 0, in percent", fontsize=8.5)
            bars.set_xticks([])
            bars.set_yticks([])
            bars.spines[["top", "right", "bottom"]].set_visible(False)
            for row, each in enumerate(share.tolist()):
                bars.text(each + 0.01, row, f"{100 * each:.0f}", va="center", fontsize=7.5)
            panel = panel_at(figure, left + 7.0, bottom, 1.5, tall)
            matrix(panel, walk.fed, largest(walk.fed), f"adds: {rows} × {walk.fed.shape[1]}")
    return figure


def draw_encoder_layer(walk: LayerWalk, place: int, label: str) -> Figure:
    """Draw one token on its way through a whole layer of the encoder: two sublayers, each added and normalised."""
    parts = (
        (walk.x, "came in"),
        (walk.attended, "self-attention adds"),
        (walk.between, "Add & Norm"),
        (walk.inner, f"feed-forward: {walk.inner.shape[1]} inside"),
        (walk.fed, "feed-forward adds"),
        (walk.out, "Add & Norm: goes on"),
    )
    left, pitch = 2.45, 0.46
    with figure_style([label]):
        height = pitch * len(parts) + 0.75
        figure = Figure(figsize=(left + 5.6, height))
        heading(
            figure,
            f"A whole encoder layer at {label}",
            f"layer {walk.layer}; the lines at the left go around a sublayer; the colours of a row end at its largest",
        )
        board = panel_at(figure, 0, 0, left + 5.6, height)
        board.set_xlim(0, left + 5.6)
        board.set_ylim(0, height)
        board.axis("off")
        board.patch.set_visible(False)
        middles = []
        for row, (values, name) in enumerate(parts):
            bottom = height - 0.75 - pitch * (row + 1) + 0.1
            middles.append(bottom + 0.13)
            box(board, 0.45, bottom, left - 0.6, 0.26, colour_of(name), LIGHT)
            board.text(
                0.45 + (left - 0.6) / 2, bottom + 0.13, name, ha="center", va="center", fontsize=8
            )
            panel = panel_at(figure, left, bottom, 4.7, 0.26)
            matrix(panel, values[place][None], largest(values[place][None]), "")
            board.text(
                left + 4.78,
                bottom + 0.13,
                f"±{largest(values[place][None]):.2f}",
                va="center",
                fontsize=8,
                color=QUIET,
            )
            if row:
                arrow(board, (1.2, middles[row - 1] - 0.13), (1.2, middles[row] + 0.13))
        for start, end, leaves in ((0, 2, 0.0), (2, 5, -0.07)):
            top, foot = middles[start] + leaves, middles[end] + 0.07
            board.plot([0.45, 0.25, 0.25], [top, top, foot], color=DARK, linewidth=0.9)
            arrow(board, (0.25, foot), (0.47, foot))
    return figure


def draw_dimensions(vectors: Float[np.ndarray, "W D"], labels: Sequence[str]) -> Figure:
    """Draw some embeddings number by number, and how the products of the first with the others add up."""
    order = np.argsort(-(vectors[0] * vectors[1]), kind="stable")
    ordered = vectors[:, order]
    number, width = vectors.shape
    left = max(text_width(f"{labels[0]} · {label}", 8.5) for label in labels) + 0.35
    with figure_style(labels):
        figure = Figure(figsize=(left + 7.6, 0.27 * number + 3.0))
        heading(
            figure,
            "A dot product, dimension by dimension",
            f"{width} numbers of each embedding, in the order in which they make {labels[0]} · {labels[1]} larger; below: the products added up",
        )
        panel = panel_at(figure, left, 2.2, 6.2, 0.27 * number)
        matrix(panel, ordered, largest(ordered), "")
        write_tokens(panel, "left", labels, 8.5)
        sums = panel_at(figure, left, 0.35, 6.2, 1.65)
        colours = [DARK, "#6baed6", "#e6550d", "#9aa5b1"]
        for row in range(1, number):
            total = (ordered[0] * ordered[row]).cumsum()
            colour = colours[(row - 1) % len(colours)]
            sums.plot(np.arange(width), total, color=colour, linewidth=1.3)
            sums.text(
                width,
                float(total[-1]),
                f"{labels[row]}: {total[-1]:.2f}".replace("-", "−"),
                va="center",
                fontsize=8,
                color=colour,
            )
        sums.axhline(0.0, color="#cbd2d9", linewidth=0.6)
        sums.set_xlim(-0.5, width - 0.5)
        sums.set_xticks([])
        sums.set_xlabel("dimension, in that order")
        sums.set_ylabel(f"{labels[0]} · …")
        sums.spines[["top", "right"]].set_visible(False)
    return figure


def draw_waves(
    positions: Float[np.ndarray, "T D"], dimensions: Sequence[int], places: Sequence[int]
) -> Figure:
    """Draw some dimensions of the positional encoding along the positions, and some positions along the dimensions."""
    length, width = positions.shape
    with figure_style():
        figure = Figure(figsize=(10.75, 3.5))
        heading(
            figure,
            "The positional encoding, number by number",
            f"left: some of the {width} dimensions along {length} positions; right: some positions along the dimensions that are sines",
        )
        shades = (DARK, "#6baed6", "#e6550d", "#9aa5b1")
        sines = np.arange(0, width, 2)
        for left, shown, name, other in (
            (0.5, dimensions, "dimension", "position"),
            (5.95, places, "position", "dimension"),
        ):
            panel = panel_at(figure, left, 0.5, 3.7, 2.2)
            for colour, row in zip(shades, shown, strict=True):
                is_dimension = name == "dimension"
                x = np.arange(length) if is_dimension else sines
                y = positions[:, row] if is_dimension else positions[row, sines]
                panel.plot(x, y, color=colour, linewidth=1.0, label=f"{name} {row}")
            panel.set_xlabel(other)
            panel.set_ylim(-1.1, 1.1)
            panel.margins(x=0.0)
            panel.spines[["top", "right"]].set_visible(False)
            panel.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=7.5)
    return figure
