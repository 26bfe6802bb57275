import math

import pytest
import torch

from interlingua.decoding.beam_search import beam_search
from interlingua.decoding.forced import ForcedPhrases, progress_of
from interlingua.decoding.options import SearchOptions
from interlingua.tokenization.tokenizer import Symbols

SYMBOLS = Symbols(0, 1, 2)
V = 9


class Likes:
    """Prefers low symbols, and to end after four."""

    def encode(self, source):
        return source

    def start(self, memory):
        return Count(0)

    def step(self, ids, state):
        logits = -torch.arange(V).float().repeat(len(ids), 1)
        logits[:, 2] = -9.0 if state.written < 4 else 3.0
        return logits, Count(state.written + 1)


class Count:
    def __init__(self, written):
        self.written = written

    def reorder(self, rows):
        return self


def whole(ids):
    return False


def search(phrases, max_length=12, beam_size=8, continues=()):
    joined = torch.zeros(V, dtype=torch.bool)
    joined[list(continues)] = True
    lengths = [max_length] * len(phrases)
    forced = ForcedPhrases(phrases, lengths, joined, whole, end_id=2)
    found = beam_search(
        Likes(),
        torch.zeros(len(phrases), 1, dtype=torch.long),
        symbols=SYMBOLS,
        max_lengths=lengths,
        options=SearchOptions(beam_size=beam_size),
        constraints=[forced.rule],
        selection=forced.select,
    )
    return [hypotheses[0] for hypotheses in found]


def holds(ids, phrase):
    return any(ids[i : i + len(phrase)] == phrase for i in range(len(ids)))


@pytest.mark.parametrize("beam_size", [1, 2, 8])
@pytest.mark.parametrize("max_length", [6, 12])
def test_every_target_holds_its_phrases_and_no_other_sentence_pays_for_them(beam_size, max_length):
    phrases = [((7, 8),), (), ((8,), (6, 7, 6))]
    found = search(phrases, max_length, beam_size)
    for target, wanted in zip(found, phrases, strict=True):
        assert all(holds(target.ids, phrase) for phrase in wanted)
    assert found[1].ids == search([()], max_length, beam_size)[0].ids
    assert all(math.isfinite(target.score) for target in found)


def test_two_phrases_that_begin_alike_are_both_met():
    (found,) = search([((5, 6), (5, 7))])
    assert holds(found.ids, (5, 6))
    assert holds(found.ids, (5, 7))


def test_a_phrase_that_becomes_part_of_a_longer_word_is_not_met():
    continues = [False] * V
    continues[3] = True
    assert progress_of([7, 8], [(7, 8)], continues).missing == 0
    assert progress_of([7, 8, 4], [(7, 8)], continues).missing == 0
    undone = progress_of([7, 8, 3], [(7, 8)], continues)
    assert (undone.missing, undone.met) == (2, 0)
    (found,) = search([((7,),)], continues=[3])
    place = found.ids.index(7)
    assert found.ids[place + 1 : place + 2] != (3,)


def test_progress_counts_what_is_met_and_what_is_begun():
    progress = progress_of([4, 7, 7], [(7, 8), (4,)], [False] * V)
    assert (progress.met, progress.begun, progress.missing) == (1, 1, 2)
    assert progress.advancing == {7: 2, 8: 3}


def test_half_a_character_of_a_phrase_is_not_left():
    step, none = torch.zeros(2, V), torch.zeros(V, dtype=torch.bool)
    written, sentences = torch.tensor([[4, 7], [7, 8]]), torch.tensor([0, 0])
    for is_cut, allowed in ((whole, [V - 1, V - 1]), (lambda ids: ids == (7,), [1, V - 1])):
        forced = ForcedPhrases([((7, 8, 6),)], [12], none, is_cut, end_id=2)
        left = forced.rule(step, written, sentences)
        assert left.isfinite().sum(dim=1).tolist() == allowed
        assert left[0, 8] == 0.0
