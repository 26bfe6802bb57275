"""Words in a target that is written symbol by symbol: where one ends, and which must not be written."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from interlingua.corpus.words import is_of_a_word, is_unspaced
from interlingua.tokenization.tokenizer import Tokenizer

__all__ = ["BannedPhrases", "Lexicon"]

_PART = "\ufffd"
"""What the text has for a part of a character."""


class Lexicon:
    """What every symbol of a vocabulary adds to a text, and whether it goes on with the word before it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._before = tokenizer.encode("a").ids
        start = len(tokenizer.decode(self._before))
        self.surfaces = [
            tokenizer.decode([*self._before, symbol])[start:]
            for symbol in range(tokenizer.vocabulary_size)
        ]
        self.continues: Bool[Tensor, "V"] = torch.tensor(
            [
                surface.startswith(_PART) or (bool(surface) and is_of_a_word(surface[0]))
                for surface in self.surfaces
            ]
        )
        """Whether a symbol begins with a letter, digit or part of a character, without a space before it."""
        self._ending: frozenset[int] = frozenset()
        self.added = self.surfaces
        """What a symbol adds to the :meth:`text` of those before it."""
        if not bool(self.continues.any()):  # as in subword-nmt, where a symbol tells what it ends
            alone = [tokenizer.decode([symbol]) for symbol in range(tokenizer.vocabulary_size)]
            self._ending = frozenset(
                symbol
                for symbol, surface in enumerate(alone)
                if tokenizer.decode([symbol, *self._before]) != f"{surface}a"
            )
            self.added = [
                text + " " * (symbol in self._ending) for symbol, text in enumerate(alone)
            ]

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of ``ids``, with the space behind it if the last one ends a word by itself."""
        return self.tokenizer.decode(ids) + " " * bool(ids and ids[-1] in self._ending)

    def is_cut(self, ids: Sequence[int]) -> bool:
        """Whether ``ids`` end in the middle of a character."""
        return self.tokenizer.decode([*self._before, *ids]).endswith(_PART)

    def within(self, phrase: str) -> tuple[int, ...]:
        """Return the ids of ``phrase`` as it stands inside a sentence: after a space, in scripts that put spaces between words."""
        space = "" if is_unspaced(phrase[:1]) else " "
        before, both = self._before, self.tokenizer.encode(f"a{space}{phrase}").ids
        if both[: len(before)] != before:
            return tuple(self.tokenizer.encode(phrase).ids)
        return tuple(both[len(before) :])


class BannedPhrases:
    """None of some phrases stands in a target, however it is cut into symbols; case is ignored.

    A phrase is banned when it is completed. Where it ends in a letter, that is what would end its last word there, so that a
    longer word ("dogs" where "dog" is banned) can still be written. A part of a character ends the word too: nobody knows yet
    whether it becomes a letter or a dash.

    Args:
        phrases: what is banned.
        lexicon: of the target's vocabulary.
        max_lengths: symbols that the target of each sentence has at most; the last one ends it.
    """

    def __init__(
        self, phrases: Sequence[str], lexicon: Lexicon, max_lengths: Sequence[int]
    ) -> None:
        spelled = [lexicon.tokenizer.normalise(phrase).casefold().split() for phrase in phrases]
        self.phrases = [" ".join(words) for words in spelled if words]
        self.lexicon, self.max_lengths = lexicon, max_lengths
        self._surfaces = [surface.casefold() for surface in lexicon.added]
        self._parts = [
            symbol for symbol, surface in enumerate(lexicon.added) if surface.startswith(_PART)
        ]
        self._inside = {is_last: self._that_hold_a_phrase(is_last) for is_last in (False, True)}
        self._completing: dict[tuple[str, bool], list[int]] = {}

    def __call__(
        self, step: Float[Tensor, "R V"], written: Int[Tensor, "R T"], sentences: Int[Tensor, "R"]
    ) -> Float[Tensor, "R V"]:
        """Take away what would complete a phrase."""
        allowed = step.clone()
        for row, (ids, sentence) in enumerate(
            zip(written.tolist(), sentences.tolist(), strict=True)
        ):
            is_last = len(ids) + 1 >= self.max_lengths[sentence]
            text = self.lexicon.text(ids).casefold()
            allowed[row, self._inside[is_last]] = float("-inf")
            for rest in self._rests(text):
                allowed[row, self._that_complete(rest, is_last)] = float("-inf")
            if text.endswith(_PART):
                allowed[row, self._parts_that_complete(ids, text, is_last)] = float("-inf")
        return allowed

    def _that_hold_a_phrase(self, is_last: bool) -> list[int]:
        return [
            symbol
            for symbol, surface in enumerate(self._surfaces)
            if any(_holds_ended(surface + " " * is_last, phrase) for phrase in self.phrases)
        ]

    def _rests(self, text: str) -> set[str]:
        return {rest for phrase in self.phrases for rest in _rests(text, phrase)}

    def _that_complete(self, rest: str, is_last: bool) -> list[int]:
        """Return the symbols that write ``rest``, and end the word with it if there is one to end."""
        if (rest, is_last) not in self._completing:
            symbols = [
                symbol
                for symbol, surface in enumerate(self._surfaces)
                if _completes(surface + " " * is_last, rest)
            ]
            ends = [] if rest else [self.lexicon.tokenizer.end_id]
            self._completing[rest, is_last] = symbols + ends
        return self._completing[rest, is_last]

    def _parts_that_complete(self, ids: list[int], text: str, is_last: bool) -> list[int]:
        """Return the parts of characters that do so with the part that ``text`` ends in."""
        whole = text.rstrip(_PART)
        rests = self._rests(whole)
        added = {
            symbol: self.lexicon.text([*ids, symbol]).casefold()[len(whole) :]
            for symbol in self._parts
        }
        return [
            symbol
            for symbol, surface in added.items()
            if any(_completes(surface + " " * is_last, rest) for rest in rests)
        ]


def _rests(text: str, phrase: str) -> list[str]:
    """Return the ends of ``phrase`` that would complete it after ``text``; "" where only the end of a word is missing."""
    rests = []
    for cut in range(min(len(phrase) - 1 + is_of_a_word(phrase[-1]), len(text)) + 1):
        start = len(text) - cut
        begins = not (is_of_a_word(phrase[0]) and start and is_of_a_word(text[start - 1]))
        if begins and text.endswith(phrase[:cut]):
            rests.append(phrase[cut:])
    return rests


def _completes(surface: str, rest: str) -> bool:
    """Whether ``surface`` begins with ``rest``, and ends the word with it if there is one to end."""
    after = surface[len(rest) :]
    ended = bool(rest) and not is_of_a_word(rest[-1])
    return surface.startswith(rest) and (ended or (after != "" and not is_of_a_word(after[0])))


def _holds_ended(surface: str, phrase: str) -> bool:
    """Whether ``phrase`` stands in ``surface``, with an end on the sides where it has a letter."""
    place = surface.find(phrase)
    while place >= 0:
        before, after = surface[:place], surface[place + len(phrase) :]
        begins = not is_of_a_word(phrase[0]) or (before and not is_of_a_word(before[-1]))
        ends = not is_of_a_word(phrase[-1]) or (after and not is_of_a_word(after[0]))
        if begins and ends:
            return True
        place = surface.find(phrase, place + 1)
    return False
