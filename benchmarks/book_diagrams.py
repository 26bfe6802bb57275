"""Diagrams for the walk through the paper: boxes, tokens and steps, with what one translation had in them."""

from collections.abc import Mapping, Sequence

import numpy as np
from book_drawings import DARK, LIGHT, Matrix, heading, largest, matrix, panel_at
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from interlingua.inspection.attention import write_tokens
from interlingua.inspection.canvas import QUIET, figure_style, text_width
from interlingua.inspection.legible import label_of
from interlingua.inspection.steps import Step
from interlingua.inspection.trace import Trace
from interlingua.model.architecture import Architecture

__all__ = [
    "arrow",
    "box",
    "colour_of",
    "draw_architecture",
    "draw_corpus",
    "draw_steps",
    "draw_tokenizers",
    "draw_two_translators",
]


def colour_of(name: str) -> str:
    """Return the colour of a kind of part, the same in every diagram."""
    if "Norm" in name:
        return "#fde7e0"
    if "attention" in name:
        return "#deebf7"
    return "#e5f2e0" if "feed-forward" in name else "white"


def draw_architecture(sizes: Architecture, trace: Trace, vocabulary: int) -> Figure:
    """Draw the model with the shape of what leaves each part, for one sentence."""
    source, target, width = len(trace.source_tokens), len(trace.target_tokens), sizes.d_model
    after = "Add & Norm" if sizes.norm == "post" else "Norm & Add"
    x, y = f"{source} × {width}", f"{target} × {width}"
    encoder = [
        ("embeddings × √d, + positions", x),
        (f"self-attention, {sizes.heads} heads", x),
        (after, x),
        (f"feed-forward, {sizes.d_ff} inside", x),
        (after, x),
    ]
    decoder = [
        ("embeddings × √d, + positions", y),
        (f"masked self-attention, {sizes.heads} heads", y),
        (after, y),
        (f"attention to the source, {sizes.heads} heads", y),
        (after, y),
        (f"feed-forward, {sizes.d_ff} inside", y),
        (after, y),
        ("linear", f"{target} × {vocabulary:,}"),
        ("softmax", f"{target} × {vocabulary:,}"),
    ]
    with figure_style([trace.source, trace.target]):
        figure = Figure(figsize=(8.6, 6.6))
        heading(
            figure,
            "The model, and the shape of what leaves each part",
            f"{sizes.encoder_layers} encoder and {sizes.decoder_layers} decoder layers; rows are tokens, columns what is known of each; "
            "blue: attention, red: Add & Norm, green: feed-forward",
        )
        panel = panel_at(figure, 0.2, 0.2, 8.2, 5.7)
        panel.set_xlim(0, 8.2)
        panel.set_ylim(0, 5.7)
        panel.axis("off")
        for left, parts in ((0.15, encoder), (4.45, decoder)):
            layer = parts[1 : 5 if parts is encoder else 7]
            box(panel, left - 0.12, 0.99, 3.75, 0.52 * len(layer) + 0.08, "#f5f7fa", "#cbd2d9")
            for number, (name, shape) in enumerate(parts):
                bottom = 0.5 + 0.52 * number + (0.06 if number > len(layer) else 0.0)
                box(panel, left, bottom + 0.04, 2.55, 0.36, colour_of(name), LIGHT)
                panel.text(left + 1.27, bottom + 0.22, name, ha="center", va="center", fontsize=8.5)
                panel.text(left + 2.62, bottom + 0.22, shape, va="center", fontsize=8, color=QUIET)
                if number + 1 < len(parts):
                    arrow(panel, (left + 0.6, bottom + 0.4), (left + 0.6, bottom + 0.6))
        times = (f"{sizes.encoder_layers} times", f"{sizes.decoder_layers} times")
        panel.text(0.15, 1.02 + 0.52 * 4 + 0.08, times[0], fontsize=8, color=QUIET)
        panel.text(7.45, 1.02 + 0.52 * 6 + 0.08, times[1], fontsize=8, color=QUIET)
        panel.text(0.15, 0.2, trace.source, fontsize=9, parse_math=False)
        panel.text(4.45, 0.2, f"begin + {trace.target}", fontsize=9, parse_math=False)
        panel.text(4.45, 5.35, f"{trace.target} + end", fontsize=9, parse_math=False)
        arrow(panel, (0.75, 3.25), (4.45, 2.3), bend=-0.2)
        panel.text(1.5, 3.55, "memory: keys and values", fontsize=8, color=QUIET)
    return figure


def draw_steps(steps: Sequence[Step], shown: int = 4) -> Figure:
    """Draw what the decoder had read at each step, and the likeliest next tokens."""
    rows = len(steps)
    read = ["begin", *(label_of(step.token.text) for step in steps[:-1])]
    so_far = [" ".join(read[max(0, row - 7) : row + 1]) for row in range(rows)]
    names = [[label_of(each.text) for each in step.guess.candidates[:shown]] for step in steps]
    left = max(text_width(line, 8.5) for line in so_far) + 0.35
    with figure_style([*so_far, *(name for each in names for name in each)]):
        figure = Figure(figsize=(left + 1.35 * shown + 0.3, 0.42 * rows + 1.0))
        heading(
            figure,
            "One step after the other",
            f"what the decoder has read, and the {shown} likeliest next tokens, in percent; dark: written",
        )
        for row, step in enumerate(steps):
            bottom = 0.42 * (rows - 1 - row) + 0.15
            panel = panel_at(figure, left, bottom, 1.35 * shown, 0.36)
            panel.set_xlim(0, shown)
            panel.set_ylim(0, 1)
            panel.axis("off")
            panel.text(
                -0.08, 0.5, so_far[row], ha="right", va="center", fontsize=8.5, parse_math=False
            )
            for place, each in enumerate(step.guess.candidates[:shown]):
                share = float(np.exp(each.log_probability))
                colour = DARK if each.id == step.token.id else LIGHT
                panel.barh(0.14, 0.9 * share, height=0.16, left=place + 0.04, color=colour)
                text = f"{names[row][place]}  {100 * share:.1f}"
                panel.text(place + 0.04, 0.6, text, va="center", fontsize=8, parse_math=False)
    return figure


def draw_tokenizers(text: str, kinds: Mapping[str, Sequence[str]]) -> Figure:
    """Draw the same text as each kind of tokenizer cuts it, a box a token."""
    cut = {kind: [label_of(piece) for piece in pieces] for kind, pieces in kinds.items()}
    widths = {
        kind: [max(text_width(label, 9.0), 0.06) + 0.12 for label in labels]
        for kind, labels in cut.items()
    }
    across = max(sum(each) + 0.05 * len(each) for each in widths.values()) + 1.75
    with figure_style([text, *(label for labels in cut.values() for label in labels)]):
        figure = Figure(figsize=(across, 0.5 * len(cut) + 0.85))
        heading(figure, "Three ways to cut a sentence", text)
        for row, (kind, labels) in enumerate(cut.items()):
            panel = panel_at(figure, 0.2, 0.5 * (len(cut) - 1 - row) + 0.1, across - 0.3, 0.4)
            panel.set_xlim(0, across - 0.3)
            panel.set_ylim(0, 0.4)
            panel.axis("off")
            panel.text(0, 0.2, f"{kind}: {len(labels)}", va="center", fontsize=9, color=QUIET)
            place = 1.3
            for label, width in zip(labels, widths[kind], strict=True):
                box(panel, place, 0.06, width, 0.28, "#deebf7", LIGHT)
                panel.text(
                    place + width / 2,
                    0.2,
                    label,
                    ha="center",
                    va="center",
                    fontsize=9,
                    parse_math=False,
                )
                place += width + 0.05
    return figure


def draw_two_translators(trace: Trace, memory: Matrix) -> Figure:
    """Draw encoder and decoder as two translators, with what the one hands to the other."""
    labels = [label_of(token.text) for token in trace.source_tokens]
    rows, width = memory.shape
    side = max(text_width(trace.source, 10), text_width(trace.target, 10), 1.2) + 0.1
    foot = max(text_width(label, 8.5) for label in labels) + 0.1
    tall = 0.2 * rows
    with figure_style([trace.source, trace.target, *labels]):
        figure = Figure(figsize=(2 * side + foot + 6.0, max(tall, 1.0) + 1.15))
        heading(
            figure,
            "Two translators, and what goes between them",
            f"what the encoder hands over is no language: {width} numbers for each of the {rows} tokens, other numbers in every model",
        )
        across, up = figure.get_size_inches()
        board = panel_at(figure, 0, 0, across, up)
        board.set_xlim(0, across)
        board.set_ylim(0, up)
        board.axis("off")
        middle = 0.2 + tall / 2
        place = 0.2
        for name, text in (("encoder", trace.source), ("decoder", trace.target)):
            if name == "encoder":
                board.text(place, middle, text, va="center", fontsize=10, parse_math=False)
                place += side
            arrow(board, (place, middle), (place + 0.35, middle))
            box(board, place + 0.38, middle - 0.3, 1.0, 0.6, "#f5f7fa", "#9aa5b1")
            board.text(place + 0.88, middle, name, ha="center", va="center", fontsize=10)
            place += 1.4
            arrow(board, (place, middle), (place + 0.35, middle))
            place += 0.45
            if name == "encoder":
                panel = panel_at(figure, place + foot, 0.2, 1.8, tall)
                matrix(panel, memory, largest(memory), "")
                write_tokens(panel, "left", labels, 8.5)
                place += foot + 1.85
            else:
                board.text(place, middle, text, va="center", fontsize=10, parse_math=False)
    return figure


def draw_corpus(
    parts: Mapping[str, int], pairs: Sequence[tuple[str, str]], lengths: Mapping[str, Sequence[int]]
) -> Figure:
    """Draw how large a corpus is, how long its sentences are, and some of its pairs."""
    shown = [text for pair in pairs for text in pair]
    wide = max(text_width(source, 9) for source, _ in pairs) + 0.35
    with figure_style(shown):
        figure = Figure(
            figsize=(
                max(wide + max(text_width(each, 9) for _, each in pairs) + 0.6, 8.2),
                3.0 + 0.27 * len(pairs),
            )
        )
        heading(
            figure,
            "The text that the model learned from",
            "the demo's corpus, which a small grammar of Romanian and English writes; below: its first test pairs",
        )
        across, up = figure.get_size_inches()
        panel = panel_at(figure, 1.0, up - 2.4, 2.3, 1.4)
        panel.barh(list(parts), list(parts.values()), color=DARK, height=0.6)
        panel.invert_yaxis()
        panel.set_title("pairs of sentences", fontsize=9)
        panel.set_xticks([])
        panel.spines[["top", "right", "bottom"]].set_visible(False)
        for row, number in enumerate(parts.values()):
            panel.text(number, row, f" {number:,}", va="center", fontsize=8.5)
        panel.set_xlim(0, 1.3 * max(parts.values()))
        counts = panel_at(figure, 4.3, up - 2.4, 3.5, 1.4)
        longest = max(max(each) for each in lengths.values())
        for (name, each), colour, shift in zip(
            lengths.items(), (DARK, LIGHT), (-0.2, 0.2), strict=True
        ):
            share = np.bincount(each, minlength=longest + 1) / len(each)
            counts.bar(
                np.arange(longest + 1) + shift, 100 * share, width=0.4, color=colour, label=name
            )
        counts.set_title("words in a sentence, percent of the training sentences", fontsize=9)
        counts.spines[["top", "right"]].set_visible(False)
        counts.legend(frameon=False, fontsize=8)
        board = panel_at(figure, 0, 0, across, 0.27 * len(pairs) + 0.2)
        board.set_xlim(0, across)
        board.set_ylim(0, 0.27 * len(pairs) + 0.2)
        board.axis("off")
        for row, (source, target) in enumerate(pairs):
            height = 0.27 * (len(pairs) - row - 0.5) + 0.15
            board.text(0.2, height, source, va="center", fontsize=9, parse_math=False)
            board.text(0.2 + wide, height, target, va="center", fontsize=9, parse_math=False)
    return figure


def box(
    panel: Axes, left: float, bottom: float, width: float, height: float, fill: str, edge: str
) -> None:
    shape = FancyBboxPatch(
        (left, bottom),
        width,
        height,
        boxstyle="round,pad=0,rounding_size=0.06",
        facecolor=fill,
        edgecolor=edge,
        linewidth=0.8,
    )
    panel.add_patch(shape)


def arrow(
    panel: Axes, start: tuple[float, float], end: tuple[float, float], bend: float = 0.0
) -> None:
    style = f"arc3,rad={bend}"
    panel.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=7, color=QUIET, connectionstyle=style
        )
    )
