"""The configuration of a run, read from a TOML file and flags, and written back complete.

A wrong key or value is named with the file and line (or the flag) that it came from. In a string of the file or
of a flag ``${NAME}`` becomes the environment variable NAME; ``$${NAME}`` stays as the literal ``${NAME}``.
TOML has no null: the string ``"none"`` sets a key that may be left open.
"""

import difflib
import json
import os
import re
import textwrap
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from interlingua.config import RunConfig, Setting, list_settings
from interlingua.config_contradictions import contradictions_in
from interlingua.errors import ConfigError
from interlingua.files import write_text

__all__ = ["find_settings", "load_config", "save_config", "write_config"]

_VARIABLE = re.compile(r"\$(\$?)\{([A-Za-z_][A-Za-z0-9_]*)\}")
_LINE_OF_TOML_ERROR = re.compile(r" \(at line (\d+), column \d+\)| \(at end of document\)")

_SHORT_FLAGS = {
    *("corpus.source", "corpus.target", "corpus.source_lang", "corpus.target_lang"),
    *("corpus.valid_source", "corpus.valid_target", "corpus.pairs", "corpus.valid_pairs"),
    *("corpus.text", "corpus.valid_text"),
    *("start.init_from", "start.encoder_from", "start.keep_source", "start.keep_target"),
}
"""Keys whose flags go without the section: --source, not --corpus.source."""

Locate = Callable[[str], str]
"""What a message about a key begins with: where it was set, and nothing where nobody set it."""
Values = Mapping[str, str | tuple[str, ...]]


def load_config(path: Path | None, overrides: Values | None = None) -> RunConfig:
    """Read a configuration: the defaults, then the TOML file ``path``, then ``overrides``.

    ``overrides`` maps full names to text as typed after a flag: ``{"training.warmup-steps": "400"}``. A name in a
    file is relative to the current folder, not to the place of the TOML file.

    Raises:
        ConfigError: the file cannot be read or is not TOML; a key is unknown; a value has the wrong type or lies
            out of range; an environment variable is not set; two values contradict each other.
    """
    text = "" if path is None else _read_text(path)
    tree = {} if path is None else _parse(path, text)
    flags = {key.replace("-", "_"): value for key, value in (overrides or {}).items()}

    def locate(key: str) -> str:
        if key in flags:
            name = key.rpartition(".")[2] if key in _SHORT_FLAGS else key
            return f"flag --{name.replace('_', '-')}: "
        return "" if path is None else f"{path}:{_line_of(text, key.split('.'))}: "

    tree = {name: _expand(value, name, locate) for name, value in tree.items()}
    for key, value in flags.items():
        _set_flag(tree, key, _expand(value, key, locate), locate)
    _drop_nones(tree)
    _put_text_on_both_sides(tree, locate)
    config = _validate(tree, locate)
    _refuse_contradictions(config, locate)
    return config


def save_config(config: RunConfig, path: Path, *, whole: bool = True) -> None:
    """Write ``config`` as commented TOML that loads back to an equal configuration.

    Args:
        config: the configuration.
        path: the file.
        whole: every value; else what nobody chose stays a comment, and so free for another model, which training begins with, to decide.

    Raises:
        OutputError: ``path`` cannot be written.
        ConfigError: a file name is not valid Unicode, which TOML cannot hold.
    """
    try:
        write_text(path, write_config(config, whole=whole))
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"{path}: the configuration holds a name that is not Unicode ({error.object!r}); rename that file"
        ) from error


def write_config(config: RunConfig, *, whole: bool = True) -> str:
    """Write the values of ``config`` as TOML, each under a comment that explains it; see :func:`save_config`."""
    kept = "The complete configuration" if whole else "What was chosen for the configuration"
    lines = [f"# {kept} of a run: interlingua train THIS_FILE."]
    section = ""
    values = config.model_dump(mode="json")
    for setting in list_settings():
        if setting.section != section:
            section = setting.section
            lines += ["", f"[{section}]"]
        value = (values[section] if section else values)[setting.name]
        chosen = (getattr(config, section) if section else config).model_fields_set
        default = setting.field.get_default(call_default_factory=True)
        comment = f"{setting.description} Takes {setting.values}; default {_write_value(default)}."
        lines += ["", *textwrap.wrap(comment, 98, initial_indent="# ", subsequent_indent="# ")]
        unset = (value is None and default is None) or not (whole or setting.name in chosen)
        lines.append(f"{'# ' if unset else ''}{setting.name} = {_write_value(value)}")
    return "\n".join(lines) + "\n"


def find_settings(key: str | None) -> tuple[Setting, ...]:
    """Return the setting ``key``, or those of the section ``key``, or all.

    Raises:
        ConfigError: there is no such key; the message names the nearest.
    """
    settings = list_settings()
    if key is None:
        return settings
    wanted = key.removeprefix("--").replace("-", "_")
    found = tuple(s for s in settings if wanted in (s.key, s.section))
    if not found:
        raise ConfigError(f"{key}: no such key in the configuration{_suggest(wanted)}")
    return found


def _read_text(path: Path) -> str:
    if path.is_dir():
        saved = path / "config.toml"
        advice = f"; did you mean {saved}?" if saved.is_file() else "; give the name of a TOML file"
        raise ConfigError(f"{path}: is a folder, not a configuration file{advice}")
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise ConfigError(
            f"{path}: no such configuration file; check the name{_near(path)}"
        ) from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path}:{line}: not UTF-8 at byte {error.start} of the file; "
            "is this a TOML file, saved as UTF-8?"
        ) from error


def _near(path: Path) -> str:
    neighbours = [p.name for p in path.parent.glob("*.toml")] if path.parent.is_dir() else []
    close = difflib.get_close_matches(path.name, neighbours, n=1)
    return f"; did you mean {path.with_name(close[0])}?" if close else ""


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _LINE_OF_TOML_ERROR.search(str(error))
        line = found[1] if found and found[1] else text.count("\n") + 1
        reason = _LINE_OF_TOML_ERROR.sub("", str(error))
        advice = "; text values stand in quotes" if reason == "Invalid value" else ""
        raise ConfigError(f"{path}:{line}: not valid TOML: {reason}{advice}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: not a configuration: nested far too deeply") from error


def _line_of(text: str, keys: list[str]) -> int:
    """Find the line on which a key is set: the first statement after which the file, cut there, holds the key.

    Cutting the file and asking the TOML parser needs no second parser, and is right for dotted keys, inline
    tables and values of several lines; a file of a thousand lines takes a few tenths of a second, in an error only.
    """
    lines = text.splitlines(keepends=True)
    start = 1
    for count in range(1, len(lines) + 1):
        try:
            tree: Any = tomllib.loads("".join(lines[:count]))
        except tomllib.TOMLDecodeError:
            continue
        for key in keys:
            tree = tree.get(key) if isinstance(tree, dict) else None
        if tree is not None:
            return start
        start = count + 1
    return _line_of(text, keys[:-1]) if len(keys) > 1 else 1


def _expand(value: Any, key: str, locate: Locate) -> Any:
    """Replace each ``${NAME}`` in every string inside ``value``."""
    if isinstance(value, dict):
        return {name: _expand(inner, f"{key}.{name}", locate) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_expand(inner, key, locate) for inner in value]
    if not isinstance(value, str):
        return value

    def replace(found: re.Match[str]) -> str:
        if found[1]:
            return "${" + found[2] + "}"
        if found[2] not in os.environ:
            raise ConfigError(
                f"{locate(key)}{key} needs the environment variable {found[2]}, which is not set; "
                f"set it first: export {found[2]}=VALUE"
            )
        return os.environ[found[2]]

    return _VARIABLE.sub(replace, value)


def _set_flag(tree: dict[str, Any], key: str, text: Any, locate: Locate) -> None:
    setting = next((s for s in list_settings() if s.key == key), None)
    if setting is None:
        raise ConfigError(f"{locate(key)}no such key in the configuration{_suggest(key)}")
    if any("\ud800" <= character <= "\udfff" for part in text for character in part):
        raise ConfigError(f"{locate(key)}the value {text!r} is not UTF-8; rename that file")
    section = tree
    if setting.section:
        section = tree.setdefault(setting.section, {})
        if not isinstance(section, dict):
            raise ConfigError(f"{locate(setting.section)}{_needs_section(setting.section)}")
    section[setting.name] = _from_text(text, setting)


def _from_text(text: str | list[str], setting: Setting) -> Any:
    """Turn what was typed after a flag into the type of its setting, as far as that is possible."""
    if isinstance(text, list):
        return text if len(text) > 1 else _from_text(text[0], setting)
    if setting.items and Path not in setting.items:
        return [_number(part) if float in setting.items else part for part in text.split(",")]
    if bool in setting.types:
        return {"true": True, "false": False, "yes": True, "no": False}.get(text.lower(), text)
    for number in (int, float):
        if number in setting.types:
            return _number(text, number)
    return text


def _number(text: str, kind: type[int] | type[float] = float) -> Any:
    try:
        return kind(text)
    except ValueError:
        return text


def _drop_nones(tree: dict[str, Any]) -> None:
    """Give the value None to each key that says "none" and may be left open."""
    for setting in list_settings():
        section = tree.get(setting.section) if setting.section else tree
        if setting.has_none and isinstance(section, dict) and section.get(setting.name) == "none":
            section[setting.name] = None


def _put_text_on_both_sides(tree: dict[str, Any], locate: Locate) -> None:
    """Let a text of one language stand as source and target, so that all that reads pairs reads it too."""
    corpus = tree.get("corpus")
    if not isinstance(corpus, dict):
        return
    for name, sides in (
        ("text", ("source", "target")),
        ("valid_text", ("valid_source", "valid_target")),
    ):
        text = corpus.get(name)
        for side in sides:
            if text and corpus.get(side, text) not in ([], text):
                raise ConfigError(
                    f"{locate(f'corpus.{name}')}corpus.{name} and corpus.{side} are both given; take one"
                )
        corpus |= dict.fromkeys(sides, text) if text else {}


def _validate(tree: dict[str, Any], locate: Locate) -> RunConfig:
    try:
        return RunConfig.model_validate_json(json.dumps(tree, default=str), strict=True)
    except ValidationError as error:
        problems = [_explain(dict(problem), locate) for problem in error.errors()]
        raise ConfigError("\n".join(dict.fromkeys(problems))) from error


def _explain(problem: dict[str, Any], locate: Locate) -> str:
    """Turn one problem that pydantic found into: where, which key, which value, what it takes."""
    known = {setting.key: setting for setting in list_settings()}
    key = ".".join(str(part) for part in problem["loc"][:2])
    if problem["type"] == "extra_forbidden":
        return f"{locate(key)}unknown key {key}{_suggest(key)}"
    if key not in known:
        key = str(problem["loc"][0])
    if key not in known:
        return f"{locate(key)}{_needs_section(key)}"
    return f"{locate(key)}{key} = {_write_value(problem['input'])} is wrong: it takes {known[key].values}"


def _needs_section(name: str) -> str:
    return f"{name} is a section, not a value: write [{name}] on a line, its keys below"


def _suggest(key: str) -> str:
    """Name the key that was most likely meant."""
    settings = list_settings()
    names = [s.key for s in settings] + sorted({s.section for s in settings if s.section})
    by_name: dict[str, str] = {}
    for setting in settings:
        by_name.setdefault(setting.name, setting.key)
    last = key.rpartition(".")[2]
    close = [by_name[last]] if last in by_name else []
    close += difflib.get_close_matches(key, names, n=1, cutoff=0.75)
    close += [by_name[name] for name in difflib.get_close_matches(last, by_name, n=1)]
    if close:
        return f"; did you mean {close[0]}?"
    return "; `interlingua config explain` lists all keys"


def _refuse_contradictions(config: RunConfig, locate: Locate) -> None:
    """Refuse values that are right alone and wrong together."""
    for key, reason in contradictions_in(config):
        raise ConfigError(f"{locate(key)}{reason}")


def _write_value(value: Any) -> str:
    """Write one value as TOML."""
    if value is None:
        return '"none"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_write_value(inner) for inner in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_write_value(v)}" for name, v in value.items()) + "}"
    text = _VARIABLE.sub(lambda found: "$" + found[0], str(value))
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
