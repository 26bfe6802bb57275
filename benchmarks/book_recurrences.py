"""Small recurrent models for the walk through the paper: how they are trained, and what was in their gates as they read a sentence.

They stand for what the paper compares itself with: an RNN, an LSTM and a GRU of this package, which read from left to right and hand
one vector over to the decoder (no attention), as Sutskever et al. 2014 do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from interlingua.config import (
    BatchingConfig,
    CorpusConfig,
    ModelConfig,
    RunConfig,
    TokenizationConfig,
    TrainingConfig,
)
from interlingua.inspection.legible import label_of
from interlingua.model.architecture import Recurrence
from interlingua.model.recurrent import RecurrentEncoderLayer, RecurrentModel
from interlingua.training.run import train
from interlingua.translator import Translator

__all__ = [
    "STEPS",
    "Passage",
    "Reading",
    "read_sentence",
    "recurrent_translator",
    "walk_recurrence",
    "write_sentence",
]

STEPS: dict[Recurrence, int] = {"rnn": 300, "lstm": 1000, "gru": 300}
"""The LSTM is also asked for a translation, so it learns for longer."""
WIDTH = 64


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What a recurrence held at every token that it read."""

    kind: Recurrence
    gates: dict[str, Float[np.ndarray, "S D"]]
    """By their letters in ``interlingua.model.recurrent``; gates are between 0 and 1."""
    states: Float[np.ndarray, "S D"]
    """h, which goes to the next token and, after the last, to the decoder."""


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """A sentence on its way through one vector."""

    source: list[str]
    target: list[str]
    """With the end symbol, unless the model did not end."""
    read: Float[np.ndarray, "S D"]
    vector: Float[np.ndarray, "D"]
    written: Float[np.ndarray, "T D"]
    chances: list[float]
    """Of each token written."""


def recurrent_translator(kind: Recurrence, folder: Path, steps: int | None = None) -> Translator:
    """Train one of the models on the demo's corpus, for a minute or two; a run that is done is only read.

    ``steps`` are updates, for whoever tries the figures out.
    """
    steps = steps or STEPS[kind]
    config = RunConfig(
        run_dir=folder,
        corpus=CorpusConfig(embedded="demo-ro-en"),
        tokenization=TokenizationConfig(kind="bpe", vocabulary_size=1000, shared=True),
        batching=BatchingConfig(batch_tokens=2048),
        model=ModelConfig(
            kind=kind,
            attention="none",
            bidirectional=False,
            preset="tiny",
            d_model=WIDTH,
            dropout=0.0,
        ),
        training=TrainingConfig(
            steps=steps,
            schedule="linear",
            warmup_steps=min(50, steps),
            peak_learning_rate=0.01,
            validate_every=steps,
            validate_sentences=50,
            average_last=1,
            threads=1,
            device="cpu",
            dtype="float32",
        ),
    )
    train(config)
    return Translator.load(folder, device="cpu", plain=True)


def walk_recurrence(recurrence: nn.RNNBase, x: Float[Tensor, "S E"]) -> Reading:
    """Compute what torch keeps to itself: every gate of one layer in one direction, token by token."""
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    w_in, w_state, b_in, b_state = map(recurrence.get_parameter, names)
    h = c = torch.zeros(recurrence.hidden_size)
    rows: list[dict[str, Tensor]] = []
    for word in x:
        from_word, from_state = w_in @ word + b_in, w_state @ h + b_state
        if isinstance(recurrence, nn.LSTM):
            i, f, g, o = (from_word + from_state).chunk(4)
            i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
            c = f * c + i * g
            h = o * c.tanh()
            rows.append({"f": f, "i": i, "g": g, "c": c, "o": o})
        elif isinstance(recurrence, nn.GRU):
            (r, z, n), (r_state, z_state, n_state) = from_word.chunk(3), from_state.chunk(3)
            r, z = (r + r_state).sigmoid(), (z + z_state).sigmoid()
            n = (n + r * n_state).tanh()
            h = (1 - z) * n + z * h
            rows.append({"r": r, "z": z, "n": n})
        else:
            h = (from_word + from_state).tanh()
            rows.append({})
        rows[-1]["h"] = h
    gates = {name: torch.stack([row[name] for row in rows]).numpy() for name in rows[0]}
    kind: Recurrence = "rnn"
    if isinstance(recurrence, nn.LSTM | nn.GRU):
        kind = "lstm" if isinstance(recurrence, nn.LSTM) else "gru"
    return Reading(kind, gates, gates.pop("h"))


def read_sentence(translator: Translator, text: str) -> tuple[Reading, list[str]]:
    """Walk the encoder over a sentence; also return its tokens, the end symbol among them."""
    model, tokenizer = recurrent_model(translator), translator.tokenizers.source
    ids = [*tokenizer.encode(text).ids, tokenizer.end_id]
    with torch.inference_mode():
        words = model.source_embedding(torch.tensor([ids]))[0]
        layer = model.encoder.layers[0]
        assert isinstance(layer, RecurrentEncoderLayer)
        reading = walk_recurrence(layer.ahead, words)
    return reading, labels(tokenizer.tokens(ids))


def write_sentence(translator: Translator, text: str, longest: int = 12) -> Passage:
    """Translate greedily, and keep what the decoder remembered at every token."""
    model, tokenizer = recurrent_model(translator), translator.tokenizers.target
    reading, source = read_sentence(translator, text)
    ids = torch.tensor(
        [[*translator.tokenizers.source.encode(text).ids, translator.tokenizers.source.end_id]]
    )
    written, chances, states = [tokenizer.begin_id], [], []
    with torch.inference_mode():
        memory = model.encode(ids)
        state = model.start(memory)
        while len(written) <= longest and written[-1] != tokenizer.end_id:
            row, state = model.step(torch.tensor(written[-1:]), state)
            best = int(row[0].argmax())
            chances.append(float(row[0].softmax(-1)[best]))
            states.append(state.layers[0][0][0].numpy())
            written.append(best)
    target = labels(tokenizer.tokens(written[1:]))
    return Passage(
        source, target, reading.states, memory.last[0].numpy(), np.stack(states), chances
    )


def recurrent_model(translator: Translator) -> RecurrentModel:
    assert isinstance(translator.model, RecurrentModel)
    return translator.model


def labels(pieces: Sequence[str]) -> list[str]:
    return [label_of(piece) for piece in pieces]
