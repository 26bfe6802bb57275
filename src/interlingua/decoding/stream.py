"""A translation as it grows: what no later step of the search can change any more."""

from collections.abc import Generator, Sequence
from itertools import takewhile

import torch
from jaxtyping import Int
from torch import Tensor

from interlingua.decoding.beam_search import Beams, read_targets, search_steps
from interlingua.decoding.constraints import Constraint
from interlingua.decoding.hypothesis import Hypothesis
from interlingua.decoding.options import SearchOptions, Wishes
from interlingua.decoding.protocol import SequenceModel, StateT
from interlingua.decoding.search import constraints_of, selection_of
from interlingua.tokenization.tokenizer import Symbols

__all__ = ["stream_search"]


def stream_search(
    model: SequenceModel[StateT],
    source: Int[Tensor, "1 S"],
    wish: Wishes,
    options: SearchOptions,
    *,
    symbols: Symbols,
    constraints: Sequence[Constraint] = (),
) -> Generator[tuple[int, ...], None, Hypothesis]:
    """Search one sentence; yield the ids that all its slots begin with each time there are more of them.

    The last that is yielded is the whole target, which begins with every one before, and what is returned is all
    that is known of it. With one slot that is a symbol a step.
    """
    steps = search_steps(
        model,
        source,
        symbols=symbols,
        max_lengths=[wish.max_length],
        options=options,
        constraints=constraints_of(options, [wish], symbols.end, constraints),
        selection=selection_of(options, [wish]),
    )
    shown = 0
    while True:
        with torch.inference_mode():  # not around the yield, or it would reach into the caller
            step = next(steps, None)
        assert step is not None  # one sentence is left until it has finished
        _, beams, finished = step
        if finished:
            best = read_targets(beams, 0, symbols.end, options)[0]
            yield best.ids
            return best
        stable = _common(beams, symbols.end)
        if len(stable) > shown:
            shown = len(stable)
            yield stable


def _common(beams: Beams, end_id: int) -> tuple[int, ...]:
    """Return what all targets of the first sentence begin with, those that have ended among them."""
    filled = beams.totals[0].isfinite().tolist()
    targets = [ids for ids, used in zip(beams.ids[0].tolist(), filled, strict=True) if used]
    columns = zip(*targets, strict=True)
    same = takewhile(lambda column: len(set(column)) == 1 and column[0] != end_id, columns)
    return tuple(column[0] for column in same)
