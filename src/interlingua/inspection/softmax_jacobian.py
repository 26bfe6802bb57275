"""Why scores are divided by sqrt(d_k): the derivative of softmax with and without it.

Source: Vaswani et al. 2017, section 3.2.1: large scores push softmax into regions with tiny gradients.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from interlingua.inspection.canvas import QUIET, SIGNED, figure_style

__all__ = ["SIZES", "draw_softmax_jacobian", "random_scores", "softmax_jacobian"]

SIZES = (4, 8, 16, 32, 64)


def softmax_jacobian(
    scores: Float[np.ndarray, "S"], scale: float = 1.0
) -> Float[np.ndarray, "S S"]:
    r"""Return the derivative of :math:`p = \mathrm{softmax}(s / C)` by s.

    .. math:: \frac{\partial p_i}{\partial s_j} = \frac{1}{C} (p_i \delta_{ij} - p_i p_j)

    ``scale`` is C: 1, or sqrt(d_k).
    """
    exponentials = np.exp((scores - scores.max()) / scale)
    weights = exponentials / exponentials.sum()
    jacobian: Float[np.ndarray, "S S"] = (np.diag(weights) - np.outer(weights, weights)) / scale
    return jacobian


def random_scores(size: int, seed: int = 0) -> Float[np.ndarray, "S"]:
    """Return ``size`` dot products as they are at the start of training: normal, of variance d_k = ``size``.

    The sum of d_k products of two independent numbers of mean 0 and variance 1 has variance d_k (section 3.2.1,
    footnote 4).
    """
    return np.random.default_rng([seed, size]).normal(0.0, np.sqrt(size), size)


def draw_softmax_jacobian(sizes: Sequence[int] = SIZES, seed: int = 0) -> Figure:
    """Draw the Jacobians for each size: with 1/sqrt(d_k) above, without below, in the same colours.

    The colours end at the extremes of the scaled one, as the unscaled is often ruled by a few large values.
    """
    width, height = 2.35 * len(sizes) + 0.9, 5.9
    with figure_style():
        figure = Figure(figsize=(width, height))
        figure.text(
            0.25 / width,
            1 - 0.2 / height,
            "The derivative of softmax at random scores of variance d\u2096",
            fontsize=12,
            va="top",
        )
        figure.text(
            0.25 / width,
            1 - 0.48 / height,
            "divided by √d\u2096 the gradient reaches every score; undivided it falls on a few of them, "
            "the fewer the larger d\u2096",
            fontsize=8.5,
            va="top",
            color=QUIET,
        )
        for column, size in enumerate(sizes):
            scores = random_scores(size, seed)
            scaled = softmax_jacobian(scores, np.sqrt(size))
            limit = float(np.abs(scaled).max())
            norm = Normalize(-limit, limit)
            for row, jacobian in enumerate((scaled, softmax_jacobian(scores))):
                box = (
                    (0.75 + 2.35 * column) / width,
                    (2.75 - 2.5 * row) / height,
                    1.7 / width,
                    1.7 / height,
                )
                panel = figure.add_axes(box)
                _draw_one(panel, jacobian, size, norm)
                if column == 0:
                    panel.set_ylabel("with 1/√d\u2096" if row == 0 else "without", fontsize=10)
                _add_scale(figure, box, width, norm)
    return figure


def _draw_one(panel: Axes, jacobian: Float[np.ndarray, "S S"], size: int, norm: Normalize) -> None:
    panel.imshow(jacobian, cmap=SIGNED, norm=norm, interpolation="nearest")
    panel.set_title(
        f"d\u2096 = {size}\nmean |entry| {np.abs(jacobian).mean():.2g}\n"
        f"SD {jacobian.std():.2g}   range {np.ptp(jacobian):.2g}",
        fontsize=8,
    )
    panel.set_xticks([])
    panel.set_yticks([])


def _add_scale(
    figure: Figure, box: tuple[float, float, float, float], width: float, norm: Normalize
) -> None:
    x, y, panel_width, panel_height = box
    axes = figure.add_axes((x + panel_width + 0.05 / width, y, 0.06 / width, panel_height))
    bar = figure.colorbar(ScalarMappable(norm, SIGNED), cax=axes)
    bar.outline.set_visible(False)
    axes.tick_params(colors=QUIET, labelsize=6)
