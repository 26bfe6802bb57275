"""What people type, as against what corpora hold: capitals, typos, missing marks, emoji, markup and placeholders.

A model that has only seen clean text takes such input apart into pieces that it has hardly ever met. Here a share of
the training pairs is spoiled anew in each epoch; the target stays as it was, but for what must be copied.
"""

import random
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["SPOILS", "InputNoise", "mistype"]

TYPO_RATE = 0.1
"""Of the words, those that get a typo where a sentence gets any."""

_EMOJI = [
    "😀",
    "😂",
    "😍",
    "👍",
    "🙏",
    "🎉",
    "❤️",
    "🔥",
    "😢",
    "🤔",
    "☀️",
    "🚀",
    "✅",
    "❌",
    "🐶",
    "⚽",
    "🇪🇺",
    "👩\u200d🔬",
]
_FRAMES = (
    ("<b>", "</b>"),
    ("<i>", "</i>"),
    ("<p>", "</p>"),
    ("<a1>", "</a1>"),
    ("**", "**"),
    ("* ", ""),
    ("# ", ""),
    ("", " {{name}}"),
    ("{0} ", ""),
    ("", " %s"),
    ("", " https://example.org/a?b=1"),
    ("@user ", ""),
    ("", " #1"),
)
"""Markup and placeholders: what stands before and behind a sentence, and behind and before its translation."""

_LETTERS = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"\w+")

Both = tuple[str, str]


@dataclass(frozen=True, slots=True)
class InputNoise:
    """Noise as a pure function of seed, epoch and pair.

    Attributes:
        share: probability that a pair is spoiled, in one of the ways of ``SPOILS``.
        seed: another one makes other noise.

    Why it helps: Belinkov and Bisk 2018, "Synthetic and Natural Noise Both Break Neural Machine Translation", section 6.
    """

    share: float
    seed: int

    def apply(self, source: str, target: str, *, epoch: int, pair: int) -> Both | None:
        """Return the pair as it is to be learnt from this time; None if it stays as it is."""
        chance = random.Random(f"noise {self.seed} {epoch} {pair}")
        if chance.random() >= self.share:
            return None
        return chance.choice(list(SPOILS.values()))(source, target, chance)


def mistype(text: str, chance: random.Random, rate: float = TYPO_RATE) -> str:
    """Return ``text`` with a typo in each word with probability ``rate``; words of one letter stay.

    A typo is two letters that changed places, one that is missing, one twice, or another in its place, of those of the text.
    """
    letters = _LETTERS.findall(text)

    def spoil(found: re.Match[str]) -> str:
        word = found[0]
        if len(word) < 2 or not _LETTERS.search(word) or chance.random() >= rate:
            return word
        at = chance.randrange(len(word) - 1)
        before, here, there, behind = word[:at], word[at], word[at + 1], word[at + 2 :]
        return chance.choice(
            (
                f"{before}{there}{here}{behind}",
                f"{before}{here}{behind}",
                f"{before}{here}{here}{there}{behind}",
                f"{before}{here}{chance.choice(letters)}{behind}",
            )
        )

    return _WORD.sub(spoil, text)


def _capitals(source: str, target: str, _: random.Random) -> Both:
    return source.upper(), target


def _small_letters(source: str, target: str, _: random.Random) -> Both:
    return source.lower(), target


def _title(source: str, target: str, _: random.Random) -> Both:
    return _WORD.sub(lambda found: found[0][:1].upper() + found[0][1:], source), target


def _typos(source: str, target: str, chance: random.Random) -> Both:
    return mistype(source, chance), target


def _without_punctuation(source: str, target: str, _: random.Random) -> Both:
    kept = "".join(" " if unicodedata.category(each)[0] == "P" else each for each in source)
    return " ".join(kept.split()) or source, target


def _without_accents(source: str, target: str, _: random.Random) -> Both:
    apart = unicodedata.normalize("NFD", source)
    return unicodedata.normalize(
        "NFC", "".join(each for each in apart if not unicodedata.combining(each))
    ), target


def _emoji(source: str, target: str, chance: random.Random) -> Both:
    some = "".join(chance.choices(_EMOJI, k=chance.choice((1, 1, 2, 3))))
    if chance.random() < 0.25:
        return f"{some} {source}", f"{some} {target}"
    return f"{source} {some}", f"{target} {some}"


def _frame(source: str, target: str, chance: random.Random) -> Both:
    before, behind = chance.choice(_FRAMES)
    return f"{before}{source}{behind}", f"{before}{target}{behind}"


SPOILS: dict[str, Callable[[str, str, random.Random], Both]] = {
    "capitals": _capitals,
    "small letters": _small_letters,
    "title": _title,
    "typos": _typos,
    "no punctuation": _without_punctuation,
    "no accents": _without_accents,
    "emoji": _emoji,
    "markup": _frame,
}
"""Ways to spoil a pair, by name."""
