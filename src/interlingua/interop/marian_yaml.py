"""The YAML that Marian writes: settings and vocabularies, one entry a line.

No YAML library is asked, because these two forms need none of what makes reading YAML from strangers dangerous or
slow: anchors, tags and documents within documents are refused.
"""

import re

from interlingua.errors import ModelError

__all__ = ["Setting", "read_settings", "read_vocabulary"]

Setting = str | list[str]

_ESCAPES = dict(zip("0abtnvfreN_LP", "\0\a\b\t\n\v\f\r\x1b\x85\xa0\u2028\u2029", strict=True))
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ENTRY = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|.*):\s+(\d{1,9})\s*""")
_ID = re.compile(r":\s*(\d{1,9})\s*")
_LONGEST_LINE = 4096


def read_settings(text: str, where: str) -> dict[str, Setting]:
    """Return the entries of the outermost level, each a text or a list of texts; what lies deeper is left out.

    Raises:
        ModelError: it is not of this form, or says one thing twice.
    """
    settings: dict[str, Setting] = {}
    last = ""
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith("#") or stripped in ("---", "..."):
            continue
        if line[0] in " \t" or stripped.startswith("- ") or stripped == "-":
            if not last:
                raise ModelError(f"{where}: is not a list of settings; fetch the model again")
            settings[last] = _continued(settings[last], stripped, where)
            continue
        name, colon, value = stripped.partition(":")
        name = _scalar(name.strip(), where)
        if not colon or (value and value[0] not in " \t"):
            raise ModelError(f"{where}: is not a list of settings; fetch the model again")
        if name in settings:
            raise ModelError(f"{where}: {name[:40]!r} stands in it twice")
        last, settings[name] = name, _value(value.strip(), where)
    return settings


def read_vocabulary(text: str, where: str) -> dict[str, int]:
    """Return the id of each piece.

    Raises:
        ModelError: a line is not ``piece: id``, or a piece stands in it twice.
    """
    found: dict[str, int] = {}
    waiting: str | None = None
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if waiting is None and (not line.strip() or line in ("---", "...", "{}")):
            continue
        if waiting is None and line.startswith("? "):
            waiting = line[2:]
            continue
        pattern = _ENTRY if waiting is None else _ID
        match = pattern.fullmatch(line) if len(line) <= _LONGEST_LINE else None
        if match is None:
            raise ModelError(f"{where}, line {number}: is not a piece and its id")
        piece = _scalar(match[1] if waiting is None else waiting, where)
        identity = int(match[match.re.groups])
        waiting = None
        if piece in found:
            raise ModelError(f"{where}, line {number}: {piece[:40]!r} stands in it twice")
        found[piece] = identity
    return found


def _continued(value: Setting, line: str, where: str) -> Setting:
    """Add an indented line to the entry above it: an item of a list, or all of a short one."""
    if line.startswith("- "):
        return [*(value if isinstance(value, list) else []), _scalar(line[2:].strip(), where)]
    return _value(line, where) if value == "" and line.startswith("[") else value


def _value(text: str, where: str) -> Setting:
    if text.startswith("[") and text.endswith("]"):
        inside = text[1:-1].strip()
        return [_scalar(each.strip(), where) for each in inside.split(",")] if inside else []
    return _scalar(text, where)


def _scalar(text: str, where: str) -> str:
    """Return what a text in quotes, or in none, stands for."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return _ESCAPE.sub(_unescaped, text[1:-1])
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] in "&*!" and text[1:2].isalpha() and ": " not in text:
        raise ModelError(f"{where}: uses YAML that Marian does not write ({text[:20]!r})")
    return text


def _unescaped(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    if digits is None:
        return _ESCAPES.get(match[4], match[4])
    number = int(digits, 16)
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
