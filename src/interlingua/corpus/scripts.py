"""In which scripts text is written."""

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

__all__ = ["count_scripts", "find_mixed_word", "main_scripts", "script_of", "share_of_others"]

_GROUPS = {
    "CJK": "Han",
    "HIRAGANA": "Han",
    "KATAKANA": "Han",
    "HALFWIDTH": "Han",
    "IDEOGRAPHIC": "Han",
}
"""Japanese is written in three scripts at once, so that they count as one here."""

_BEYOND_LATIN = re.compile("[^\x00-\u024f\u1e00-\u1eff\u2000-\u2bff]")
_WORD = re.compile(r"[^\W\d_]+")
_LOOK_ALIKE = ({"Latin", "Cyrillic"}, {"Greek", "Cyrillic"}, {"Latin", "Armenian"})


@functools.cache
def script_of(character: str) -> str:
    """Return the script of a letter ("Latin", "Cyrillic", "Han" for Chinese and Japanese), or "" for other signs."""
    if not character.isalpha() or unicodedata.category(character) == "Lm":
        return ""
    word = unicodedata.name(character, "").split(" ")[0].split("-")[0]
    if word in ("FULLWIDTH", "MICRO", "MODIFIER", "FEMININE", "MASCULINE", "OHM", "DOUBLE-STRUCK"):
        return ""
    return _GROUPS.get(word, word.capitalize())


def count_scripts(text: str) -> Counter[str]:
    """Count the letters of each script."""
    counts: Counter[str] = Counter()
    if not _BEYOND_LATIN.search(text):
        letters = sum(map(str.isalpha, text))
        return Counter({"Latin": letters}) if letters else counts
    for character, number in Counter(text).items():
        script = script_of(character)
        if script:
            counts[script] += number
    return counts


def main_scripts(lines: Iterable[str]) -> frozenset[str]:
    """Return the scripts that a text is written in: those that have a fifth of its letters or more."""
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(count_scripts(line))
    total = counts.total()
    return frozenset(script for script, number in counts.items() if number * 5 >= total)


def find_mixed_word(text: str) -> str | None:
    """Return the first word in two alphabets that look alike, as a Latin word with a Cyrillic letter in it, or None.

    Others do stand together: a Latin name with an Arabic or Hindi ending, NF-κB, β-carotene.
    """
    if not _BEYOND_LATIN.search(text):
        return None
    for found in _WORD.finditer(text):
        word = found[0]
        if word.isascii():
            continue
        scripts = {script_of(character) for character in word}
        if any(pair <= scripts for pair in _LOOK_ALIKE):
            return word
    return None


def share_of_others(counts: Counter[str], scripts: frozenset[str]) -> float:
    """Return the share (0 to 1) of the text that is in none of ``scripts``; a Chinese character weighs as three letters."""
    weights = {script: number * (3 if script == "Han" else 1) for script, number in counts.items()}
    total = sum(weights.values())
    return sum(weights[script] for script in weights.keys() - scripts) / total if total else 0.0
