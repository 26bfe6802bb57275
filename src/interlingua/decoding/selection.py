"""Which candidates fill the slots of a sentence: the only difference between a beam, a diverse beam and samples.

A candidate is a slot continued by a symbol; candidate ``w * V + v`` continues slot w by symbol v. A slot that has
ended has one candidate, itself under the end symbol, which is worth infinity; a slot without a target has none.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from interlingua.decoding.options import SearchOptions
from interlingua.decoding.top_k import top_k

__all__ = ["DiverseGroups", "Samples", "Selection", "choose_best", "filtered"]


@runtime_checkable
class Selection(Protocol):
    """A way to choose as many candidates as there are slots."""

    def __call__(
        self,
        worth: Float[Tensor, "B W V"],
        written: Int[Tensor, "B W T"],
        sentences: Sequence[int],
    ) -> Int[Tensor, "B W"]:
        """Return the candidates that fill the slots.

        ``worth`` is the sum of log-probabilities of each, ``written`` the targets so far, and ``sentences`` says
        which sentence of the batch each row is.
        """
        ...


def choose_best(
    worth: Float[Tensor, "B W V"], written: Int[Tensor, "B W T"], sentences: Sequence[int]
) -> Int[Tensor, "B W"]:
    """Take the likeliest: an ordinary beam. Ties go to the lowest slot and symbol."""
    return top_k(worth.flatten(1), worth.size(1))[1]


class DiverseGroups:
    """Beams side by side, of which each avoids what the ones before it have just written.

    Source: Vijayakumar et al. 2016, "Diverse Beam Search", section 4, with the Hamming diversity.
    """

    def __init__(self, groups: int, diversity: float) -> None:
        self.groups, self.diversity = groups, diversity

    def __call__(
        self, worth: Float[Tensor, "B W V"], written: Int[Tensor, "B W T"], sentences: Sequence[int]
    ) -> Int[Tensor, "B W"]:
        """Fill group after group; all begin from the one slot that is live before anything is written."""
        width, vocabulary = worth.size(1) // self.groups, worth.size(2)
        counts = worth.new_zeros(worth.size(0), 1, vocabulary)
        chosen = []
        for group in range(self.groups):
            first = group * width if written.size(2) else 0
            own = worth[:, first : first + width] - self.diversity * counts
            found = top_k(own.flatten(1), width)[1]  # (B, W / groups)
            # A slot that ended before writes nothing now: its candidate, and that of an empty one, is worth an infinity.
            is_written = own.flatten(1).gather(1, found).isfinite()
            counts[:, 0].scatter_add_(1, found % vocabulary, is_written.to(counts.dtype))
            chosen.append(found + first * vocabulary)
        return torch.cat(chosen, dim=1)


class Samples:
    """Every slot draws its own next symbol: W independent samples a sentence.

    Draw t of a sentence is the t-th of a counter-based generator (Philox) under the sentence's key: a function of
    key, slot and t alone, so that no sample depends on the batch.
    """

    def __init__(self, options: SearchOptions, keys: Sequence[int]) -> None:
        self.options, self.keys = options, keys

    def __call__(
        self, worth: Float[Tensor, "B W V"], written: Int[Tensor, "B W T"], sentences: Sequence[int]
    ) -> Int[Tensor, "B W"]:
        """Find each draw among the summed probabilities, likeliest first."""
        size, vocabulary = worth.shape[1:]
        place = written.size(2)
        slots = torch.arange(size, device=worth.device)
        if place == 0:
            slots = torch.zeros_like(slots)  # all begin from the one slot that is live
        own = worth[:, slots]  # (B, W, V)
        ended = own.amax(dim=-1, keepdim=True) == float("inf")
        draws = torch.tensor(
            np.stack([_draw(self.keys[sentence], place, size) for sentence in sentences]),
            dtype=torch.float64,
            device=worth.device,
        )  # (B, W)
        probabilities, order = filtered(own.masked_fill(ended, 0.0), self.options).sort(
            dim=-1, descending=True, stable=True
        )
        sums = probabilities.double().cumsum(dim=-1)
        wanted = draws[:, :, None] * sums[:, :, -1:]
        ranks = (sums <= wanted).sum(dim=-1, keepdim=True).clamp(max=vocabulary - 1)
        ids = order.gather(-1, ranks)[:, :, 0]
        ids = torch.where(ended[:, :, 0], own.argmax(dim=-1), ids)
        return slots * vocabulary + ids


def filtered(worth: Float[Tensor, "B W V"], options: SearchOptions) -> Float[Tensor, "B W V"]:
    """Return the probabilities to draw from: temperature, then ``top_k``, then ``top_p``; not renormalised.

    Sources: Fan et al. 2018, "Hierarchical Neural Story Generation" (top-k);
    Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration" (top-p).
    """
    scaled = worth / options.temperature
    probabilities = (scaled - scaled.amax(dim=-1, keepdim=True)).exp().nan_to_num(0.0)
    if 0 < options.top_k < worth.size(-1):
        least = probabilities.topk(options.top_k, dim=-1).values[:, :, -1:]
        probabilities = probabilities.masked_fill(probabilities < least, 0.0)
    if options.top_p < 1.0:
        ordered, order = probabilities.sort(dim=-1, descending=True, stable=True)
        before = ordered.cumsum(dim=-1) - ordered
        outside = before >= options.top_p * ordered.sum(dim=-1, keepdim=True)
        outside[:, :, 0] = False  # where top_p is too small for float32
        probabilities = probabilities.masked_fill(
            torch.zeros_like(outside).scatter(-1, order, outside), 0.0
        )
    return probabilities


def _draw(key: int, place: int, size: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Return ``size`` numbers in [0, 1)."""
    bits = np.random.Philox(key=[key % 2**64, 0], counter=[0, 0, 0, place])
    return np.random.Generator(bits).random(size)
