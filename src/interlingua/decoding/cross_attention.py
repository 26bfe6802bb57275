"""Where the decoder looked as it wrote given targets, and the coverage penalty that is made of it."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from interlingua.decoding.ensemble import Ensemble
from interlingua.decoding.hypothesis import Hypothesis
from interlingua.decoding.protocol import SequenceModel, StateT, TeacherForcedModel
from interlingua.errors import ModelError
from interlingua.model.attention import MultiHeadAttention
from interlingua.model.attention_maps import record_attention
from interlingua.model.source_attention import SourceLook
from interlingua.tokenization.tokenizer import Symbols

__all__ = ["coverage_penalty", "cross_attention", "looks_at_source", "rank_by_coverage"]


def looks_at_source(model: object) -> bool:
    """Whether a model is of a kind that looks at the source as it writes, so that :func:`cross_attention` can tell where."""
    if isinstance(model, Ensemble):
        return all(map(looks_at_source, model.members))
    return isinstance(model, nn.Module) and any(
        "cross" in name and isinstance(part, MultiHeadAttention | SourceLook)
        for name, part in model.named_modules()
    )


def cross_attention(
    model: object,
    source: Int[Tensor, "B S"],
    targets: Sequence[Sequence[int]],
    *,
    pad_id: int,
    begin_id: int,
) -> Float[Tensor, "B T S"]:
    """Return how much each symbol of each target looked at each source symbol: last layer, mean of its heads.

    Row t of a target is the step that wrote symbol t, the first one having read the begin symbol only; rows
    beyond the end of a target mean nothing. Of an ensemble it is the mean of its members.

    Args:
        model: an encoder-decoder that reads whole targets through ``MultiHeadAttention``.
        source: padded source ids.
        targets: what was written, the end symbol included where it was.
        pad_id: target id of padding.
        begin_id: target id that every target is read to begin with.

    Raises:
        ModelError: the model has no attention to the source that can be read.
    """
    if isinstance(model, Ensemble):
        every = [
            cross_attention(member, source, targets, pad_id=pad_id, begin_id=begin_id)
            for member in model.members
        ]
        return torch.stack(every).mean(dim=0)
    if not isinstance(model, nn.Module) or not isinstance(model, TeacherForcedModel):
        raise ModelError(
            f"a {type(model).__name__} does not read whole targets, so that its attention cannot be read"
        )
    width = max(len(target) for target in targets)
    rows = [[begin_id, *target[:-1]] + [pad_id] * (width - len(target)) for target in targets]
    target_in = torch.tensor(rows, dtype=torch.long, device=source.device)
    with torch.inference_mode(), record_attention(model) as maps:
        model.decode(target_in, model.encode(source))
    layers = [calls[0] for name, calls in maps.items() if "cross" in name and calls]
    if not layers:
        raise ModelError(
            "the model has no attention to the source that can be read: one trained with model.attention = none has "
            "none, and a variant of your own derives from MultiHeadAttention and lets its weights pass through self.dropout"
        )
    return layers[-1].mean(dim=1)


def coverage_penalty(attention: Float[Tensor, "T S"], beta: float) -> float:
    r"""Return how much of the source a target has left out, as an addition to its score (at most 0).

    .. math:: cp = \beta \sum_i \log \min \Bigl(\sum_j p_{ij},\, 1\Bigr)

    with p_ij the attention of target symbol j to source symbol i.

    Source: Wu et al. 2016, "Google's Neural Machine Translation System", equation 14.
    """
    covered = attention.sum(dim=0).clamp(min=1e-6, max=1.0)
    return beta * float(covered.log().sum())


def rank_by_coverage(
    model: SequenceModel[StateT],
    source: Int[Tensor, "B S"],
    found: Sequence[Sequence[Hypothesis]],
    beta: float,
    *,
    source_lengths: Sequence[int],
    symbols: Symbols,
) -> list[list[Hypothesis]]:
    """Add the penalty to every score and sort again; ``symbols`` are those of the target."""
    rows = [row for row, hypotheses in enumerate(found) for _ in hypotheses]
    written = [_written(each, symbols.end) for hypotheses in found for each in hypotheses]
    maps = cross_attention(
        model,
        source[torch.tensor(rows, device=source.device)],
        written,
        pad_id=symbols.pad,
        begin_id=symbols.begin,
    )  # (B x n, T, S)
    penalties = iter(
        coverage_penalty(maps[place, : len(target), : source_lengths[row]], beta)
        for place, (row, target) in enumerate(zip(rows, written, strict=True))
    )
    ranked = []
    for hypotheses in found:
        scored = [replace(each, score=each.score + next(penalties)) for each in hypotheses]
        ranked.append(sorted(scored, key=lambda h: (h.stopped == "repetition", -h.score)))
    return ranked


def _written(hypothesis: Hypothesis, end_id: int) -> list[int]:
    """Return the symbols that search wrote, the end symbol included where it was."""
    return [*hypothesis.ids, end_id] if hypothesis.stopped == "end" else list(hypothesis.ids)
