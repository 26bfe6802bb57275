"""Mend in a line what an earlier program broke, where it is certain what was meant.

Each repair undoes one kind of damage (``damage``), or puts in order what no reader sees. What cannot be mended, bytes that are no
UTF-8 and characters that were lost, stays as it is, so that whoever drops damaged lines still finds it.
"""

import html
import re
from html.entities import html5

from interlingua.corpus.damage import ENTITY, TAG, find_mojibake, mend_mojibake

__all__ = ["BITS", "REPAIRS", "names_of", "repair_line"]

REPAIRS = {
    "tag": "HTML tags taken out",
    "entity": "HTML entities replaced by their characters",
    "mojibake": "UTF-8 that was read as Windows-1252 read as UTF-8",
    "control": "control characters read as Windows-1252 (U+0085 is …), the others taken out",
    "byte-order-mark": "byte order marks taken out",
    "line-end": "other ends of a line (CR, U+2028, U+2029) taken out, or a space where they stood inside",
    "invisible": "soft hyphens, word joiners and spaces of no width taken out",
    "spaces": "tabs and several spaces made one, and none left at the ends",
}
"""Each repair, in the order in which they are made, and what it does."""

BITS = {name: 1 << place for place, name in enumerate(REPAIRS)}

_SUSPECT = re.compile(
    "[&<\x00-\x1f\x7f-\x9f\xad\u200b\u2028\u2029\u2060\ufeff]|[ \xa0\u3000][ \xa0\u3000]"
)
"""All that any repair looks for, but for mojibake and the ends of the line."""

_KEPT_TAG = re.compile(r"</?(?:script|style)\b", re.IGNORECASE)
_INLINE = re.compile(r"</?(?:a|abbr|b|em|font|i|s|span|strong|sub|sup|u)\b", re.IGNORECASE)
_MOST_ROUNDS = 3
"""How often text was encoded at most: ``&amp;quot;`` was twice."""

_C1 = {code: bytes([code]).decode("cp1252", "ignore") for code in range(0x80, 0xA0)}
_BLANKS = dict.fromkeys((0x0B, 0x0C, *range(0x1C, 0x20)), " ")
_CONTROLS = dict.fromkeys((*range(0x09), *range(0x0E, 0x1C), 0x7F), "") | _C1 | _BLANKS
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_LINE_END = re.compile("[\r\u2028\u2029]")
_WITHOUT_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Burmese and Khmer, where a space of no width ends a word."""

_INVISIBLE = re.compile(
    f"[\xad\u2060]|(?<![{_WITHOUT_SPACES}])\u200b|\u200b(?![{_WITHOUT_SPACES}])"
)
_SPACES = re.compile("\t|[ \t\xa0\u2000-\u200a\u202f\u205f\u3000]{2,}")


def repair_line(text: str) -> tuple[str, int]:
    """Return ``text`` with everything mended that can be, and which repairs changed it, one bit of ``BITS`` each.

    ``text`` is one line, decoded with ``surrogateescape``. What becomes a tag only when entities are read stays: it
    may be what the text is about.
    """
    if not _SUSPECT.search(text) and text == text.strip() and not find_mojibake(text):
        return text, 0  # nearly always
    done = 0
    for name, repair in _STEPS:
        mended = repair(text)
        if mended != text:
            text, done = mended, done | BITS[name]
    return text, done


def names_of(repairs: int) -> list[str]:
    """Return the names of the repairs in one number."""
    return [name for name, bit in BITS.items() if repairs & bit]


def _take_tags(text: str) -> str:
    if "<" not in text or _KEPT_TAG.search(text):
        return text
    return TAG.sub(lambda tag: "" if _INLINE.match(tag[0]) else " ", text)


def _read_entities(text: str) -> str:
    for _ in range(_MOST_ROUNDS):
        if "&" not in text:
            break
        text = ENTITY.sub(_read_entity, text)
    return text


def _read_entity(found: "re.Match[str]") -> str:
    if not found[1].startswith("#") and f"{found[1]};" not in html5:
        return found[0]
    # A tokenizer may have put a space before the semicolon.
    return html.unescape(f"&{found[1]};").replace("\n", " ")


def _read_mojibake(text: str) -> str:
    mended = text
    for _ in range(_MOST_ROUNDS):
        before, mended = mended, mend_mojibake(mended)
        if mended == before:
            break
    # Half of what was wrong would be read now, and nobody would find the other half.
    return text if mended != text and ("Ã" in mended or "Â" in mended) else mended


def _take_line_ends(text: str) -> str:
    return _LINE_END.sub(" ", text.rstrip("\r\u2028\u2029"))


_STEPS = (
    ("tag", _take_tags),
    ("entity", _read_entities),
    ("mojibake", _read_mojibake),
    ("control", lambda text: text.translate(_CONTROLS) if _CONTROL.search(text) else text),
    ("byte-order-mark", lambda text: text.replace("\ufeff", "")),
    ("line-end", _take_line_ends),
    ("invisible", lambda text: _INVISIBLE.sub("", text)),
    ("spaces", lambda text: _SPACES.sub(" ", text).strip()),
)
