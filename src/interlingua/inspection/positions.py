"""What the model knows of positions: Vaswani et al. 2017, section 3.5, drawn and measured."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from interlingua.inspection.canvas import INK, QUIET, SIGNED, figure_style
from interlingua.model.positions import Positions

__all__ = [
    "PositionFacts",
    "dot_products_by_distance",
    "draw_positions",
    "measure_positions",
    "position_vectors",
]

SAME = 1e-5
"""Relative; the rounding of single precision over a thousand dimensions stays below."""


@dataclass(frozen=True, slots=True)
class PositionFacts:
    """What one can say of a table of positions."""

    largest: float
    """The largest absolute entry; the paper's encodings are bounded by 1."""
    closest: float
    """The smallest distance between two positions; above 0 if each is unique."""
    spread: float
    """How much the dot product at one distance depends on the place, at worst, relative to the squared norm;
    0 for the paper's encodings."""


def position_vectors(positions: Positions, length: int) -> Float[np.ndarray, "T D"]:
    """Return the vectors of the first ``length`` positions."""
    with torch.inference_mode():
        vectors: Float[np.ndarray, "T D"] = positions(0, length).double().cpu().numpy()
    return vectors


def dot_products_by_distance(
    vectors: Float[np.ndarray, "T D"],
) -> tuple[Float[np.ndarray, "T"], Float[np.ndarray, "T"], Float[np.ndarray, "T"]]:
    r"""Return the mean, the least and the greatest of :math:`PE_p \cdot PE_{p+k}` over p, for every distance k.

    For sinusoidal encodings the three are one: the product of a pair of sine and cosine is
    :math:`\sin a \sin b + \cos a \cos b = \cos(a - b)`, which depends on the distance only.
    """
    products = vectors @ vectors.T
    diagonals = [np.diagonal(products, offset=k) for k in range(len(vectors))]
    return (
        np.array([diagonal.mean() for diagonal in diagonals]),
        np.array([diagonal.min() for diagonal in diagonals]),
        np.array([diagonal.max() for diagonal in diagonals]),
    )


def measure_positions(vectors: Float[np.ndarray, "T D"]) -> PositionFacts:
    """Measure bounds, uniqueness, and whether a dot product tells the distance."""
    squares = (vectors**2).sum(axis=1)
    # Differences one position at a time: sums of squares minus products would lose what is close.
    closest = min(
        (
            float(np.linalg.norm(vectors[place + 1 :] - vectors[place], axis=1).min())
            for place in range(len(vectors) - 1)
        ),
        default=0.0,
    )
    _, least, greatest = dot_products_by_distance(vectors)
    return PositionFacts(
        largest=float(np.abs(vectors).max()),
        closest=closest,
        spread=float((greatest - least).max() / (squares.mean() or 1.0)),
    )


def draw_positions(vectors: Float[np.ndarray, "T D"], name: str) -> Figure:
    """Draw the encodings, their dot products by distance, and all dot products; ``name`` goes into the title."""
    facts = measure_positions(vectors)
    with figure_style([name]):
        figure = Figure(figsize=(13.0, 4.6))
        figure.text(0.02, 0.965, f"Positions: {name}", fontsize=12, va="top", parse_math=False)
        figure.text(0.02, 0.905, _in_words(facts), fontsize=8.5, va="top", color=QUIET)
        _draw_table(figure, vectors)
        _draw_by_distance(
            figure.add_axes((0.435, 0.13, 0.235, 0.6)), dot_products_by_distance(vectors)
        )
        _draw_products(figure, vectors @ vectors.T)
    return figure


def _in_words(facts: PositionFacts) -> str:
    unique = "every position differs from every other" if facts.closest > 0 else "positions repeat"
    place = f"depends on the place too (by {100 * facts.spread:.2g} % of the squared norm)"
    if facts.spread < SAME:
        place = "depends on the distance only"
    return (
        f"entries within ±{facts.largest:.3g}  ·  {unique} (by at least {facts.closest:.3g})  ·  "
        f"the dot product of two positions {place}"
    )


def _draw_table(figure: Figure, vectors: Float[np.ndarray, "T D"]) -> None:
    panel = figure.add_axes((0.05, 0.13, 0.28, 0.6))
    limit = float(np.abs(vectors).max()) or 1.0
    image = panel.imshow(
        vectors, cmap=SIGNED, norm=Normalize(-limit, limit), aspect="auto", interpolation="nearest"
    )
    panel.set_title("one row a position")
    panel.set_xlabel("dimension")
    panel.set_ylabel("position")
    _scale(figure, image, (0.337, 0.13, 0.007, 0.6))


def _draw_by_distance(
    panel: Axes,
    products: tuple[Float[np.ndarray, "T"], Float[np.ndarray, "T"], Float[np.ndarray, "T"]],
) -> None:
    mean, least, greatest = products
    distance = np.arange(len(mean))
    panel.fill_between(
        distance, least, greatest, color="#9ecae1", linewidth=0, label="least to greatest"
    )
    panel.plot(distance, mean, color="#08519c", linewidth=1.4, label="mean over positions p")
    panel.axhline(0.0, color="#cbd2d9", linewidth=0.6, zorder=0)
    panel.set_title("dot product by distance: PE(p) · PE(p+k)")
    panel.set_xlabel("distance k")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, fontsize=8, labelcolor=INK)
    panel.margins(x=0.0)


def _draw_products(figure: Figure, products: Float[np.ndarray, "T T"]) -> None:
    panel = figure.add_axes((0.725, 0.13, 0.22, 0.6))
    limit = float(np.abs(products).max()) or 1.0
    image = panel.imshow(
        products, cmap=SIGNED, norm=Normalize(-limit, limit), aspect="auto", interpolation="nearest"
    )
    panel.set_title("dot product of every two positions")
    panel.set_xlabel("position")
    panel.set_ylabel("position")
    _scale(figure, image, (0.952, 0.13, 0.007, 0.6))


def _scale(figure: Figure, image: object, box: tuple[float, float, float, float]) -> None:
    axes = figure.add_axes(box)
    bar = figure.colorbar(image, cax=axes)  # type: ignore[arg-type]
    bar.outline.set_visible(False)
    axes.tick_params(colors=QUIET, labelsize=7)
