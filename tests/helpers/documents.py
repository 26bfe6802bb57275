"""The pages of the book, and the blocks in them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
SHELL_KINDS = ("", "console", "bash", "sh")
COMMAND = re.compile(r"(\$|interlingua|make|mkdir|pip|python3?|torchrun|curl|zcat|source|argospm) ")
"""How a line begins that somebody types."""


@dataclass(frozen=True)
class Block:
    """One block of a page, without its indentation."""

    page: str
    kind: str
    text: str

    @property
    def first_line(self) -> str:
        return self.text.splitlines()[0]

    @property
    def name(self) -> str:
        return f"{self.page}: {self.first_line}"

    @property
    def is_shell(self) -> bool:
        """Whether it is typed into a shell, and not only shown."""
        return self.kind in SHELL_KINDS and COMMAND.match(self.text) is not None


@dataclass(frozen=True)
class Typed:
    """One command of a transcript, and what the page says that it prints."""

    command: str
    printed: str


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page in their order; those that only Sphinx reads are none."""
    for found in FENCE.finditer(page.read_text(encoding="utf-8")):
        if not found[0].lstrip().startswith("```{"):
            text = re.sub(f"(?m)^{found[1]}", "", found[3])
            yield Block(name_of(page), found[2], text)


def transcript(text: str) -> list[Typed]:
    """Take apart what begins with ``$``: commands, which a backslash continues, and what follows each."""
    parts = re.split(r"(?m)^\$ ", text)[1:]
    found = []
    for part in parts:
        command = re.match(r"(?:[^\n]*\\\n)*[^\n]*\n?", part)
        assert command is not None
        found.append(Typed(command[0].rstrip("\n"), part[command.end() :]))
    return found
