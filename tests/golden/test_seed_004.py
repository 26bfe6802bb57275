"""The claims of seed 004, "Introduction to Transformers in Machine Learning" (MachineCurve 2020).

Where the text slips, the test holds us to the paper; see docs/deviations.md.
"""

import math

import pytest
import torch
from torch import Tensor

from interlingua.model.architecture import PRESETS, Architecture
from interlingua.model.positions import sinusoidal_table
from interlingua.model.transformer import Transformer


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(0)
    architecture = Architecture(
        encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2, max_positions=8
    )
    return Transformer(architecture, source_vocabulary=9, target_vocabulary=9).eval()


@torch.no_grad()
def test_cross_attention_asks_from_the_target_and_finds_keys_and_values_in_the_source(
    model: Transformer,
) -> None:
    """The text, three times, takes queries and keys from the encoder and values from the decoder."""
    cross = model.decoder.layers[0].cross_attention
    read: dict[str, Tensor] = {}
    for name in ("query", "key", "value"):
        getattr(cross, name).register_forward_pre_hook(
            lambda _, args, name=name: read.update({name: args[0]})
        )
    weights: list[Tensor] = []
    cross.dropout.register_forward_hook(lambda _, args, output: weights.append(output))
    memory = model.encode(torch.tensor([[1, 2, 3]]))
    model.decode(torch.tensor([[4, 5]]), memory)
    assert read["key"] is memory.vectors
    assert read["value"] is memory.vectors
    assert read["query"].shape == (1, 2, 8)
    # One row a target position over all source positions, so the result has the length of the target.
    assert weights[0].shape == (1, 2, 2, 3)


@torch.no_grad()
def test_positions_are_added_to_scaled_embeddings(model: Transformer) -> None:
    """The text calls the sum "a simple vector multiplication"."""
    ids = torch.tensor([[3, 1, 3]])
    table = model.source_embedding.table.weight
    expected = table[ids] * math.sqrt(8) + sinusoidal_table(3, 8).float()
    torch.testing.assert_close(model.source_embedding(ids), expected)


@torch.no_grad()
def test_one_table_serves_both_embeddings_and_the_output_which_alone_is_not_scaled(
    model: Transformer,
) -> None:
    assert model.source_embedding.table.weight is model.target_embedding.table.weight
    assert model.output.weight is model.target_embedding.table.weight
    hidden = torch.randn(2, 8)
    torch.testing.assert_close(model.project(hidden), hidden @ model.output.weight.T)


def test_a_head_of_the_base_model_is_64_wide() -> None:
    base = PRESETS["base"]
    assert (base.query_width, base.value_width) == (512 // 8, 64)


@torch.no_grad()
def test_the_most_probable_word_is_the_one_with_the_largest_logit(model: Transformer) -> None:
    logits = model(torch.tensor([[1, 2, 3]]), torch.tensor([[4, 5]]))
    probabilities = logits.softmax(-1)
    torch.testing.assert_close(probabilities.sum(-1), torch.ones(1, 2))
    assert torch.equal(probabilities.argmax(-1), logits.argmax(-1))
