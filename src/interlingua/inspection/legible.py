"""Tokens as labels: every token can be seen, whatever characters it holds and whatever fonts there are."""

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from matplotlib.font_manager import fontManager, get_font

__all__ = ["families_for", "hide_missing", "label_of", "missing_characters"]

PLAIN_FAMILY = "DejaVu Sans"
"""Comes with matplotlib, so it is everywhere; Latin, Greek, Cyrillic, Hebrew, Arabic and many signs."""

LONGEST_LABEL = 24
MISSING = "□"
_UNSEEN = {"Cc", "Cf", "Cn", "Cs", "Zl", "Zp", "Zs"}
"""Control, format, unassigned (among them what XML cannot hold), surrogates, separators."""


def label_of(token: str, *, longest: int = LONGEST_LABEL, show_spaces: bool = True) -> str:
    """Return ``token`` as one line of visible characters that XML can hold.

    What cannot be seen becomes its code point, a mark that would sit on its neighbour gets a circle to sit on, and
    what is longer than ``longest`` is cut.
    """
    shown = "".join(
        " " if character == " " and not show_spaces else _visible(character) for character in token
    )
    if shown and unicodedata.combining(shown[0]):
        shown = "◌" + shown
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def _visible(character: str) -> str:
    if character == " ":
        return "␣"
    if unicodedata.category(character) in _UNSEEN:
        return f"U+{ord(character):04X}"
    return character


def families_for(texts: Iterable[str]) -> list[str]:
    """Return font families that together show ``texts``, as far as this machine has them.

    Chosen by the characters that each font really holds, never by name alone.
    """
    wanted = _needed(texts)
    families: list[str] = []
    for family, path in [(PLAIN_FAMILY, _plain_path()), *_other_fonts()]:
        if families and not wanted:
            break
        found = {character for character in wanted if _holds(path, character)}
        if found or family == PLAIN_FAMILY:
            families.append(family)
            wanted -= found
    return families


def missing_characters(texts: Iterable[str]) -> set[str]:
    """Return the characters that no font of this machine can show."""
    wanted = _needed(texts)
    for path in [_plain_path(), *(path for _, path in _other_fonts() if wanted)]:
        wanted = {character for character in wanted if not _holds(path, character)}
        if not wanted:
            break
    return wanted


def hide_missing(text: str, missing: set[str]) -> str:
    """Put a box where a character cannot be shown."""
    return "".join(MISSING if character in missing else character for character in text)


def _needed(texts: Iterable[str]) -> set[str]:
    return {character for text in texts for character in text}


@lru_cache(maxsize=1)
def _plain_path() -> str:
    from matplotlib.font_manager import findfont

    return str(findfont(PLAIN_FAMILY, fallback_to_default=True))


@lru_cache(maxsize=1)
def _other_fonts() -> tuple[tuple[str, str], ...]:
    """Upright fonts of ordinary weight, those without serifs first; none that has boxes for everything."""
    fonts = {
        font.name: str(font.fname)
        for font in fontManager.ttflist
        if font.style == "normal"
        and font.weight in ("normal", "regular", "book", 400)
        and not font.name.startswith(("Last Resort", "DejaVu", "STIX", "cm"))
    }
    return tuple(sorted(fonts.items(), key=lambda font: ("Sans" not in font[0], font[0])))


@lru_cache(maxsize=20_000)
def _holds(path: str, character: str) -> bool:
    try:
        return bool(get_font(path).get_char_index(ord(character)))
    except (OSError, RuntimeError):
        # A font file that was deleted or is damaged is one font less.
        return False
