import math

import pytest
import torch
from torch import Tensor, nn

from interlingua.model.architecture import Architecture
from interlingua.model.attention import MultiHeadAttention
from interlingua.model.feed_forward import FeedForward
from interlingua.model.positions import SinusoidalPositions
from interlingua.model.transformer import Transformer

SOURCE = torch.tensor([[4, 5, 6, 0], [7, 8, 0, 0]])
TARGET = torch.tensor([[1, 4, 5], [1, 6, 0]])


def architecture(**changes: object) -> Architecture:
    sizes = {"encoder_layers": 2, "decoder_layers": 3, "d_model": 8, "d_ff": 12, "heads": 2}
    return Architecture(**{**sizes, "max_positions": 16, **changes})


def build(source: int = 9, target: int = 9, **changes: object) -> Transformer:
    torch.manual_seed(0)
    return Transformer(architecture(**changes), source_vocabulary=source, target_vocabulary=target)


def test_forward_is_decode_of_encode() -> None:
    model = build().eval()
    logits = model(SOURCE, TARGET)
    assert logits.shape == (2, 3, 9)
    assert torch.equal(logits, model.decode(TARGET, model.encode(SOURCE)))


def test_the_base_model_has_the_parameters_of_its_parts() -> None:
    base = Architecture()
    model = Transformer(base, source_vocabulary=37000, target_vocabulary=37000)
    d, f = base.d_model, base.d_ff
    attention, feed_forward, norm = 4 * (d * d + d), 2 * d * f + f + d, 2 * d
    encoder = 6 * (attention + feed_forward + 2 * norm)
    decoder = 6 * (2 * attention + feed_forward + 3 * norm)
    total = sum(p.numel() for p in model.parameters())
    assert total == 37000 * d + encoder + decoder
    # Table 3 says 65 million for its vocabulary of about 37,000 (section 5.1), in round figures.
    assert 60e6 < total < 66e6


def test_three_way_tying_is_one_tensor_whose_gradient_is_the_sum_of_three() -> None:
    tied = build(dropout=0.0)
    table = tied.output.weight
    assert tied.source_embedding.table.weight is table
    assert tied.target_embedding.table.weight is table
    assert sum(p.shape == (9, 8) for p in tied.parameters()) == 1

    free = build(dropout=0.0, tie="none")
    state = tied.state_dict()
    free.load_state_dict(state)
    for model in (tied, free):
        model(SOURCE, TARGET).square().sum().backward()
    parts = (
        free.source_embedding.table.weight.grad,
        free.target_embedding.table.weight.grad,
        free.output.weight.grad,
    )
    assert all(part.any() for part in parts)
    torch.testing.assert_close(table.grad, sum(parts))


def test_target_tying_shares_two_tables_and_leaves_the_source_its_own_vocabulary() -> None:
    model = build(source=11, target=9, tie="target")
    assert model.output.weight is model.target_embedding.table.weight
    assert model.source_embedding.table.weight.shape == (11, 8)
    assert model(torch.tensor([[10]]), torch.tensor([[8]])).shape == (1, 1, 9)


def test_no_tying_has_three_tables() -> None:
    model = build(tie="none")
    tables = {
        model.source_embedding.table.weight,
        model.target_embedding.table.weight,
        model.output.weight,
    }
    assert len(tables) == 3


def test_three_way_tying_of_two_vocabularies_is_refused_with_both_sizes() -> None:
    with pytest.raises(ValueError, match="not 11 source and 9 target entries"):
        build(source=11, target=9)


def test_scaled_embeddings_start_with_the_variance_of_positions_times_two() -> None:
    """Variance 1/D in the table is 1 after scaling; a sinusoid has 1/2."""
    torch.manual_seed(0)
    pre = architecture(d_model=64, norm="pre")
    model = Transformer(pre, source_vocabulary=2000, target_vocabulary=2000)
    scaled = model.source_embedding.table.weight * math.sqrt(64)
    assert abs(scaled.std().item() - 1) < 0.02


def test_with_post_normalisation_all_but_queries_and_keys_start_at_a_third() -> None:
    pre = dict(build(d_model=64, d_ff=128, norm="pre").named_parameters())
    for name, parameter in build(d_model=64, d_ff=128).named_parameters():
        chooses = name.endswith(("query.weight", "key.weight"))
        wanted = 1.0 if chooses or parameter.dim() == 1 else 1 / 3
        torch.testing.assert_close(parameter, pre[name] * wanted, msg=name)


def test_matrices_start_glorot_uniform_biases_zero_and_gains_one() -> None:
    model = build(d_model=64, d_ff=128, norm="pre")
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any(), name
        elif "norm" in name:
            assert parameter.eq(1).all(), name
        elif "embedding" not in name:
            bound = math.sqrt(6 / sum(parameter.shape))
            assert 0.9 * bound < parameter.abs().max() <= bound, name


def test_a_seed_decides_every_weight() -> None:
    for (name, a), b in zip(build().named_parameters(), build().parameters(), strict=True):
        assert torch.equal(a, b), name


def test_learned_positions_are_two_tables_of_parameters() -> None:
    names = {name for name, _ in build(positions="learned").named_parameters()}
    assert {"source_embedding.positions.table", "target_embedding.positions.table"} <= names


def test_pre_normalisation_ends_each_stack_with_a_norm_and_post_does_not() -> None:
    assert build(norm="pre").encoder.final_norm is not None
    assert build(norm="pre").decoder.final_norm is not None
    assert build(norm="post").encoder.final_norm is None
    assert build(norm="post").decoder.final_norm is None


def test_a_source_longer_than_the_positions_is_refused() -> None:
    with pytest.raises(ValueError, match="17 tokens is longer than the 16 positions"):
        build().encode(torch.ones(1, 17, dtype=torch.long))


def test_a_search_past_the_last_position_is_refused() -> None:
    model = build().eval()
    state = model.start(model.encode(SOURCE[:1]))
    for _ in range(16):
        _, state = model.step(torch.tensor([1]), state)
    with pytest.raises(ValueError, match="17 tokens"):
        model.step(torch.tensor([1]), state)


def test_another_padding_id_is_honoured() -> None:
    model = Transformer(
        architecture(tie="none"),
        source_vocabulary=9,
        target_vocabulary=9,
        source_pad=3,
        target_pad=3,
    ).eval()
    short = model(torch.tensor([[4, 5]]), TARGET[:1])
    torch.testing.assert_close(model(torch.tensor([[4, 5, 3, 3]]), TARGET[:1]), short)
    assert not torch.allclose(model(torch.tensor([[4, 5, 0, 0]]), TARGET[:1]), short)


def test_saved_weights_give_the_same_logits_in_another_model() -> None:
    model, other = build().eval(), build(dropout=0.7).eval()
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.normal_()
    other.load_state_dict(model.state_dict())
    assert torch.equal(model(SOURCE, TARGET), other(SOURCE, TARGET))


def test_parts_given_by_the_caller_take_the_place_of_the_paper_s() -> None:
    class MyAttention(MultiHeadAttention):
        pass

    class MyFeedForward(FeedForward):
        pass

    class MyPositions(SinusoidalPositions):
        pass

    model = Transformer(
        architecture(),
        source_vocabulary=9,
        target_vocabulary=9,
        attention=MyAttention,
        feed_forward=MyFeedForward,
        positions=MyPositions,
    )

    def count(kind: type[nn.Module]) -> int:
        return sum(isinstance(module, kind) for module in model.modules())

    assert (count(MyAttention), count(MyFeedForward), count(MyPositions)) == (2 + 2 * 3, 2 + 3, 2)
    assert model(SOURCE, TARGET).shape == (2, 3, 9)


def test_hidden_vectors_projected_are_the_logits() -> None:
    model = build().eval()
    memory = model.encode(SOURCE)
    hidden: Tensor = model.decode_hidden(TARGET, memory)
    assert torch.equal(model.project(hidden), model.decode(TARGET, memory))
    torch.testing.assert_close(model.project(hidden[0, 0]), model.decode(TARGET, memory)[0, 0])


def test_repeating_a_state_repeats_its_rows() -> None:
    model = build().eval()
    state = model.start(model.encode(SOURCE))
    repeated = state.reorder(torch.tensor([0, 0, 1]))
    assert repeated.source_row.tolist() == [0, 0, 1]
    logits, _ = model.step(torch.tensor([1, 1, 1]), repeated)
    assert torch.equal(logits[0], logits[1])
    assert not torch.equal(logits[0], logits[2])


def test_a_state_with_fewer_rows_forgets_the_others() -> None:
    model = build().eval()
    state = model.start(model.encode(SOURCE)).reorder(torch.tensor([1]))
    assert state.source_mask.shape == (1, 1, 1, 4)
    logits, _ = model.step(torch.tensor([1]), state)
    alone, _ = model.step(torch.tensor([1]), model.start(model.encode(SOURCE[1:, :2])))
    torch.testing.assert_close(logits, alone)


def test_gradients_reach_every_parameter() -> None:
    model = build(activation="swiglu", positions="learned", norm="pre", tie="none")
    model(SOURCE, TARGET).square().sum().backward()
    # A bias on all keys moves all scores of a query alike, which the softmax takes away again.
    silent = {name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()}
    assert {name for name in silent if not name.endswith("key.bias")} == set()


def test_parameters_of_a_part_of_one_s_own_keep_their_initial_values() -> None:
    class Tempered(MultiHeadAttention):
        def __init__(self, d_model: int, heads: int, d_k: int, d_v: int, dropout: float) -> None:
            super().__init__(d_model, heads, d_k, d_v, dropout)
            self.temperature = nn.Parameter(torch.full((heads, 1, 1), 10.0))
            self.bias = nn.Parameter(torch.ones(heads))

    model = Transformer(
        architecture(), source_vocabulary=9, target_vocabulary=9, attention=Tempered
    )
    for layer in model.encoder.layers:
        assert layer.self_attention.temperature.eq(10).all()
        assert layer.self_attention.bias.eq(1).all()
