"""What is removed is gone, and what is left computes."""

import pytest
import torch

from interlingua.model import removed_parts
from interlingua.model.architecture import Architecture

V = 9
SOURCE = torch.tensor([[4, 5, 6, 7], [8, 4, 0, 0]])
TARGET = torch.tensor([[1, 4, 5, 6], [1, 7, 8, 4]])


def build(name: str, norm: str = "post"):
    torch.manual_seed(1)
    sizes = Architecture(
        encoder_layers=2, decoder_layers=2, d_model=16, d_ff=24, heads=2, norm=norm
    )
    return getattr(removed_parts, name)(sizes, source_vocabulary=V, target_vocabulary=V).eval()


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("name", removed_parts.__all__)
def test_every_variant_learns_and_searches(name: str, norm: str) -> None:
    model = build(name, norm)
    logits = model(SOURCE, TARGET)
    logits.logsumexp(-1).sum().backward()
    assert logits.isfinite().all()
    stepped, state = model.step(TARGET[:, 0], model.start(model.encode(SOURCE)))
    assert stepped.shape == (2, V)
    assert state.reorder(torch.tensor([1, 0])).position == 1


def test_without_positions_a_sentence_is_a_bag_of_words() -> None:
    model = build("without_positions")
    around = torch.tensor([[6, 4, 7, 5]])
    there, here = (model.encode(ids).vectors.sum(1) for ids in (SOURCE[:1], around))
    torch.testing.assert_close(there, here)


def test_without_the_look_ahead_mask_the_first_word_depends_on_the_last() -> None:
    model, changed = build("without_look_ahead_mask"), TARGET.clone()
    changed[:, -1] = 5
    difference = model(SOURCE, TARGET)[:, 0] - model(SOURCE, changed)[:, 0]
    assert difference.abs().max() > 1e-4


def test_without_the_padding_mask_padding_changes_the_translation() -> None:
    model = build("without_padding_mask")
    alone = model(SOURCE[1:, :2], TARGET[1:])
    assert (alone - model(SOURCE[1:], TARGET[1:])).abs().max() > 1e-4


@pytest.mark.parametrize("name", ["without_cross_attention", "without_encoder_self_attention"])
def test_a_silent_attention_hears_nothing(name: str) -> None:
    model = build(name)
    first, second = SOURCE[:1], torch.tensor([[4, 8, 8, 8]])
    if name == "without_cross_attention":
        torch.testing.assert_close(model(first, TARGET[:1]), model(second, TARGET[:1]))
    else:
        torch.testing.assert_close(
            model.encode(first).vectors[:, 0], model.encode(second).vectors[:, 0]
        )


def test_scores_without_scaling_are_larger_by_the_root_of_k() -> None:
    model = build("without_scaling")
    attention = model.encoder.layers[0].self_attention
    query, key = torch.randn(1, 2, 3, 8), torch.randn(1, 2, 3, 8)
    expected = (query @ key.transpose(-2, -1)).softmax(-1)
    torch.testing.assert_close(attention.weigh(query, key, None), expected)
