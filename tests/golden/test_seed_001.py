"""The shapes and equations of seed 001, "Transformer Details" (Bhatraju), by its sections.

Where the text slips, the test holds us to the paper and shows what the slip would do; see docs/deviations.md.
"""

import math

import pytest
import torch
from torch import Tensor

from interlingua.model.architecture import Architecture
from interlingua.model.attention import MultiHeadAttention, attention_weights
from interlingua.model.masks import look_ahead_mask, padding_mask
from interlingua.model.transformer import Transformer

B, H, SQ, SK, DM, DK, DV = 2, 3, 4, 5, 12, 6, 2


@pytest.fixture
def layer() -> MultiHeadAttention:
    torch.manual_seed(1)
    return MultiHeadAttention(DM, H, DK, DV).double()


def inputs() -> tuple[Tensor, Tensor]:
    torch.manual_seed(2)
    return torch.randn(B, SQ, DM, dtype=torch.float64), torch.randn(B, SK, DM, dtype=torch.float64)


def per_head(weight: Tensor, width: int) -> Tensor:
    """Our side-by-side matrix as the seed writes it: (h, d_m, width)."""
    return weight.detach().T.reshape(DM, H, width).permute(1, 0, 2)


@torch.no_grad()
def test_1_3_1_the_projection_of_sentence_i_by_head_j_is_a_matrix_product(
    layer: MultiHeadAttention,
) -> None:
    _, memory = inputs()
    key, value = layer.keys_and_values(memory)
    assert key.shape == (B, H, SK, DK)
    assert value.shape == (B, H, SK, DV)
    w_k, w_v = per_head(layer.key.weight, DK), per_head(layer.value.weight, DV)
    for i in range(B):
        for j in range(H):
            bias_k = layer.key.bias.view(H, DK)[j]
            bias_v = layer.value.bias.view(H, DV)[j]
            torch.testing.assert_close(key[i, j], memory[i] @ w_k[j] + bias_k)
            torch.testing.assert_close(value[i, j], memory[i] @ w_v[j] + bias_v)


@torch.no_grad()
def test_1_3_1_attention_scores_have_the_stated_shape_and_are_divided_by_the_root(
    layer: MultiHeadAttention,
) -> None:
    queries, memory = inputs()
    seen: list[Tensor] = []
    handle = layer.dropout.register_forward_hook(lambda module, args, output: seen.append(output))
    layer(queries, memory, None)
    handle.remove()
    w_q, w_k = per_head(layer.query.weight, DK), per_head(layer.key.weight, DK)
    q = queries[:, None] @ w_q + layer.query.bias.view(H, 1, DK)
    k = memory[:, None] @ w_k + layer.key.bias.view(H, 1, DK)
    scores = q @ k.transpose(-1, -2)
    assert seen[0].shape == (B, H, SQ, SK)
    torch.testing.assert_close(seen[0], (scores / math.sqrt(DK)).softmax(-1))
    # As printed, softmax(QK^T / d_k): flatter than the paper's.
    assert (seen[0] - (scores / DK).softmax(-1)).abs().max() > 1e-2


def test_1_3_2_a_padding_mask_of_minus_a_billion_is_ours_where_anything_is_left() -> None:
    torch.manual_seed(3)
    q = torch.randn(B, H, SQ, DK, dtype=torch.float64)
    k = torch.randn(B, H, SK, DK, dtype=torch.float64)
    ids = torch.tensor([[4, 9, 2, 0, 0], [7, 2, 0, 0, 0]])
    p = padding_mask(ids, 0)
    assert p.tolist() == [[True, True, True, False, False], [True, True, False, False, False]]
    m = ((1 - p.double()) * -1e9)[:, None, None]
    ours = attention_weights(q, k, p[:, None, None])
    expected = (q @ k.transpose(-1, -2) / math.sqrt(DK) + m).softmax(-1)
    torch.testing.assert_close(ours, expected)
    assert not ours[0, :, :, 3:].any()
    assert not ours[1, :, :, 2:].any()


def test_1_3_2_a_row_with_nothing_left_is_zero_where_minus_a_billion_looks_at_padding() -> None:
    q = k = torch.randn(1, 1, 3, DK)
    nothing = torch.zeros(1, 1, 1, 3, dtype=torch.bool)
    assert not attention_weights(q, k, nothing).any()
    added = (q @ k.transpose(-1, -2) / math.sqrt(DK) - 1e9).softmax(-1)
    torch.testing.assert_close(added.sum(-1), torch.ones(1, 1, 3))


def test_1_3_2_the_look_ahead_mask_is_lower_triangular_with_its_diagonal() -> None:
    assert look_ahead_mask(3).tolist() == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


@torch.no_grad()
def test_1_3_3_heads_stand_side_by_side_which_a_bare_reshape_would_not_do(
    layer: MultiHeadAttention,
) -> None:
    queries, memory = inputs()
    joined: list[Tensor] = []
    handle = layer.output.register_forward_pre_hook(lambda module, args: joined.append(args[0]))
    output = layer(queries, memory, None)
    handle.remove()
    weights: list[Tensor] = []
    handle = layer.dropout.register_forward_hook(lambda module, args, out: weights.append(out))
    layer(queries, memory, None)
    handle.remove()
    a_prime = weights[0] @ layer.keys_and_values(memory)[1]
    assert a_prime.shape == (B, H, SQ, DV)
    assert joined[0].shape == (B, SQ, H * DV)
    for j in range(H):
        torch.testing.assert_close(joined[0][..., j * DV : (j + 1) * DV], a_prime[:, j])
    assert (a_prime.reshape(B, SQ, H * DV) - joined[0]).abs().max() > 1e-2
    assert output.shape == queries.shape


def decode_last(layers: int, masked: bool) -> Tensor:
    """The logits of the next token, from a decoder with and without its look-ahead mask."""
    torch.manual_seed(4)
    architecture = Architecture(
        encoder_layers=1, decoder_layers=layers, d_model=8, d_ff=8, heads=2, max_positions=16
    )
    model = Transformer(architecture, source_vocabulary=9, target_vocabulary=9).double().eval()
    generated = torch.tensor([[1, 5, 7, 3]])
    with torch.no_grad():
        memory = model.encode(torch.tensor([[4, 6, 8]]))
        mask = look_ahead_mask(4) if masked else torch.ones(4, 4, dtype=torch.bool)
        hidden = model.decoder(
            model.target_embedding(generated),
            memory.vectors,
            mask[None, None],
            memory.mask[:, None, None],
        )
        return model.project(hidden[:, -1])


def test_1_5_inference_can_leave_out_the_look_ahead_mask_with_a_single_layer() -> None:
    torch.testing.assert_close(decode_last(1, masked=True), decode_last(1, masked=False))


def test_1_5_inference_cannot_leave_out_the_look_ahead_mask_with_two_layers() -> None:
    difference = decode_last(2, masked=True) - decode_last(2, masked=False)
    assert difference.abs().max() > 1e-4
