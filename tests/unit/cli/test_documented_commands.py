"""What the documents say to type is understood: commands and their flags, targets of make, imports, and configurations.

What it does is for other tests; here no page can name a flag that is gone or spelt otherwise.
"""

import ast
import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from documents import FENCE, PAGES, ROOT, SHELL_KINDS, blocks_of, name_of

from interlingua.cli.commands import COMMAND_LINE
from interlingua.cli.flags import spell_out
from interlingua.config import RunConfig
from interlingua.config_files import load_config

INLINE = re.compile(r"(?<!`)`((?:interlingua|make) [^`]+)`(?!`)")
SHELL_ENDS = {"|", ">", ">>", "<", "&&", "||", ";", "&"}
ELLIPSIS = re.compile(r"\.\.\.|…|[A-Z]{4,}|\[")
"""What a page leaves out, or writes in capitals for what somebody fills in."""


def blocks(kind: str) -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for block in blocks_of(page):
            if block.kind == kind:
                yield block.page, block.text


def typed() -> Iterator[tuple[str, str]]:
    """Yield every command line: those of blocks, and those in the text."""
    for kind in SHELL_KINDS:
        for page, block in blocks(kind):
            for line in re.sub(r"\\\n\s*", " ", block).splitlines():
                yield page, line.removeprefix("$ ").strip()
    for page in PAGES:
        yield from ((name_of(page), line) for line in inline(name_of(page)))


def inline(page: str) -> set[str]:
    """Return the commands that are named in the sentences of a page."""
    text = FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    return {" ".join(found[1].split()) for found in INLINE.finditer(text)}


def words(line: str) -> list[str]:
    """Return the words of the first command of a line, without what the shell itself reads."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    found = list(lexer)
    ends = [place for place, word in enumerate(found) if word in SHELL_ENDS]
    return found[: ends[0]] if ends else found


COMMANDS = sorted({(page, line) for page, line in typed() if line.startswith("interlingua ")})
TARGETS = sorted(
    {
        (page, target)
        for page, line in typed()
        if line.startswith("make ")
        for target in words(line)[1:]
        if re.fullmatch("[a-z0-9-]+", target)
    }
)


def test_there_is_something_to_look_at() -> None:
    assert len(COMMANDS) > 100
    assert len(TARGETS) > 20


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_a_command_is_understood(page: str, line: str) -> None:
    arguments = words(line)[1:]
    if ELLIPSIS.search(line) or arguments[:1] in (["COMMAND"], ["--version"], ["help"]):
        pytest.skip("not written out")
    if line in inline(page):
        # In a sentence a command may be named without all that it needs; its flags must be there all the same.
        app = COMMAND_LINE.build_app()[arguments[0]]
        if arguments[0] in COMMAND_LINE.groups:
            app = app[arguments[1]]
        known = app.assemble_argument_collection()
        names = {name for each in known for name in each.names}
        flags = {word.partition("=")[0] for word in spell_out(arguments) if word.startswith("--")}
        assert flags <= names | {"--help", *(f"--{key}" for key in _config_keys())}
        return
    COMMAND_LINE.build_app().parse_args(
        spell_out(arguments), exit_on_error=False, print_error=False
    )


def _config_keys() -> Iterator[str]:
    for section, field in RunConfig.model_fields.items():
        for key in getattr(field.annotation, "model_fields", ()):
            yield f"{section}.{key.replace('_', '-')}"


@pytest.mark.parametrize(("page", "target"), TARGETS)
def test_a_target_of_make_exists(page: str, target: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{target}:", makefile, re.MULTILINE)


@pytest.mark.parametrize(("page", "code"), sorted(set(blocks("python"))))
def test_the_imports_of_an_example_are_there(page: str, code: str) -> None:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("interlingua"):
            module = importlib.import_module(str(node.module))
            for name in node.names:
                assert hasattr(module, name.name), f"{node.module}.{name.name}"


@pytest.mark.parametrize(("page", "text"), sorted(set(blocks("toml"))))
def test_a_configuration_is_valid(
    page: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in re.findall(r"\$\{(\w+)\}", text):
        monkeypatch.setenv(name, "/corpora")
    (tmp_path / "train.toml").write_text(text, encoding="utf-8")
    load_config(tmp_path / "train.toml")
