"""Noise on the words of a text: some dropped, some blanked out, some moved a little.

A model that learns from noisy synthetic sources learns to write the target in spite of them; so it cannot learn the
simple ways of the model that wrote them by heart.
"""

import random
from dataclasses import dataclass

from interlingua.corpus.words import is_inside_a_word, units_of

__all__ = ["FILLER", "WordNoise"]

FILLER = "_"
"""What stands for a word that is blanked out: any vocabulary can spell it."""


@dataclass(frozen=True, slots=True)
class WordNoise:
    """Noise as a pure function of the seed and the text.

    Attributes:
        drop: probability that a word is left out.
        blank: probability that a word that stays becomes ``FILLER``.
        reach: places that a word moves at most; 0 leaves the order.
        seed: another one makes other noise.

    Source: Edunov et al. 2018, "Understanding Back-Translation at Scale", section 3 (there 0.1, 0.1 and 3); how words
    move is Lample et al. 2018, "Unsupervised Machine Translation Using Monolingual Corpora Only", section 2.3.
    """

    drop: float = 0.1
    blank: float = 0.1
    reach: int = 3
    seed: int = 1

    def apply(self, text: str) -> str:
        """Return ``text`` with noise; a text of one word or more keeps at least one place."""
        words = units_of(text)
        if not words:
            return text
        chance = random.Random(f"{self.seed} {text}")
        kept = [word for word in words if chance.random() >= self.drop] or [chance.choice(words)]
        blanked = [
            f" {FILLER} "
            if chance.random() < self.blank
            else (" " if space or not place else "") + word
            for place, (space, word) in enumerate(kept)
        ]
        # Sorting by place + U(0, reach + 1) moves no word further than reach places.
        keys = [place + chance.random() * (self.reach + 1) for place in range(len(blanked))]
        order = sorted(range(len(blanked)), key=keys.__getitem__)
        written = ""
        for place in order:
            parts = written and is_inside_a_word(written + blanked[place], len(written))
            written += f"{' ' if parts else ''}{blanked[place]}"
        return " ".join(written.split())
