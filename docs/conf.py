"""How Sphinx builds the site: ``make docs``; a warning is an error there."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from notebook_pages import NotebookParser
from sphinx.application import Sphinx

import interlingua

project = "Interlingua"
version = release = interlingua.__version__
html_title = "Interlingua"
html_theme = "furo"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.apidoc",
    "sphinx.ext.napoleon",
]
# Public names are shown where they are defined and in the package itself, so that a bare name has two homes.
suppress_warnings = ["ref.python"]

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

# One page for each package, not for each module: the theme writes the list of all pages into each of them. Their options are
# set here, before the extension reads this variable, because those of ``apidoc_modules`` do not reach such pages (Sphinx 9).
os.environ["SPHINX_APIDOC_OPTIONS"] = "members,show-inheritance"
apidoc_modules = [
    {
        "path": "../src/interlingua",
        "destination": "api",
        "separate_modules": False,
        "include_private": False,
        "exclude_patterns": ["../src/interlingua/cli*", "../src/interlingua/__main__.py"],
    }
]
autodoc_typehints = "signature"
autodoc_mock_imports = ["triton"]  # comes with torch for graphics cards only
autodoc_member_order = "bysource"
autodoc_use_type_comments = False
autodoc_inherit_docstrings = False


def setup(app: Sphinx) -> None:
    """Read notebooks too, without another package."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
