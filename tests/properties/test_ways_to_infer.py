"""When the look-ahead mask, and all positions but the last, do not matter for the next word: with one decoder layer."""

import pytest
import torch
from ways_to_infer import masked, newest_alone, unmasked

from interlingua.model.architecture import Architecture
from interlingua.model.transformer import Transformer

V = 11


def hidden_by(way, layers: int, norm: str) -> torch.Tensor:
    """The vectors that the next words come from, after targets of five tokens."""
    torch.manual_seed(layers)
    sizes = Architecture(
        encoder_layers=1, decoder_layers=layers, d_model=16, d_ff=24, heads=2, norm=norm
    )
    model = Transformer(sizes, source_vocabulary=V, target_vocabulary=V).eval()
    source = torch.tensor([[5, 6, 7, 0], [8, 9, 10, 5]])
    target = torch.tensor([[1, 5, 6, 7, 8], [1, 8, 9, 10, 5]])
    with torch.no_grad():
        return way(model, target, model.encode(source))


def stepped(model: Transformer, ids: torch.Tensor, memory) -> torch.Tensor:
    """What search does: one token at a time, keys and values kept."""
    state = model.start(memory)
    for column in ids.T:
        x = model.target_embedding(column[:, None], start=state.position)
        hidden, _ = model.decoder.step(x, state.caches, state.source_mask)
        _, state = model.step(column, state)
    return hidden[:, 0]


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_kept_keys_and_values_are_the_masked_way(layers: int, norm: str) -> None:
    torch.testing.assert_close(hidden_by(stepped, layers, norm), hidden_by(masked, layers, norm))


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("way", [unmasked, newest_alone])
def test_one_layer_writes_the_same_next_word_in_every_way(way, norm: str) -> None:
    torch.testing.assert_close(hidden_by(way, 1, norm), hidden_by(masked, 1, norm))


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("way", [unmasked, newest_alone])
@pytest.mark.parametrize("layers", [2, 3])
def test_deeper_layers_tell_the_ways_apart(way, layers: int, norm: str) -> None:
    difference = hidden_by(way, layers, norm) - hidden_by(masked, layers, norm)
    assert difference.abs().max() > 0.01
