"""What people type, as against what corpora hold: capitals, typos, missing marks, emoji, markup and placeholders.

A model that has only seen clean text takes such input apart into pieces that it has hardly ever met. Here a share of
the training pairs is spoiled anew in each epoch; the target stays as it was, but for what must be copied. What a text holds of numbers,
addresses, variables, tags and emoji is never spoiled: the target has it as it was.
"""

import random
import re
import string
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from interlingua.corpus.language_codes import two_letters
from interlingua.corpus.placeholders import split_at_placeholders
from interlingua.corpus.words import is_of_a_word, with_marks_as_letters

__all__ = ["SPOILS", "UNSEEN", "InputNoise", "mistype"]

TYPO_RATE = 0.15
"""Of the words, those that get a typo where a sentence gets any."""

_USUAL = ["❤️", "☀️", "✅", "❌", "⚽", "⭐", "✨", "🇪🇺", "🇩🇪", "👩\u200d🔬", "👍🏽"]
_BLOCKS = (
    range(0x1F300, 0x1F3FB),
    range(0x1F400, 0x1F650),
    range(0x1F680, 0x1F6C6),
    range(0x1F90D, 0x1FA00),
)
"""Of Unicode 13; without the tones of skins, which change the emoji before them."""
_EVERY_EMOJI = [chr(code) for block in _BLOCKS for code in block]
_UNSEEN_EMOJI = _EVERY_EMOJI[::5]
"""Never taught, so that there is something to try copying with."""
_EMOJI = [*_USUAL, *(each for n, each in enumerate(_EVERY_EMOJI) if n % 5)]
"""So many that copying is easier to learn than each of them: of eighteen a model learnt just these, and put one in place of any other."""
_LETTER = re.compile(r"[^\W\d_]")
_SIGN_OF_A_WORD = re.compile(r"\w")
_WHOLE_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
"""With the apostrophes inside: "don't" is one word."""
_INNER_APOSTROPHE = re.compile(r"(?<=[^\W\d_])['\u2019](?=[^\W\d_])")
_SPACE = re.compile(r"\s+")
_VOWELS = re.compile("[\u0591-\u05c7\u064b-\u0652]")

Both = tuple[str, str]


@dataclass(frozen=True, slots=True)
class InputNoise:
    """Noise as a pure function of seed, epoch and pair.

    Attributes:
        share: probability that a pair is spoiled, in one of those ways of ``SPOILS`` that are learnt and change it.
        seed: another one makes other noise.
        language: of the sources, if they are of one: Turkish has two letters i.

    Why it helps: Belinkov and Bisk 2018, "Synthetic and Natural Noise Both Break Neural Machine Translation", section 6.
    """

    share: float
    seed: int
    language: str = ""

    def apply(self, source: str, target: str, *, epoch: int, pair: int) -> Both | None:
        """Return the pair as it is to be learnt from this time; None if it stays as it is."""
        chance = random.Random(f"noise {self.seed} {epoch} {pair}")
        if chance.random() >= self.share:
            return None
        order = sorted(_TAUGHT, key=lambda way: chance.random() ** (1 / _TAUGHT[way]), reverse=True)
        for way in order:
            is_turkish = way == "small letters" and two_letters(self.language) in ("tr", "az")
            spoil = _turkish_small_letters if is_turkish else SPOILS[way]
            spoiled = spoil(source, target, chance)
            if spoiled[0] != source:
                return spoiled
        return None


def mistype(text: str, chance: random.Random, rate: float = TYPO_RATE) -> str:
    """Return ``text`` with a typo in each word with probability ``rate``; words of one letter stay.

    A typo is two letters that changed places, one that is missing, one twice, or another in its place, of those of the text.
    """
    letters = [each for each in _with_marks(text) if _LETTER.match(each)]

    def spoil(word: list[str]) -> str:
        if len(word) < 2 or not any(map(_LETTER.match, word)) or chance.random() >= rate:
            return "".join(word)
        at = chance.randrange(len(word) - 1)
        here, there = word[at : at + 2]
        instead = chance.choice(
            ((there, here), (here,), (here, here, there), (here, chance.choice(letters)))
        )
        return "".join((*word[:at], *instead, *word[at + 2 :]))

    return _between_placeholders(text, lambda piece: "".join(map(spoil, _words_of(piece))))


def _with_marks(text: str) -> list[str]:
    """Return the signs of a text, each with the marks upon it: a vowel sign goes with its consonant."""
    signs: list[str] = []
    for sign in text:
        if signs and unicodedata.category(sign)[0] == "M":
            signs[-1] += sign
        else:
            signs.append(sign)
    return signs


def _words_of(text: str) -> list[list[str]]:
    """Return the signs of each word of a text, and whatever stands between words sign by sign.

    In a script without spaces two signs are taken for a word, as most are about so long.
    """
    words: list[list[str]] = []
    before = None
    for sign in _with_marks(text):
        has_spaces = is_of_a_word(sign[0]) if _SIGN_OF_A_WORD.match(sign) else None
        is_full = has_spaces is False and words and len(words[-1]) == 2
        if has_spaces is None or has_spaces != before or is_full:
            words.append([])
        words[-1].append(sign)
        before = has_spaces
    return words


def _between_placeholders(text: str, change: Callable[[str], str]) -> str:
    """Change what stands between those parts of a text that must come through a translation as they are."""
    pieces = split_at_placeholders(text)
    return "".join(piece.text if piece.locked else change(piece.text) for piece in pieces)


def _capitals(source: str, target: str, _: random.Random) -> Both:
    return _between_placeholders(source, str.upper), target


def _small_letters(source: str, target: str, _: random.Random) -> Both:
    # Small letters of Python leave the dot of the Turkish İ upon its i.
    return _between_placeholders(source, lambda piece: piece.replace("İ", "i").lower()), target


def _turkish_small_letters(source: str, target: str, chance: random.Random) -> Both:
    dotless = _between_placeholders(
        source, lambda piece: piece.replace("I\u0307", "i").replace("I", "ı")
    )
    return _small_letters(dotless, target, chance)


def _title(source: str, target: str, _: random.Random) -> Both:
    def raised(piece: str) -> str:
        words = _WHOLE_WORD.finditer(with_marks_as_letters(piece))
        signs = list(piece)
        for start in (found.start() for found in words):
            first = signs[start].title()
            signs[start] = first if len(first) == 1 else signs[start]  # "ß" would become "Ss"
        return "".join(signs)

    return _between_placeholders(source, raised), target


def _typos(source: str, target: str, chance: random.Random) -> Both:
    return mistype(source, chance), target


def _without_punctuation(source: str, target: str, _: random.Random) -> Both:
    def bare(piece: str) -> str:
        piece = _INNER_APOSTROPHE.sub("", piece)  # people write "dont", not "don t"
        kept = (" " if unicodedata.category(each)[0] == "P" else each for each in piece)
        return _SPACE.sub(" ", "".join(kept))

    return _between_placeholders(source, bare).strip() or source, target


def _without_accents(source: str, target: str, _: random.Random) -> Both:
    return _between_placeholders(source, _bare_letters), target


def _bare_letters(text: str) -> str:
    """Take accents from Latin and Greek letters, and the vowel signs of Hebrew and Arabic, which people leave out.

    In other scripts a mark makes another letter (й, が), or is a letter itself.
    """
    kept, takes_accents = [], False
    for sign in unicodedata.normalize("NFD", text):
        if unicodedata.combining(sign):
            if takes_accents or _VOWELS.match(sign):
                continue
        else:
            takes_accents = _takes_accents(sign)
        kept.append(sign)
    return unicodedata.normalize("NFC", "".join(kept))


@lru_cache(maxsize=10_000)
def _takes_accents(letter: str) -> bool:
    return unicodedata.name(letter, "").startswith(("LATIN", "GREEK"))


def _emoji(source: str, target: str, chance: random.Random, known: list[str] = _EMOJI) -> Both:
    some = "".join(chance.choices(known, k=chance.choice((1, 1, 2, 3))))
    if chance.random() < 0.25:
        return f"{some} {source}", f"{some} {target}"
    return f"{source} {some}", f"{target} {some}"


def _unseen_emoji(source: str, target: str, chance: random.Random) -> Both:
    return _emoji(source, target, chance, _UNSEEN_EMOJI)


def _name(chance: random.Random) -> str:
    return "".join(chance.choices(string.ascii_lowercase, k=chance.randint(1, 8)))


def _frame(source: str, target: str, chance: random.Random) -> Both:
    """Put the same before and behind both sides: markup, or a placeholder with a name that no corpus has."""
    name, number = _name(chance), chance.randrange(100)
    frames = (
        ("<b>", "</b>"),
        ("<i>", "</i>"),
        ("<p>", "</p>"),
        (f"<{name}>", f"</{name}>"),
        (f"<a{number}>", f"</a{number}>"),
        ("**", "**"),
        ("* ", ""),
        ("# ", ""),
        ("", f" {{{{{name}}}}}"),
        (f"{{{name}}}: ", ""),
        (f"{{{number}}} ", ""),
        ("", " %s"),
        ("", f" %({name})s"),
        ("", f" https://{name}.org/{number}"),
        (f"@{name} ", ""),
        ("", f" #{number}"),
    )
    return _framed(source, target, chance.choice(frames))


def _unseen_frame(source: str, target: str, chance: random.Random) -> Both:
    name, number = _name(chance), chance.randrange(100)
    frames = (
        (f'<span class="{name}">', "</span>"),
        (f"[{name}] ", ""),
        ("__", "__"),
        ("", f" ${name}"),
        ("", f" ${{{name}}}"),
        ("", f" %{number % 9 + 1}$s"),
        ("", f" {name}@{_name(chance)}.com"),
        (f"{number}) ", ""),
    )
    return _framed(source, target, chance.choice(frames))


def _framed(source: str, target: str, frame: Both) -> Both:
    before, behind = frame
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
UNSEEN: dict[str, Callable[[str, str, random.Random], Both]] = {
    "unseen emoji": _unseen_emoji,
    "unseen markup": _unseen_frame,
}
"""The same with signs and forms that are never taught: what a model makes of others than those that it learnt with."""
_TAUGHT = {
    "typos": 6,
    "small letters": 1,
    "title": 1,
    "no punctuation": 1,
    "no accents": 1,
    "emoji": 1,
    "markup": 1,
}
"""Ways that are learnt, and how often each is as against the others. Capitals need not be: a translator reads them in other letters."""
