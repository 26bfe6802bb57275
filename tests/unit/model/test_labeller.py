"""The encoder alone: answers are read from the source, whatever was answered before and whatever stands beside it."""

import pytest
import torch

from interlingua.model.architecture import Architecture, EncoderArchitecture, architecture_from
from interlingua.model.building import build_encoder_decoder
from interlingua.model.labeller import Labeller
from interlingua.model.transformer import Transformer

PAD, BEGIN, END, WORDS, CLASSES = 0, 2, 3, 12, 7
SIZES = {"encoder_layers": 2, "d_model": 16, "d_ff": 24, "heads": 2, "dropout": 0.0}
SOURCE = torch.tensor([[4, 5, 6, END], [7, 8, END, PAD]])
TARGET = torch.tensor([[BEGIN, 5, 6, 5], [BEGIN, 4, 5, PAD]])


def model_of(head: str, **changes: object) -> Labeller:
    torch.manual_seed(1)
    sizes = {**SIZES, "tie": "target", "answers": head, **changes}
    architecture = EncoderArchitecture(**sizes)  # type: ignore[arg-type]
    model = build_encoder_decoder(architecture, source_vocabulary=WORDS, target_vocabulary=CLASSES)
    assert isinstance(model, Labeller)
    return model.eval()


@pytest.mark.parametrize("head", ["tokens", "sequence"])
def test_answers_step_by_step_are_those_at_once_and_do_not_depend_on_earlier_ones(
    head: str,
) -> None:
    model = model_of(head)
    at_once = model(SOURCE, TARGET)
    state = model.start(model.encode(SOURCE))
    for place in range(4):
        logits, state = model.step(torch.tensor([6, 6]), state)
        torch.testing.assert_close(logits, at_once[:, place])


@pytest.mark.parametrize("head", ["tokens", "sequence"])
def test_a_row_does_not_depend_on_its_neighbours_or_its_padding(head: str) -> None:
    model = model_of(head)
    both = model(SOURCE, TARGET[:, :3])
    torch.testing.assert_close(both[1:], model(SOURCE[1:, :3], TARGET[1:, :3]))


def test_a_class_is_read_from_the_whole_source_and_the_end_follows_from_nothing() -> None:
    model = model_of("sequence")
    one = model(SOURCE[:1], TARGET[:1])
    for place in range(3):
        other = SOURCE[:1].clone()
        other[0, place] = 9
        changed = model(other, TARGET[:1])
        assert not torch.allclose(changed[:, 0], one[:, 0])
        assert torch.equal(changed[:, 1:], one[:, 1:])


def test_rows_are_repeated_and_dropped() -> None:
    model = model_of("tokens")
    rows = torch.tensor([1, 1, 0])
    logits, _ = model.step(
        torch.tensor([BEGIN] * 3), model.start(model.encode(SOURCE)).reorder(rows)
    )
    torch.testing.assert_close(logits, model(SOURCE, TARGET)[rows, 0])


def test_its_encoder_has_the_names_and_numbers_of_a_transformer_s() -> None:
    model = model_of("sequence")
    torch.manual_seed(2)
    sizes = Architecture(decoder_layers=1, tie="target", **SIZES)  # type: ignore[arg-type]
    other = Transformer(sizes, source_vocabulary=WORDS, target_vocabulary=5)
    own = dict(model.named_parameters())
    with torch.no_grad():
        taken = 0
        for name, parameter in other.named_parameters():
            if name.startswith(("encoder.", "source_embedding.")):
                parameter.copy_(own[name])
                taken += 1
    assert taken > 20
    read = model.encode(SOURCE)
    torch.testing.assert_close(other.eval().encode(SOURCE).vectors, read.vectors)


def test_every_parameter_learns() -> None:
    for head in ("tokens", "sequence"):
        model = model_of(head, norm="pre").train()
        model(SOURCE, TARGET).logsumexp(-1).sum().backward()  # type: ignore[no-untyped-call]
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name


def test_sizes_are_read_back_and_wrong_ones_are_refused() -> None:
    architecture = EncoderArchitecture(answers="tokens", **SIZES)  # type: ignore[arg-type]
    assert architecture_from(architecture.to_dict()) == architecture
    assert (architecture.kind, architecture.decoder_layers) == ("encoder", 0)
    with pytest.raises(ValueError, match="three-way tying needs one vocabulary"):
        Labeller(architecture, source_vocabulary=5, target_vocabulary=6)
