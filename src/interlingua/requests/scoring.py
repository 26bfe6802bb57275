"""What a model thinks of given translations."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from interlingua.batching.batch import batch_for, pad_sources
from interlingua.batching.truncation import truncate
from interlingua.decoding.batches import in_batches
from interlingua.decoding.cross_attention import cross_attention
from interlingua.decoding.hypothesis import no_number
from interlingua.decoding.protocol import SequenceModel, StateT
from interlingua.decoding.score import score_pairs
from interlingua.errors import ModelError
from interlingua.requests.text_forms import Sources
from interlingua.tokenization.pair import TokenizerPair

__all__ = ["PairScore", "attention_between", "score_texts"]


@dataclass(frozen=True, slots=True)
class PairScore:
    """What a model thinks of one given translation."""

    log_probabilities: tuple[float, ...]
    """One a target token, the end symbol last."""
    truncated: bool
    """Whether source or target was longer than the model reads, and cut."""

    @property
    def log_probability(self) -> float:
        """Of the whole translation, natural logarithm."""
        return math.fsum(self.log_probabilities)

    @property
    def per_token(self) -> float:
        """The mean over its tokens."""
        return self.log_probability / len(self.log_probabilities)

    @property
    def perplexity(self) -> float:
        """How many tokens the model wavers between, in the geometric mean."""
        return math.exp(min(-self.per_token, 700.0))


def score_texts(
    model: SequenceModel[StateT],
    form: Sources,
    pairs: Sequence[tuple[str, str]],
    *,
    batch_tokens: int,
    device: torch.device,
) -> list[PairScore]:
    """Score each (source, target) by teacher forcing; texts are read, and cut if they are too long, as when they are translated.

    Raises:
        ModelError: the model gives not-a-number.
    """
    write = form.tokenizers.target
    sources = form.fit([source for source, _ in pairs])
    targets = truncate(write.encode_batch([target for _, target in pairs]), form.longest)
    cut = set(sources.cut) | set(targets.cut)
    lengths = {n: len(sources.ids[n]) + len(targets.ids[n]) + 2 for n in range(len(pairs))}
    scores: dict[int, PairScore] = {}
    for places in in_batches(lengths, batch_tokens, 1):
        batch = batch_for(
            form.tokenizers,
            [sources.ids[n] for n in places],
            [targets.ids[n] for n in places],
            places,
        ).to(device)
        found = score_pairs(
            model, batch.source, batch.target_in, batch.target_out, pad_id=write.pad_id
        )
        for n, row, length in zip(
            places, found.tolist(), batch.target_lengths.tolist(), strict=True
        ):
            if not math.isfinite(math.fsum(row[:length])):
                raise ModelError(no_number(row[:1]))
            scores[n] = PairScore(tuple(row[:length]), n in cut)
    return [scores[n] for n in range(len(pairs))]


def attention_between(
    model: object,
    tokenizers: TokenizerPair,
    source: str,
    target: str,
    *,
    longest: int,
    device: torch.device,
) -> Float[Tensor, "T S"]:
    """Return how much each target token looks at each source token: last layer, mean of its heads, ends included.

    Raises:
        ModelError: the model has no attention that can be read.
    """
    read, write = tokenizers.source, tokenizers.target
    ids = read.encode_batch([source])[0][: longest - 1]
    written = [*write.encode(target).ids, write.end_id][:longest]
    padded = pad_sources([ids], pad=read.pad_id, end=read.end_id).to(device)
    return cross_attention(model, padded, [written], pad_id=write.pad_id, begin_id=write.begin_id)[
        0
    ]
