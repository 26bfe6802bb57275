"""Text with gaps, to learn a language from: whoever fills them must know its words, their order and what they mean.

Runs of words become one sign each, and words may change places; the target is the text as it was. No second language is needed,
so that a model can learn from all the text that there is before it meets a translation.
"""

import math
import random
from dataclasses import dataclass

from interlingua.corpus.word_noise import FILLER
from interlingua.corpus.words import units_of

__all__ = ["Denoising"]

Both = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Denoising:
    """Gaps and changed places as a pure function of seed, epoch and pair.

    Attributes:
        share: of the words, those that are hidden, on average.
        span: mean length of a hidden run, which ``FILLER`` stands for; 1 hides each word by itself.
        reach: places that a word moves at most; 0 leaves the order.
        seed: another one makes other gaps.

    Source: text infilling of Lewis et al. 2020, "BART", section 2.2, with runs of 1 + Poisson(span - 1) words in place of Poisson(3),
    so that none is empty; how words move is Lample et al. 2018, section 2.3, as BART's permutation needs lines of several sentences.
    """

    share: float
    span: float
    reach: int
    seed: int

    def apply(self, source: str, target: str, *, epoch: int, pair: int) -> Both:
        """Return the pair as it is to be learnt from this time; a source of one word or more keeps at least one sign."""
        chance = random.Random(f"denoise {self.seed} {epoch} {pair}")
        units = self._moved(units_of(source), chance)
        if not units:
            return source, target
        gaps = self._gaps(len(units), chance)
        written, place = "", 0
        while place < len(units):
            space, word = units[place]
            length = gaps.get(place, 0)
            if length:
                # a script without spaces needs them here, or the sign would not stand by itself
                written += f" {FILLER} "
            else:
                written += space + word
            place += max(length, 1)
        return " ".join(written.split()), target

    def _moved(self, units: list[Both], chance: random.Random) -> list[Both]:
        """Sorting by place + U(0, reach + 1) moves no word further than reach places."""
        if not self.reach:
            return units
        keys = [place + chance.random() * (self.reach + 1) for place in range(len(units))]
        order = sorted(range(len(units)), key=keys.__getitem__)
        return [(units[place][0] or " " * (place == 0), units[place][1]) for place in order]

    def _gaps(self, count: int, chance: random.Random) -> dict[int, int]:
        """Draw where runs begin, and how long they are; between two of them stands a word at least."""
        exact = self.share * count
        left = int(exact) + (chance.random() < exact - int(exact))
        left = min(left, max(count - 1, 1))
        lengths = []
        while left > 0:
            lengths.append(min(left, 1 + _poisson(self.span - 1, chance)))
            left -= lengths[-1]
        kept = count - sum(lengths)
        lengths = lengths[: kept + 1]
        # so many places are there between, before and behind the words that are kept
        keys = [chance.random() for _ in range(kept + 1)]
        places = sorted(sorted(range(kept + 1), key=keys.__getitem__)[: len(lengths)])
        gaps, hidden = {}, 0
        for place, length in zip(places, lengths, strict=True):
            gaps[place + hidden] = length
            hidden += length
        return gaps


def _poisson(mean: float, chance: random.Random) -> int:
    """Draw by multiplication (Knuth), from ``Random.random`` alone, which Python promises not to change."""
    limit, number, product = math.exp(-mean), 0, chance.random()
    while product > limit:
        number += 1
        product *= chance.random()
    return number
