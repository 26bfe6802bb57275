"""What each part is worth, as tables and as loss curves on one picture."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from interlingua.inspection.canvas import INK, figure_style
from interlingua.training.ablation import WHOLE, Outcome

__all__ = ["Row", "as_latex", "as_markdown", "draw_curves", "rows_of"]

_COLUMNS = ("without", "validation loss", "more than the whole", "BLEU")


@dataclass(frozen=True, slots=True)
class Row:
    """One part, over all seeds."""

    removed: str
    losses: tuple[float, ...]
    bleus: tuple[float, ...]
    more: float
    """Mean loss above that of the whole model."""

    def cells(self, between: str) -> tuple[str, str, str, str]:
        """Write it: mean and, of several seeds, the sample standard deviation behind ``between``."""
        more = "" if self.removed == WHOLE.name else f"{self.more:+.3f}"
        name = self.removed.replace("-", " ")
        return name, _spread(self.losses, 3, between), more, _spread(self.bleus, 2, between)


def _spread(values: Sequence[float], digits: int, between: str) -> str:
    mean = f"{statistics.fmean(values):.{digits}f}"
    if len(values) < 2:
        return mean
    return f"{mean}{between}{statistics.stdev(values):.{digits}f}"


def rows_of(outcomes: Sequence[Outcome]) -> list[Row]:
    """Put the seeds of each part together: the whole model first, then the part that is missed most."""
    names = list(dict.fromkeys(each.removed for each in outcomes))
    losses = {
        name: tuple(each.validation.loss for each in outcomes if each.removed == name)
        for name in names
    }
    whole = statistics.fmean(losses[WHOLE.name])
    rows = [
        Row(
            name,
            losses[name],
            tuple(each.validation.bleu for each in outcomes if each.removed == name),
            statistics.fmean(losses[name]) - whole,
        )
        for name in names
    ]
    return sorted(rows, key=lambda row: (row.removed != WHOLE.name, -row.more))


def as_markdown(rows: Sequence[Row]) -> str:
    """Write the table for a document."""
    lines = [_COLUMNS, ("---",) * len(_COLUMNS), *(row.cells(" ± ") for row in rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def as_latex(rows: Sequence[Row]) -> str:
    """Write the table for a paper (booktabs)."""
    body = [" & ".join(row.cells(r" $\pm$ ")) + r" \\" for row in rows]
    head = " & ".join(_COLUMNS) + r" \\"
    begin, end = r"\begin{tabular}{lrrr}", r"\end{tabular}"
    lines = [begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", end, ""]
    return "\n".join(lines)


def draw_curves(outcomes: Sequence[Outcome]) -> Figure:
    """Draw the training loss against the update, the mean of the seeds, one line a part and the whole in black."""
    from matplotlib import colormaps

    rows = rows_of(outcomes)
    with figure_style():
        figure = Figure(figsize=(9.0, 5.0))
        axes = figure.add_axes((0.08, 0.12, 0.62, 0.82))
        colours = colormaps["turbo"]
        for number, row in enumerate(rows):
            curves = [dict(each.curve) for each in outcomes if each.removed == row.removed]
            steps = sorted(set.intersection(*map(set, curves)))
            means = [statistics.fmean(curve[step] for curve in curves) for step in steps]
            is_whole = row.removed == WHOLE.name
            axes.plot(
                steps,
                means,
                color=INK if is_whole else colours(number / len(rows)),
                linewidth=2.2 if is_whole else 1.2,
                label=f"without {row.removed.replace('-', ' ')}" if not is_whole else "the whole",
            )
        axes.set_xlabel("updates")
        axes.set_ylabel("training loss (nats a token)")
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), frameon=False, fontsize=8)
    return figure
