"""One small table, written as plain text, Markdown or LaTeX."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Table", "decimals_of", "escape_latex"]

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "*": "{*}",  # it and the brackets would be arguments of the end of the line before
    "[": "{[}",
    "]": "{]}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
}


@dataclass(frozen=True, slots=True)
class Table:
    """A header and rows of as many cells; the first column is text, the others are figures."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def to_text(self) -> str:
        """Write aligned columns, two spaces apart."""
        lines = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(_align(cells, widths, "  ").rstrip() for cells in lines)

    def to_markdown(self) -> str:
        """Write a GitHub table whose source is aligned too."""
        lines = [
            [cell.replace("|", "\\|") for cell in cells] for cells in [self.header, *self.rows]
        ]
        widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
        rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
        return "\n".join(
            f"| {_align(cells, widths, ' | ')} |" for cells in [lines[0], rule, *lines[1:]]
        )

    def to_latex(self) -> str:
        """Write a ``tabular`` with the rules of the booktabs package."""
        head, *body = (
            " & ".join(map(escape_latex, cells)) + r" \\" for cells in [self.header, *self.rows]
        )
        columns = "l" + "r" * (len(self.header) - 1)
        begin, end = rf"\begin{{tabular}}{{{columns}}}", r"\end{tabular}"
        return "\n".join([begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", end])


def decimals_of(values: Iterable[float], decimals: int = 2, *, is_of_program: bool) -> int:
    """Return with how many decimals the values of one metric are written.

    Ours are out of a hundred, however small. Those of another program are two more digits long if none is above one, as COMET's are.
    """
    is_out_of_one = is_of_program and all(abs(value) <= 1 for value in values)
    return decimals + 2 if is_out_of_one else decimals


def escape_latex(text: str) -> str:
    """Write each character that LaTeX would act on so that it is printed instead."""
    return "".join(_LATEX.get(character, character) for character in text)


def _align(cells: Sequence[str], widths: Sequence[int], separator: str) -> str:
    first = cells[0].ljust(widths[0])
    others = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))
    return separator.join([first, *others])
