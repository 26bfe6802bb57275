"""The vocabulary, seen along the principal components of its embeddings."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from interlingua.inspection.canvas import INK, QUIET, figure_style, text_width
from interlingua.inspection.legible import label_of
from interlingua.tokenization.tokenizer import Tokenizer

__all__ = ["PrincipalComponents", "draw_embeddings", "principal_components", "words_of"]

NUM_LABELS = 60
LABEL_POINTS = 7.5
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")


@dataclass(frozen=True, slots=True, eq=False)
class PrincipalComponents:
    """The directions along which vectors differ most."""

    components: Float[np.ndarray, "P D"]
    """Orthonormal rows, the most important first."""
    coordinates: Float[np.ndarray, "V P"]
    """Where each vector stands along them, from the mean of all."""
    explained: Float[np.ndarray, "P"]
    """The share of the whole variance along each, 0 to 1."""


def principal_components(vectors: Float[np.ndarray, "V D"], number: int = 2) -> PrincipalComponents:
    r"""Find the first ``number`` principal components by singular value decomposition.

    .. math:: X - \bar{x} = U \Sigma W^\top

    The components are rows of :math:`W^\top`, the coordinates :math:`U \Sigma`, and the share of the variance
    :math:`\sigma_i^2 / \sum_j \sigma_j^2`. The sign of a component means nothing; here its largest entry is
    positive, so that every machine draws the same picture.
    """
    centred = (vectors - vectors.mean(axis=0)).astype(np.float64)
    _, singular, directions = np.linalg.svd(centred, full_matrices=False)
    number = min(number, len(singular))
    components = directions[:number]
    largest = np.abs(components).argmax(axis=1)
    signs = np.where(components[np.arange(number), largest] < 0, -1.0, 1.0)
    components = components * signs[:, None]
    variance = singular**2
    total = float(variance.sum()) or 1.0
    return PrincipalComponents(components, centred @ components.T, variance[:number] / total)


def words_of(tokenizer: Tokenizer) -> list[int]:
    """Return the ids that stand for text: neither special nor a single byte."""
    special = {tokenizer.pad_id, tokenizer.unknown_id, tokenizer.begin_id, tokenizer.end_id}
    pieces = tokenizer.all_tokens()
    return [
        id for id, piece in enumerate(pieces) if id not in special and not _BYTE.fullmatch(piece)
    ]


def draw_embeddings(vectors: Float[np.ndarray, "V D"], pieces: Sequence[str], name: str) -> Figure:
    """Draw one point a token along the first two components, and name the first tokens where there is room.

    Args:
        vectors: one a token.
        pieces: the tokens, the most frequent first, as a vocabulary holds them.
        name: of what, for the title.
    """
    found = principal_components(vectors)
    labels = [label_of(piece) for piece in pieces[:NUM_LABELS]]
    with figure_style([name, *labels]):
        figure = Figure(figsize=(8.0, 7.6))
        panel = figure.add_axes((0.09, 0.08, 0.87, 0.8))
        figure.text(0.03, 0.975, f"Embeddings: {name}", fontsize=12, va="top", parse_math=False)
        figure.text(
            0.03,
            0.938,
            f"{len(pieces):,} tokens along their first two principal components; "
            f"names for the {min(NUM_LABELS, len(pieces))} first of the vocabulary, where there is room",
            fontsize=8.5,
            va="top",
            color=QUIET,
        )
        points = _on_two_axes(found.coordinates)
        _set_limits(panel, points)
        panel.scatter(points[:, 0], points[:, 1], s=7, color="#9ecae1", linewidths=0)
        named = points[: len(labels)]
        panel.scatter(named[:, 0], named[:, 1], s=11, color="#08519c", linewidths=0)
        _write_names(panel, named, labels, (8.0 * 0.87, 7.6 * 0.8))
        _name_axes(panel, found.explained)
    return figure


def _on_two_axes(coordinates: Float[np.ndarray, "V P"]) -> Float[np.ndarray, "V 2"]:
    """Add a flat axis where there is but one component, or none."""
    flat = np.zeros((len(coordinates), 2))
    flat[:, : coordinates.shape[1]] = coordinates
    return flat


def _set_limits(panel: Axes, points: Float[np.ndarray, "V 2"]) -> None:
    for axis, values in zip(("x", "y"), points.T, strict=True):
        low, high = float(values.min()), float(values.max())
        margin = 0.06 * (high - low) or 1.0
        (panel.set_xlim if axis == "x" else panel.set_ylim)(low - margin, high + margin)


def _name_axes(panel: Axes, explained: Float[np.ndarray, "P"]) -> None:
    shares = [*explained.tolist(), 0.0, 0.0]
    panel.set_xlabel(f"first component ({100 * shares[0]:.1f} % of the variance)", color=QUIET)
    panel.set_ylabel(f"second component ({100 * shares[1]:.1f} % of the variance)", color=QUIET)
    panel.tick_params(colors=QUIET)
    panel.spines[["top", "right"]].set_visible(False)


def _write_names(
    panel: Axes,
    points: Float[np.ndarray, "V 2"],
    labels: Sequence[str],
    size: tuple[float, float],
) -> None:
    """Write each label beside its point where it covers no earlier one; ``size`` is the panel's, in inches."""
    (left, right), (low, high) = panel.get_xlim(), panel.get_ylim()
    taken: list[tuple[float, float, float, float]] = []
    places = (points - [left, low]) / [right - left, high - low] * size
    line = LABEL_POINTS / 72 * 1.15
    for (x, y), label in zip(places.tolist(), labels, strict=True):
        width = text_width(label, LABEL_POINTS)
        for dx, dy in _around(width, line):
            box = (x + dx, y + dy, x + dx + width, y + dy + line)
            inside = box[0] >= 0 and box[2] <= size[0] and box[1] >= 0 and box[3] <= size[1]
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                panel.text(
                    left + box[0] / size[0] * (right - left),
                    low + (box[1] + 0.2 * line) / size[1] * (high - low),
                    label,
                    fontsize=LABEL_POINTS,
                    color=INK,
                    parse_math=False,
                )
                break


def _around(width: float, line: float) -> tuple[tuple[float, float], ...]:
    """Offsets of a label's lower left corner from its point: right, left, above, below."""
    gap = 0.05
    return (
        (gap, -line / 2),
        (-gap - width, -line / 2),
        (-width / 2, gap),
        (-width / 2, -gap - line),
    )


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
