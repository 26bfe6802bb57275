"""What must come through a translation unchanged: numbers, addresses, variables, tags, emoji."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Piece", "find_placeholders", "keeps_placeholders", "split_at_placeholders"]

_KINDS = {
    "url": r"(?:(?:https?|ftp)://|www\.)[^\s<>\"'{}|\\]*[^\s<>\"'{}|\\.,;:!?)\]]",
    "email": r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "tag": r"</?[A-Za-z][^<>]*>",
    "variable": r"\{\{[^{}]*\}\}|\$\{[^{}]+\}|\{[\w.]*(?:![rsa])?(?::[^{}\s]*)?\}",
    "format": r"%(?:\(\w+\)|\d+\$)?[-#0+]*\d*(?:\.\d+)?[diouxXeEfFgGcrsa@](?![^\W_])",
    "emoji": (
        "[0-9#*]\ufe0f?\u20e3"
        "|[\U0001f1e6-\U0001f1ff]{2}"
        "|(?:[\u2600-\u27bf\u2b00-\u2bff\U0001f300-\U0001faff][\ufe0f\U0001f3fb-\U0001f3ff]*\u200d?)+"
    ),
    "number": r"(?<![\w.,])[+-]?\d+(?:[.,:/-]\d+)*(?:\s?[%‰](?![\w(#+.-]))?(?!\w)",
}
_PATTERN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()))


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a text: a placeholder, or what stands between two."""

    text: str
    locked: bool


def find_placeholders(text: str) -> tuple[str, ...]:
    """Return what must not change, in the order of the text."""
    return tuple(match[0] for match in _PATTERN.finditer(text))


def split_at_placeholders(text: str) -> list[Piece]:
    """Cut ``text`` before and after every placeholder; the pieces joined are the text again."""
    pieces, end = [], 0
    for match in _PATTERN.finditer(text):
        pieces += [Piece(text[end : match.start()], False), Piece(match[0], True)]
        end = match.end()
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
