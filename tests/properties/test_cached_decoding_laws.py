"""Laws that tie the real Transformer to search: a cache, padding and neighbours change nothing."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from interlingua.decoding.beam_search import beam_search as search_beams
from interlingua.decoding.greedy import greedy_search
from interlingua.decoding.options import SearchOptions
from interlingua.decoding.score import score_pairs
from interlingua.model.architecture import Architecture
from interlingua.model.transformer import Transformer
from interlingua.tokenization.tokenizer import Symbols

PAD, BEGIN, END, V = 0, 1, 2, 13
SYMBOLS = Symbols(PAD, BEGIN, END)


def beam_search(model, source, *, beam_size, n_best=1, alpha=0.0, **asked):
    options = SearchOptions(beam_size=beam_size, n_best=n_best, length_penalty=alpha)
    return search_beams(model, source, options=options, **asked)


@st.composite
def architectures(draw):
    heads = draw(st.sampled_from([1, 2, 4]))
    d_model = 4 * heads * draw(st.integers(1, 2))
    return Architecture(
        encoder_layers=draw(st.integers(1, 2)),
        decoder_layers=draw(st.integers(1, 3)),
        d_model=d_model,
        d_ff=2 * d_model,
        heads=heads,
        d_k=draw(st.sampled_from([None, 3])),
        d_v=draw(st.sampled_from([None, 5])),
        norm=draw(st.sampled_from(["post", "pre"])),
        activation=draw(st.sampled_from(["relu", "gelu", "swiglu"])),
        positions=draw(st.sampled_from(["sinusoidal", "learned"])),
        max_positions=64,
        tie=draw(st.sampled_from(["three-way", "target", "none"])),
    )


def build(architecture, seed, dtype=torch.float32):
    torch.manual_seed(seed)
    model = Transformer(architecture, source_vocabulary=V, target_vocabulary=V)
    with torch.no_grad():
        model.output.weight.mul_(3.0)  # sharper than fresh weights, as a trained model is
    return model.to(dtype).eval()


def padded(rows, extra=0):
    width = max(map(len, rows)) + extra
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


seeds = st.integers(0, 2**32)
words = st.lists(st.integers(3, V - 1), min_size=1, max_size=6)
sentences = st.lists(words, min_size=1, max_size=4)


def assert_steps_equal_full_decoding(model, sources, data, tolerance):
    source = padded(sources)
    memory = model.encode(source)
    state = model.start(memory)
    rows_of_source = torch.arange(len(sources))
    written = torch.empty(len(sources), 0, dtype=torch.long)
    for _ in range(data.draw(st.integers(1, 8))):
        if data.draw(st.booleans()):
            rows = torch.tensor(
                data.draw(st.lists(st.integers(0, len(written) - 1), min_size=1, max_size=8))
            )
            state, written, rows_of_source = (
                state.reorder(rows),
                written[rows],
                rows_of_source[rows],
            )
        ids = torch.randint(V, (len(written),))
        logits, state = model.step(ids, state)
        written = torch.cat((written, ids[:, None]), dim=1)
        full = model.decode(written, model.encode(source[rows_of_source]))[:, -1]
        assert (logits - full).abs().max() <= tolerance * max(1.0, float(full.abs().max()))


@given(architecture=architectures(), seed=seeds, sources=sentences, data=st.data())
@torch.inference_mode()
def test_cached_steps_equal_full_decoding_in_float32(architecture, seed, sources, data):
    model = build(architecture, seed)
    assert_steps_equal_full_decoding(model, sources, data, 1e-5)


@given(architecture=architectures(), seed=seeds, sources=sentences, data=st.data())
@torch.inference_mode()
def test_cached_steps_equal_full_decoding_in_float64(architecture, seed, sources, data):
    model = build(architecture, seed, torch.float64)
    assert_steps_equal_full_decoding(model, sources, data, 1e-10)


@given(
    architecture=architectures(),
    seed=seeds,
    sources=sentences,
    extra=st.integers(0, 5),
    beam_size=st.integers(1, 5),
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


@given(architecture=architectures(), seed=seeds, sources=sentences)
@torch.inference_mode()
def test_a_beam_of_one_is_greedy_search_of_the_transformer(architecture, seed, sources):
    model = build(architecture, seed)
    asked = {"symbols": SYMBOLS, "max_lengths": [len(row) + 4 for row in sources], "alpha": 0.6}
    greedy = greedy_search(model, padded(sources), **asked)
    beam = beam_search(model, padded(sources), **asked, beam_size=1)
    assert beam == [[hypothesis] for hypothesis in greedy]


@given(architecture=architectures(), seed=seeds, sources=sentences, beam_size=st.integers(1, 5))
@torch.inference_mode()
def test_teacher_forcing_gives_the_scores_of_search_again(architecture, seed, sources, beam_size):
    model = build(architecture, seed)
    found = beam_search(
        model,
        padded(sources),
        symbols=SYMBOLS,
        max_lengths=[len(row) + 4 for row in sources],
        beam_size=beam_size,
        n_best=beam_size,
    )
    for source, hypotheses in zip(sources, found, strict=True):
        written = [[*h.ids, END] if h.stopped == "end" else list(h.ids) for h in hypotheses]
        scores = score_pairs(
            model,
            padded([source] * len(written)),
            padded([[BEGIN, *row[:-1]] for row in written]),
            padded(written),
            pad_id=PAD,
        )
        for h, row in zip(hypotheses, scores.tolist(), strict=True):
            assert row[: len(h.log_probabilities)] == pytest.approx(h.log_probabilities, abs=1e-5)
            assert sum(row) == pytest.approx(h.score, abs=1e-5)
