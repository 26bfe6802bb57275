"""The memory of right targets: who looks at whom, and how much a neighbour counts."""

import gc
import math
import random
from typing import Any
from weakref import ref

import pytest
import torch

from interlingua.decoding import neighbours
from interlingua.decoding.beam_search import beam_search
from interlingua.decoding.neighbours import (
    FARTHEST,
    LEAST_LIKELY,
    Example,
    NeighbourMemory,
    RememberingModel,
    mix,
)
from interlingua.decoding.options import SearchOptions
from interlingua.model.architecture import RecurrentArchitecture
from interlingua.model.building import build_encoder_decoder
from interlingua.tokenization.tokenizer import Symbols


def example(source: tuple[int, ...], target: tuple[int, ...] = (7, 2)) -> Example:
    return Example(source, target, torch.ones(len(target), 4))


def test_a_source_of_its_own_looks_at_nothing_else() -> None:
    memory = NeighbourMemory([example((5, 6, 7, 8)), example((5, 6, 7, 9))])
    assert [each.source for each in memory.related((5, 6, 7, 8))] == [(5, 6, 7, 8)]
    assert memory.has((5, 6, 7, 8))
    assert not memory.has((5, 6, 7))


def test_only_sources_that_share_85_of_a_hundred_are_looked_at_the_most_alike_first() -> None:
    asked, other = tuple(range(20)), tuple(range(90, 99))
    far, near, nearer = (asked[:shared] + other[: 20 - shared] for shared in (16, 17, 18))
    memory = NeighbourMemory([example(far), example(near), example(nearer), example((1, 2))])
    found = memory.related(asked)
    assert [each.source for each in found] == [nearer, near]
    assert memory.related((99,)) == ()
    assert NeighbourMemory().related((1, 2)) == ()


def test_a_target_that_is_spelled_by_letters_is_for_its_own_source_alone() -> None:
    begin = tuple(range(10, 19))
    spelled, plain = (*begin, 5), (*begin, 6)
    memory = NeighbourMemory(
        [example(spelled, (7, 9, 8, 2)), example(plain)], letters=frozenset({8, 9})
    )
    for each in (memory, memory.changed_to(memory.examples), memory.changed_to([])):
        known = [one.source for one in each.examples]
        assert [one.source for one in each.related((*begin, 0))] == known[1:]
        assert [one.source for one in each.related(spelled)] == known[:1]


def test_of_two_with_one_source_the_later_counts() -> None:
    memory = NeighbourMemory([example((5,), (7, 2)), example((5,), (8, 8, 2))])
    assert [each.target for each in memory.related((5,))] == [(8, 8, 2)]
    assert memory.room_for((5,)) == 3
    assert memory.room_for((6,)) == 0


def test_a_memory_that_was_replaced_goes_at_once() -> None:
    memory = NeighbourMemory([example((5, 6, 7))])
    memory.related((5, 6, 7))
    old = ref(memory)
    gc.disable()  # a server looks for garbage a hundred times more rarely than Python would
    try:
        memory = NeighbourMemory()
        assert old() is None
    finally:
        gc.enable()
    assert memory.related((5, 6, 7)) == ()


@pytest.mark.parametrize("most_gone", [0.0, 0.05, 0.6])
def test_a_memory_that_was_changed_finds_what_a_new_one_finds(
    monkeypatch: pytest.MonkeyPatch, most_gone: float
) -> None:
    monkeypatch.setattr(neighbours, "MOST_GONE", most_gone)
    chance = random.Random(7)
    memory, held = NeighbourMemory(), []
    for _ in range(60):
        for _ in range(chance.randint(0, 2)):
            source = tuple(chance.choices(range(4), k=chance.randint(4, 7)))
            held = [each for each in held if each.source != source]
            held.append(example(source, (chance.randint(5, 9), 2)))
        held = held[-40:]
        memory, fresh = memory.changed_to(held), NeighbourMemory(held)
        assert set(map(id, memory.examples)) == set(map(id, fresh.examples))
        for _ in range(5):
            source = tuple(chance.choices(range(4), k=chance.randint(3, 8)))
            assert memory.has(source) == fresh.has(source)
            assert list(map(id, memory.related(source))) == list(map(id, fresh.related(source)))


@pytest.mark.parametrize("kind", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("beam_size", [1, 3])
@torch.inference_mode()
def test_a_word_that_is_repeated_often_comes_back_as_often(kind: Any, beam_size: int) -> None:
    torch.manual_seed(0)
    architecture = RecurrentArchitecture(kind=kind, d_model=8, max_positions=128)
    model = build_encoder_decoder(architecture, source_vocabulary=12, target_vocabulary=12).eval()
    begin, end = 1, 2
    sources = [(5, 6, 7), (8, 9), (5, 6, 7, 8)]
    targets = [(4,) * 90 + (5, end), (4, 5) * 40 + (end,)]
    examples = []
    for ids, target in zip(sources, targets, strict=False):
        memory = model.encode(torch.tensor([[*ids, end]]))
        keys = model.decode_hidden(torch.tensor([[begin, *target[:-1]]]), memory)[0]
        examples.append(Example(ids, target, keys))
    remembering = RememberingModel(model, NeighbourMemory(examples), source_pad=0)
    padded = torch.tensor([[*ids, end] + [0] * (4 - len(ids)) for ids in sources])
    found = beam_search(
        remembering,
        padded,
        symbols=Symbols(0, begin, end),
        max_lengths=[120] * 3,
        options=SearchOptions(beam_size=beam_size),
    )
    assert [each[0].ids for each in found[:2]] == [target[:-1] for target in targets]


def mixed(distance: float, *, allowed: bool = True) -> torch.Tensor:
    """A row of even probabilities, and one key so far away whose value is symbol 1."""
    key = torch.tensor([[1.0, 0.0]])
    hidden = key + torch.tensor([[0.0, math.sqrt(distance)]])
    allowed_keys, own = torch.tensor([[allowed]]), torch.tensor([True])
    return mix(torch.zeros(1, 4), hidden, key, torch.tensor([1]), allowed_keys, own)[0]


@pytest.mark.parametrize(
    ("distance", "lowest", "highest"), [(0.0, 1.0, 1.0), (1e-6, 1.0, 1.0), (0.1, 0.6, 0.65)]
)
def test_a_nearer_key_counts_more(distance: float, lowest: float, highest: float) -> None:
    found = mixed(distance).exp()
    assert lowest - 1e-6 <= float(found[1]) <= highest + 1e-6
    assert float(found.sum()) == pytest.approx(1.0)


@pytest.mark.parametrize(("distance", "values"), [(0.0, (1, 1)), (0.05, (1, 1)), (0.05, (1, 2))])
def test_what_the_model_holds_impossible_is_taken_for_the_very_source_alone(
    distance: float, values: tuple[int, int]
) -> None:
    keys = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    hidden = keys[:1] + torch.tensor([[0.0, math.sqrt(distance)]])
    hidden = hidden.expand(2, 2)
    logits = torch.tensor([[0.0, math.log(LEAST_LIKELY) - 1, 0.0, 0.0]]).expand(2, 4)
    allowed, own = torch.ones(2, 2, dtype=torch.bool), torch.tensor([True, False])
    found = mix(logits, hidden, keys, torch.tensor(values), allowed, own).exp()
    assert found.sum(dim=1).tolist() == pytest.approx([1.0, 1.0])
    assert float(found[0, 1]) > 0.7
    assert float(found[1, 1]) < LEAST_LIKELY


@pytest.mark.parametrize(
    ("distance", "allowed"), [(1.001 * FARTHEST, True), (3.0, True), (0.0, False)]
)
def test_a_key_that_is_far_or_of_another_source_does_not_count(
    distance: float, allowed: bool
) -> None:
    assert torch.equal(mixed(distance, allowed=allowed), torch.zeros(4).log_softmax(-1))


def test_where_a_key_is_certain_everything_else_is_nearly_impossible_and_not_more() -> None:
    found = mixed(0.0)
    assert float(found[1]) == pytest.approx(0.0)
    assert bool(torch.isfinite(found).all())
    assert float(found[0]) < -900
