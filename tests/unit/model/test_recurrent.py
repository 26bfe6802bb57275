"""The recurrences against their equations in NumPy, and what the encoder and decoder do around them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from interlingua.model.architecture import RecurrentArchitecture
from interlingua.model.attention_maps import record_attention
from interlingua.model.recurrent import RecurrentModel, make_recurrence, turn_around

KINDS = ("rnn", "lstm", "gru")
V = 11


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn(x, h, c, W, U, b, bb):
    return np.tanh(W @ x + b + U @ h + bb), c


def lstm(x, h, c, W, U, b, bb):
    i, f, g, o = np.split(W @ x + b + U @ h + bb, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru(x, h, c, W, U, b, bb):
    (wr, wz, wn), (ur, uz, un) = np.split(W @ x + b, 3), np.split(U @ h + bb, 3)
    r, z = sigmoid(wr + ur), sigmoid(wz + uz)
    n = np.tanh(wn + r * un)
    return (1 - z) * n + z * h, c


EQUATIONS = {"rnn": rnn, "lstm": lstm, "gru": gru}


def numbers(tensor):
    return tensor.detach().double().numpy()


def weights_of(recurrence):
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    return [numbers(getattr(recurrence, name)) for name in names]


def by_equations(kind, recurrence, x, h=None, c=None):
    """Return h after every position of x (T, E)."""
    width = recurrence.hidden_size
    h = np.zeros(width) if h is None else h
    c = np.zeros(width) if c is None else c
    states = []
    for vector in x:
        h, c = EQUATIONS[kind](vector, h, c, *weights_of(recurrence))
        states.append(h)
    return np.stack(states)


def small(kind, attention="dot", **others):
    torch.manual_seed(3)
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 8, "dropout": 0.0} | others
    architecture = RecurrentArchitecture(kind=kind, attention=attention, **sizes)
    return RecurrentModel(architecture, source_vocabulary=V, target_vocabulary=V).double().eval()


@pytest.mark.parametrize("kind", KINDS)
def test_a_recurrence_computes_its_equations(kind):
    torch.manual_seed(1)
    recurrence = make_recurrence(kind, 5, 4).double()
    x = torch.randn(2, 7, 5, dtype=torch.float64)
    ours = recurrence(x)[0]
    for row in range(2):
        assert np.allclose(numbers(ours[row]), by_equations(kind, recurrence, numbers(x[row])))


def test_a_source_is_turned_around_without_its_padding():
    x = torch.arange(1.0, 9.0).view(2, 4, 1)
    turned = turn_around(x, torch.tensor([4, 2]))
    assert turned[..., 0].tolist() == [[4, 3, 2, 1], [6, 5, 7, 8]]


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_an_annotation_joins_what_stands_before_and_after_and_the_last_state_the_two_ends(kind):
    model = small(kind, encoder_layers=1)
    source = torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0]])
    memory = model.encode(source)
    (layer,) = model.encoder.layers
    for row, length in enumerate((4, 2)):
        x = numbers(model.source_embedding(source[row : row + 1, :length])[0])
        ahead = by_equations(kind, layer.ahead, x)
        back = by_equations(kind, layer.back, x[::-1])[::-1]
        joined = np.concatenate((ahead, back), axis=1)
        assert np.allclose(numbers(memory.annotations[row, :length]), joined)
        last = np.concatenate((ahead[-1], back[0]))
        assert np.allclose(numbers(memory.last[row]), last)


@torch.no_grad()
def test_additive_attention_is_bahdanau_s():
    model = small("gru", "additive", encoder_layers=1, decoder_layers=1)
    source, target = torch.tensor([[3, 4, 5]]), torch.tensor([[1, 6, 7]])
    memory = model.encode(source)
    annotations, decoder = numbers(memory.annotations[0]), model.decoder
    look = decoder.cross_attention
    W, U, v = (numbers(part.weight) for part in (look.query, look.key, look.energy))
    bridge = decoder.bridges[0]
    s = np.tanh(numbers(bridge.weight) @ numbers(memory.last[0]) + numbers(bridge.bias))
    words = numbers(model.target_embedding(target)[0])
    hidden, seen = [], []
    for y in words:
        energy = np.array(
            [v[0] @ np.tanh(W @ s + numbers(look.query.bias) + U @ h) for h in annotations]
        )
        alpha = np.exp(energy) / np.exp(energy).sum()
        context = alpha @ annotations
        s = by_equations("gru", decoder.layers[0], [np.concatenate((y, context))], h=s)[0]
        together = np.concatenate((s, context, y))
        combine = decoder.combine
        hidden.append(np.tanh(numbers(combine.weight) @ together + numbers(combine.bias)))
        seen.append(alpha)
    with record_attention(model) as maps:
        ours = model.decode_hidden(target, memory)[0]
    assert np.allclose(numbers(ours), np.stack(hidden))
    ((weights,),) = maps.values()
    assert np.allclose(numbers(weights[0, 0]), np.stack(seen))


@torch.no_grad()
def test_dot_attention_is_luong_s():
    model = small("rnn", "dot", encoder_layers=1, decoder_layers=1)
    source, target = torch.tensor([[3, 4, 5]]), torch.tensor([[1, 6, 7]])
    memory = model.encode(source)
    annotations, decoder = numbers(memory.annotations[0]), model.decoder
    bridge = decoder.bridges[0]
    s = np.tanh(numbers(bridge.weight) @ numbers(memory.last[0]) + numbers(bridge.bias))
    states = by_equations("rnn", decoder.layers[0], numbers(model.target_embedding(target)[0]), s)
    hidden = []
    for state in states:
        energy = annotations @ state
        alpha = np.exp(energy) / np.exp(energy).sum()
        together = np.concatenate((state, alpha @ annotations))
        hidden.append(
            np.tanh(numbers(decoder.combine.weight) @ together + numbers(decoder.combine.bias))
        )
    assert np.allclose(numbers(model.decode_hidden(target, memory)[0]), np.stack(hidden))


@torch.no_grad()
def test_without_attention_only_the_last_state_reaches_the_decoder():
    model = small("lstm", "none")
    memory = model.encode(torch.tensor([[3, 4, 5]]))
    target = torch.tensor([[1, 6, 7]])
    elsewhere = replace(memory, annotations=torch.randn_like(memory.annotations))
    assert torch.equal(model.decode(target, memory), model.decode(target, elsewhere))
    other = replace(memory, last=memory.last + 1)
    assert not torch.allclose(model.decode(target, memory), model.decode(target, other))
    with record_attention(model) as maps:
        model.decode(target, memory)
    assert not maps


def test_the_forget_gate_begins_open():
    model = small("lstm")
    bias = model.decoder.layers[0].bias_ih_l0.detach().view(4, 8)
    assert bias.tolist() == [[0.0] * 8, [1.0] * 8, [0.0] * 8, [0.0] * 8]


def test_a_bidirectional_encoder_refuses_an_odd_width():
    with pytest.raises(ValueError, match="even d_model"):
        RecurrentArchitecture(kind="gru", d_model=7)
    RecurrentArchitecture(kind="gru", d_model=7, bidirectional=False)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"kind": "transformer"}, "kind is 'transformer'; it takes one of rnn, lstm, gru"),
        ({"attention": "loud"}, "attention is 'loud'"),
        ({"d_model": 0}, "d_model is 0"),
        ({"bidirectional": 1}, "bidirectional is 1; it takes true or false"),
    ],
)
@pytest.mark.unchecked
def test_wrong_sizes_are_refused(wrong, told):
    with pytest.raises(ValueError, match=told):
        RecurrentArchitecture(**({"kind": "gru"} | wrong))
