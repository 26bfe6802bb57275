"""Greedy search: write the likeliest next symbol until it is the end symbol."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from interlingua.decoding.hypothesis import Hypothesis, make_hypothesis
from interlingua.decoding.next_token import never_written, next_log_probabilities
from interlingua.decoding.protocol import SequenceModel, StateT
from interlingua.tokenization.tokenizer import Symbols

__all__ = ["greedy_search"]


def greedy_search(
    model: SequenceModel[StateT],
    source: Int[Tensor, "B S"],
    *,
    symbols: Symbols,
    max_lengths: Sequence[int],
    alpha: float = 0.0,
) -> list[Hypothesis]:
    """Translate each source on its own; a sentence that has ended leaves the batch.

    Args:
        model: an encoder-decoder.
        source: padded source ids.
        symbols: of the target.
        max_lengths: symbols written at most for each source, the end symbol included; at least 1.
        alpha: length penalty of the reported score; the choice of symbols does not depend on it.

    Raises:
        ModelError: the model gives not-a-number.
    """
    banned = never_written(*symbols, source.device)
    written: list[list[int]] = [[] for _ in max_lengths]
    log_probs: list[list[float]] = [[] for _ in max_lengths]
    sentences = list(range(len(max_lengths)))  # sentence of each row
    state = model.start(model.encode(source))
    ids = torch.full(
        (len(sentences),), symbols.begin, dtype=torch.long, device=source.device
    )  # (R,)
    totals = torch.zeros(len(sentences), device=source.device)  # (R,)
    while sentences:
        logits, state = model.step(ids, state)
        step = next_log_probabilities(logits, banned)  # (R, V)
        # The sum decides, as in beam search, where rounding may tie what one step tells apart.
        totals, ids = (totals[:, None] + step).max(dim=-1)  # (R,), ties to the lowest id
        chosen = step.gather(-1, ids[:, None])[:, 0]  # (R,)
        rows = []
        for row, (sentence, token, log_prob) in enumerate(
            zip(sentences, ids.tolist(), chosen.tolist(), strict=True)
        ):
            written[sentence].append(token)
            log_probs[sentence].append(log_prob)
            full = len(written[sentence]) >= max_lengths[sentence]
            if token != symbols.end and not full and math.isfinite(log_prob):
                rows.append(row)
        if 0 < len(rows) < len(sentences):
            kept = torch.tensor(rows, dtype=torch.long, device=source.device)
            state, ids, totals = state.reorder(kept), ids[kept], totals[kept]
        sentences = [sentences[row] for row in rows]
    return [
        make_hypothesis(tokens, numbers, end_id=symbols.end, alpha=alpha)
        for tokens, numbers in zip(written, log_probs, strict=True)
    ]
