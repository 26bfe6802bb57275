"""Every block of the book is run, in the order of its page, in a folder that holds only what its reader has.

What is typed must succeed, and print what the page shows, numbers and what a model says aside. What cannot be run is listed
with its reason in ``document_plans``; a block that is neither run nor listed fails here, and so does a list that is out of date.
"""

import os
import re
import shutil
import signal
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from document_plans import NOT_RUN, NOT_TYPED, PLANS, SHORTER_TRAINING, SHOWN, Plan
from documents import PAGES, ROOT, Block, blocks_of, name_of, transcript
from stock import DATA, Stock, environment

BLOCKS = [block for page in PAGES for block in blocks_of(page)]
READ_ELSEWHERE = ("toml",)
"""Configurations, which tests/unit/test_documented_commands.py reads."""
SHELL = r"""
set -euo pipefail
interlingua() {
  if [ "$1" != serve ] || [[ " $* " == *" --new-key "* ]]; then env interlingua "$@"; return; fi
  # A server does not end by itself: it stays in the background until the page is done.
  env interlingua "$@" --port 0 > served.out 2> served.log < /dev/null &
  echo $! >> served.pids
  until grep -q ' at http://' served.log; do
    kill -0 $! || { cat served.log >&2; return 1; }
    sleep 0.1
  done
  grep -o '127\.0\.0\.1:[0-9]*' served.log | head -n 1 > served.address
}
curl() { env curl --silent --show-error --fail-with-body "${@//127.0.0.1:5000/$(cat served.address)}"; }
"""
"""What the shell of a page knows besides: servers take a free port, and whoever asks for the usual one finds it."""
PATIENCE = 600
TRAINING = re.compile(r"^((?:\$ )?(?:torchrun .* )?interlingua train)(?= )", re.MULTILINE)
"""A training that is typed, not one that a command proposes."""


def listed_as(block: Block, listing: dict[str, str]) -> str | None:
    """Return the entry of a list that means this block."""
    return next((key for key in listing if block.name.startswith(key)), None)


def without_untyped(text: str) -> str:
    """Leave out what is listed as not typed; the extras of an installation must exist."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    kept = []
    for line in text.splitlines():
        for extras in re.findall(r"pip install .*\[([\w,-]+)\]", line):
            assert set(extras.split(",")) <= set(project["optional-dependencies"]), line
        if not line.startswith(tuple(NOT_TYPED)):
            kept.append(line)
    return "\n".join(kept)


def form(line: str) -> str:
    """Return how a line looks: without its numbers, its verdicts, the texts that a model wrote, and what the processor chose."""
    line = re.sub(r"^(\d+ \|\|\| ).*?( \|\|\| )", r"\1\2", line.strip())
    line = re.sub(r"^(?!\d+ \|\|\|).* \|\|\| (?=[\d.]+$)", "||| ", line)
    line = re.sub(r"->\s+[^-+\d].*", "->", line)
    line = re.sub(
        r": (better|worse|no significant difference|fewer than 30 sentences are too few to tell)$",
        "",
        line,
    )
    line = re.sub(r"\(best so far\)|: kept$|; step \d+ is better and stays", "", line)
    line = re.sub(r"\b(bfloat16|float32) on cpu, kernels-[0-9a-f]+", "a type on cpu, kernels", line)
    line = re.sub(r"[-+]?\d[\d.,]*(e[-+]\d+)?|[†‡]", "#", line)
    return " ".join(re.sub("#+", "#", line).split())


def first_missing(printed: str, shown: str, says: tuple[str, ...] = ()) -> str | None:
    """Return the first line of ``shown`` that ``printed`` has not, in the same order."""
    left = iter([form(line) for line in printed.splitlines() if line.strip()])
    free = {form(line) for line in says}
    for line in filter(None, map(str.strip, shown.splitlines())):
        if line == "...":
            continue
        if form(line) in free:
            if next(left, None) is None:
                return line
        elif form(line) not in left:
            return line
    return None


@dataclass
class Reader:
    """Somebody who types a page into an empty folder."""

    folder: Path
    plan: Plan
    corpora: Path | None
    printed: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def prepared(self, text: str) -> str:
        """Make a block shorter, as its plan tells, and have its Python ask where the server really is."""
        place = self.folder / "served.address"
        if place.exists() and "import" in text:
            text = text.replace("127.0.0.1:5000", place.read_text(encoding="utf-8").strip())
        for long, short in self.plan.instead.items():
            if long in text:
                self.used.add(long)
                text = text.replace(long, short)
        return re.sub(TRAINING, rf"\1 {SHORTER_TRAINING}", text)

    def type(self, command: str, *, fails: bool = False) -> str:
        """Run what is typed, and return all that is printed."""
        told = {"INTERLINGUA_DATA": str(self.corpora)} if self.corpora else {}
        done = subprocess.run(
            ["bash", "-c", SHELL + command],
            cwd=self.folder,
            env=environment(**told),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (done.returncode != 0) == fails, f"{command}\n{done.stdout}"
        assert "Traceback" not in done.stdout, f"{command}\n{done.stdout}"
        self.printed.append(done.stdout)
        return done.stdout

    def run(self, block: Block) -> None:
        """Do what a block is for."""
        text = self.prepared(block.text)
        saved = next((key for key in self.plan.saved if block.text.startswith(key)), None)
        if saved is not None:
            self.used.add(saved)
            name, command = self.plan.saved[saved]
            (self.folder / name).write_text(text, encoding="utf-8")
            self.type(command)
        elif block.kind == "python" and self.plan.one_program:
            with (self.folder / "page.py").open("a", encoding="utf-8") as program:
                program.write(f"{text}\n")
        elif block.kind == "python":
            (self.folder / "block.py").write_text(text, encoding="utf-8")
            self.type("python block.py")
        elif text.startswith("$ "):
            for each in transcript(text):
                found = self.type(
                    without_untyped(each.command), fails=each.printed.startswith("error:")
                )
                missing = first_missing(found, each.printed, self.plan.says)
                assert missing is None, f"{missing!r} was not printed by {each.command}\n{found}"
        else:
            self.type(without_untyped(text))

    def shown(self, block: Block, by: str) -> None:
        """Hold what a block shows to what has been printed."""
        known = {form(line) for text in self.printed for line in text.splitlines()}
        lines = [line for line in block.text.splitlines() if line.strip() not in ("", "...")]
        free = {form(line) for line in self.plan.says}
        missing = [line for line in lines if form(line) not in known | free]
        assert not missing, f"{by} did not print {missing}\n" + "\n".join(self.printed)

    def stop_servers(self) -> None:
        pids = self.folder / "served.pids"
        for pid in pids.read_text().split() if pids.exists() else ():
            os.kill(int(pid), signal.SIGTERM)


@pytest.fixture
def reader_of(made_once: Callable[..., Path], tmp_path: Path) -> Iterator[Callable[[str], Reader]]:
    """Return what puts the things of a page into an empty folder."""
    readers = []

    def prepare(page: str) -> Reader:
        stock, plan = Stock(made_once), PLANS.get(page, Plan())
        (tmp_path / "recipes").symlink_to(ROOT / "recipes")
        for name, make in plan.owns.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            make(stock, tmp_path / name)
        reader = Reader(tmp_path, plan, stock.folder("corpora") if DATA else None)
        readers.append(reader)
        for command in plan.first:
            reader.type(command)
        if any(
            SHOWN.get(listed_as(block, SHOWN) or "") == "interlingua demo"
            for block in blocks_of(ROOT / page)
        ):
            reader.printed.append((stock.folder("demo") / "printed.txt").read_text("utf-8"))
        return reader

    yield prepare
    for reader in readers:
        reader.stop_servers()


def runs(page: Path) -> bool:
    return any(listed_as(block, NOT_RUN) is None for block in blocks_of(page))


@pytest.mark.slow
@pytest.mark.parametrize("page", [name_of(page) for page in PAGES if runs(page)])
def test_the_blocks_of_a_page_run(page: str, reader_of: Callable[[str], Reader]) -> None:
    needed = [tool for tool in ("curl", "zcat", "node") if _uses(page, tool)]
    for tool in needed:
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool} on the path")
    if not DATA and _uses(page, "INTERLINGUA_DATA"):
        pytest.skip("INTERLINGUA_DATA is not set: the page trains a recipe on a real corpus")
    reader = reader_of(page)
    for block in blocks_of(ROOT / page):
        if listed_as(block, NOT_RUN) is not None or block.kind in READ_ELSEWHERE:
            continue
        shown = listed_as(block, SHOWN)
        if shown is None:
            reader.run(block)
        else:
            reader.shown(block, SHOWN[shown])
    if reader.plan.one_program:
        reader.type("python page.py")
    unused = {*reader.plan.instead, *reader.plan.saved} - reader.used
    assert not unused, f"no block of {page} has {unused}"


def _uses(page: str, what: str) -> bool:
    text = "\n".join(block.text for block in blocks_of(ROOT / page))
    if what == "INTERLINGUA_DATA":
        recipes = re.findall(r"recipes/\w+\.toml", text)
        return any(what in (ROOT / recipe).read_text(encoding="utf-8") for recipe in recipes)
    if what == "node":
        return "--format html" in text
    return re.search(rf"(?m)^(\$ )?{what} ", text) is not None


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_a_block_is_run_or_listed_with_a_reason(block: Block) -> None:
    if block.is_shell or block.kind in ("python", *READ_ELSEWHERE):
        return
    entry = listed_as(block, NOT_RUN) or listed_as(block, SHOWN)
    assert entry is not None, "neither run nor listed in tests/helpers/document_plans.py"


def test_the_installation_names_every_extra_and_what_it_brings() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs/guides/install.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (?:`([\w-]+)`|\(none\)) \| (.*?) \|", page, re.MULTILINE))
    assert set(rows) == {"", *project["optional-dependencies"]}
    for extra in ("", "serve", "export", "sentences", "zstd", "ray", "test-browser", "docs", "dev"):
        needed = project["optional-dependencies"].get(extra) or project["dependencies"]
        for each in needed:
            name = re.match(r"(?:interlingua\[)?([\w.-]+)", each)
            assert name is not None
            assert name[1] in rows[extra], f"{extra or 'the plain installation'}: {name[1]}"


@pytest.mark.parametrize("listing", [NOT_RUN, SHOWN], ids=["not run", "shown"])
def test_the_lists_hold_nothing_that_is_gone(listing: dict[str, str]) -> None:
    for entry, reason in listing.items():
        assert any(block.name.startswith(entry) for block in BLOCKS), entry
        assert reason
    for start in NOT_TYPED:
        lines = [line for block in BLOCKS if block.is_shell for line in block.text.splitlines()]
        assert any(line.startswith(start) for line in lines), start
    assert set(PLANS) <= {name_of(page) for page in PAGES}


def test_numbers_and_what_a_model_says_are_no_part_of_how_a_line_looks() -> None:
    shown = "1,000 lines in 1 file\n0 ||| Ein Mann. ||| -1.73\n...\nx, 20 sentences: BLEU 1.0 -> 2.0 (+1.0): better\n"
    printed = "950 lines in 2 file\n0 ||| Zwei. ||| -0.2\nmore\nx, 3 sentences: BLEU 4 -> 3 (-1.0): worse\n"
    assert first_missing(printed, shown) is None
    assert first_missing(printed.replace("lines", "files"), shown) == "1,000 lines in 1 file"
    assert first_missing("b\na\n", "a\nb\n") == "b"
    assert first_missing("x\n", "Guten Tag.\n", ("Guten Tag.",)) is None
    assert first_missing("", "Guten Tag.\n", ("Guten Tag.",)) == "Guten Tag."
