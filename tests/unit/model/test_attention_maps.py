import pytest
import torch

from interlingua.model.architecture import Architecture
from interlingua.model.attention_maps import record_attention
from interlingua.model.transformer import Transformer

SOURCE, TARGET = torch.tensor([[1, 2, 3]]), torch.tensor([[4, 5]])


@pytest.fixture
def model() -> Transformer:
    architecture = Architecture(
        encoder_layers=2, decoder_layers=1, d_model=8, d_ff=8, heads=2, max_positions=8
    )
    return Transformer(architecture, source_vocabulary=9, target_vocabulary=9).eval()


def test_every_attention_is_recorded_by_name_and_sums_to_one(model: Transformer) -> None:
    with record_attention(model) as maps, torch.no_grad():
        model(SOURCE, TARGET)
    assert {name: [tuple(w.shape) for w in calls] for name, calls in maps.items()} == {
        "encoder.layers.0.self_attention": [(1, 2, 3, 3)],
        "encoder.layers.1.self_attention": [(1, 2, 3, 3)],
        "decoder.layers.0.self_attention": [(1, 2, 2, 2)],
        "decoder.layers.0.cross_attention": [(1, 2, 2, 3)],
    }
    for calls in maps.values():
        torch.testing.assert_close(calls[0].sum(-1), torch.ones(calls[0].shape[:-1]))


def test_recording_changes_no_number_and_ends_with_the_block(model: Transformer) -> None:
    with torch.no_grad():
        plain = model(SOURCE, TARGET)
        with record_attention(model) as maps:
            assert torch.equal(model(SOURCE, TARGET), plain)
        model(SOURCE, TARGET)
    assert {len(calls) for calls in maps.values()} == {1}


def test_recording_ends_even_when_the_block_fails(model: Transformer) -> None:
    with pytest.raises(KeyError), record_attention(model) as maps:
        raise KeyError
    model(SOURCE, TARGET)
    assert not any(maps.values())


def test_what_is_recorded_step_by_step_is_a_row_of_the_whole(model: Transformer) -> None:
    with torch.no_grad():
        with record_attention(model) as whole:
            model(SOURCE, TARGET)
        memory = model.encode(SOURCE)
        state = model.start(memory)
        with record_attention(model) as steps:
            for column in TARGET.unbind(1):
                _, state = model.step(column, state)
    name = "decoder.layers.0.cross_attention"
    torch.testing.assert_close(torch.cat(steps[name], dim=2), whole[name][0])
