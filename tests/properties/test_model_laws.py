"""Laws of the model: what may influence what, and that searching computes what training computed."""

from dataclasses import dataclass
from functools import cached_property

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from interlingua.model.architecture import Architecture
from interlingua.model.transformer import State, Transformer

PAD = 0
VOCABULARY = 11

architectures = st.builds(
    Architecture,
    encoder_layers=st.integers(1, 2),
    decoder_layers=st.integers(1, 3),
    d_model=st.sampled_from([4, 6, 12, 20]),
    d_ff=st.integers(1, 16),
    heads=st.sampled_from([1, 2]),
    d_k=st.none() | st.integers(1, 6),
    d_v=st.none() | st.integers(1, 6),
    dropout=st.just(0.3),
    attention_dropout=st.just(0.2),
    activation_dropout=st.just(0.2),
    activation=st.sampled_from(["relu", "gelu", "swish", "swiglu"]),
    norm=st.sampled_from(["post", "pre"]),
    positions=st.sampled_from(["sinusoidal", "learned"]),
    max_positions=st.just(24),
    tie=st.sampled_from(["three-way", "target", "none"]),
)
seeds = st.integers(0, 2**31 - 1)


@dataclass
class Case:
    """A model and a padded batch, built on first use: a strategy only chooses, it must not compute."""

    architecture: Architecture
    seed: int
    dtype: torch.dtype
    sources: list[list[int]]
    targets: list[list[int]]

    @cached_property
    def model(self) -> Transformer:
        return build(self.architecture, self.seed, self.dtype)

    @cached_property
    def source(self) -> Tensor:
        return pad(self.sources)

    @cached_property
    def target(self) -> Tensor:
        return pad(self.targets)


def build(architecture: Architecture, seed: int, dtype: torch.dtype = torch.float32) -> Transformer:
    """A model in evaluation mode: its dropout must do nothing."""
    torch.manual_seed(seed)
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        model = Transformer(
            architecture, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY
        )
    finally:
        torch.set_default_dtype(before)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return model.eval()


def rows_of_words(longest: int) -> st.SearchStrategy[list[list[int]]]:
    word = st.integers(1, VOCABULARY - 1)
    return st.lists(st.lists(word, min_size=1, max_size=longest), min_size=1, max_size=4)


def pad(rows: list[list[int]]) -> Tensor:
    length = max(map(len, rows))
    return torch.tensor([row + [PAD] * (length - len(row)) for row in rows])


@st.composite
def cases(draw: st.DrawFn, dtype: torch.dtype = torch.float32) -> Case:
    sources = draw(rows_of_words(8))
    word = st.integers(1, VOCABULARY - 1)
    targets = [draw(st.lists(word, min_size=1, max_size=8)) for _ in sources]
    return Case(draw(architectures), draw(seeds), dtype, sources, targets)


def within(a: Tensor, b: Tensor, tolerance: float) -> bool:
    return bool((a - b).abs().max() <= tolerance * max(1.0, b.abs().max().item()))


@given(cases(), st.data())
@torch.no_grad()
def test_a_later_target_token_changes_no_earlier_logit_at_all(
    case: Case, data: st.DataObject
) -> None:
    length = case.target.size(1)
    place = data.draw(st.integers(0, length - 1))
    other = case.target.clone()
    other[:, place] = torch.tensor(
        [data.draw(st.integers(0, VOCABULARY - 1)) for _ in range(other.size(0))]
    )
    before = case.model(case.source, case.target)
    after = case.model(case.source, other)
    assert torch.equal(before[:, :place], after[:, :place])


@given(cases())
@torch.no_grad()
def test_what_the_padding_symbol_means_changes_no_real_position_at_all(case: Case) -> None:
    model = case.model
    # A tied table is also the output: keep the word of padding out of what is compared.
    shown = slice(0 if model.architecture.tie == "none" else 1, None)
    real = case.target != PAD
    before = model(case.source, case.target)[real][:, shown]
    memory_before = model.encode(case.source)
    for table in {model.source_embedding.table, model.target_embedding.table}:
        table.weight[PAD] = 100 * torch.randn_like(table.weight[PAD])
    after = model(case.source, case.target)[real][:, shown]
    memory_after = model.encode(case.source)
    assert torch.equal(before, after)
    real_source = case.source != PAD
    assert torch.equal(memory_before.vectors[real_source], memory_after.vectors[real_source])


@given(cases())
@torch.no_grad()
def test_what_the_encoder_says_at_padding_changes_nothing_at_all(case: Case) -> None:
    memory = case.model.encode(case.source)
    before = case.model.decode(case.target, memory)
    memory.vectors[~memory.mask] = 1e4
    assert torch.equal(before, case.model.decode(case.target, memory))


@given(cases(), st.integers(1, 6), st.integers(1, 6))
@torch.no_grad()
def test_more_padding_changes_no_logit(case: Case, more_source: int, more_target: int) -> None:
    short = case.model(case.source, case.target)
    long = case.model(
        torch.nn.functional.pad(case.source, (0, more_source), value=PAD),
        torch.nn.functional.pad(case.target, (0, more_target), value=PAD),
    )
    assert within(long[:, : short.size(1)], short, 1e-5)


@given(cases())
@torch.no_grad()
def test_batch_mates_change_no_logit(case: Case) -> None:
    together = case.model(case.source, case.target)
    for row in range(case.source.size(0)):
        source = case.source[row][case.source[row] != PAD][None]
        target = case.target[row][case.target[row] != PAD][None]
        alone = case.model(source, target)[0]
        assert within(together[row, : target.size(1)], alone, 1e-5)


@given(cases(), st.randoms())
@torch.no_grad()
def test_the_order_of_a_batch_changes_no_logit(case: Case, draw: object) -> None:
    order = list(range(case.source.size(0)))
    draw.shuffle(order)
    straight = case.model(case.source, case.target)
    shuffled = case.model(case.source[order], case.target[order])
    assert within(shuffled, straight[order], 1e-5)


def step_through(model: Transformer, target: Tensor, state: State) -> tuple[Tensor, State]:
    logits = []
    for column in target.unbind(1):
        step, state = model.step(column, state)
        logits.append(step)
    return torch.stack(logits, dim=1), state


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)], ids=["fp32", "fp64"]
)
@given(data=st.data())
@torch.no_grad()
def test_step_by_step_equals_all_at_once(
    dtype: torch.dtype, tolerance: float, data: st.DataObject
) -> None:
    case = data.draw(cases(dtype))
    memory = case.model.encode(case.source)
    full = case.model.decode(case.target, memory)
    stepped, state = step_through(case.model, case.target, case.model.start(memory))
    assert within(stepped, full, tolerance)
    assert state.position == case.target.size(1)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)], ids=["fp32", "fp64"]
)
@given(data=st.data())
@torch.no_grad()
def test_step_by_step_equals_all_at_once_after_any_reordering(
    dtype: torch.dtype, tolerance: float, data: st.DataObject
) -> None:
    """Rows are repeated, dropped, exchanged within and across sentences, as a beam search does."""
    case = data.draw(cases(dtype))
    model = case.model
    memory = model.encode(case.source)
    state = model.start(memory)
    sentence = list(range(case.source.size(0)))
    history: list[list[int]] = [[] for _ in sentence]
    for _ in range(data.draw(st.integers(1, 6))):
        row = st.integers(0, len(sentence) - 1)
        # Shuffling the same rows leaves every row with its sentence now and then: the path without a copy.
        order = data.draw(st.lists(row, min_size=1, max_size=6) | st.just([*range(len(sentence))]))
        state = state.reorder(torch.tensor(order))
        sentence = [sentence[i] for i in order]
        history = [list(history[i]) for i in order]
        ids = [data.draw(st.integers(1, VOCABULARY - 1)) for _ in order]
        for past, word in zip(history, ids, strict=True):
            past.append(word)
        logits, state = model.step(torch.tensor(ids), state)
        full = model(case.source[sentence], torch.tensor(history))[:, -1]
        assert within(logits, full, tolerance)


@given(cases(), st.integers(2, 4), st.data())
@torch.no_grad()
def test_beams_that_swap_places_within_a_sentence_share_what_was_read_of_it(
    case: Case, beams: int, data: st.DataObject
) -> None:
    batch = case.source.size(0)
    state = case.model.start(case.model.encode(case.source))
    state = state.reorder(torch.arange(batch).repeat_interleave(beams))
    swap = [
        b * beams + data.draw(st.integers(0, beams - 1)) for b in range(batch) for _ in range(beams)
    ]
    swapped = state.reorder(torch.tensor(swap))
    for before, after in zip(state.caches, swapped.caches, strict=True):
        assert after.source_key.data_ptr() == before.source_key.data_ptr()
        assert after.source_value.data_ptr() == before.source_value.data_ptr()


@given(cases())
@torch.no_grad()
def test_a_state_can_be_stepped_twice_from_the_same_place(case: Case) -> None:
    state = case.model.start(case.model.encode(case.source))
    ids = case.target[:, 0]
    first, _ = case.model.step(ids, state)
    second, _ = case.model.step(ids, state)
    assert torch.equal(first, second)
    assert state.position == 0


@given(architectures, seeds, rows_of_words(6))
def test_an_empty_source_in_a_batch_gives_finite_logits_and_gradients(
    architecture: Architecture, seed: int, rows: list[list[int]]
) -> None:
    model = build(architecture, seed)
    source = torch.cat((pad(rows), torch.full((1, max(map(len, rows))), PAD)))
    target = torch.randint(1, VOCABULARY, (source.size(0), 3))
    logits = model(source, target)
    logits.square().sum().backward()
    assert logits.isfinite().all()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


@given(cases())
def test_padding_of_the_source_gives_its_embedding_no_gradient(case: Case) -> None:
    table = case.model.source_embedding.table.weight
    if case.model.architecture.tie == "three-way":
        return
    case.model(case.source, case.target)[case.target != PAD].square().sum().backward()
    assert not table.grad[PAD].any()
