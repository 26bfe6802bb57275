"""The trace tells what the model did: the same numbers as a computation by hand."""

import json
import math

import numpy as np
import pytest
import torch

from interlingua.errors import ConfigError, ModelError
from interlingua.inspection.trace import (
    TRACE_VERSION,
    Trace,
    _offsets_by_decoding,
    trace_translation,
)
from interlingua.model.attention import MultiHeadAttention, attention_weights
from interlingua.translator import Translator

TEXT = "pisica vede câinele mică."
REFERENCE = "the cat sees the small dog."


@pytest.fixture(scope="module")
def trace(translator: Translator) -> Trace:
    return trace_translation(translator, TEXT, REFERENCE)


def test_every_row_of_every_head_sums_to_one(trace: Trace) -> None:
    assert len(trace.attention) == 2 + 3 + 3
    for map in trace.attention:
        np.testing.assert_allclose(map.weights.sum(-1), 1.0, atol=1e-6)


def test_rows_and_columns_are_the_tokens(trace: Trace) -> None:
    source, target = len(trace.source_tokens), len(trace.target_tokens)
    shapes = {"encoder": (source, source), "cross": (target, source), "decoder": (target, target)}
    for map in trace.attention:
        assert map.weights.shape == (2, *shapes[map.kind])


def test_layers_count_from_one_and_name_their_module(trace: Trace) -> None:
    assert [(map.layer, map.module) for map in trace.maps("cross")] == [
        (1, "decoder.layers.0.cross_attention"),
        (2, "decoder.layers.1.cross_attention"),
        (3, "decoder.layers.2.cross_attention"),
    ]
    assert [map.module for map in trace.maps("encoder")] == [
        "encoder.layers.0.self_attention",
        "encoder.layers.1.self_attention",
    ]


def test_cross_attention_equals_its_own_computation(translator: Translator, trace: Trace) -> None:
    model = translator.model
    source = torch.tensor([[token.id for token in trace.source_tokens]])
    target_in = torch.tensor([[token.id for token in trace.target_inputs]])
    attention: MultiHeadAttention = model.decoder.layers[0].cross_attention
    entering: list[torch.Tensor] = []
    handle = attention.register_forward_pre_hook(
        lambda _module, inputs: entering.extend(inputs[:2])
    )
    with torch.inference_mode():
        model.decode(target_in, model.encode(source))
        handle.remove()
        queries, memory = entering
        query = attention.query(queries).unflatten(-1, (2, -1)).transpose(1, 2)
        key = attention.key(memory).unflatten(-1, (2, -1)).transpose(1, 2)
        expected = attention_weights(query, key, None)[0]
    np.testing.assert_allclose(trace.maps("cross")[0].weights, expected.numpy(), atol=1e-6)


def test_the_decoder_never_looks_ahead(trace: Trace) -> None:
    for map in trace.maps("decoder"):
        assert not np.triu(map.weights, k=1).any()


def test_log_probabilities_are_those_of_the_softmax(translator: Translator, trace: Trace) -> None:
    source = torch.tensor([[token.id for token in trace.source_tokens]])
    target_in = torch.tensor([[token.id for token in trace.target_inputs]])
    with torch.inference_mode():
        probabilities = translator.model(source, target_in)[0].softmax(-1)
    expected = [
        math.log(probabilities[place, token.id]) for place, token in enumerate(trace.target_tokens)
    ]
    assert trace.log_probabilities == pytest.approx(expected, abs=1e-5)


def test_offsets_cut_the_texts_into_their_tokens(trace: Trace) -> None:
    for text, tokens in ((trace.source, trace.source_tokens), (trace.target, trace.target_tokens)):
        assert "".join(text[token.start : token.end] for token in tokens) == text
        assert tokens[-1].text == "</s>"
        assert (tokens[-1].start, tokens[-1].end) == (len(text), len(text))
    assert trace.source == TEXT
    assert trace.target == REFERENCE


def test_a_searched_trace_holds_what_search_wrote(translator: Translator) -> None:
    found = translator.translate([TEXT])[0]
    trace = trace_translation(translator, TEXT)
    pieces = [token.text for token in trace.target_tokens]
    ended = found.stopped == "end"
    assert pieces == [*found.tokens, *(["</s>"] if ended else [])]
    assert trace.target == found.text
    assert trace.log_probabilities == pytest.approx(found.log_probabilities, abs=1e-4)
    assert ("max-length" in trace.flags) is not ended
    last_end = 0
    for token in trace.target_tokens:
        assert last_end <= token.start + 1
        assert token.start <= token.end <= len(trace.target)
        last_end = token.end


@pytest.mark.parametrize("text", ["the 猫 sees 😀😀 5%.", "猫が寝る", "ñ", "the dog"])
def test_what_search_wrote_has_offsets_as_what_was_read(translator: Translator, text: str) -> None:
    """The bytes of one character together have its span, whichever of both ways it came."""
    tokenizer = translator.tokenizers.target
    cut = tokenizer.encode(text)
    assert any(piece.startswith("<0x") for piece in tokenizer.tokens(cut.ids)) is (
        not text.isascii()
    )
    assert _offsets_by_decoding(tokenizer, cut.ids, text) == cut.offsets
    if not text.isascii():  # the search stopped within the last character
        *ids, _ = tokenizer.encode("a 猫").ids
        offsets = _offsets_by_decoding(tokenizer, ids, tokenizer.decode(ids))
        assert offsets[-1] == offsets[-2] == (2, 3)


def test_dropout_is_off_and_the_model_is_left_as_it_was(translator: Translator) -> None:
    translator.model.train()
    try:
        first = trace_translation(translator, TEXT, REFERENCE)
        second = trace_translation(translator, TEXT, REFERENCE)
        assert translator.model.training
    finally:
        translator.model.eval()
    assert first.to_json() == second.to_json()


def test_json_brings_the_trace_back(trace: Trace) -> None:
    text = trace.to_json()
    again = Trace.from_json(text)
    assert again.to_dict() == trace.to_dict()
    assert json.loads(text)["version"] == TRACE_VERSION
    for map, other in zip(trace.attention, again.attention, strict=True):
        np.testing.assert_allclose(map.weights, other.weights, atol=1e-7)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "interlingua-trace"}', '{"format": 1}']
)
def test_what_is_no_trace_is_refused(text: str) -> None:
    with pytest.raises(ModelError, match="not a whole trace"):
        Trace.from_json(text)


def test_a_trace_of_a_later_version_is_refused(trace: Trace) -> None:
    with pytest.raises(ModelError, match="newer interlingua"):
        Trace.from_json(json.dumps(trace.to_dict() | {"version": TRACE_VERSION + 1}))


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_an_empty_text_is_refused(translator: Translator, text: str) -> None:
    with pytest.raises(ConfigError, match="empty"):
        trace_translation(translator, text)


def test_an_empty_target_is_one_end_symbol(translator: Translator) -> None:
    trace = trace_translation(translator, TEXT, "")
    assert [token.text for token in trace.target_tokens] == ["</s>"]
    assert trace.maps("cross")[0].weights.shape[1] == 1


def test_a_long_text_is_cut_and_says_so(translator: Translator) -> None:
    trace = trace_translation(translator, TEXT * 20, REFERENCE * 20)
    assert len(trace.source_tokens) == len(trace.target_tokens) == translator.max_source_length
    assert trace.flags == ("truncated-source", "truncated-target")


def test_pre_norm_and_learned_positions_are_traced_too(pre_norm_translator: Translator) -> None:
    trace = trace_translation(pre_norm_translator, TEXT, REFERENCE)
    assert [(map.kind, map.weights.shape[0]) for map in trace.attention] == [
        ("encoder", 3),
        ("decoder", 3),
        ("cross", 3),
    ]


def test_a_model_without_numbers_is_refused(pre_norm_translator: Translator) -> None:
    weight = pre_norm_translator.model.output.weight
    saved = weight.detach().clone()
    with torch.no_grad():
        weight[5] = math.nan
    try:
        with pytest.raises(ModelError, match="not-a-number"):
            trace_translation(pre_norm_translator, TEXT, REFERENCE)
    finally:
        with torch.no_grad():
            weight.copy_(saved)
