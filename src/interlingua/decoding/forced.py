"""Phrases that a target must hold: hard lexical constraints.

A hypothesis belongs to a bank by how many symbols of the wanted phrases it has. The slots of a sentence are dealt out
to the banks in turn (the best of each bank, the fullest bank first, then the second best of each, ...), so that
hypotheses that pay for a phrase do not lose against those that put it off. Only what has met all may end.

Source: Post and Vilar 2018, "Fast Lexically Constrained Decoding with Dynamic Beam Allocation for Neural Machine
Translation"; Hokamp and Liu 2017 (grid beam search).
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from interlingua.decoding.selection import choose_best

__all__ = ["ForcedPhrases", "Progress", "progress_of"]

Phrase = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a target has come with its phrases."""

    met: int
    """Symbols of the phrases that it holds."""
    missing: int
    """Symbols of the phrases that it does not hold yet, those begun included."""
    advancing: dict[int, int]
    """Symbol -> how many symbols are met or begun when it is written next."""
    under_way: tuple[tuple[Phrase, int], ...]
    """The phrases that it is in the middle of, and how many symbols it has of each."""
    undone: int
    """What is met if the next symbol goes on with the last word: a phrase that has become part of a longer word."""

    @property
    def begun(self) -> int:
        """Symbols of the phrase that it is in the middle of."""
        return max((n for _, n in self.under_way), default=0)


def progress_of(
    written: Sequence[int], phrases: Sequence[Phrase], continues: Sequence[bool]
) -> Progress:
    """Follow a target from its beginning; ``continues`` tells which symbols go on with the word before them."""
    missing = list(range(len(phrases)))
    begun: list[tuple[int, int]] = []  # phrase, symbols of it
    last: int | None = None
    for symbol in written:
        if last is not None and continues[symbol]:
            missing.append(last)
        last = None
        begun = [(p, n + 1) for p, n in begun if phrases[p][n] == symbol]
        begun += [(p, 1) for p in missing if phrases[p][0] == symbol]
        whole = [(n, -p) for p, n in begun if n == len(phrases[p])]
        if whole:
            last = -max(whole)[1]
            missing.remove(last)
            begun = []
    met = sum(map(len, phrases)) - sum(len(phrases[p]) for p in missing)
    advancing = {phrases[p][0]: met + 1 for p in missing}
    for p, n in sorted(begun, key=lambda each: each[1]):
        advancing[phrases[p][n]] = met + n + 1
    return Progress(
        met=met,
        missing=sum(len(phrases[p]) for p in missing),
        advancing=advancing,
        under_way=tuple((phrases[p], n) for p, n in begun),
        undone=met if last is None else met - len(phrases[last]),
    )


class ForcedPhrases:
    """A rule (no end before all phrases are met) and a selection (slots dealt out to banks) in one.

    Args:
        phrases: what each sentence must hold.
        max_lengths: symbols that each may write; the phrases are written at the latest when just enough are left.
        continues: which symbols go on with the word before them.
        is_cut: whether symbols end in the middle of a character; a phrase is not left there once it is begun.
        end_id: the symbol that ends a target.
    """

    def __init__(
        self,
        phrases: Sequence[Sequence[Phrase]],
        max_lengths: Sequence[int],
        continues: Bool[Tensor, "V"],
        is_cut: Callable[[Sequence[int]], bool],
        end_id: int,
    ) -> None:
        self.phrases, self.max_lengths = phrases, max_lengths
        self.continues: list[bool] = continues.tolist()
        self._cuts = {
            phrase: [is_cut(phrase[:n]) for n in range(len(phrase))]
            for each in phrases
            for phrase in each
        }
        self._joined = continues.nonzero()[:, 0].tolist()
        self.end_id = end_id

    def rule(
        self, step: Float[Tensor, "R V"], written: Int[Tensor, "R T"], sentences: Int[Tensor, "R"]
    ) -> Float[Tensor, "R V"]:
        """Forbid the end while a phrase is missing, and everything else when there is no more room."""
        allowed = step.clone()
        for row, (ids, sentence) in enumerate(
            zip(written.tolist(), sentences.tolist(), strict=True)
        ):
            if not self.phrases[sentence]:
                continue
            progress = progress_of(ids, self.phrases[sentence], self.continues)
            left = self.max_lengths[sentence] - len(ids)
            at_risk = progress.met - progress.undone
            if at_risk and left <= progress.missing + at_risk + 1:
                allowed[row, self._joined] = float("-inf")  # a word made longer could not be mended
            if not progress.missing:
                continue
            allowed[row, self.end_id] = float("-inf")
            wanted = self._due(progress)
            # With no more room than that, what is begun now could not be begun again.
            if not wanted and left <= progress.missing + 1:
                ahead = max(progress.advancing.values())
                wanted = [i for i, count in progress.advancing.items() if count == ahead]
            if wanted:
                allowed[row] = float("-inf")
                allowed[row, wanted] = step[row, wanted]
        return allowed

    def _due(self, progress: Progress) -> list[int]:
        """Return what may be written next where half a character of a phrase was written last."""
        return [phrase[n] for phrase, n in progress.under_way if self._cuts[phrase][n]]

    def select(
        self, worth: Float[Tensor, "B W V"], written: Int[Tensor, "B W T"], sentences: Sequence[int]
    ) -> Int[Tensor, "B W"]:
        """Fill the slots of sentences with phrases bank by bank, those of others with the best."""
        chosen = choose_best(worth, written, sentences)
        for row, sentence in enumerate(sentences):
            if self.phrases[sentence]:
                dealt = self._deal(worth[row], written[row].tolist(), self.phrases[sentence])
                chosen[row] = torch.tensor(dealt, device=worth.device)
        return chosen

    def _deal(
        self, worth: Float[Tensor, "W V"], written: list[list[int]], phrases: Sequence[Phrase]
    ) -> list[int]:
        size, vocabulary = worth.shape
        best = worth.topk(min(size, vocabulary), dim=-1)
        banks: dict[int, list[tuple[float, int]]] = defaultdict(list)  # met -> worth, candidate
        kept: list[int] = []  # slots that have ended
        for slot, ids in enumerate(written):
            values = dict(zip(best.indices[slot].tolist(), best.values[slot].tolist(), strict=True))
            if max(values.values()) == float("inf"):
                kept.append(slot * vocabulary + self.end_id)
                continue
            progress = progress_of(ids, phrases, self.continues)
            values |= {symbol: float(worth[slot, symbol]) for symbol in progress.advancing}
            for symbol, value in values.items():
                if value > float("-inf"):
                    usual = progress.undone if self.continues[symbol] else progress.met
                    bank = progress.advancing.get(symbol, usual)
                    banks[bank].append((value, slot * vocabulary + symbol))
        ranked = [
            (rank, -bank, candidate)
            for bank, candidates in banks.items()
            for rank, (_, candidate) in enumerate(sorted(candidates, key=lambda c: (-c[0], c[1])))
        ]
        chosen = (kept + [candidate for *_, candidate in sorted(ranked)])[:size]
        nobody = int(worth.flatten().argmin())
        return chosen + [nobody] * (size - len(chosen))
