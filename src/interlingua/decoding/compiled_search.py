"""Beam search by a model that was packed for it: ``beam_search``, but for rounding, in one call a batch."""

from collections.abc import Sequence

from interlingua.decoding.hypothesis import Hypothesis, make_hypothesis, no_number
from interlingua.decoding.options import SearchOptions, Wishes
from interlingua.errors import ModelError
from interlingua.kernels.search import CompiledSearch
from interlingua.tokenization.tokenizer import Symbols

__all__ = ["compiled_beam_search", "is_plain"]


def is_plain(options: SearchOptions, wishes: Sequence[Wishes]) -> bool:
    """Tell whether nothing is asked for but a beam of some size, a length penalty and limits of length."""
    plain = SearchOptions(
        beam_size=options.beam_size,
        n_best=options.n_best,
        length_penalty=options.length_penalty,
        min_length=options.min_length,
        max_length=options.max_length,
    )
    return options == plain and all(
        wish == Wishes(wish.max_length, wish.source_length) for wish in wishes
    )


def compiled_beam_search(
    compiled: CompiledSearch,
    sources: Sequence[Sequence[int]],
    *,
    symbols: Symbols,
    max_lengths: Sequence[int],
    options: SearchOptions,
) -> list[list[Hypothesis]]:
    """Find the ``options.n_best`` best targets of each source, best first; a beam of 1 is greedy search.

    Args:
        compiled: the packed model.
        sources: ids of each source, its end symbol included, without padding.
        symbols: of the target.
        max_lengths: symbols written at most for each source, the end symbol included; at least 1.
        options: ones that are plain; ``beam_size``, ``n_best``, ``length_penalty`` and ``min_length`` are read here.

    Raises:
        ModelError: the model gives not-a-number.
    """
    found = compiled.search(
        sources,
        symbols=symbols,
        max_lengths=max_lengths,
        beam_size=options.beam_size,
        alpha=options.length_penalty,
        n_best=options.n_best,
        min_length=options.min_length,
    )
    best = []
    for ended in found:
        if not ended:
            raise ModelError(no_number([]))
        hypotheses = [
            make_hypothesis(ids, log_probs, end_id=symbols.end, alpha=options.length_penalty)
            for ids, log_probs in ended
        ]
        best.append(sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)[: options.n_best])
    return best
