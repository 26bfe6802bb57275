"""Beam search by a model that was packed for it: ``beam_search``, but for rounding, in one call a batch."""

from collections.abc import Sequence

from interlingua.decoding.hypothesis import Hypothesis, make_hypothesis, no_number
from interlingua.decoding.options import SearchOptions, Wishes
from interlingua.errors import ModelError
from interlingua.kernels.search import CompiledSearch

__all__ = ["compiled_beam_search", "is_plain"]


def is_plain(options: SearchOptions, wishes: Sequence[Wishes]) -> bool:
    """Tell whether nothing is asked for but a beam of some size, a length penalty and lengths."""
    plain = SearchOptions(
        beam_size=options.beam_size,
        n_best=options.n_best,
        length_penalty=options.length_penalty,
        max_length=options.max_length,
    )
    return options == plain and all(
        wish == Wishes(wish.max_length, wish.source_length) for wish in wishes
    )


def compiled_beam_search(
    compiled: CompiledSearch,
    sources: Sequence[Sequence[int]],
    *,
    pad_id: int,
    begin_id: int,
    end_id: int,
    max_lengths: Sequence[int],
    beam_size: int,
    alpha: float = 0.0,
    n_best: int = 1,
) -> list[list[Hypothesis]]:
    """Find the ``n_best`` best targets of each source, best first; a beam of 1 is greedy search.

    Args:
        compiled: the packed model.
        sources: ids of each source, its end symbol included, without padding.
        pad_id: target id that is never written.
        begin_id: target id that every target is read to begin with; never written.
        end_id: target id that ends a target.
        max_lengths: symbols written at most for each source, the end symbol included; at least 1.
        beam_size: slots a sentence.
        alpha: length penalty, see :func:`length_penalty`.
        n_best: hypotheses wanted a sentence, at most ``beam_size``.

    Raises:
        ModelError: the model gives not-a-number.
        ValueError: ``n_best`` is greater than ``beam_size``, or one of the two is below 1.
    """
    if not 1 <= n_best <= beam_size:
        raise ValueError(f"n_best must be between 1 and the beam size {beam_size}, not {n_best}")
    found = compiled.search(
        sources,
        pad_id=pad_id,
        begin_id=begin_id,
        end_id=end_id,
        max_lengths=max_lengths,
        beam_size=beam_size,
        alpha=alpha,
        n_best=n_best,
    )
    best = []
    for ended in found:
        if not ended:
            raise ModelError(no_number([]))
        hypotheses = [
            make_hypothesis(ids, log_probs, end_id=end_id, alpha=alpha) for ids, log_probs in ended
        ]
        best.append(sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)[:n_best])
    return best
