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
   of the maximum length has ended as it is. (The groups of a diverse beam are beams of their own: each goes on
   until its slots have ended, and what two of them found is given once.)

At the end the targets of a sentence, of different lengths, are compared by score. Nothing here looks across
sentences, so that a result cannot depend on its neighbours in the batch.

What may be written is up to ``constraints``, and which candidates fill the slots to ``selection``: the likeliest, or
samples, or those of a diverse beam. This loop is the same for all of them.

Sources: Graves 2012, "Sequence Transduction with Recurrent Neural Networks" (beam search);
Wu et al. 2016, section 7 (length penalty).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from interlingua.decoding.constraints import Constraint, TargetPrefix, constrain
from interlingua.decoding.hypothesis import Hypothesis, length_penalty, make_hypothesis, no_number
from interlingua.decoding.next_token import never_written, next_log_probabilities
from interlingua.decoding.options import SearchOptions
from interlingua.decoding.protocol import SequenceModel, StateT
from interlingua.decoding.repetition import ends_in_repeats
from interlingua.decoding.selection import Selection, choose_best
from interlingua.errors import ModelError
from interlingua.tokenization.tokenizer import Symbols

__all__ = ["Beams", "beam_search", "read_targets", "search_steps"]


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
    """Whether the end symbol was written, or the maximum length reached, or it repeats itself."""
    repeats: Bool[Tensor, "B W"]
    """Ended because it repeats itself: taken only where nothing else is found."""
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
            self.repeats[sentences],
            self.max_lengths[sentences],
        )


def beam_search(
    model: SequenceModel[StateT],
    source: Int[Tensor, "B S"],
    *,
    symbols: Symbols,
    max_lengths: Sequence[int],
    options: SearchOptions,
    constraints: Sequence[Constraint] = (),
    selection: Selection = choose_best,
) -> list[list[Hypothesis]]:
    """Find the ``options.n_best`` best targets of each source, best first; fewer where there are no more.

    Args:
        model: an encoder-decoder.
        source: padded source ids.
        symbols: of the target.
        max_lengths: symbols written at most for each source, the end symbol included; at least 1.
        options: ``beam_size``, ``n_best``, ``length_penalty`` and ``max_repeats`` are read here.
        constraints: what may be written, strongest first.
        selection: which candidates fill the slots.

    Raises:
        ModelError: the model gives not-a-number.
    """
    found: list[list[Hypothesis]] = [[] for _ in max_lengths]
    steps = search_steps(
        model,
        source,
        symbols=symbols,
        max_lengths=max_lengths,
        options=options,
        constraints=constraints,
        selection=selection,
    )
    for sentences, beams, finished in steps:
        for row in finished:
            found[sentences[row]] = read_targets(beams, row, symbols.end, options)
    return found


def search_steps(
    model: SequenceModel[StateT],
    source: Int[Tensor, "B S"],
    *,
    symbols: Symbols,
    max_lengths: Sequence[int],
    options: SearchOptions,
    constraints: Sequence[Constraint] = (),
    selection: Selection = choose_best,
) -> Iterator[tuple[list[int], Beams, list[int]]]:
    """Search, and show after each step the sentences still searched, their slots, and which rows are finished.

    For whoever wants to watch; see :func:`beam_search`.
    """
    device, beam_size = source.device, options.beam_size
    banned = never_written(*symbols, device)
    prefixes = [p for rule in constraints if isinstance(rule, TargetPrefix) for p in rule.prefixes]
    given = max(map(len, prefixes), default=0)
    sentences = list(range(len(max_lengths)))  # sentence of each row of the beams
    beams = _start(torch.tensor(max_lengths, dtype=torch.long, device=device), beam_size)
    state = model.start(model.encode(source))  # B rows
    rows = torch.arange(len(sentences), device=device)  # sentence of each row, on the device
    state = state.reorder(rows.repeat_interleave(beam_size))  # R = B x W rows
    ids = torch.full((len(sentences) * beam_size,), symbols.begin, dtype=torch.long, device=device)
    numbers = rows
    while sentences:
        logits, state = model.step(ids, state)
        step = next_log_probabilities(logits, banned)  # (R, V)
        of_rows = numbers.repeat_interleave(beam_size)
        step = constrain(constraints, step, beams.ids.flatten(0, 1), of_rows)
        step = step.view(len(sentences), beam_size, -1)
        worth = _worth(beams, step, symbols.end)
        chosen = selection(worth, beams.ids, sentences)
        beams, parents = _advance(beams, step, worth, chosen, symbols.end)
        if options.max_repeats:
            beams = _stop_repeating(beams, options.max_repeats, given)
        done = _is_finished(beams, options)
        yield sentences, beams, done.nonzero()[:, 0].tolist()
        rows = (~done).nonzero()[:, 0]
        sentences = [sentences[row] for row in rows.tolist()]
        numbers, beams = numbers[rows], beams.select(rows)
        if sentences:
            state = state.reorder((rows[:, None] * beam_size + parents[rows]).flatten())
            ids = beams.ids[:, :, -1].flatten()


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
        repeats=torch.zeros(shape, dtype=torch.bool, device=device),
        max_lengths=max_lengths,
    )


def _worth(beams: Beams, step: Float[Tensor, "B W V"], end_id: int) -> Float[Tensor, "B W V"]:
    """Add up the log-probabilities of every candidate; see ``selection`` for those of ended and empty slots."""
    totals = beams.totals.masked_fill(beams.ended, float("-inf"))
    worth = totals[:, :, None] + step
    worth[:, :, end_id].masked_fill_(beams.ended, float("inf"))
    return worth


def _advance(
    beams: Beams,
    step: Float[Tensor, "B W V"],
    worth: Float[Tensor, "B W V"],
    chosen: Int[Tensor, "B W"],
    end_id: int,
) -> tuple[Beams, Int[Tensor, "B W"]]:
    """Fill the slots with the ``chosen`` candidates; return also which slot each new one continues."""
    vocabulary = step.size(2)
    best = worth.flatten(1).gather(1, chosen)  # (B, W)
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
        repeats=of_parent(beams.repeats),
        max_lengths=beams.max_lengths,
    )
    return advanced, parents


def _stop_repeating(beams: Beams, max_repeats: int, given: int) -> Beams:
    """End the live slots that have just written some phrase ``max_repeats`` times in a row, behind what was given."""
    written = beams.ids[:, :, given:].flatten(0, 1)
    repeats = ends_in_repeats(written, max_repeats).view_as(beams.ended)
    repeats = repeats & beams.live()
    return replace(beams, ended=beams.ended | repeats, repeats=beams.repeats | repeats)


def _is_finished(beams: Beams, options: SearchOptions) -> Bool[Tensor, "B"]:
    """Return which sentences have no live slot that could still be among the ``n_best``."""
    live, alpha = beams.live(), options.length_penalty
    if options.groups > 1:  # beams of their own, each of which goes on to its end
        return ~live.any(dim=-1)
    scores = beams.totals / length_penalty(beams.lengths, alpha)
    scores = scores.masked_fill(~beams.ended | beams.repeats, float("-inf"))
    to_beat = scores.topk(options.n_best, dim=-1).values[:, -1]  # (B,)
    last = beams.max_lengths[:, None].expand_as(beams.lengths)
    hope = torch.maximum(
        beams.totals / length_penalty(beams.lengths + 1, alpha),
        beams.totals / length_penalty(last, alpha),
    ).masked_fill(~live, float("-inf"))
    return ~live.any(dim=-1) | (hope.amax(dim=-1) <= to_beat)


def read_targets(beams: Beams, row: int, end_id: int, options: SearchOptions) -> list[Hypothesis]:
    """Take the best ended targets of one sentence out of its slots, best first, ties in the order of slots."""
    slots = zip(
        beams.ids[row].tolist(),
        beams.log_probabilities[row].tolist(),
        beams.lengths[row].tolist(),
        beams.ended[row].tolist(),
        beams.repeats[row].tolist(),
        strict=True,
    )
    hypotheses = [
        make_hypothesis(
            ids[:length],
            log_probs[:length],
            end_id=end_id,
            alpha=options.length_penalty,
            repeats=repeats,
        )
        for ids, log_probs, length, ended, repeats in slots
        if ended
    ]
    if not hypotheses:
        raise ModelError(no_number(beams.ids[row, 0].tolist()))
    if options.groups > 1:  # two groups may have found the same
        hypotheses = list({hypothesis.ids: hypothesis for hypothesis in hypotheses}.values())
    ranked = sorted(hypotheses, key=lambda h: (h.stopped == "repetition", -h.score))
    return ranked[: options.n_best]
