"""Notebooks as pages of the site: text as it is, code in blocks, and a solution below each exercise.

They are kept without outputs, so that a page shows no number that was not just computed by whoever reads it.
"""

import json
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser

__all__ = ["NotebookParser", "page_of"]


class NotebookParser(MystParser):
    """Reads a notebook as the Markdown that it stands for."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Add the notebook to ``document``."""
        super().parse(page_of(json.loads(inputstring)), document)


def page_of(notebook: dict[str, Any]) -> str:
    """Return the Markdown of a notebook; after its first cell stands where to get it."""
    first, *others = (_markdown(cell) for cell in notebook["cells"])
    return "\n\n".join([first, _HOW, *others]) + "\n"


_HOW = (
    "This page is a notebook, `docs/notebooks` in the repository. To work in it: `pip install jupyterlab`, then "
    "`jupyter lab`."
)


def _markdown(cell: dict[str, Any]) -> str:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return text
    block = f"```python\n{text}\n```"
    exercise = cell["metadata"].get("exercise")
    if exercise is None:
        return block
    solved = text.replace("...", exercise["solution"])
    return f"{block}\n\n<details><summary>A solution</summary>\n\n```python\n{solved}\n```\n\n</details>"
