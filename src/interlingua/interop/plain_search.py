"""The beam search that most programs share, without a length penalty: what theirs is compared with.

Interlingua's own search keeps an ended target in its slot of the beam (``decoding.beam_search``). Marian, CTranslate2
and Hugging Face take it out and go on with as many live targets as before, so that the two may find different
translations with the same model. A comparison of models needs one search for both.

At every step the 2W best continuations of a sentence's W targets are ranked. Those that end, of the first W, are put
aside; the first W that do not end live on. A sum of log-probabilities only falls, so the search is over when no live
target has a greater one than the best that was put aside.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from interlingua.decoding.next_token import next_log_probabilities
from interlingua.decoding.protocol import SequenceModel, StateT

__all__ = ["Found", "plain_search"]


@dataclass(slots=True)
class Found:
    """The best target of one source."""

    ids: tuple[int, ...] = ()
    """Without the end symbol."""
    total: float = float("-inf")
    """Sum of the log-probabilities, the end symbol's included where there is one."""
    margin: float = float("inf")
    """The narrowest decision that the search took, in nats: rounding might have turned one as narrow as itself."""


@dataclass(slots=True)
class _Sentence:
    """One sentence under search: its live targets, and the best that has ended."""

    place: int
    live: list[tuple[int, ...]]
    found: Found = field(default_factory=Found)

    def put_aside(self, ids: tuple[int, ...], total: float) -> None:
        self.narrow(abs(total - self.found.total))
        if total > self.found.total:
            self.found.ids, self.found.total = ids, total

    def narrow(self, gap: float) -> None:
        self.found.margin = min(self.found.margin, gap)


def plain_search(
    model: SequenceModel[StateT],
    sources: Tensor,
    *,
    begin_id: int,
    end_id: int,
    never: Sequence[int],
    beam_size: int,
    max_length: int,
) -> list[Found]:
    """Find the likeliest target of each source; ``beam_size`` 1 is greedy search.

    Args:
        model: an encoder-decoder.
        sources: padded source ids, (B, S).
        begin_id: target id that every target is read to begin with.
        end_id: target id that ends a target.
        never: target ids that are never written.
        beam_size: live targets a sentence, W.
        max_length: symbols written at most, the end symbol included.
    """
    banned = torch.tensor(sorted(never), dtype=torch.long, device=sources.device)
    sentences = [_Sentence(place, [()] * beam_size) for place in range(len(sources))]
    results = [sentence.found for sentence in sentences]
    state = model.start(model.encode(sources))
    state = state.reorder(torch.arange(len(sources)).repeat_interleave(beam_size))
    ids = torch.full((len(sources) * beam_size,), begin_id, dtype=torch.long)
    totals = torch.full((len(sources), beam_size), float("-inf"))
    totals[:, 0] = 0.0
    for length in range(1, max_length + 1):
        logits, state = model.step(ids, state)
        step = next_log_probabilities(logits, banned).view(len(sentences), beam_size, -1)
        worth = (totals[:, :, None] + step).flatten(1)
        best, chosen = worth.topk(min(2 * beam_size + 1, worth.size(1)), dim=1)
        rows: list[int] = []
        next_totals: list[list[float]] = []
        kept: list[_Sentence] = []
        for number, sentence in enumerate(sentences):
            ranked = [
                (total, place // step.size(2), place % step.size(2))
                for total, place in zip(best[number].tolist(), chosen[number].tolist(), strict=True)
            ]
            live = _advance(sentence, ranked, beam_size, end_id, last=length == max_length)
            if length == max_length or sentence.found.total >= live[0][0]:
                continue
            sentence.live = [(*sentence.live[parent], token) for _, parent, token in live]
            rows += [number * beam_size + parent for _, parent, _ in live]
            next_totals.append([total for total, _, _ in live])
            kept.append(sentence)
        sentences = kept
        if not sentences:
            break
        state = state.reorder(torch.tensor(rows))
        totals = torch.tensor(next_totals)
        ids = torch.tensor([target[-1] for sentence in sentences for target in sentence.live])
    return results


def _advance(
    sentence: _Sentence,
    ranked: list[tuple[float, int, int]],
    beam_size: int,
    end_id: int,
    *,
    last: bool,
) -> list[tuple[float, int, int]]:
    """Put aside what has ended, and return the W candidates that live on."""
    for total, parent, token in ranked[:beam_size]:
        if token == end_id:
            sentence.put_aside(sentence.live[parent], total)
        elif last:
            sentence.put_aside((*sentence.live[parent], token), total)
    live = [candidate for candidate in ranked if candidate[2] != end_id]
    for order in (ranked, live):
        if len(order) > beam_size:
            sentence.narrow(order[beam_size - 1][0] - order[beam_size][0])
    live = live[:beam_size]
    filler = [(float("-inf"), 0, live[0][2])] * (beam_size - len(live))
    return live + filler
