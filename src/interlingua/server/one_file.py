"""The page as one file that opens without a network: its program, its style and the answers that it shows.

A page that is opened from a disk may load no module of its own, so that every module becomes a ``data:`` address, found by
an import map. What the page would ask a server for stands in the file: a saved page shows what was looked at, and no more.
"""

import base64
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlingua.inspection.looker import Looker

__all__ = ["PLACE", "held_answers", "one_file", "write_page"]

PLACE = "/* answers */"
"""What a page puts its answers in the place of."""
_IMPORT = re.compile(r'((?:^|\s)(?:import|from)\s+)"\./([a-z-]+\.js)"')
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


def one_file(answers: str) -> str:
    """Return the page with ``answers``, a JSON text, in it."""
    folder = files("interlingua.server") / "page"
    page = (folder / "index.html").read_text(encoding="utf-8")
    style = (folder / "page.css").read_text(encoding="utf-8")
    icon = base64.b64encode((folder / "icon.svg").read_bytes()).decode()
    modules = {
        f"look/{each.name}": _address(each.read_text(encoding="utf-8"))
        for each in sorted(folder.iterdir(), key=lambda each: each.name)
        if each.name.endswith(".js")
    }
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    program = (
        f'<script type="application/json" id="answers">{answers}</script>\n'
        f'  <script type="importmap">{json.dumps({"imports": modules})}</script>\n'
        '  <script type="module">import "look/app.js";</script>'
    )
    replaced = {
        '<meta charset="utf-8">': f'<meta charset="utf-8">\n  {policy}',
        '<link rel="stylesheet" href="page.css">': f"<style>\n{style}</style>",
        'href="icon.svg"': f'href="data:image/svg+xml;base64,{icon}"',
        '<script type="module" src="app.js"></script>': program,
    }
    for old, new in replaced.items():
        assert page.count(old) == 1, old
        page = page.replace(old, new)
    return page


def _address(module: str) -> str:
    """Return a module as an address, its imports by names that the import map has."""
    named = _IMPORT.sub(r'\1"look/\2"', module)
    return "data:text/javascript;base64," + base64.b64encode(named.encode()).decode()


def held_answers(looker: "Looker", text: str) -> Mapping[str, Any]:
    """Return what the page shows of one sentence, view by view, without anything switched off."""
    about = looker.answer("about", {})
    target = looker.answer("trace", {"text": text})["target"]
    asked: list[tuple[str, dict[str, Any]]] = [
        ("models", {}),
        ("about", {}),
        ("best-view", {}),
        *((name, {"text": text}) for name in ("translation", "trace", "steps", "saliency", "tree")),
        *(
            ("walk", {"text": text, "kind": kind, "layer": 1, "head": 1})
            for kind in ("encoder", "cross", "decoder")
        ),
        ("embeddings", {}),
        ("positions", {}),
        *(
            ("checkpoint", {"text": text, "target": target, "step": step})
            for step in about["checkpoints"]
        ),
    ]
    answers = [
        {"name": name, "body": body, "answer": looker.answer(name, body)} for name, body in asked
    ]
    return {"state": {"t": text, "view": "attention"}, "answers": answers}


def write_page(looker: "Looker", text: str, path: Path) -> None:
    """Write the page about one sentence to ``path``.

    Raises:
        ConfigError: there is nothing to translate.
        OutputError: the file cannot be written.
    """
    from interlingua.files import write_text

    # "<" could end the element that the answers stand in.
    held = json.dumps(held_answers(looker, text), ensure_ascii=False).replace("<", "\\u003c")
    write_text(path, one_file(held))
