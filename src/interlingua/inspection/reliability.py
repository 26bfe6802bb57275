"""A picture of a calibration: of what is said to hold with a probability, how much does."""

from matplotlib.figure import Figure

from interlingua.evaluation.calibration import BINS, Reliability
from interlingua.inspection.canvas import QUIET, figure_style

__all__ = ["draw_reliability"]


def draw_reliability(reliability: Reliability) -> Figure:
    """Draw the reliability diagram, with the number of pairs at each bar."""
    with figure_style():
        figure = Figure(figsize=(4.5, 4.5))
        axes = figure.add_axes((0.13, 0.12, 0.82, 0.8))
        axes.plot([0, 1], [0, 1], color=QUIET, linestyle="--", linewidth=1)
        for each in reliability.bins:
            middle = (each.number + 0.5) / BINS
            axes.bar(middle, each.good, width=0.9 / BINS, color="#4477aa")
            axes.annotate(str(each.pairs), (middle, each.good), ha="center", fontsize=7)
        axes.set(
            xlim=(0, 1),
            ylim=(0, 1.05),
            xlabel="confidence",
            ylabel="share at least as good as the median",
            title=f"calibration error {reliability.error:.3f}, area {reliability.area:.3f}",
        )
    return figure
