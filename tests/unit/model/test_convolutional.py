"""The convolutional model against the equations of Gehring et al. 2017, written in NumPy."""

import numpy as np
import pytest
import torch

from interlingua.model.architecture import ConvolutionalArchitecture
from interlingua.model.attention_maps import record_attention
from interlingua.model.convolutional import ConvolutionalModel

V = 11
ROOT_HALF = np.sqrt(0.5)


def small(**others):
    torch.manual_seed(5)
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 6, "dropout": 0.0} | others
    architecture = ConvolutionalArchitecture(**sizes)
    return (
        ConvolutionalModel(architecture, source_vocabulary=V, target_vocabulary=V).double().eval()
    )


def numbers(tensor):
    return tensor.detach().numpy()


def gated(layer, window):
    """v([A; B]) = A * sigmoid(B) for one window (k, D)."""
    convolution = layer.gated.convolution
    W, b = numbers(convolution.weight), numbers(convolution.bias)
    a, gate = np.split(np.einsum("odk,kd->o", W, window) + b, 2)
    return a / (1 + np.exp(-gate))


def windows(x, k, before):
    padded = np.concatenate((np.zeros((before, x.shape[1])), x, np.zeros((k, x.shape[1]))))
    return [padded[i : i + k] for i in range(len(x))]


@torch.no_grad()
def test_blocks_and_multi_step_attention_compute_their_equations():
    model, k = small(), 3
    source, target = torch.tensor([[3, 4, 5, 6]]), torch.tensor([[1, 7, 8]])
    e = numbers(model.source_embedding(source)[0])
    z = e
    for layer in model.encoder:
        z = ROOT_HALF * (np.stack([gated(layer, w) for w in windows(z, k, 1)]) + z)
    g = numbers(model.target_embedding(target)[0])
    x, seen = g, []
    for layer in model.decoder:
        h = np.stack([gated(layer, w) for w in windows(x, k, 2)])
        d = h @ numbers(layer.query.weight).T + numbers(layer.query.bias) + g
        energy = np.exp(d @ z.T)
        a = energy / energy.sum(1, keepdims=True)
        seen.append(a)
        c = np.sqrt(4) * a @ (ROOT_HALF * (z + e))
        x = ROOT_HALF * (ROOT_HALF * (h + c) + x)
    memory = model.encode(source)
    assert np.allclose(numbers(memory.outputs[0]), z)
    with record_attention(model) as maps:
        hidden = model.decode_hidden(target, memory)
    assert np.allclose(numbers(hidden[0]), x)
    assert list(maps) == ["decoder.0.cross_attention", "decoder.1.cross_attention"]
    for (weights,), expected in zip(maps.values(), seen, strict=True):
        assert np.allclose(numbers(weights[0, 0]), expected)


def test_the_encoder_learns_at_the_pace_of_one_block_however_many_look_at_it():
    model, source = small(decoder_layers=4), torch.tensor([[3, 4, 5]])
    bias = model.encoder[1].gated.convolution.bias
    x = model.source_embedding(source)
    for layer in model.encoder:
        x = layer(x, source != 0)
    (whole,) = torch.autograd.grad(x.sum(), bias)
    (gradient,) = torch.autograd.grad(model.encode(source).outputs.sum(), bias)
    assert torch.allclose(gradient, whole / 4)


def test_a_kernel_without_a_middle_is_refused():
    with pytest.raises(ValueError, match="odd number"):
        ConvolutionalArchitecture(kernel_width=4)


def test_a_source_beyond_the_last_position_is_refused():
    model = small(max_positions=4)
    with pytest.raises(ValueError, match="longer than the 4 positions"):
        model.encode(torch.full((1, 5), 3))
