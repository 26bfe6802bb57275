"""What a pair of lines tells by itself: each rule looks at one pair, and at the profile of the corpus.

``doctor`` reports what the rules find, and ``clean`` drops it.
"""

import html
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from interlingua.corpus.damage import DAMAGES, find_damage
from interlingua.corpus.scripts import (
    count_scripts,
    find_mixed_word,
    main_scripts,
    share_of_others,
)

__all__ = [
    "BITS",
    "CODES",
    "Limits",
    "Profile",
    "decode_line",
    "find_faults",
    "measure_profile",
    "names_of",
    "normalise",
    "numbers_of",
]

FAULTS = (
    "empty",
    *DAMAGES,
    "copied",
    "length-ratio",
    "long-line",
    "number-mismatch",
    "mixed-script",
    "wrong-script",
)
"""All faults that a pair can have."""

BITS = {fault: 1 << place for place, fault in enumerate(FAULTS)}

CODES = dict.fromkeys(DAMAGES, "encoding") | {"wrong-script": "wrong-language"}
"""The code of a finding where it is not the name of the fault."""

_BLANK = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\ufeff"
"""What a line may consist of and say nothing: white space of every kind, and byte order marks."""

_FREE_MARKS = re.compile(
    "[\u0307\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\ufe00-\ufe0f]"
)
"""Marks that a text may have or not: a capital İ in small letters, the vowels of Hebrew and Arabic, how an emoji is drawn."""
_ASCII_SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())
_OTHER_SIGN = re.compile(r"[^\w\x00-\x7f]")
_CEDILLAS = str.maketrans("\u015f\u0163", "\u0219\u021b")
_NUMBER = re.compile(r"\d+(?:[.,'\u00a0\u202f\u2009 ]\d{3}(?!\d))*(?:[.,\u066b]\d+)?")
_DIGIT = re.compile(r"\d")
_SMOOTHING = 8
"""Characters added to both sides before lengths are compared, as short lines differ by chance."""


class _LettersAlone(dict[int, int | None]):
    """What ``str.translate`` makes of each sign, found out once: letters, their marks and digits stay, all else goes."""

    def __missing__(self, code: int) -> int | None:
        sign = chr(code)
        is_mark = unicodedata.category(sign) in ("Mn", "Mc") and not _FREE_MARKS.match(sign)
        self[code] = code if sign.isalnum() or is_mark else None
        return self[code]


_LETTERS_ALONE = _LettersAlone()


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a pair begins to be a fault.

    Attributes:
        ratio: how many times longer a side may be than the other, after the usual ratio of the two languages.
        characters: the longest line, in characters.
        words: the longest line, in words.
    """

    ratio: float = 3.0
    characters: int = 2000
    words: int = 250


@dataclass(frozen=True, slots=True)
class Profile:
    """What is usual in a corpus.

    Attributes:
        source_scripts: the scripts that the source is written in.
        target_scripts: the same of the target.
        log_ratio: median of log(target characters / source characters).
    """

    source_scripts: frozenset[str]
    target_scripts: frozenset[str]
    log_ratio: float


def decode_line(line: bytes) -> str:
    """Decode a line whatever it holds: each wrong byte becomes half a surrogate pair."""
    return line.decode("utf-8", "surrogateescape")


def normalise(text: str) -> str:
    """Return the letters, their marks and the digits of ``text`` without case, which near-duplicates have in common.

    However they are written: as entities, with accents of their own (Unicode NFD), in full width, and the Romanian letters
    with a comma below as the Turkish ones with a cedilla, which stand for them in half of all Romanian text.
    """
    if "&" in text:
        text = html.unescape(text)
    folded = text.casefold()
    if not folded.isascii():
        if not unicodedata.is_normalized("NFKC", folded):
            folded = unicodedata.normalize("NFKC", folded).casefold()
        folded = folded.translate(_CEDILLAS)
    if folded.isascii() or not _OTHER_SIGN.search(folded):
        # The same, twice as fast: this is done with every line of every corpus.
        return folded.encode("utf-8").translate(None, _ASCII_SIGNS).decode("utf-8")
    return folded.translate(_LETTERS_ALONE)


def measure_profile(pairs: Sequence[tuple[str, str]]) -> Profile:
    """Find out what is usual from a sample of a corpus."""
    ratios = [_log_ratio(source, target) for source, target in pairs if source and target]
    return Profile(
        main_scripts(source for source, _ in pairs),
        main_scripts(target for _, target in pairs),
        float(np.median(ratios)) if ratios else 0.0,
    )


def find_faults(source: str, target: str, profile: Profile, limits: Limits) -> int:
    """Return the faults of a pair, one bit of ``BITS`` each."""
    if not (source.strip(_BLANK) and target.strip(_BLANK)):
        return BITS["empty"]
    faults = 0
    for kind in {*find_damage(source), *find_damage(target)}:
        faults |= BITS[kind]
    if _is_copied(source, target):
        faults |= BITS["copied"]
    if _is_ratio_odd(source, target, profile.log_ratio, limits.ratio):
        faults |= BITS["length-ratio"]
    if _is_long(source, limits) or _is_long(target, limits):
        faults |= BITS["long-line"]
    if _numbers_differ(source, target):
        faults |= BITS["number-mismatch"]
    for text, scripts in ((source, profile.source_scripts), (target, profile.target_scripts)):
        if not (text.isascii() and "Latin" in scripts):
            faults |= _script_faults(text, scripts)
    return faults


def _script_faults(text: str, scripts: frozenset[str]) -> int:
    counts = count_scripts(text)
    others = counts.keys() - scripts
    if not others:
        return BITS["mixed-script"] if len(scripts) > 1 and find_mixed_word(text) else 0
    total = counts.total()
    # Latin names stand in texts of every script; a line is foreign when there is little else.
    limit = 0.85 if others <= {"Latin", "Greek"} else 0.5
    if total >= 6 and share_of_others(counts, scripts) > limit:
        return BITS["wrong-script"]
    strange = others - {"Latin", "Greek"}
    return BITS["mixed-script"] if strange or find_mixed_word(text) else 0


def _log_ratio(source: str, target: str) -> float:
    return math.log((len(target) + _SMOOTHING) / (len(source) + _SMOOTHING))


def _is_copied(source: str, target: str) -> bool:
    """Tell whether the two sides say the same in the same letters; a pair without letters is no copy."""
    if source == target:
        return any(map(str.isalpha, source))
    if abs(len(source) - len(target)) > 0.2 * max(len(source), len(target)) + 3:
        return False
    words, others = source.lower().split(), set(target.lower().split())
    if words[0] not in others and words[-1] not in others and len(words) > 2:
        return False
    plain = normalise(source)
    if plain == normalise(target):
        return any(map(str.isalpha, plain))
    long = [word for word in words if len(word) > 3]
    return len(long) >= 5 and sum(word in others for word in long) >= 0.9 * len(long)


def _is_ratio_odd(source: str, target: str, usual: float, limit: float) -> bool:
    odd = abs(_log_ratio(source, target) - usual) > math.log(limit)
    return odd and abs(len(target) - len(source) * math.exp(usual)) > 12


def _is_long(text: str, limits: Limits) -> bool:
    if len(text) <= limits.words:
        return False
    return len(text) > limits.characters or len(text.split()) > limits.words


def numbers_of(text: str) -> list[str]:
    """Return the numbers in ``text`` as plain digits, whatever the script and the separators."""
    found = []
    for match in _NUMBER.finditer(text):
        digits = "".join(each for each in match[0] if each.isdecimal())
        if not digits.isascii():
            digits = "".join(str(unicodedata.decimal(each)) for each in digits)
        found.append(digits.lstrip("0") or "0")
    return found


def _numbers_differ(source: str, target: str) -> bool:
    """Tell whether a number of one side is missing on the other, beyond what is likely to be written in words."""
    if not (_DIGIT.search(source) or _DIGIT.search(target)):
        return False
    ours, theirs = numbers_of(source), numbers_of(target)
    if sorted(ours) == sorted(theirs):
        return False
    # The same digits in more or fewer numbers were only grouped otherwise; in as many, two of them changed places.
    if len(ours) != len(theirs) and sorted("".join(ours)) == sorted("".join(theirs)):
        return False
    missing = [number for number in ours if number not in theirs]
    added = [number for number in theirs if number not in ours]
    if missing and added:
        return True
    return any(len(number) > 2 for number in missing + added)


def names_of(faults: int) -> list[str]:
    """Return the names of the faults in one number."""
    return [fault for fault, bit in BITS.items() if faults & bit]
