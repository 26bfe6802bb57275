"""What the model thought at each step: its best candidates, how sure it was, and what each layer would have said.

The logit lens reads the vectors between two decoder layers as if they were the last: the same final normalisation, if
there is one, and the same projection to words.

Source: nostalgebraist 2020, "Interpreting GPT: the logit lens"; here for the decoder of a translator.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from interlingua.errors import ModelError
from interlingua.inspection.trace import Trace, TraceToken
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.model.masks import look_ahead_mask
from interlingua.model.transformer import Transformer
from interlingua.translator import Translator

__all__ = ["Candidate", "Guess", "Step", "follow_steps", "ids_of", "model_of", "plain_transformer"]

NUM_CANDIDATES = 8


@dataclass(frozen=True, slots=True)
class Candidate:
    """One symbol that might be next."""

    id: int
    text: str
    log_probability: float


@dataclass(frozen=True, slots=True)
class Guess:
    """One distribution over the next symbol."""

    layer: int
    """Which decoder layer speaks, from 1; 0 is what goes into the first."""
    entropy: float
    """Bits; 0 is certainty."""
    rank: int
    """Place of the symbol that was written, from 1."""
    log_probability: float
    """Of the symbol that was written."""
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One symbol of the target, and what was thought before it was written."""

    token: TraceToken
    guess: Guess
    """The model's own: the last layer's."""
    lens: tuple[Guess, ...]
    """What each layer would have said, the input of the first layer first, the last layer last."""


def follow_steps(
    translator: Translator, trace: Trace, *, candidates: int = NUM_CANDIDATES
) -> tuple[Step, ...]:
    """Read the translation of ``trace`` once more and tell what was thought at each symbol.

    Raises:
        ModelError: the model is not made of the usual layers.
    """
    model = plain_transformer(translator)
    source, target_in, target_out = ids_of(trace, translator.device)
    with torch.inference_mode():
        layers = hidden_by_layer(model, source, target_in)
        told = [_guesses(translator, model, layer, target_out, candidates) for layer in layers]
    guesses = [[Guess(number, *each) for each in of_layer] for number, of_layer in enumerate(told)]
    return tuple(
        Step(token, guesses[-1][place], tuple(of_layer[place] for of_layer in guesses))
        for place, token in enumerate(trace.target_tokens)
    )


def model_of(translator: Translator) -> EncoderDecoder:
    """Return the model, if it is one of this package, Transformer or not.

    Raises:
        ModelError: it is not.
    """
    if not isinstance(translator.model, EncoderDecoder):
        raise ModelError(
            f"a {type(translator.model).__name__} cannot be described; it is no model of this package"
        )
    return translator.model


def plain_transformer(translator: Translator) -> Transformer:
    """Return the model, if it is made of the usual layers.

    Raises:
        ModelError: it is not.
    """
    model = translator.model
    if not isinstance(model, Transformer):
        raise ModelError(
            f"a {type(model).__name__} cannot be looked into layer by layer; it is no Transformer of this package"
        )
    return model


def ids_of(
    trace: Trace, device: torch.device
) -> tuple[Int[Tensor, "1 S"], Int[Tensor, "1 T"], Int[Tensor, "1 T"]]:
    """Return the source, what the decoder read, and what it wrote."""
    return (
        torch.tensor([[token.id for token in trace.source_tokens]], device=device),
        torch.tensor([[token.id for token in trace.target_inputs]], device=device),
        torch.tensor([[token.id for token in trace.target_tokens]], device=device),
    )


def hidden_by_layer(
    model: Transformer, source: Int[Tensor, "1 S"], target_in: Int[Tensor, "1 T"]
) -> list[Float[Tensor, "1 T D"]]:
    """Return what goes into the first decoder layer and what comes out of each, ready to be projected."""
    memory = model.encode(source)
    x = model.target_embedding(target_in)
    mask = look_ahead_mask(target_in.size(1), target_in.device)[None, None]
    hidden = [x]
    for layer in model.decoder.layers:
        x = layer(x, memory.vectors, mask, memory.mask[:, None, None])
        hidden.append(x)
    norm = model.decoder.final_norm
    return hidden if norm is None else [norm(each) for each in hidden]


def _guesses(
    translator: Translator,
    model: Transformer,
    hidden: Float[Tensor, "1 T D"],
    written: Int[Tensor, "1 T"],
    number: int,
) -> list[tuple[float, int, float, tuple[Candidate, ...]]]:
    log_probs = model.project(hidden)[0].float().log_softmax(-1)  # (T, V)
    own = log_probs.gather(1, written[0][:, None])  # (T, 1)
    ranks = (log_probs > own).sum(-1) + 1
    entropy = -(log_probs.exp() * log_probs).nan_to_num(0.0).sum(-1) / math.log(2)
    values, ids = log_probs.topk(min(number, log_probs.size(1)))
    return [
        (
            float(entropy[place]),
            int(ranks[place]),
            float(own[place, 0]),
            _candidates(translator, ids[place].tolist(), values[place].tolist()),
        )
        for place in range(log_probs.size(0))
    ]


def _candidates(
    translator: Translator, ids: Sequence[int], values: Sequence[float]
) -> tuple[Candidate, ...]:
    pieces = translator.tokenizers.target.tokens(list(ids))
    return tuple(map(Candidate, ids, pieces, values))
