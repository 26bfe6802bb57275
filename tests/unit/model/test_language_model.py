"""The decoder alone: a prompt is nothing but what was written before, whatever stands beside it in the batch."""

import pytest
import torch

from interlingua.model.architecture import DecoderArchitecture, architecture_from
from interlingua.model.building import build_encoder_decoder
from interlingua.model.language_model import LanguageModel

PAD, END, BEGIN, WORDS = 0, 3, 2, 12
SIZES = {"decoder_layers": 2, "d_model": 16, "d_ff": 24, "heads": 2, "dropout": 0.0}


def model_of(**changes: object) -> LanguageModel:
    torch.manual_seed(1)
    architecture = DecoderArchitecture(**{**SIZES, **changes})  # type: ignore[arg-type]
    model = build_encoder_decoder(architecture, source_vocabulary=WORDS, target_vocabulary=WORDS)
    assert isinstance(model, LanguageModel)
    return model.eval()


CHANGES = [{}, {"norm": "pre", "activation": "gelu"}, {"positions": "learned", "tie": "none"}]


@pytest.mark.parametrize("changes", CHANGES)
def test_a_prompt_is_the_same_as_what_the_model_wrote_itself(changes: dict[str, object]) -> None:
    model = model_of(**changes)
    alone = model(torch.tensor([[END]]), torch.tensor([[BEGIN, 4, 5, 6, 7, 8]]))
    prompted = model(torch.tensor([[4, 5, 6, END]]), torch.tensor([[BEGIN, 7, 8]]))
    torch.testing.assert_close(prompted, alone[:, 3:])


@pytest.mark.parametrize("changes", CHANGES)
def test_step_by_step_it_says_what_it_says_at_once(changes: dict[str, object]) -> None:
    model = model_of(**changes)
    source = torch.tensor([[4, 5, 6, END], [7, END, PAD, PAD], [END, PAD, PAD, PAD]])
    target = torch.tensor([[BEGIN, 8, 9], [BEGIN, 9, 4], [BEGIN, 5, 5]])
    at_once = model(source, target)
    state = model.start(model.encode(source))
    for place in range(3):
        logits, state = model.step(target[:, place], state)
        torch.testing.assert_close(logits, at_once[:, place])


def test_a_row_does_not_depend_on_its_neighbours_or_its_padding() -> None:
    model = model_of()
    source = torch.tensor([[4, 5, 6, 7, 8, END], [7, END, PAD, PAD, PAD, PAD]])
    target = torch.tensor([[BEGIN, 8, 9], [BEGIN, 9, 4]])
    both = model(source, target)
    torch.testing.assert_close(both[1:], model(source[1:, :2], target[1:]))
    torch.testing.assert_close(both[:1], model(source[:1], target[:1]))


def test_it_never_looks_ahead() -> None:
    model = model_of()
    one = model(torch.tensor([[4, END]]), torch.tensor([[BEGIN, 5, 6, 7]]))
    other = model(torch.tensor([[4, END]]), torch.tensor([[BEGIN, 5, 9, 9]]))
    assert torch.equal(one[:, :2], other[:, :2])
    assert not torch.allclose(one[:, 2], other[:, 2])


def test_rows_can_be_repeated_before_and_after_the_prompt_is_read() -> None:
    model = model_of()
    source = torch.tensor([[4, 5, END], [7, END, PAD]])
    rows = torch.tensor([1, 0, 1])
    begin, word = torch.full((3,), BEGIN), torch.tensor([8, 9, 4])
    early = model.start(model.encode(source)).reorder(rows)
    early_logits, early = model.step(begin, early)
    late_logits, late = model.step(begin[:2], model.start(model.encode(source)))
    torch.testing.assert_close(early_logits, late_logits[rows])
    one, _ = model.step(word, early)
    other, _ = model.step(word, late.reorder(rows))
    torch.testing.assert_close(one, other)


def test_every_parameter_learns() -> None:
    model = model_of(norm="pre").train()
    logits = model(torch.tensor([[4, END]]), torch.tensor([[BEGIN, 5, 6]]))
    logits.logsumexp(-1).sum().backward()  # type: ignore[no-untyped-call]
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name


def test_sizes_are_read_back_and_two_vocabularies_are_refused() -> None:
    architecture = DecoderArchitecture(**SIZES)  # type: ignore[arg-type]
    assert architecture_from(architecture.to_dict()) == architecture
    assert (architecture.kind, architecture.encoder_layers) == ("decoder", 0)
    with pytest.raises(ValueError, match="one vocabulary, not 5 source and 6 target"):
        LanguageModel(architecture, source_vocabulary=5, target_vocabulary=6)
    with pytest.raises(ValueError, match="not a multiple of heads"):
        DecoderArchitecture(d_model=10, heads=4)
