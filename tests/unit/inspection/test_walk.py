"""The numbers of a walk are the model's own, and they follow from one another as the paper says."""

import json
from typing import Any

import numpy as np
import pytest
import torch

from interlingua.errors import ConfigError
from interlingua.inspection.interventions import intervene
from interlingua.inspection.json_form import as_json
from interlingua.inspection.questions import HeadName, Intervention, LayerName
from interlingua.inspection.trace import AttentionKind, Trace, trace_translation
from interlingua.inspection.walk import walk_head, walk_input
from interlingua.translator import Translator

TEXT = "pisica vede câinele mică."
REFERENCE = "the cat sees the small dog."
KINDS: tuple[AttentionKind, ...] = ("encoder", "decoder", "cross")


@pytest.fixture(scope="module")
def trace(translator: Translator) -> Trace:
    return trace_translation(translator, TEXT, REFERENCE)


@pytest.mark.parametrize("kind", KINDS)
def test_a_walk_arrives_at_the_weights_of_the_trace(
    translator: Translator, trace: Trace, kind: AttentionKind
) -> None:
    walk = walk_head(translator, trace, HeadName(kind, 2, 1))
    np.testing.assert_allclose(walk.weights, trace.maps(kind)[1].weights[0], atol=1e-5)
    np.testing.assert_allclose(walk.with_scaling, walk.weights, atol=1e-5)
    np.testing.assert_allclose(walk.query @ walk.key.T, walk.products, atol=1e-5)
    np.testing.assert_allclose(walk.weights @ walk.value, walk.gathered, atol=1e-5)
    projected = walk.queries_in @ walk.w_query + walk.b_query
    np.testing.assert_allclose(projected, walk.query, atol=1e-5)
    around = walk.around[1]
    np.testing.assert_allclose(around.x + around.sublayer, around.sum, atol=1e-5)
    by_hand = (around.sum - around.mean) / around.deviation
    np.testing.assert_allclose(by_hand, around.out, atol=1e-4)  # the norm is untrained here


def test_a_pre_norm_model_normalises_before_it_looks(pre_norm_translator: Translator) -> None:
    trace = trace_translation(pre_norm_translator, TEXT, REFERENCE)
    for kind in KINDS:
        walk = walk_head(pre_norm_translator, trace, HeadName(kind, 1, 3))
        np.testing.assert_allclose(walk.weights, trace.maps(kind)[0].weights[2], atol=1e-5)
        np.testing.assert_array_equal(walk.around[0].out, walk.around[0].sum)


def test_without_scaling_the_model_s_weights_are_those_without(
    translator: Translator, trace: Trace
) -> None:
    off = intervene(translator, Intervention(scaling_off=True))
    walk = walk_head(off, trace, HeadName("cross", 1, 1))
    np.testing.assert_allclose(walk.weights, walk.without_scaling, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "switched"),
    [("decoder", {"mask_off": True}), ("cross", {"hidden_source": (1, 2)})],
)
def test_the_mask_of_a_walk_is_the_one_that_the_model_has_now(
    translator: Translator, kind: AttentionKind, switched: dict[str, Any]
) -> None:
    off = intervene(translator, Intervention(**switched))
    walk = walk_head(off, trace_translation(off, TEXT, REFERENCE), HeadName(kind, 1, 1))
    np.testing.assert_array_equal(np.array(walk.may_look), walk.weights > 0)
    np.testing.assert_allclose(walk.with_scaling, walk.weights, atol=1e-5)


def test_embeddings_and_positions_are_what_enters_the_encoder(
    translator: Translator, trace: Trace
) -> None:
    source, target = walk_input(translator, trace)
    ids = torch.tensor([[token.id for token in trace.source_tokens]])
    with torch.inference_mode():
        expected = translator.model.source_embedding(ids)[0].numpy()
    np.testing.assert_allclose(source.sums, expected, atol=1e-6)
    np.testing.assert_allclose(source.embeddings + source.positions, source.sums, atol=1e-6)
    assert target.sums.shape == (len(trace.target_tokens), 16)


@pytest.mark.parametrize(
    "head", [HeadName("cross", 9, 1), HeadName("cross", 1, 3), HeadName("encoder", 0, 1)]
)
def test_a_head_that_is_not_there_is_refused(
    translator: Translator, trace: Trace, head: HeadName
) -> None:
    with pytest.raises(ConfigError):
        walk_head(translator, trace, head)


def test_a_layer_that_is_off_cannot_be_walked_through(translator: Translator, trace: Trace) -> None:
    off = intervene(translator, Intervention(layers_off=(LayerName("encoder", 1),)))
    with pytest.raises(ConfigError, match="switched off"):
        walk_head(off, trace, HeadName("encoder", 1, 1))


def test_a_walk_is_written_as_json_without_a_number_that_json_does_not_have(
    translator: Translator, trace: Trace
) -> None:
    walk = as_json(walk_head(translator, trace, HeadName("decoder", 1, 1)))
    assert json.loads(json.dumps(walk, allow_nan=False)) == walk
    assert walk["may_look"][0][1] is False
    assert as_json(float("inf")) is None
