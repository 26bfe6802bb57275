"""The one look of all figures, and how they reach the disk: whole, and the same bytes for the same numbers.

Only matplotlib's objects are used, never ``pyplot``: no window, no state that outlives a figure.
"""

import io
import logging
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cycler import cycler
from matplotlib import rc_context, rcdefaults, rcParams, rcParamsDefault
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.textpath import TextToPath

from interlingua.errors import OutputError
from interlingua.files import replace_file
from interlingua.inspection.legible import (
    PLAIN_FAMILY,
    families_for,
    hide_missing,
    missing_characters,
)

__all__ = [
    "DOTS_PER_INCH",
    "INK",
    "QUIET",
    "SEQUENTIAL",
    "SIGNED",
    "add_colorbar",
    "figure_style",
    "save_figure",
    "text_width",
    "warn_of_missing",
    "write_figure",
]

DOTS_PER_INCH = 100
INK = "#1f2933"
QUIET = "#7b8794"
SEQUENTIAL = "Blues"
"""One hue from white to dark: readable in grey and with any colour vision."""
SIGNED = "RdBu"
"""White is zero; red and blue are told apart with any usual colour vision."""

_STYLE: dict[Any, Any] = {
    # An eleventh line has the colour of the first, and is dashed.
    "axes.prop_cycle": cycler(linestyle=["-", "--", ":"]) * rcParamsDefault["axes.prop_cycle"],
    "axes.edgecolor": "#cbd2d9",
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.linewidth": 0.6,
    "axes.titlecolor": INK,
    "axes.titlesize": 10,
    "figure.dpi": DOTS_PER_INCH,
    "font.sans-serif": [PLAIN_FAMILY],
    "font.size": 9,
    "savefig.dpi": DOTS_PER_INCH,
    "svg.fonttype": "none",
    "svg.hashsalt": "interlingua",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.major.pad": 3,
    "ytick.major.pad": 3,
}

_log = logging.getLogger(__name__)


@contextmanager
def figure_style(labels: Iterable[str] = ()) -> Iterator[None]:
    """Draw in the house's look, whatever the user's own settings of matplotlib, in fonts that hold ``labels``."""
    families = [*families_for(labels), "sans-serif"]
    with rc_context():
        rcdefaults()
        rcParams.update(_STYLE | {"font.family": families})
        yield


def text_width(text: str, size: float) -> float:
    """Return the width of ``text`` in inches, at ``size`` points."""
    from matplotlib.font_manager import FontProperties

    shown = hide_missing(text, missing_characters([text]))
    properties = FontProperties(family=families_for([shown]), size=size)
    width, _, _ = TextToPath().get_text_width_height_descent(shown, properties, ismath=False)
    return float(width) / 72.0


def add_colorbar(
    figure: Figure, box: tuple[float, float, float, float], norm: Normalize, label: str
) -> Axes:
    """Put a thin vertical scale at ``box`` (left, bottom, width, height, in parts of the figure)."""
    axes = figure.add_axes(box)
    bar = figure.colorbar(ScalarMappable(norm, SEQUENTIAL), cax=axes)
    bar.outline.set_visible(False)
    axes.set_ylabel(label, color=QUIET)
    axes.tick_params(colors=QUIET)
    return axes


def save_figure(figure: Figure, stem: Path) -> list[Path]:
    """Write ``stem``.png and ``stem``.svg.

    Raises:
        OutputError: they cannot be written.
    """
    return [write_figure(figure, stem.with_name(f"{stem.name}.{kind}")) for kind in ("png", "svg")]


def write_figure(figure: Figure, path: Path) -> Path:
    """Write a figure whole or not at all; the suffix says whether as PNG or as SVG.

    In SVG text stays text, so a browser shows every script. In PNG a character that no font here can show becomes
    a box, and the foot of the picture says so.

    Raises:
        OutputError: another suffix, or a place that cannot be written.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg"):
        raise OutputError(f"{path}: figures are written as .png or .svg; change the ending")
    texts: Sequence[Text] = figure.findobj(Text)
    missing = missing_characters(text.get_text() for text in texts)
    content = io.BytesIO()
    with figure_style(), _boxes(figure, texts, missing if kind == "png" else set()):
        if kind == "png":
            figure.savefig(content, format="png", metadata={"Software": "interlingua"})
        else:
            with warnings.catch_warnings():
                # The browser brings its own fonts; what is missing here does not matter there.
                warnings.filterwarnings("ignore", message="Glyph .* missing")
                figure.savefig(
                    content, format="svg", metadata={"Date": None, "Creator": "interlingua"}
                )
    with replace_file(path) as file:
        file.write(content.getvalue())
    return path


def warn_of_missing(labels: Iterable[str]) -> None:
    """Tell the log which characters will be boxes in PNG, and how to mend it."""
    missing = missing_characters(labels)
    if missing:
        _log.warning(
            "No font on this machine shows %s; it will be □ in PNG. Open the SVG in a browser, or install a font "
            "that has it, such as Noto Sans.",
            _name(missing),
        )


@contextmanager
def _boxes(figure: Figure, texts: Sequence[Text], missing: set[str]) -> Iterator[None]:
    """Hide characters that cannot be shown while the block runs, and say so at the foot."""
    originals = [(text, text.get_text()) for text in texts]
    note = None
    try:
        if missing:
            for text, original in originals:
                text.set_text(hide_missing(original, missing))
            width, height = figure.get_size_inches()
            note = figure.text(
                1 - 0.1 / width,
                0.05 / height,
                "□: no font here has it; the SVG does",
                ha="right",
                va="bottom",
                fontsize=6.5,
                color=QUIET,
            )
        yield
    finally:
        for text, original in originals:
            text.set_text(original)
        if note is not None:
            note.remove()


def _name(missing: set[str]) -> str:
    first = min(missing)
    name = unicodedata.name(first, "").lower()
    others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    return f"U+{ord(first):04X}" + (f" ({name})" if name else "") + others
