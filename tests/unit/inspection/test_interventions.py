"""A part that is switched off is off, everything else is as before, and the plain model never notices."""

import copy
import threading

import numpy as np
import pytest
import torch

from interlingua.errors import ConfigError
from interlingua.inspection.interventions import intervene
from interlingua.inspection.questions import EditedWeight, HeadName, Intervention, LayerName
from interlingua.inspection.trace import trace_translation
from interlingua.model.attention import MultiHeadAttention
from interlingua.model.attention_maps import record_attention
from interlingua.translator import Translator

TEXT = "pisica vede câinele mică."
REFERENCE = "the cat sees the small dog."


def logits_of(translator: Translator) -> torch.Tensor:
    source = torch.tensor([[*translator.tokenizers.source.encode(TEXT).ids, 3]])
    target = torch.tensor([[2, *translator.tokenizers.target.encode(REFERENCE).ids]])
    with torch.inference_mode():
        return translator.model(source, target)


def test_nothing_switched_off_is_the_same_translator(translator: Translator) -> None:
    assert intervene(translator, Intervention()) is translator


def test_a_head_off_is_its_slice_of_the_output_projection_at_zero(translator: Translator) -> None:
    for kind, name in (
        ("encoder", "encoder.layers.1.self_attention"),
        ("decoder", "decoder.layers.1.self_attention"),
        ("cross", "decoder.layers.1.cross_attention"),
    ):
        off = intervene(translator, Intervention(heads_off=(HeadName(kind, 2, 2),)))
        by_hand = copy.deepcopy(translator.model)
        attention = by_hand.get_submodule(name)
        width = attention.output.in_features // 2
        with torch.no_grad():
            attention.output.weight[:, width:] = 0.0
        source = torch.tensor([[*translator.tokenizers.source.encode(TEXT).ids, 3]])
        target = torch.tensor([[2, *translator.tokenizers.target.encode(REFERENCE).ids]])
        with torch.inference_mode():
            torch.testing.assert_close(logits_of(off), by_hand(source, target))
        assert not torch.allclose(logits_of(off), logits_of(translator))


def test_without_scaling_the_scores_are_the_plain_products(translator: Translator) -> None:
    off = intervene(translator, Intervention(scaling_off=True))
    by_hand = copy.deepcopy(translator.model)
    with torch.no_grad():
        for module in by_hand.modules():
            if isinstance(module, MultiHeadAttention):
                root = (module.query.out_features / module.heads) ** 0.5
                module.query.weight *= root
                module.query.bias *= root
    source = torch.tensor([[*translator.tokenizers.source.encode(TEXT).ids, 3]])
    target = torch.tensor([[2, *translator.tokenizers.target.encode(REFERENCE).ids]])
    with torch.inference_mode():
        torch.testing.assert_close(logits_of(off), by_hand(source, target))


def test_without_positions_the_order_of_the_source_says_nothing(translator: Translator) -> None:
    off = intervene(translator, Intervention(positions_off=True)).model
    target = torch.tensor([[2, 17, 18]])
    with torch.inference_mode():
        one = off(torch.tensor([[10, 11, 12, 3]]), target)
        other = off(torch.tensor([[12, 10, 3, 11]]), target)
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_without_the_mask_the_first_position_sees_what_comes_after(translator: Translator) -> None:
    trace = trace_translation(intervene(translator, Intervention(mask_off=True)), TEXT, REFERENCE)
    for map in trace.maps("decoder"):
        assert np.triu(map.weights, k=1).sum() > 0


def test_a_hidden_word_is_looked_at_by_nobody(translator: Translator) -> None:
    trace = trace_translation(
        intervene(translator, Intervention(hidden_source=(1,))), TEXT, REFERENCE
    )
    for map in (*trace.maps("encoder"), *trace.maps("cross")):
        assert not map.weights[:, :, 1].any()
        np.testing.assert_allclose(map.weights.sum(-1), 1.0, atol=1e-6)


def test_an_edited_weight_is_set_and_the_rest_of_its_row_keeps_its_ratios(
    translator: Translator,
) -> None:
    plain = trace_translation(translator, TEXT, REFERENCE).maps("cross")[0].weights
    edit = EditedWeight("cross", 1, 2, row=1, column=2, weight=0.75)
    edited = trace_translation(intervene(translator, Intervention(edited=(edit,))), TEXT, REFERENCE)
    weights = edited.maps("cross")[0].weights
    assert weights[1, 1, 2] == pytest.approx(0.75)
    others = [column for column in range(weights.shape[2]) if column != 2]
    np.testing.assert_allclose(weights[1, 1].sum(), 1.0, atol=1e-6)
    np.testing.assert_allclose(
        weights[1, 1, others] / 0.25,
        plain[1, 1, others] / (1 - plain[1, 1, 2]),
        rtol=1e-4,
    )
    np.testing.assert_allclose(weights[0], plain[0], atol=1e-6)


@pytest.mark.parametrize(
    ("asked", "used"), [((0.5, 0.3), (0.5, 0.3)), ((1.0, 0.6), (0.625, 0.375))]
)
def test_two_edited_weights_of_one_row_are_both_used(
    translator: Translator, asked: tuple[float, float], used: tuple[float, float]
) -> None:
    plain = trace_translation(translator, TEXT, REFERENCE).maps("cross")[0].weights[1, 1]
    edits = tuple(
        EditedWeight("cross", 1, 2, row=1, column=column, weight=weight)
        for column, weight in zip((1, 2), asked, strict=True)
    )
    off = intervene(translator, Intervention(edited=edits))
    row = trace_translation(off, TEXT, REFERENCE).maps("cross")[0].weights[1, 1]
    np.testing.assert_allclose(row[1:3], used, atol=1e-6)
    np.testing.assert_allclose(row.sum(), 1.0, atol=1e-6)
    others = np.delete(plain, [1, 2])
    rest = (1 - sum(used)) * others / others.sum()
    np.testing.assert_allclose(np.delete(row, [1, 2]), rest, atol=1e-6)


def test_a_layer_off_hands_on_what_it_is_given(translator: Translator) -> None:
    every = Intervention(
        layers_off=(LayerName("encoder", 1), LayerName("encoder", 2)),
    )
    off = intervene(translator, every).model
    source = torch.tensor([[10, 11, 3]])
    with torch.inference_mode():
        expected = translator.model.source_embedding(source)
        torch.testing.assert_close(off.encode(source).vectors, expected)


def test_search_without_a_cache_finds_what_search_with_one_finds(translator: Translator) -> None:
    far = EditedWeight("cross", 1, 1, row=500, column=500, weight=0.5)
    reread = intervene(translator, Intervention(edited=(far,)))
    assert reread is not translator
    for text in (TEXT, "fata aude băiatul mică."):
        plain, again = translator.translate([text])[0], reread.translate([text])[0]
        assert plain.text == again.text
        assert plain.score == pytest.approx(again.score, abs=1e-4)


def test_the_plain_model_never_notices(translator: Translator) -> None:
    """Another thread computes with the same weights while interventions come and go."""
    expected, wrong = logits_of(translator), []
    every = Intervention(
        heads_off=(HeadName("cross", 1, 1),), scaling_off=True, positions_off=True, mask_off=True
    )
    stop = threading.Event()

    def compute() -> None:
        while not stop.is_set():
            with record_attention(translator.model):
                if not torch.equal(logits_of(translator), expected):
                    wrong.append(True)

    other = threading.Thread(target=compute)
    other.start()
    try:
        for _ in range(3):
            intervene(translator, every).translate([TEXT])
    finally:
        stop.set()
        other.join()
    assert not wrong
    assert translator.model.training is False


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Intervention(heads_off=(HeadName("cross", 4, 1),)), "no head 1 in layer 4"),
        (lambda: Intervention(heads_off=(HeadName("encoder", 1, 3),)), "no head 3 in layer 1"),
        (lambda: Intervention(layers_off=(LayerName("encoder", 3),)), "no layer 3 in the encoder"),
        (
            lambda: Intervention(edited=(EditedWeight("cross", 1, 1, 0, 0, 1.5),)),
            "takes 0 to 1",
        ),
        (
            lambda: Intervention(edited=(EditedWeight("cross", 1, 1, 0, 0, float("nan")),)),
            "takes 0 to 1",
        ),
        (lambda: Intervention(hidden_source=(-1,)), "counted from 0"),
        (
            lambda: Intervention(edited=(EditedWeight("cross", 1, 1, 0, 0, 0.5),) * 65),
            "65 edited weights; 64 at most",
        ),
    ],
)
def test_what_no_model_could_do_is_refused(translator: Translator, make: object, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        intervene(translator, make())
