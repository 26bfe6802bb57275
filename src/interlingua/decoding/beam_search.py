r"""Beam search: the likeliest few targets of each source, side by side.

A sentence has W slots, each with a target so far. One step

1. continues every live slot by every symbol and adds up the log-probabilities. All these candidates have
   the same length, so that comparing their sums is comparing their scores, whatever the length penalty;
2. fills the slots with the best candidates. A slot whose target has ended is not contested: it keeps its
   target until the search ends, so that the beam narrows as targets end, and none that was found is lost;
3. ends a sentence when all its slots have ended, or when no live one can win: when the best that any live
   one can still score,

   .. math:: \max_{n \in \{t+1,\, max\}} \frac{\log p}{lp(n)},

   is no better than the last of the ``n_best`` best that have ended. (A sum of log-probabilities only falls,
   and the penalty rises or falls steadily with the length, so the best is at one of the two ends.) A target
   of the maximum length has ended as it is.

At the end the targets of a sentence, of different lengths, are compared by score. Nothing here looks across
sentences, so that a result cannot depend on its neighbours in the batch.

Sources: Graves 2012, "Sequence Transduction with Recurrent Neural Networks" (beam search);
Wu et al. 2016, section 7 (length penalty).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from interlingua.decoding.hypothesis import Hypothesis, length_penalty, make_hypothesis, no_number
from interlingua.decoding.next_token import never_written, next_log_probabilities
from interlingua.decoding.protocol import SequenceModel, StateT
from interlingua.decoding.top_k import top_k
from interlingua.errors import ModelError

__all__ = ["Beams", "beam_search"]


@dataclass(frozen=True, slots=True)
class Beams:
    """The slots of every sentence still searched, after T symbols.

    A slot is live (``totals`` finite, not ``ended``), ended, or empty (``totals`` minus infinity: there were
    fewer candidates than slots).
    """

    ids: Int[Tensor, "B W T"]
    """Symbols written; an ended slot is filled up with the end symbol."""
    log_probabilities: Float[Tensor, "B W T"]
    """One a symbol; an ended slot is filled up with 0."""
    totals: Float[Tensor, "B W"]
    """Their sums."""
    lengths: Int[Tensor, "B W"]
    """Symbols written before the slot ended, the end symbol included."""
    ended: Bool[Tensor, "B W"]
    """Whether the end symbol was written, or the maximum length reached."""
    max_lengths: Int[Tensor, "B"]
    """Symbols each sentence may write."""

    def live(self) -> Bool[Tensor, "B W"]:
        """Return which slots can be continued."""
        return ~self.ended & self.totals.isfinite()

    def select(self, sentences: Int[Tensor, "B2"]) -> "Beams":
        """Keep some of the sentences."""
        return Beams(
            self.ids[sentences],
            self.log_probabilities[sentences],
            self.totals[sentences],
            self.lengths[sentences],
            self.ended[sentences],
            self.max_lengths[sentences],
        )


def beam_search(
    model: SequenceModel[StateT],
    source: Int[Tensor, "B S"],
    *,
    pad_id: int,
    begin_id: int,
    end_id: int,
    max_lengths: Sequence[int],
    beam_size: int,
    alpha: float = 0.0,
    n_best: int = 1,
) -> list[list[Hypothesis]]:
    """Find the ``n_best`` best targets of each source, best first; fewer where there are no more.

    Args:
        model: an encoder-decoder.
        source: padded source ids.
        pad_id: target id that is never written.
        begin_id: target id that every target is read to begin with; never written.
        end_id: target id that ends a target.
        max_lengths: symbols written at most for each source, the end symbol included; at least 1.
        beam_size: slots a sentence, W; 1 is greedy search.
        alpha: length penalty, see :func:`length_penalty`; may be negative, which favours short targets.
        n_best: hypotheses wanted a sentence, at most ``beam_size``.

    Raises:
        ModelError: the model gives not-a-number.
        ValueError: ``n_best`` is greater than ``beam_size``, or one of the two is below 1.
    """
    if not 1 <= n_best <= beam_size:
        raise ValueError(f"n_best must be between 1 and the beam size {beam_size}, not {n_best}")
    device = source.device
    banned = never_written(pad_id, begin_id, end_id, device)
    found: list[list[Hypothesis]] = [[] for _ in max_lengths]
    sentences = list(range(len(max_lengths)))  # sentence of each row of the beams
    beams = _start(torch.tensor(max_lengths, dtype=torch.long, device=device), beam_size)
    state = model.start(model.encode(source))  # B rows
    state = state.reorder(
        torch.arange(len(sentences), device=device).repeat_interleave(beam_size)
    )  # R = B x W rows
    ids = torch.full((len(sentences) * beam_size,), begin_id, dtype=torch.long, device=device)
    while sentences:
        logits, state = model.step(ids, state)
        step = next_log_probabilities(logits, banned)  # (R, V)
        beams, parents = _advance(beams, step.view(len(sentences), beam_size, -1), end_id)
        finished = _is_finished(beams, alpha, n_best).tolist()  # B booleans
        for row, sentence in enumerate(sentences):
            if finished[row]:
                found[sentence] = _read(beams, row, end_id=end_id, alpha=alpha)[:n_best]
        kept = [row for row, done in enumerate(finished) if not done]
        sentences = [sentences[row] for row in kept]
        if not sentences:
            break
        rows = torch.tensor(kept, dtype=torch.long, device=device)
        beams = beams.select(rows)
        state = state.reorder((rows[:, None] * beam_size + parents[rows]).flatten())
        ids = beams.ids[:, :, -1].flatten()
    return found


def _start(max_lengths: Int[Tensor, "B"], beam_size: int) -> Beams:
    """Write nothing yet: one live slot a sentence, the others empty, or all would do the same."""
    shape, device = (max_lengths.size(0), beam_size), max_lengths.device
    totals = torch.full(shape, float("-inf"), device=device)
    totals[:, 0] = 0.0
    return Beams(
        ids=torch.empty((*shape, 0), dtype=torch.long, device=device),
        log_probabilities=torch.empty((*shape, 0), device=device),
        totals=totals,
        lengths=torch.zeros(shape, dtype=torch.long, device=device),
        ended=torch.zeros(shape, dtype=torch.bool, device=device),
        max_lengths=max_lengths,
    )


def _advance(
    beams: Beams, step: Float[Tensor, "B W V"], end_id: int
) -> tuple[Beams, Int[Tensor, "B W"]]:
    """Continue every live slot by its best symbols; return also which slot each new one continues."""
    size, vocabulary = step.shape[1:]
    totals = beams.totals.masked_fill(beams.ended, float("-inf"))
    worth = totals[:, :, None] + step  # (B, W, V)
    # An ended slot has one candidate, itself, under the end symbol; nothing outranks it.
    worth[:, :, end_id].masked_fill_(beams.ended, float("inf"))
    best, chosen = top_k(worth.flatten(1), size)  # (B, W), of the W x V candidates
    parents, ids = chosen // vocabulary, chosen % vocabulary  # (B, W)

    def of_parent(x: Tensor) -> Tensor:
        return x.gather(1, parents if x.dim() == 2 else parents[:, :, None].expand_as(x))

    was_ended = of_parent(beams.ended)
    totals = torch.where(was_ended, of_parent(beams.totals), best)
    log_probs = step.flatten(1).gather(1, chosen).masked_fill(was_ended, 0.0)  # (B, W)
    lengths = of_parent(beams.lengths) + (~was_ended).long()
    filled = totals > float("-inf")
    advanced = Beams(
        ids=torch.cat((of_parent(beams.ids), ids[:, :, None]), dim=2),
        log_probabilities=torch.cat(
            (of_parent(beams.log_probabilities), log_probs[:, :, None]), dim=2
        ),
        totals=totals,
        lengths=lengths,
        ended=filled & (was_ended | (ids == end_id) | (lengths >= beams.max_lengths[:, None])),
        max_lengths=beams.max_lengths,
    )
    return advanced, parents


def _is_finished(beams: Beams, alpha: float, n_best: int) -> Bool[Tensor, "B"]:
    """Return which sentences have no live slot that could still be among the ``n_best``."""
    live = beams.live()
    scores = beams.totals / length_penalty(beams.lengths, alpha)
    scores = scores.masked_fill(~beams.ended, float("-inf"))
    to_beat = scores.topk(n_best, dim=-1).values[:, -1]  # (B,)
    last = beams.max_lengths[:, None].expand_as(beams.lengths)
    hope = torch.maximum(
        beams.totals / length_penalty(beams.lengths + 1, alpha),
        beams.totals / length_penalty(last, alpha),
    ).masked_fill(~live, float("-inf"))
    return ~live.any(dim=-1) | (hope.amax(dim=-1) <= to_beat)


def _read(beams: Beams, row: int, *, end_id: int, alpha: float) -> list[Hypothesis]:
    """Take the ended targets of one sentence out of its slots, best first, ties in the order of slots."""
    slots = zip(
        beams.ids[row].tolist(),
        beams.log_probabilities[row].tolist(),
        beams.lengths[row].tolist(),
        beams.ended[row].tolist(),
        strict=True,
    )
    hypotheses = [
        make_hypothesis(ids[:length], log_probs[:length], end_id=end_id, alpha=alpha)
        for ids, log_probs, length, ended in slots
        if ended
    ]
    if not hypotheses:
        raise ModelError(no_number(beams.ids[row, 0].tolist()))
    return sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)
