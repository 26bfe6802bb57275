"""Damage that text takes on its way through programs: wrong decodings, control characters, left-over markup."""

import re
from collections.abc import Callable, Iterator
from html.entities import html5

__all__ = ["DAMAGES", "ENTITY", "TAG", "find_damage", "find_mojibake", "mend_mojibake"]

_WINDOWS = {
    byte: bytes([byte]).decode("cp1252", "replace").replace("\ufffd", chr(byte))
    for byte in range(0x80, 0x100)
}
_BYTE_OF = {character: byte for byte, character in _WINDOWS.items()}
_BYTE_OF |= {chr(byte): byte for byte in range(0x80, 0x100)}
_HIGH = "".join(sorted(_BYTE_OF))
_RUN = re.compile(f"[\u00c2-\u00f4][{re.escape(_HIGH)}]+")
_CLOSING = "“”‘’„‚»«›‹…–—·\xa0\xad"
"""What stands behind a letter in ordinary text, French text among it, which puts hard spaces inside its quotes."""
_TYPICAL_LEADS = "ÂÃÄÅÈÐÑ"

_CONTROL = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]|\r(?!$)")
_LINE_END = re.compile("[\x85\u2028\u2029]")
_INVALID = re.compile("[\udc80-\udcff]")
_LOST = re.compile("[\ufffd\ufffe\uffff\ue000-\uf8ff]|[a-zà-ÿ]\\?[a-zà-ÿ]")
_ADDRESS = re.compile(r"https?:|www\.|[/=]")
ENTITY = re.compile(r"&(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30}) ?;")
TAG = re.compile(
    r"</?(?:a|abbr|b|br|div|em|font|h[1-6]|i|img|li|ol|p|pre|s|script|span|strong|style|sub|sup|table|td|tr|u|ul)"
    r"(?:\s[^<>]{0,200})?/?>",
    re.IGNORECASE,
)


def find_mojibake(text: str) -> str | None:
    """Return the first piece of ``text`` that is UTF-8 read as Latin-1 or Windows-1252, or None.

    A run of characters counts if its bytes are UTF-8. Where a letter before closing quotes happens to be that as well
    (``Spaß“``), it does not.
    """
    if text.isascii():
        return None
    for run in _RUN.finditer(text):
        for start, size in _find_pieces(run[0]):
            return run[0][start : start + size]
    return None


def mend_mojibake(text: str) -> str:
    """Return ``text`` with everything that ``find_mojibake`` would find read as UTF-8, once."""
    return _RUN.sub(lambda run: _read_again(run[0]), text)


def _read_again(run: str) -> str:
    data = bytes(_BYTE_OF[character] for character in run)
    read, done = [], 0
    for start, size in _find_pieces(run):
        if start >= done:
            read += [run[done:start], data[start : start + size].decode("utf-8")]
            done = start + size
    return "".join([*read, run[done:]])


def _find_pieces(run: str) -> Iterator[tuple[int, int]]:
    """Yield where in a run of characters those of a wrong decoding begin, and how many they are.

    What may be a letter before quotes and the like counts where it is directly followed by what is nothing but a wrong decoding.
    """
    data = bytes(_BYTE_OF[character] for character in run)
    found, doubtful = -1, list[tuple[int, int]]()
    for start, byte in enumerate(data):
        size = 2 if 0xC2 <= byte <= 0xDF else 3 if byte >> 4 == 0xE else 4 if byte >= 0xF0 else 0
        is_in_runs = byte in range(0xD6, 0xE0)  # Hebrew and Arabic; `×` and `ß` are not
        if is_in_runs and found != start:
            size = 4
        if start < found or not size:
            continue
        meant = _decode(data[start : start + size], size)
        if meant is None:
            continue
        if found == start or _is_plausible(run[start : start + size], meant):
            if doubtful and sum(doubtful[-1]) == start:
                yield from doubtful
            yield start, size
            found, doubtful = start + size, []  # what follows at once was read as wrongly
        elif not is_in_runs:
            if doubtful and sum(doubtful[-1]) != start:
                doubtful = []
            doubtful.append((start, size))


def _decode(data: bytes, size: int) -> str | None:
    """Return what so many bytes are in UTF-8; None if they are none or too few."""
    try:
        return data.decode("utf-8") if len(data) == size else None
    except UnicodeDecodeError:
        return None


def _is_plausible(piece: str, meant: str) -> bool:
    """Tell whether a piece cannot well be what it looks like: a letter and signs that stand behind letters."""
    if len(meant) > 1:
        return meant.isalpha()
    return not all(sign in _CLOSING for sign in piece[1:]) or _is_typical(piece)


def _is_typical(piece: str) -> bool:
    """Tell whether a piece of two characters begins as most wrong decodings do; "È " of those only as Romanian ones."""
    return len(piece) == 2 and piece[0] in _TYPICAL_LEADS and (piece[0] != "È" or piece[1] == "›")


def _has_invalid(text: str) -> str | None:
    found = _INVALID.search(text)
    return found and f"0x{ord(found[0]) - 0xDC00:02x}"


def _has_nul(text: str) -> str | None:
    return "U+0000" if "\x00" in text else None


def _has_control(text: str) -> str | None:
    return _named(_CONTROL.search(text))


def _has_line_end(text: str) -> str | None:
    return _named(_LINE_END.search(text))


def _has_mark(text: str) -> str | None:
    return "U+FEFF" if "\ufeff" in text else None


def _has_lost(text: str) -> str | None:
    found = _LOST.search(text)
    if found is None or (len(found[0]) == 3 and _ADDRESS.search(text)):
        return None
    return found[0] if len(found[0]) == 3 else _named(found)


def _has_entity(text: str) -> str | None:
    if "&" not in text:
        return None
    for found in ENTITY.finditer(text):
        if found[1].startswith("#") or f"{found[1]};" in html5:
            return found[0]
    return None


def _has_tag(text: str) -> str | None:
    if "<" not in text:
        return None
    found = TAG.search(text)
    return found and found[0]


def _named(found: "re.Match[str] | None") -> str | None:
    return found and f"U+{ord(found[0]):04X}"


DAMAGES: dict[str, tuple[str, Callable[[str], str | None]]] = {
    "invalid-utf8": ("bytes that are not UTF-8, which training refuses", _has_invalid),
    "nul": ("NUL characters, which other tools cut a line at", _has_nul),
    "control": ("control characters, which no reader sees and a model would learn", _has_control),
    "line-end": (
        "a character where many tools end a line, and so shift every line after it",
        _has_line_end,
    ),
    "byte-order-mark": (
        "a byte order mark inside the text, mostly from files put together",
        _has_mark,
    ),
    "lost-characters": ("characters that an earlier program lost and replaced", _has_lost),
    "mojibake": (
        "UTF-8 that was read as another encoding, so that words become unknown",
        find_mojibake,
    ),
    "entity": ("HTML entities in place of the characters that they stand for", _has_entity),
    "tag": ("HTML tags in place of text", _has_tag),
}
"""Each kind of damage: what it is, in words, and what shows the first piece of it in a text (None: there is none)."""

_PLAIN = re.compile(r"[\t -%'-;=>@-~]*\r?")  # neither & nor < nor ?, and nothing beyond ASCII


def find_damage(text: str) -> list[str]:
    """Return the kinds of damage in ``text``, decoded with ``surrogateescape``."""
    if _PLAIN.fullmatch(text):
        return []
    return [kind for kind, (_, find) in DAMAGES.items() if find(text)]
