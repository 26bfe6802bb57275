"""Pictures of what came before the Transformer, for the walk through the paper: recurrences at work, and what a layer costs."""

from collections.abc import Sequence

import numpy as np
from book_diagrams import arrow, box
from book_drawings import DARK, LIGHT, heading, largest, matrix, panel_at
from book_recurrences import Passage, Reading
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from interlingua.inspection.attention import draw_weights, write_tokens
from interlingua.inspection.canvas import INK, QUIET, figure_style, text_width
from interlingua.model.architecture import Architecture

__all__ = ["draw_cell", "draw_costs", "draw_passage", "draw_unrolled"]

GRU_STEPS = (
    ("h", "state before"),
    ("r", "reset gate"),
    ("n", "new: tanh of the token and of reset × state"),
    ("z", "update gate: how much of the state stays"),
    ("h'", "(1 − update) × new + update × state before"),
)
LSTM_STEPS = (
    ("c", "cell before"),
    ("f", "forget gate: how much of it stays"),
    ("i", "input gate: how much is let in"),
    ("g", "new: tanh of the token and the state before"),
    ("c'", "forget × cell before + input × new"),
    ("o", "output gate: how much is shown"),
    ("h'", "state: output × tanh of the cell"),
)
GATES = ("f", "i", "o", "r", "z")
NAMES = {"f": "forget", "i": "input", "o": "output", "r": "reset", "z": "update"}


def board_of(figure: Figure) -> Axes:
    """Return a panel over the whole figure that counts in inches, behind all others."""
    width, height = figure.get_size_inches()
    board = panel_at(figure, 0, 0, width, height)
    board.set_xlim(0, width)
    board.set_ylim(0, height)
    board.axis("off")
    return board


def upright(
    figure: Figure, left: float, bottom: float, values: Float[np.ndarray, "D"], limit: float
) -> None:
    """Draw a vector as a column of colours."""
    matrix(panel_at(figure, left, bottom, 0.16, 1.3), values[:, None], limit, "")


def draw_unrolled(reading: Reading, labels: Sequence[str]) -> Figure:
    """Draw a recurrent network as a loop, and unrolled along a sentence with its state after every token."""
    pitch = max(0.85, max(text_width(label, 8.5) for label in labels) + 0.15)
    left = 2.1
    with figure_style(labels):
        figure = Figure(figsize=(left + pitch * len(labels) + 0.3, 3.55))
        heading(
            figure,
            "A recurrent network: one cell, once for every token",
            f"left: folded; right: unrolled along the sentence; the colours are the {reading.states.shape[1]} numbers of its state, from −1 to 1",
        )
        board = board_of(figure)
        cell(board, 0.75, "tanh(Wx + Uh)", 1.0)
        arrow(board, (0.75, 0.42), (0.75, 0.7))
        arrow(board, (0.75, 1.2), (0.75, 1.5))
        board.text(0.75, 0.3, "token x", ha="center", va="center", fontsize=8.5)
        board.text(0.75, 1.62, "state h", ha="center", va="center", fontsize=8.5)
        board.plot([0.75, 1.55, 1.55], [1.38, 1.38, 0.95], color=QUIET, linewidth=1)
        arrow(board, (1.55, 0.95), (1.25, 0.95))
        for place, label in enumerate(labels):
            at = left + pitch * (place + 0.5)
            cell(board, at, "tanh", 0.5)
            arrow(board, (at, 0.42), (at, 0.7))
            arrow(board, (at, 1.2), (at, 1.5))
            upright(figure, at - 0.08, 1.5, reading.states[place], 1.0)
            board.text(at, 0.3, label, ha="center", va="center", fontsize=8.5, parse_math=False)
            if place + 1 < len(labels):
                arrow(board, (at + 0.25, 0.95), (at + pitch - 0.25, 0.95))
    return figure


def cell(board: Axes, at: float, text: str, width: float = 0.8) -> None:
    box(board, at - width / 2, 0.7, width, 0.5, "#f5f7fa", "#9aa5b1")
    board.text(at, 0.95, text, ha="center", va="center", fontsize=8)


def draw_cell(reading: Reading, place: int, labels: Sequence[str]) -> Figure:
    """Draw one step of an LSTM or a GRU number by number, and the mean of its gates along the sentence."""
    steps = LSTM_STEPS if reading.kind == "lstm" else GRU_STEPS
    known = {**reading.gates, "h": reading.states}
    shown = [gate for gate in GATES if gate in reading.gates]
    means = np.stack([reading.gates[gate].mean(axis=1) for gate in shown])
    pitch, left, strip = 0.44, 3.3, 3.2
    across = max(0.42 * len(labels), 1.5)
    foot = max(text_width(label, 8.5) for label in labels)
    with figure_style(labels):
        height = max(pitch * len(steps), 0.3 * len(shown) + foot + 0.4) + 0.95
        figure = Figure(figsize=(left + strip + 1.75 + across, height))
        name = reading.kind.upper()
        heading(
            figure,
            f"An {name} reads {labels[place]}"
            if reading.kind == "lstm"
            else f"A {name} reads {labels[place]}",
            f"left: one step, {reading.states.shape[1]} numbers; gates from 0 (white) to 1, the rest blue above and red below 0; "
            "right: the mean of each gate at every token",
        )
        board = board_of(figure)
        for row, (letter, text) in enumerate(steps):
            bottom = height - 0.8 - pitch * (row + 1) + 0.12
            one = known[letter.removesuffix("'")]
            before = np.zeros_like(one[0]) if place == 0 else one[place - 1]
            values = one[place] if letter.endswith("'") or letter not in ("c", "h") else before
            board.text(left - 0.1, bottom + 0.13, text, ha="right", va="center", fontsize=8.5)
            panel = panel_at(figure, left, bottom, strip, 0.26)
            if letter in GATES:
                draw_weights(panel, values[None], Normalize(0.0, 1.0))
                end = f"mean {values.mean():.2f}"
            else:
                limit = largest(values[None])
                matrix(panel, values[None], limit, "")
                end = f"±{limit:.2f}"
            board.text(
                left + strip + 0.08, bottom + 0.13, end, va="center", fontsize=8, color=QUIET
            )
        panel = panel_at(
            figure, left + strip + 1.55, height - 0.8 - 0.3 * len(shown), across, 0.3 * len(shown)
        )
        draw_weights(panel, means, Normalize(0.0, 1.0))
        write_tokens(panel, "left", [NAMES[gate] for gate in shown], 8.5)
        write_tokens(panel, "bottom", labels, 8.5)
        for (row, column), value in np.ndenumerate(means):
            colour = "white" if value > 0.6 else INK
            panel.text(
                column,
                row,
                f"{100 * value:.0f}",
                ha="center",
                va="center",
                fontsize=7.5,
                color=colour,
            )
    return figure


def draw_passage(passage: Passage) -> Figure:
    """Draw an encoder and a decoder with nothing between them but one vector."""
    source, target = passage.source, passage.target
    read = ["begin", *target[:-1]]
    pitch = max(0.72, max(text_width(label, 8.5) for label in [*source, *target]) + 0.12)
    middle = 0.3 + pitch * len(source) + 0.5
    right = middle + 0.75
    with figure_style([*source, *target]):
        figure = Figure(figsize=(right + pitch * len(target) + 0.3, 3.7))
        heading(
            figure,
            "A whole sentence through one vector",
            f"LSTM encoder and decoder without attention, {len(passage.vector)} numbers a state; below: what is read, "
            "above: what is written, and its probability in percent",
        )
        board = board_of(figure)
        box(board, 0.2, 0.6, middle - 0.75, 1.95, "#f5f7fa", "#cbd2d9")
        box(board, right - 0.12, 0.6, pitch * len(target) + 0.2, 1.95, "#f5f7fa", "#cbd2d9")
        for name, start, tokens in (("encoder", 0.3, source), ("decoder", right, target)):
            at = start + pitch * len(tokens) / 2
            board.text(at, 0.1, name, ha="center", va="center", fontsize=8.5, color=QUIET)
        for place, label in enumerate(source):
            at = 0.3 + pitch * (place + 0.5)
            upright(figure, at - 0.08, 0.95, passage.read[place], 1.0)
            board.text(at, 0.33, label, ha="center", va="center", fontsize=8.5, parse_math=False)
            arrow(board, (at, 0.45), (at, 0.9))
            arrow(board, (at + 0.12, 1.6), (at + pitch - 0.12, 1.6))
        upright(figure, middle - 0.08, 0.95, passage.vector, 1.0)
        box(board, middle - 0.18, 0.85, 0.36, 1.5, "white", DARK)
        board.text(middle, 0.68, "the sentence", ha="center", va="center", fontsize=8, color=DARK)
        arrow(board, (middle + 0.2, 1.6), (right + pitch / 2 - 0.12, 1.6))
        for place, label in enumerate(target):
            at = right + pitch * (place + 0.5)
            upright(figure, at - 0.08, 0.95, passage.written[place], 1.0)
            board.text(
                at, 0.33, read[place], ha="center", va="center", fontsize=8.5, parse_math=False
            )
            arrow(board, (at, 0.45), (at, 0.9))
            arrow(board, (at, 2.28), (at, 2.68))
            chance = f"{100 * passage.chances[place]:.0f}"
            board.text(at, 2.86, label, ha="center", va="center", fontsize=8.5, parse_math=False)
            board.text(at, 2.6, f"   {chance}", ha="left", va="center", fontsize=7.5, color=QUIET)
            if place + 1 < len(target):
                arrow(board, (at + 0.12, 1.6), (at + pitch - 0.12, 1.6))
    return figure


def draw_costs(sizes: Architecture, longest: int = 1024) -> Figure:
    """Draw the multiplications of a layer and the steps between two words, by the length of the sentence."""
    length = np.arange(2, longest + 1)
    apart = length - 1.0
    width, across = sizes.d_model, 3
    kinds = (
        ("self-attention", DARK, 2.0 * length**2 * width, np.ones_like(apart)),
        ("recurrence", "#e6550d", 2.0 * length * width**2, apart),
        (
            "convolution of 3",
            LIGHT,
            across * 1.0 * length * width**2,
            np.ceil(2 * apart / (across - 1)),
        ),
    )
    with figure_style():
        figure = Figure(figsize=(9.2, 3.7))
        heading(
            figure,
            "What a layer costs, and how far apart two words are",
            f"computed for a width of {width}: the paper's Table 1 with its constants; logarithmic axes",
        )
        for left, is_work, title in (
            (0.75, True, "multiplications in one layer"),
            (5.15, False, "steps between the first and the last word"),
        ):
            panel = panel_at(figure, left, 0.55, 3.2, 2.3)
            for name, colour, work, steps in kinds:
                curve = work if is_work else steps
                dashed = name.startswith("convolution")  # of width 3, as many steps as a recurrence
                style = "--" if dashed else "-"
                panel.plot(length, curve, style, color=colour, linewidth=1.4, label=name)
            panel.set_xscale("log", base=2)
            panel.set_yscale("log", base=10 if is_work else 2)
            panel.xaxis.set_major_formatter("{x:.0f}")
            panel.set_title(title, fontsize=9)
            panel.set_xlabel("words")
            panel.spines[["top", "right"]].set_visible(False)
            if is_work:
                panel.axvline(width, color="#cbd2d9", linewidth=0.8, zorder=0)
                panel.text(
                    width * 0.93,
                    panel.get_ylim()[0] * 1.6,
                    f"{width} words",
                    fontsize=7.5,
                    ha="right",
                    color=QUIET,
                )
            else:
                panel.yaxis.set_major_formatter("{x:.0f}")
                panel.legend(frameon=False, fontsize=8, loc="upper left")
    return figure
