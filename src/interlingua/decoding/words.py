"""Words in a target that is written symbol by symbol: where one ends, and which must not be written."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from interlingua.corpus.words import is_of_a_word
from interlingua.tokenization.tokenizer import Tokenizer

__all__ = ["BannedPhrases", "Lexicon"]


class Lexicon:
    """What every symbol of a vocabulary adds to a text, and whether it goes on with the word before it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        before = tokenizer.encode("a").ids
        start = len(tokenizer.decode(before))
        self.surfaces = [
            tokenizer.decode([*before, symbol])[start:]
            for symbol in range(tokenizer.vocabulary_size)
        ]
        self.continues: Bool[Tensor, "V"] = torch.tensor(
            [bool(surface) and _goes_on(surface[0]) for surface in self.surfaces]
        )
        """Whether a symbol begins with a letter, digit or part of a character, without a space before it."""
        self._before = before

    def is_cut(self, ids: Sequence[int]) -> bool:
        """Whether ``ids`` end in the middle of a character."""
        return self.tokenizer.decode([*self._before, *ids]).endswith("\ufffd")

    def within(self, phrase: str) -> tuple[int, ...]:
        """Return the ids of ``phrase`` as it stands inside a sentence, after a space."""
        before, both = self.tokenizer.encode("a").ids, self.tokenizer.encode(f"a {phrase}").ids
        if both[: len(before)] != before:
            return tuple(self.tokenizer.encode(phrase).ids)
        return tuple(both[len(before) :])


class BannedPhrases:
    """None of some phrases stands in a target, however it is cut into symbols; case is ignored.

    A phrase is banned when it is completed. Where it ends in a letter, that is what would end its last word there, so that a
    longer word ("dogs" where "dog" is banned) can still be written.
    """

    def __init__(self, phrases: Sequence[str], lexicon: Lexicon) -> None:
        spelled = [lexicon.tokenizer.normalise(phrase).casefold().split() for phrase in phrases]
        self.phrases = [" ".join(words) for words in spelled if words]
        self.lexicon = lexicon
        self._surfaces = [surface.casefold() for surface in lexicon.surfaces]
        self._inside = [
            symbol
            for symbol, surface in enumerate(self._surfaces)
            if any(_holds_ended(surface, phrase) for phrase in self.phrases)
        ]
        self._completing: dict[str, list[int]] = {}

    def __call__(
        self, step: Float[Tensor, "R V"], written: Int[Tensor, "R T"], sentences: Int[Tensor, "R"]
    ) -> Float[Tensor, "R V"]:
        """Take away what would complete a phrase."""
        allowed = step.clone()
        allowed[:, self._inside] = float("-inf")
        for row, ids in enumerate(written.tolist()):
            text = self.lexicon.tokenizer.decode(ids).casefold()
            for phrase in self.phrases:
                for rest in _rests(text, phrase):
                    allowed[row, self._that_complete(rest)] = float("-inf")
        return allowed

    def _that_complete(self, rest: str) -> list[int]:
        """Return the symbols that write ``rest``, and end the word with it if there is one to end."""
        if rest not in self._completing:
            ended = bool(rest) and not _goes_on(rest[-1])
            symbols = [
                symbol
                for symbol, surface in enumerate(self._surfaces)
                if surface.startswith(rest)
                and (ended or (surface[len(rest) :] and not _goes_on(surface[len(rest)])))
            ]
            self._completing[rest] = symbols if rest else [*symbols, self.lexicon.tokenizer.end_id]
        return self._completing[rest]


def _rests(text: str, phrase: str) -> list[str]:
    """Return the ends of ``phrase`` that would complete it after ``text``; "" where only the end of a word is missing."""
    rests = []
    for cut in range(min(len(phrase) - 1 + _goes_on(phrase[-1]), len(text)) + 1):
        start = len(text) - cut
        begins = not (_goes_on(phrase[0]) and start and _goes_on(text[start - 1]))
        if begins and text.endswith(phrase[:cut]):
            rests.append(phrase[cut:])
    return rests


def _holds_ended(surface: str, phrase: str) -> bool:
    """Whether ``phrase`` stands in ``surface``, with an end on the sides where it has a letter."""
    place = surface.find(phrase)
    while place >= 0:
        before, after = surface[:place], surface[place + len(phrase) :]
        begins = not _goes_on(phrase[0]) or (before and not _goes_on(before[-1]))
        ends = not _goes_on(phrase[-1]) or (after and not _goes_on(after[0]))
        if begins and ends:
            return True
        place = surface.find(phrase, place + 1)
    return False


def _goes_on(letter: str) -> bool:
    """Whether a letter, or a part of one, goes on with the word before it."""
    return is_of_a_word(letter) or letter == "\ufffd"
