"""What came before the Transformer keeps its laws: cached steps equal full decoding, neighbours change nothing."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from test_cached_decoding_laws import (
    SYMBOLS,
    V,
    assert_steps_equal_full_decoding,
    beam_search,
    padded,
    seeds,
    sentences,
)

from interlingua.decoding.greedy import greedy_search
from interlingua.model.architecture import ConvolutionalArchitecture, RecurrentArchitecture
from interlingua.model.building import build_encoder_decoder

SIZES = {
    "encoder_layers": st.integers(1, 2),
    "decoder_layers": st.integers(1, 3),
    "d_model": st.sampled_from([4, 8]),
    "max_positions": st.just(64),
    "dropout": st.just(0.3),
    "tie": st.sampled_from(["three-way", "target", "none"]),
    "output_bias": st.booleans(),
}
recurrent = st.builds(
    RecurrentArchitecture,
    kind=st.sampled_from(["rnn", "lstm", "gru"]),
    attention=st.sampled_from(["additive", "dot", "none"]),
    bidirectional=st.booleans(),
    **SIZES,
)
convolutional = st.builds(
    ConvolutionalArchitecture, kernel_width=st.sampled_from([1, 3, 5]), **SIZES
)
architectures = recurrent | convolutional


def build(architecture, seed, dtype=torch.float32):
    torch.manual_seed(seed)
    model = build_encoder_decoder(architecture, source_vocabulary=V, target_vocabulary=V)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter), alpha=0.3)
        model.output.weight.mul_(3.0)
    return model.to(dtype).eval()


@given(architecture=architectures, seed=seeds, sources=sentences, data=st.data())
@torch.inference_mode()
def test_cached_steps_equal_full_decoding(architecture, seed, sources, data):
    model = build(architecture, seed, torch.float64)
    assert_steps_equal_full_decoding(model, sources, data, 1e-10)


@given(
    architecture=architectures,
    seed=seeds,
    sources=sentences,
    extra=st.integers(0, 5),
    beam_size=st.integers(1, 4),
    data=st.data(),
)
@torch.inference_mode()
def test_padding_and_batch_mates_change_no_translation(
    architecture, seed, sources, extra, beam_size, data
):
    model = build(architecture, seed, torch.float64)

    def search(rows, extra_padding):
        return beam_search(
            model,
            padded(rows, extra_padding),
            symbols=SYMBOLS,
            max_lengths=[len(row) + 4 for row in rows],
            beam_size=beam_size,
            alpha=0.6,
            n_best=beam_size,
        )

    order = data.draw(st.permutations(range(len(sources))))
    together = search([sources[k] for k in order], extra)
    for k, hypotheses in zip(order, together, strict=True):
        (alone,) = search([sources[k]], 0)
        assert [h.ids for h in hypotheses] == [h.ids for h in alone]
        assert [h.score for h in hypotheses] == pytest.approx([h.score for h in alone], abs=1e-9)


@given(architecture=architectures, seed=seeds, sources=sentences)
@torch.inference_mode()
def test_a_beam_of_one_is_greedy_search(architecture, seed, sources):
    model = build(architecture, seed, torch.float64)
    asked = {"symbols": SYMBOLS, "max_lengths": [len(row) + 4 for row in sources], "alpha": 0.6}
    greedy = greedy_search(model, padded(sources), **asked)
    beam = beam_search(model, padded(sources), **asked, beam_size=1)
    assert [[each.ids for each in found] for found in beam] == [[each.ids] for each in greedy]
    scores = [found[0].score for found in beam]
    assert scores == pytest.approx([each.score for each in greedy], abs=1e-9)


@given(architecture=architectures, seed=seeds, sources=sentences, data=st.data())
@torch.inference_mode()
def test_later_target_words_change_no_earlier_logits(architecture, seed, sources, data):
    model = build(architecture, seed, torch.float64)
    memory = model.encode(padded(sources))
    target = torch.randint(V, (len(sources), 6))
    place = data.draw(st.integers(1, 5))
    changed = target.clone()
    changed[:, place:] = (changed[:, place:] + 1) % V
    before, after = model.decode(target, memory), model.decode(changed, memory)
    assert torch.allclose(before[:, :place], after[:, :place], atol=1e-12)
