"""Words in a target that is written symbol by symbol: where one ends, and which must not be written."""

from collections import defaultdict
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

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
            [bool(surface) and _is_of_a_word(surface[0]) for surface in self.surfaces]
        )
        """Whether a symbol begins with a letter, digit or part of a character, without a space before it."""

    def within(self, phrase: str) -> tuple[int, ...]:
        """Return the ids of ``phrase`` as it stands inside a sentence, after a space."""
        before, both = self.tokenizer.encode("a").ids, self.tokenizer.encode(f"a {phrase}").ids
        if both[: len(before)] != before:
            return tuple(self.tokenizer.encode(phrase).ids)
        return tuple(both[len(before) :])


class BannedPhrases:
    """None of some phrases stands in a target, however it is cut into symbols; case is ignored.

    A phrase is banned when it is completed: what would end its last word there is taken away, so that a longer
    word ("dogs" where "dog" is banned) can still be written.
    """

    def __init__(self, phrases: Sequence[str], lexicon: Lexicon) -> None:
        self.phrases = [" ".join(phrase.casefold().split()) for phrase in phrases]
        self.lexicon = lexicon
        by_head: dict[str, list[int]] = defaultdict(list)
        inside: list[int] = []
        for symbol, surface in enumerate(map(str.casefold, lexicon.surfaces)):
            head = _head(surface)
            if head is not None:
                by_head[head].append(symbol)
            if any(_holds_ended(surface, phrase) for phrase in self.phrases):
                inside.append(symbol)
        by_head[""].append(lexicon.tokenizer.end_id)
        self._by_head, self._inside = dict(by_head), inside

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
                    allowed[row, self._by_head.get(rest, [])] = float("-inf")
        return allowed


def _rests(text: str, phrase: str) -> list[str]:
    """Return the ends of the last word of ``phrase`` that would complete it after ``text``."""
    rests = []
    for cut in range(phrase.rfind(" ") + 1, len(phrase) + 1):
        start = len(text) - cut
        begins_a_word = start >= 0 and (start == 0 or not _is_of_a_word(text[start - 1]))
        if begins_a_word and text.endswith(phrase[:cut]):
            rests.append(phrase[cut:])
    return rests


def _head(surface: str) -> str | None:
    """Return what ``surface`` adds to the word before it, or None if it does not end that word."""
    for place, letter in enumerate(surface):
        if not _is_of_a_word(letter):
            return surface[:place]
    return None


def _holds_ended(surface: str, phrase: str) -> bool:
    """Whether ``phrase`` stands in ``surface`` with an end on both sides."""
    place = surface.find(phrase, 1)
    end = place + len(phrase)
    return (
        place > 0
        and end < len(surface)
        and not _is_of_a_word(surface[place - 1])
        and not _is_of_a_word(surface[end])
    )


def _is_of_a_word(letter: str) -> bool:
    return letter.isalnum() or letter == "\ufffd"
