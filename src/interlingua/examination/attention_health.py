"""Heads of attention that do nothing: they look everywhere alike, always at the same place, or nobody hears them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import nn

from interlingua.batching.batch import Batch
from interlingua.corpus.findings import Finding, Severity
from interlingua.model.attention import MultiHeadAttention
from interlingua.model.attention_maps import record_attention
from interlingua.model.language_model import LanguageModel
from interlingua.translator import Translator

__all__ = ["examine_heads"]

_UNIFORM = 0.999
"""Share of the greatest possible entropy."""
_CONSTANT = 0.999
"""Weight on one place, the same in every row of every sentence."""
_UNHEARD = 1e-3
"""Size of a head's values or of what is made of them, beside those of the other heads of its layer."""
_FEWEST_PLACES = 3
_RESTS = ("looks at the first token only, whatever it is", "looks at the end symbol only")
"""What trained heads do that have found nothing better."""

Weights: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


def examine_heads(translator: Translator, batch: Batch) -> list[Finding]:
    """Let the model read ``batch`` and report the heads that do nothing."""
    model = translator.model
    assert isinstance(model, nn.Module)
    if isinstance(model, LanguageModel):
        return []  # it reads prompt and target in two calls, of which neither is a target as the others have one
    with torch.inference_mode(), record_attention(model) as maps:
        model(batch.source, batch.target_in)
    found: list[_DeadHead] = []
    heads = 0
    for name, calls in maps.items():
        module = model.get_submodule(name)
        if not calls or not isinstance(module, MultiHeadAttention):
            continue
        heads += module.heads
        weights = calls[0].double().cpu().numpy()
        for head in range(module.heads):
            fault = _listen_to(module, head) or _look_at(weights[:, head], batch, name)
            if fault:
                found.append(_DeadHead(name, head + 1, fault))
    return _report(found, heads, _reads_no_source(found, model)) if found else []


@dataclass(frozen=True, slots=True)
class _DeadHead:
    """A head, and why it does nothing."""

    module: str
    head: int
    """From 1."""
    fault: str


def _reads_no_source(found: list[_DeadHead], model: nn.Module) -> bool:
    """Tell whether every head that looks at the source is dead."""
    layers = [
        module
        for name, module in model.named_modules()
        if name.endswith("cross_attention") and isinstance(module, MultiHeadAttention)
    ]
    dead = sum(each.module.endswith("cross_attention") for each in found)
    return bool(layers) and dead == sum(layer.heads for layer in layers)


def _report(found: list[_DeadHead], heads: int, reads_no_source: bool) -> list[Finding]:
    severity: Severity = "warning"
    if reads_no_source or 2 * len(found) > heads:
        severity = "error"
    elif all(each.fault in _RESTS for each in found):
        severity = "note"
    told = [f"{each.module} head {each.head} {each.fault}" for each in found]
    more = f"; and {len(told) - 6} more" if len(told) > 6 else ""
    return [
        Finding(
            "dead-heads",
            severity,
            (),
            f"{len(told)} of {heads} heads do nothing: {'; '.join(told[:6])}{more}. A few heads that rest are usual, and cost "
            "only time; of many the translations suffer.",
            "train again with fewer heads or layers, a lower training.peak_learning_rate or a longer warm-up; or take an "
            "earlier checkpoint",
        )
    ]


def _look_at(weights: Weights, batch: Batch, name: str) -> str | None:
    """Say what is wrong with where a head looks: ``weights`` (B, T, S), or None."""
    rows = list(_rows(weights, batch, name))
    if not rows:
        return None
    entropy = [_entropy(row) / np.log(len(row)) for row in rows]
    if np.mean(entropy) > _UNIFORM:
        return "looks everywhere alike"
    first = min(float(row[0]) for row in rows)
    last = min(float(row[-1]) for row in rows)
    if first > _CONSTANT:
        return _RESTS[0]
    if last > _CONSTANT and (name.startswith("encoder") or name.endswith("cross_attention")):
        return _RESTS[1]
    return None


def _rows(weights: Weights, batch: Batch, name: str) -> Iterator[Weights]:
    """Yield the weights of each real row over the places that it may look at."""
    is_self = not name.endswith("cross_attention")
    rows_are_source = is_self and name.startswith("encoder")
    columns_are_target = is_self and not rows_are_source
    for b in range(len(weights)):
        source, target = int(batch.source_lengths[b]), int(batch.target_lengths[b])
        for t in range(source if rows_are_source else target):
            width = t + 1 if columns_are_target else source
            if width >= _FEWEST_PLACES:
                yield weights[b, t, :width]


def _entropy(row: Weights) -> float:
    positive = row[row > 0]
    return float(-(positive * np.log(positive)).sum())


def _listen_to(module: MultiHeadAttention, head: int) -> str | None:
    """Say that what a head gathers is lost: its values, or what the output makes of them, are nothing."""
    for weights, what in (
        (module.value.weight, "gathers nothing, as its values are zero"),
        (module.output.weight.T, "is not heard, as its outputs are zero"),
    ):
        blocks = weights.detach().double().chunk(module.heads)  # H x (Kv, D)
        sizes = [float(block.norm()) for block in blocks]
        if sizes[head] <= _UNHEARD * max(sorted(sizes)[len(sizes) // 2], 1e-12):
            return what
    return None
