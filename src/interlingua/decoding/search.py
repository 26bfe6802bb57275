"""One batch searched as its options and the wishes of its sentences say: the one door to this room."""

from collections.abc import Sequence
from dataclasses import replace

from jaxtyping import Int
from torch import Tensor

from interlingua.decoding.beam_search import beam_search
from interlingua.decoding.constraints import (
    Constraint,
    MinimumLength,
    NoRepeatedNgram,
    TargetPrefix,
)
from interlingua.decoding.cross_attention import rank_by_coverage
from interlingua.decoding.fixed_shapes import FixedShapes
from interlingua.decoding.forced import ForcedPhrases
from interlingua.decoding.greedy import greedy_search
from interlingua.decoding.hypothesis import Hypothesis
from interlingua.decoding.options import SearchOptions, Wishes
from interlingua.decoding.protocol import SequenceModel, StateT
from interlingua.decoding.selection import DiverseGroups, Samples, Selection, choose_best
from interlingua.tokenization.tokenizer import Symbols

__all__ = ["constraints_of", "search", "selection_of"]


def search(
    model: SequenceModel[StateT],
    source: Int[Tensor, "B S"],
    wishes: Sequence[Wishes],
    options: SearchOptions,
    *,
    symbols: Symbols,
    constraints: Sequence[Constraint] = (),
    forced: ForcedPhrases | None = None,
) -> list[list[Hypothesis]]:
    """Find the translations of each source, best first, ``options.n_best`` or as many as there are.

    Args:
        model: an encoder-decoder.
        source: padded source ids.
        wishes: what each sentence asks for.
        options: what all have in common.
        symbols: of the target.
        constraints: further rules, stronger than those of ``options``, weaker than a prefix.
        forced: phrases that the targets must hold; it takes the place of samples and groups.

    Raises:
        ModelError: the model gives not-a-number.
    """
    beta = options.coverage_penalty
    if not beta:
        return _search(model, source, wishes, options, symbols, constraints, forced)
    every = replace(options, n_best=options.beam_size)
    found = _search(model, source, wishes, every, symbols, constraints, forced)
    lengths = [wish.source_length for wish in wishes]
    if isinstance(model, FixedShapes):  # each is read on its own
        ranked = [
            rank_by_coverage(
                model.model,
                source[place : place + 1, :length],
                [hypotheses],
                beta,
                source_lengths=[length],
                symbols=symbols,
            )[0]
            for place, (length, hypotheses) in enumerate(zip(lengths, found, strict=True))
        ]
    else:
        ranked = rank_by_coverage(
            model, source, found, beta, source_lengths=lengths, symbols=symbols
        )
    return [hypotheses[: options.n_best] for hypotheses in ranked]


def _search(
    model: SequenceModel[StateT],
    source: Int[Tensor, "B S"],
    wishes: Sequence[Wishes],
    options: SearchOptions,
    symbols: Symbols,
    constraints: Sequence[Constraint],
    forced: ForcedPhrases | None,
) -> list[list[Hypothesis]]:
    rules = constraints_of(options, wishes, symbols.end, constraints)
    selection = selection_of(options, wishes)
    if forced:
        rules, selection = [*rules, forced.rule], forced.select
    max_lengths = [wish.max_length for wish in wishes]
    simple = not rules and selection is choose_best and not options.max_repeats
    # Greedy search keeps a state as it is until a sentence leaves; a beam of one lays it out anew at every step, so that
    # its last bit does not depend on who left.
    fixed = isinstance(model, FixedShapes)
    if options.beam_size == 1 and simple and not fixed:
        found = greedy_search(
            model,
            source,
            symbols=symbols,
            max_lengths=max_lengths,
            alpha=options.length_penalty,
        )
        return [[hypothesis] for hypothesis in found]
    return beam_search(
        model,
        source,
        symbols=symbols,
        max_lengths=max_lengths,
        options=options,
        constraints=rules,
        selection=selection,
    )


def constraints_of(
    options: SearchOptions,
    wishes: Sequence[Wishes],
    end_id: int,
    others: Sequence[Constraint] = (),
) -> list[Constraint]:
    """Return the rules that a search has to keep, strongest first."""
    rules: list[Constraint] = []
    if any(wish.prefix for wish in wishes):
        rules.append(TargetPrefix([wish.prefix for wish in wishes]))
    rules += others
    if options.min_length:
        rules.append(MinimumLength(options.min_length, end_id))
    if options.no_repeat_ngram:
        rules.append(NoRepeatedNgram(options.no_repeat_ngram))
    return rules


def selection_of(options: SearchOptions, wishes: Sequence[Wishes]) -> Selection:
    """Return how the slots of a sentence are filled."""
    if options.sample:
        return Samples(options, [wish.key for wish in wishes])
    if options.groups > 1:
        return DiverseGroups(options.groups, options.diversity)
    return choose_best
