import math

import pytest
import torch

from interlingua.decoding.beam_search import beam_search
from interlingua.decoding.options import SearchOptions
from interlingua.decoding.selection import DiverseGroups, Samples, filtered
from interlingua.tokenization.tokenizer import Symbols

SYMBOLS = Symbols(0, 1, 2)


class OneStep:
    """Every symbol has the probability that ``table`` gives, whatever was written."""

    def __init__(self, table):
        self.logits = torch.tensor(table).log()

    def encode(self, source):
        return source

    def start(self, memory):
        return self

    def reorder(self, rows):
        return self

    def step(self, ids, state):
        return self.logits.repeat(len(ids), 1), self


WORDS = OneStep([0.0, 0.0, 0.1, 0.5, 0.3, 0.1])


def sample(keys, max_length=1, **options):
    asked = SearchOptions(**{"beam_size": 4, "n_best": 4, "sample": True} | options)
    return beam_search(
        WORDS,
        torch.zeros(len(keys), 1, dtype=torch.long),
        symbols=SYMBOLS,
        max_lengths=[max_length] * len(keys),
        options=asked,
        selection=Samples(asked, keys),
    )


def test_samples_are_drawn_by_their_probability_and_scored_by_the_models_own():
    drawn = [h for found in sample(range(1500)) for h in found]
    share = sum(h.ids == (3,) for h in drawn) / len(drawn)
    assert share == pytest.approx(0.5, abs=0.03)
    assert {round(math.exp(h.score), 3) for h in drawn} == {0.1, 0.5, 0.3}


def test_a_sample_depends_on_its_key_alone():
    together = sample([5, 6, 7], max_length=9)
    assert [sample([key], max_length=9)[0] for key in (5, 6, 7)] == together
    assert sample([7, 5], max_length=9) == [together[2], together[0]]
    assert together[0] != together[1]


def test_a_low_temperature_is_the_likeliest_and_a_high_one_even():
    cold = {h.ids for found in sample(range(30), temperature=0.01) for h in found}
    assert cold == {(3,)}
    hot = [h.ids for found in sample(range(1000), temperature=100.0) for h in found]
    assert sum(ids == () for ids in hot) / len(hot) == pytest.approx(0.25, abs=0.03)


def test_top_k_and_top_p_leave_the_likeliest_only():
    worth = WORDS.logits[None, None]
    possible = (filtered(worth, SearchOptions(sample=True, top_k=2)) > 0)[0, 0]
    assert possible.nonzero()[:, 0].tolist() == [3, 4]
    possible = (filtered(worth, SearchOptions(sample=True, top_p=0.5)) > 0)[0, 0]
    assert possible.nonzero()[:, 0].tolist() == [3]
    possible = (filtered(worth, SearchOptions(sample=True, top_p=0.51)) > 0)[0, 0]
    assert possible.nonzero()[:, 0].tolist() == [3, 4]


def test_groups_of_a_diverse_beam_avoid_each_others_words():
    asked = SearchOptions(beam_size=3, n_best=3, groups=3, diversity=5.0)

    def targets(selection):
        (found,) = beam_search(
            WORDS,
            torch.tensor([[0]]),
            symbols=SYMBOLS,
            max_lengths=[2],
            options=asked,
            selection=selection,
        )
        return [h.ids for h in found]

    assert {ids[:1] for ids in targets(DiverseGroups(3, 5.0))} == {(3,), (4,), ()}
    same = targets(DiverseGroups(3, 0.0))
    assert len(same) == 1, "what all groups found is given once"
    assert same[0][:1] == (3,)


def test_a_group_may_end_after_another_that_ended_long_ago():
    never, now = float("-inf"), [-9.0, -9.0, -1.0, -1.2]
    written = torch.tensor([[[3, 2], [3, 3]]])
    ended, live = [never, never, float("inf"), never], now
    chosen = DiverseGroups(2, 0.5)(torch.tensor([[ended, live]]), written, [0])
    assert (chosen % 4).tolist() == [[2, 2]]
    both = DiverseGroups(2, 0.5)(torch.tensor([[live, live]]), written, [0])
    assert (both % 4).tolist() == [[2, 3]], "one that ends now is avoided"


def test_the_likeliest_symbol_is_left_however_small_top_p_is():
    for found in sample([5, 6], max_length=3, top_p=1e-300):
        assert all(h.ids == (3, 3, 3) for h in found)
