"""Where a word ends, in scripts that part words by spaces and in those that do not."""

import functools
import re
import unicodedata

__all__ = [
    "WITHOUT_SPACES",
    "core_of",
    "count_phrase",
    "holds_phrase",
    "is_inside_a_word",
    "is_of_a_word",
    "is_unspaced",
    "units_of",
    "with_marks_as_letters",
]

WITHOUT_SPACES = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese
)
"""The letters of scripts that put no spaces between words, as a class of a regular expression has them."""
_CORE = re.compile(r"\w(?:.*\w)?", re.DOTALL)
_UNSPACED = re.compile(f"[{WITHOUT_SPACES}]")
_UNIT = re.compile(rf"(\s*)([{WITHOUT_SPACES}]|[^\s{WITHOUT_SPACES}]+)")


@functools.lru_cache(maxsize=10_000)
def is_of_a_word(sign: str) -> bool:
    """Whether a sign goes on with the word that it stands beside: a letter, a digit, "_", or a mark upon them.

    No sign of a script that writes words without spaces does: every one begins a word of its own there.
    """
    if _UNSPACED.match(sign):
        return False
    return sign.isalnum() or sign == "_" or unicodedata.category(sign).startswith("M")


def core_of(text: str, start: int = 0, end: int | None = None) -> tuple[int, int] | None:
    """Return where ``text``, or a part of it, is without the signs around it; None where it has no letter and no digit.

    Marks upon the last letter, such as the vowel signs of Hindi or Thai, are no signs around it.
    """
    end = len(text) if end is None else end
    found = _CORE.search(text, start, end)
    if found is None:
        return None
    last = found.end()
    while last < end and unicodedata.category(text[last]).startswith("M"):
        last += 1
    return found.start(), last


def is_unspaced(text: str) -> bool:
    """Whether a text is one sign of a script that writes words without spaces."""
    return bool(_UNSPACED.fullmatch(text))


def is_inside_a_word(text: str, place: int) -> bool:
    """Whether the signs before and behind ``place`` are of one word."""
    return 0 < place < len(text) and is_of_a_word(text[place - 1]) and is_of_a_word(text[place])


def units_of(text: str) -> list[tuple[str, str]]:
    """Return the words of a text, and the characters of scripts that put no spaces between words, each behind the white space before it."""
    return [(found[1], found[2]) for found in _UNIT.finditer(text)]


def with_marks_as_letters(text: str) -> str:
    """Return a text as long, with "x" for each mark upon a letter: a regular expression then finds whole words, and where they are.

    Marks are no letters to Python: NFD has them upon any letter, and Yoruba upon letters that no single character is for.
    """
    if text.isascii():
        return text
    signs: list[str] = []
    for sign in text:
        is_upon = bool(signs) and signs[-1].isalpha() and unicodedata.category(sign)[0] == "M"
        signs.append("x" if is_upon else sign)
    return "".join(signs)


def count_phrase(text: str, phrase: str) -> int:
    """Count how often ``phrase`` stands in ``text`` as it is, however its words are spaced, and not within a longer word."""
    spelled = re.compile(r"\s+".join(map(re.escape, phrase.split())))
    count = place = 0
    while phrase.strip() and (match := spelled.search(text, place)):
        if is_inside_a_word(text, match.start()) or is_inside_a_word(text, match.end()):
            place = match.start() + 1
        else:
            count, place = count + 1, match.end()
    return count


def holds_phrase(text: str, phrase: str) -> bool:
    """Whether ``phrase`` stands in ``text`` as it is, and is not part of a longer word."""
    return count_phrase(text, phrase) > 0
