"""What each part, or each choice, is worth, as tables and as loss curves on one picture."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from interlingua.inspection.canvas import INK, figure_style
from interlingua.training.ablation import AS_IT_IS, Outcome

__all__ = ["Row", "as_latex", "as_markdown", "draw_curves", "rows_of"]


@dataclass(frozen=True, slots=True)
class Row:
    """One variant, over all seeds."""

    variant: str
    losses: tuple[float, ...]
    """Of each seed, in nats a token: to be compared only where the tokens are the same."""
    more: float
    """Mean loss above that of the configuration as it is."""
    bleus: tuple[float, ...]
    chrfs: tuple[float, ...]
    parameters: int
    vocabulary: int
    seconds: tuple[float, ...]

    def cells(self, between: str) -> dict[str, str]:
        """Write each column: mean and, of several seeds, the sample standard deviation behind ``between``."""
        return {
            "configuration": self.variant,
            "validation loss": _spread(self.losses, 3, between),
            "more": "" if self.variant == AS_IT_IS else f"{self.more:+.3f}",
            "BLEU": _spread(self.bleus, 2, between),
            "chrF": _spread(self.chrfs, 2, between),
            "parameters": f"{self.parameters:,}",
            "vocabulary": f"{self.vocabulary:,}",
            "seconds": f"{statistics.fmean(self.seconds):.0f}",
        }


_ONLY_IF_DIFFERENT = ("parameters", "vocabulary")


def _spread(values: Sequence[float], digits: int, between: str) -> str:
    mean = f"{statistics.fmean(values):.{digits}f}"
    if len(values) < 2:
        return mean
    return f"{mean}{between}{statistics.stdev(values):.{digits}f}"


def rows_of(outcomes: Sequence[Outcome]) -> list[Row]:
    """Put the seeds of each variant together: in the order in which they were trained."""
    by_name: dict[str, list[Outcome]] = {}
    for each in outcomes:
        by_name.setdefault(each.variant, []).append(each)
    whole = statistics.fmean(each.validation.loss for each in by_name[AS_IT_IS])
    rows = []
    for name, found in by_name.items():
        losses = tuple(each.validation.loss for each in found)
        row = Row(
            name,
            losses,
            more=statistics.fmean(losses) - whole,
            bleus=tuple(each.validation.bleu for each in found),
            chrfs=tuple(each.validation.chrf for each in found),
            parameters=found[0].parameters,
            vocabulary=found[0].vocabulary,
            seconds=tuple(each.seconds for each in found),
        )
        rows.append(row)
    return rows


def _table(rows: Sequence[Row], between: str) -> list[tuple[str, ...]]:
    """Return the head and the lines of the table, without columns that tell nothing apart."""
    cells = [row.cells(between) for row in rows]
    columns = [
        name
        for name in cells[0]
        if name not in _ONLY_IF_DIFFERENT or len({line[name] for line in cells}) > 1
    ]
    return [tuple(columns), *(tuple(line[name] for name in columns) for line in cells)]


def as_markdown(rows: Sequence[Row]) -> str:
    """Write the table for a document."""
    head, *lines = _table(rows, " ± ")
    every = (head, ("---",) * len(head), *lines)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in every)


def as_latex(rows: Sequence[Row]) -> str:
    """Write the table for a paper (booktabs)."""
    head, *lines = (
        " & ".join(cell.replace("_", r"\_") for cell in cells) + r" \\"
        for cells in _table(rows, r" $\pm$ ")
    )
    begin = rf"\begin{{tabular}}{{l{'r' * head.count(' & ')}}}"
    text = [begin, r"\toprule", head, r"\midrule", *lines, r"\bottomrule", r"\end{tabular}", ""]
    return "\n".join(text)


def draw_curves(outcomes: Sequence[Outcome]) -> Figure:
    """Draw the training loss against the update, the mean of the seeds, one line a variant and the configuration as it is in black."""
    from matplotlib import colormaps

    rows = rows_of(outcomes)
    with figure_style():
        figure = Figure(figsize=(9.0, 5.0))
        axes = figure.add_axes((0.08, 0.12, 0.62, 0.82))
        colours = colormaps["turbo"]
        for number, row in enumerate(rows):
            curves = [dict(each.curve) for each in outcomes if each.variant == row.variant]
            steps = sorted(set.intersection(*map(set, curves)))
            means = [statistics.fmean(curve[step] for curve in curves) for step in steps]
            is_whole = row.variant == AS_IT_IS
            axes.plot(
                steps,
                means,
                color=INK if is_whole else colours(number / len(rows)),
                linewidth=2.2 if is_whole else 1.2,
                label=row.variant,
            )
        axes.set_xlabel("updates")
        axes.set_ylabel("training loss (nats a token)")
        axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), frameon=False, fontsize=8)
    return figure
