"""What must come through a translation unchanged: numbers, addresses, variables, tags, emoji."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Piece", "find_placeholders", "keeps_placeholders", "split_at_placeholders"]

_ADDRESS = r"[^\s<>\"'{}|\\()]"
_CONVERSION = r"[-#0+]*\d*(?:\.\d+)?(?:hh?|ll?|[Lqjzt])?[diouxXeEfFgGcrsa@]"
_KINDS = {
    "url": (
        rf"(?:(?:https?|ftp)://|www\.)(?:{_ADDRESS}|\({_ADDRESS}*\))*"
        r"(?:[^\s<>\"'{}|\\.,;:!?()\]]|(?<=\)))"
    ),
    "email": r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "comment": r"<!--.{0,500}?-->|<%.{0,500}?%>|\{%.{0,500}?%\}|\{#.{0,500}?#\}",
    "tag": r"</?[A-Za-z](?:(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*|[^<>]*)>",
    "entity": r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});",
    "variable": (
        r"\{\{(?:[^{}]|\{\{[^{}]*\}\}|\{[^{}]*\})*\}\}|\$\{[^{}]+\}|\{[\w.]*(?:![rsa])?(?::[^{}\s]*)?\}"
    ),
    "format": (
        rf"%(?:\(\w+\)|\d+\$){_CONVERSION}|(?<!\w)%[-#0+]*\d*(?:\.\d+)?[ds@]|%{_CONVERSION}(?![^\W_])"
    ),
    "emoji": (
        "[0-9#*]\ufe0f?\u20e3"
        "|[\U0001f1e6-\U0001f1ff]{2}"
        "|(?:[\u2600-\u27bf\u2b00-\u2bff\U0001f300-\U0001faff][\ufe0f\U0001f3fb-\U0001f3ff]*\u200d?)+"
    ),
    "code": r"(?<![^\W\d_])[^\W\d_]+\d\w*(?:[.:/-]\d\w*)*",
    "number": r"(?:(?<![\w)\]])[+-])?\d+(?:[.,:/-]\d+)*(?:\s?[%‰](?![\w(#+.-]))?",
}
"""What a placeholder looks like, by its kind; where two begin at one place, the first of them. A number ends where its digits do
("3.5" of "3.5kg"); where letters come first ("B2", "USD50"), all is one code. None
looks at a text again and again from every place in it: a long one takes no longer for it. Without possessive quantifiers, which
early versions of Python 3.11 match wrongly (python/cpython#106052)."""

_PATTERN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()))

_LETTERS = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a text: a placeholder, or what stands between two."""

    text: str
    locked: bool


def find_placeholders(text: str) -> tuple[str, ...]:
    """Return what must not change, in the order of the text."""
    return tuple(match[0] for match in _PATTERN.finditer(text))


def split_at_placeholders(text: str) -> list[Piece]:
    """Cut ``text`` before and after every placeholder; the pieces joined are the text again.

    Letters behind a number or a format ("3.5kg", "%dpx") stay with it, as they mean nothing alone.
    """
    pieces, end = [], 0
    for match in _PATTERN.finditer(text):
        start, stop = max(match.start(), end), max(match.end(), end)
        if match.lastgroup in ("number", "format"):
            letters = _LETTERS.match(text, stop)
            stop = letters.end() if letters else stop
        pieces += [Piece(text[end:start], False), Piece(text[start:stop], True)]
        end = stop
    pieces.append(Piece(text[end:], False))
    return [piece for piece in pieces if piece.text]


def keeps_placeholders(placeholders: Sequence[str], translation: str) -> bool:
    """Whether every placeholder stands in ``translation`` at least as often, and tags in the same order."""
    found = find_placeholders(translation)
    if Counter(placeholders) - Counter(found):
        return False
    return _tags(placeholders) == [tag for tag in _tags(found) if tag in placeholders]


def _tags(placeholders: Sequence[str]) -> list[str]:
    return [each for each in placeholders if re.fullmatch(_KINDS["tag"], each)]
