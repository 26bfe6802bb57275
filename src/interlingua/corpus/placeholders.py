"""What must come through a translation unchanged: numbers, addresses, variables, tags, emoji."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from interlingua.corpus.words import WITHOUT_SPACES

__all__ = [
    "Piece",
    "are_placeholders_alone",
    "find_placeholders",
    "keeps_placeholders",
    "placeholder_spans",
    "split_at_placeholders",
]

_OF_WORD = rf"[^\W{WITHOUT_SPACES}]"
_LETTER = rf"[^\W\d_{WITHOUT_SPACES}]"
"""What goes on with the word that it stands beside: a clause of a script without spaces would be one word with a number in it."""
_ADDRESS = r"[^\s<>\"'{}|\\()]"
_WIDTH = r"[-#0+]*(?:[1-9]\d*)?(?:\.\d+)?"  # a width does not begin with 0, so that the two halves share no sign
_CONVERSION = rf"{_WIDTH}(?:hh?|ll?|[Lqjzt])?[diouxXeEfFgGcrsa@]"
_NAMED = rf"(?:\(\w+\)|\d+\$){_CONVERSION}|\{{\w+\}}"
_CLOSE = rf"%|{_NAMED}|{_CONVERSION}(?!{_LETTER}|\d)"
"""What makes a format of a % right before it."""
_APART = rf"{_WIDTH}[ds@]"
"""The same of a % that no word stands before; letters may follow ("%dpx")."""
_EMOJI = (
    "\u231a\u231b\u2328\u23cf\u23e9-\u23fa\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2194-\u2199\u21a9\u21aa\u2600-\u27bf\u2934"
    "\u2935\u2b00-\u2bff\U0001f000-\U0001f0ff\U0001f16c-\U0001f171\U0001f17e\U0001f17f\U0001f18e\U0001f191-\U0001f19a"
    "\U0001f201-\U0001f20f\U0001f21a\U0001f22f\U0001f232-\U0001f23f\U0001f250-\U0001faff"
)
_SIGNS = "\u00a9\u00ae\u203c\u2049\u2122\u2139\u24c2\u3030\u303d\u3297\u3299"
"""Signs of text, which are emoji where U+FE0F says so."""
_UPON = "\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
"""What changes the emoji before it: how it is drawn, the tone of a skin, which flag."""
_OVER = rf"(?!{_OF_WORD}|[.,:/-]\d)"
"""Where neither letters nor digits go on: what is longer than a form allows has not this form."""
_EARLY = rf"-[A-Za-z]+(?:\.\d+)+{_OVER}"
"""What a version that is not out yet has behind its numbers."""
_FRACTIONS = "\u00bc-\u00be\u2150-\u215e\u2189"
_KINDS = {
    "url": (
        rf"(?:(?i:https?|ftp)://|(?i:www)\.)(?:{_ADDRESS}|\({_ADDRESS}*\))*"
        r"(?:[^\s<>\"'{}|\\.,;:!?()\]]|(?<=\)))"
    ),
    "email": rf"(?<!{_OF_WORD})(?<![.+-])(?:{_OF_WORD}|[.+-])+@(?:{_OF_WORD}|-)+(?:\.(?:{_OF_WORD}|-)+)+",
    "comment": (
        r"<!--.{0,500}?-->|<!\[CDATA\[.{0,500}?\]\]>|<![A-Za-z][^<>]*>|<\?.{0,500}?\?>"
        r"|<%.{0,500}?%>|\{%.{0,500}?%\}|\{#.{0,500}?#\}"
    ),
    "tag": r"</?[A-Za-z](?:(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*|[^<>]*)>",
    "entity": r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});",
    "variable": (
        r"\{\{(?:[^{}]|\{\{[^{}]*\}\}|\{[^{}]*\})*\}\}|\$\{[^{}]+\}"
        rf"|(?<!{_OF_WORD})\$[A-Za-z_]{_OF_WORD}*"
        r"|\{[\w.]*(?:\[[\w-]*\][\w.]*)*(?:![rsa])?(?::[^{}\s]*)?\}"
    ),
    "format": rf"%(?:{_NAMED})|(?<!{_OF_WORD})%{_APART}|%(?:{_CLOSE})",
    "emoji": (
        "[0-9#*]\ufe0f?\u20e3"
        "|[\U0001f1e6-\U0001f1ff]{2}"
        f"|(?:(?:[{_EMOJI}]|[{_SIGNS}](?=\ufe0f))[{_UPON}]*\u200d?)+"
    ),
    "code": rf"(?<!{_LETTER}){_LETTER}+\d{_OF_WORD}*(?:[.:/-]\d{_OF_WORD}*)*(?:{_EARLY})?",
    "number": (
        r"(?:(?<![\w)\]%‰])[+\u2212-])?(?:(?<![\w.,)\]])\.)?"
        rf"(?:0[xX][0-9A-Fa-f]+(?:-0[xX][0-9A-Fa-f]+)*{_OVER}"
        rf"|[{_FRACTIONS}]"
        r"|(?:\d{1,3}(?:[ \u00a0\u2009\u202f]\d{3})+(?!\d)|\d+)(?:[.,:/\u066b\u066c-]\d+|['\u2019]\d{3}(?!\d))*"
        rf"(?:[{_FRACTIONS}]|[eE][+-]?\d+(?!\w)|(?:[xX\u00d7]\d+(?:[.,:/-]\d+)*)+{_OVER}|{_EARLY}"
        rf"|T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?{_OVER})?)"
        rf"(?:\s?‰|%(?!{_CLOSE})|\s%(?!{_CLOSE}|{_APART}))?"
    ),
}
"""What a placeholder looks like, by its kind; where two begin at one place, the first of them. A number ends where its digits do
("3.5" of "3.5kg"); where letters come first ("B2", "USD50"), all is one code. None
looks at a text again and again from every place in it: a long one takes no longer for it. Without possessive quantifiers, which
early versions of Python 3.11 match wrongly (python/cpython#106052)."""

_PATTERN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()))

_LETTERS = re.compile(rf"{_OF_WORD}+")


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a text: a placeholder, or what stands between two."""

    text: str
    locked: bool


def placeholder_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Return where what must not change begins and ends, in the order of the text."""
    return tuple(match.span() for match in _PATTERN.finditer(text))


def find_placeholders(text: str) -> tuple[str, ...]:
    """Return what must not change, in the order of the text."""
    return tuple(text[start:end] for start, end in placeholder_spans(text))


def are_placeholders_alone(text: str) -> bool:
    """Whether a text is placeholders, and beside them signs at most: nothing to translate."""
    spans = placeholder_spans(text)
    ends, starts = (0, *(end for _, end in spans)), (*(start for start, _ in spans), len(text))
    between = "".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    return bool(spans) and not any(map(str.isalpha, between))


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
