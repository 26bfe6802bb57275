"""Tokens to guess from those around them: what an encoder learns a language by."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Masking"]

_HIDDEN, _REPLACED = 0.8, 0.1
"""Of the tokens to guess: so many are hidden, so many replaced by another; the rest stays, and must be guessed all the same."""


@dataclass(frozen=True, slots=True)
class Masking:
    """What is hidden, as a pure function of seed, epoch and pair.

    Attributes:
        share: of the tokens, those to guess, on average; of a text of one token or more at least one.
        hidden: id that stands for a hidden token.
        ids: ids that a token is replaced by, from the first to the one before the second.
        seed: another one hides other tokens.

    Source: Devlin et al. 2019, "BERT", section 3.1, task 1.
    """

    share: float
    hidden: int
    ids: tuple[int, int]
    seed: int

    def apply(
        self, tokens: Sequence[int], *, epoch: int, pair: int
    ) -> tuple[list[int], list[bool]]:
        """Return what is read instead of ``tokens``, and which of them are to be guessed."""
        chance = random.Random(f"mask {self.seed} {epoch} {pair}")
        guessed = [chance.random() < self.share for _ in tokens]
        if tokens and not any(guessed):
            guessed[int(chance.random() * len(tokens))] = True
        read = [
            self._instead(token, chance) if is_guessed else token
            for token, is_guessed in zip(tokens, guessed, strict=True)
        ]
        return read, guessed

    def _instead(self, token: int, chance: random.Random) -> int:
        how = chance.random()
        if how < _HIDDEN:
            return self.hidden
        first, end = self.ids
        return first + int(chance.random() * (end - first)) if how < _HIDDEN + _REPLACED else token
