import math

import pytest
import torch

from interlingua.decoding.beam_search import beam_search as search_beams
from interlingua.decoding.options import SearchOptions
from interlingua.errors import ConfigError, ModelError
from interlingua.tokenization.tokenizer import Symbols

SYMBOLS = Symbols(0, 1, 2)


def beam_search(model, source, *, beam_size, n_best=1, alpha=0.0, **asked):
    options = SearchOptions(beam_size=beam_size, n_best=n_best, length_penalty=alpha)
    return search_beams(model, source, options=options, **asked)


class PrefixState:
    def __init__(self, prefixes):
        self.prefixes = prefixes

    def reorder(self, rows):
        return PrefixState([self.prefixes[row] for row in rows.tolist()])


class PrefixModel:
    """``table[prefix]`` maps next symbols to probabilities; what it does not say is as good as impossible."""

    def __init__(self, table, vocabulary=6):
        self.table, self.vocabulary, self.rows = table, vocabulary, []

    def encode(self, source):
        return source

    def start(self, memory):
        return PrefixState([None] * len(memory))

    def step(self, ids, state):
        self.rows.append(len(ids))
        prefixes = [
            () if prefix is None else (*prefix, token)
            for prefix, token in zip(state.prefixes, ids.tolist(), strict=True)
        ]
        logits = torch.full((len(ids), self.vocabulary), -1e9)
        for row, prefix in enumerate(prefixes):
            for token, probability in self.table.get(prefix, {2: 1.0}).items():
                logits[row, token] = math.log(probability)
        return logits, PrefixState(prefixes)


ONE = torch.tensor([[0]])
GARDEN_PATH = PrefixModel(
    {
        (): {3: 0.6, 4: 0.4},
        (3,): {2: 0.3, 3: 0.3, 4: 0.2, 5: 0.2},
        (4,): {2: 0.9, 5: 0.1},
    }
)


def test_two_beams_find_what_one_walks_past():
    narrow = beam_search(GARDEN_PATH, ONE, symbols=SYMBOLS, max_lengths=[5], beam_size=1)
    wide = beam_search(GARDEN_PATH, ONE, symbols=SYMBOLS, max_lengths=[5], beam_size=2)
    assert narrow[0][0].ids == (3,)
    assert wide[0][0].ids == (4,)
    assert math.exp(wide[0][0].score) == pytest.approx(0.36, abs=1e-6)


def test_the_length_penalty_decides_between_short_and_long():
    table = {(): {2: 0.5, 3: 0.5}, (3,): {3: 0.9, 2: 0.1}, (3, 3): {2: 1.0}}
    asked = {"symbols": SYMBOLS, "max_lengths": [5], "beam_size": 3}
    short = beam_search(PrefixModel(table), ONE, **asked, alpha=0.0)
    long = beam_search(PrefixModel(table), ONE, **asked, alpha=1.0)
    assert (short[0][0].ids, long[0][0].ids) == ((), (3, 3))
    assert long[0][0].score == pytest.approx(math.log(0.45) / (8 / 6), abs=1e-6)


def test_an_ended_target_keeps_its_slot_though_live_ones_look_better_for_a_while():
    table = {
        (): {2: 0.3, 3: 0.7},
        (3,): {3: 0.5, 4: 0.5},
        (3, 3): {3: 0.1, 4: 0.1, 5: 0.1, 2: 0.7},
        (3, 4): {2: 0.5, 5: 0.5},
    }
    found = beam_search(
        PrefixModel(table), ONE, symbols=SYMBOLS, max_lengths=[6], beam_size=2, alpha=0.0, n_best=2
    )
    assert [h.ids for h in found[0]] == [(), (3, 3)]
    assert math.exp(found[0][0].score) == pytest.approx(0.3, abs=1e-6)


def test_search_stops_when_no_live_target_can_win():
    table = {(): {2: 0.9, 3: 0.1}, **{(3,) * n: {3: 1.0} for n in range(1, 50)}}
    model = PrefixModel(table)
    found = beam_search(model, ONE, symbols=SYMBOLS, max_lengths=[50], beam_size=2, alpha=0.6)
    assert found[0][0].ids == ()
    assert len(model.rows) == 1
    # With alpha 10 the live one, certain of every further symbol, can win, and does.
    patient = beam_search(model, ONE, symbols=SYMBOLS, max_lengths=[50], beam_size=2, alpha=10.0)
    assert patient[0][0].ids == (3,) * 50


def test_the_n_best_are_waited_for():
    table = {(): {2: 0.9, 3: 0.1}, (3,): {2: 0.9, 4: 0.1}}
    found = beam_search(
        PrefixModel(table), ONE, symbols=SYMBOLS, max_lengths=[9], beam_size=3, n_best=3
    )
    assert [h.ids for h in found[0]] == [(), (3,), (3, 4)]


def test_finished_sentences_leave_the_batch():
    class ByLength(PrefixModel):
        def start(self, memory):
            return PrefixState([(length,) for length in memory[:, 0].tolist()])

        def step(self, ids, state):
            self.rows.append(len(ids))
            prefixes = [(*p, t) for p, t in zip(state.prefixes, ids.tolist(), strict=True)]
            logits = torch.full((len(ids), 6), -1e9)
            for row, prefix in enumerate(prefixes):
                logits[row, 2 if len(prefix) - 2 == prefix[0] else 3] = 0.0
            return logits, PrefixState(prefixes)

    model = ByLength({})
    found = beam_search(
        model, torch.tensor([[3], [0], [1]]), symbols=SYMBOLS, max_lengths=[9, 9, 9], beam_size=2
    )
    assert [h[0].ids for h in found] == [(3, 3, 3), (), (3,)]
    assert model.rows == [6, 4, 2, 2]


def uniform(vocabulary):
    model = PrefixModel({}, vocabulary)

    def step(ids, state):
        return torch.zeros(len(ids), vocabulary), state

    model.step = step
    return model


def test_ties_are_broken_by_the_lowest_ids_in_the_order_of_slots():
    asked = {"symbols": Symbols(0, 1, 9), "max_lengths": [2], "beam_size": 3}
    found = beam_search(uniform(10), ONE, **asked, n_best=3)
    assert [h.ids for h in found[0]] == [(2, 2), (2, 3), (2, 4)]
    assert [h.stopped for h in found[0]] == ["max_length"] * 3


@pytest.mark.parametrize("alpha", [-2.0, 0.0, 0.6, 3.0])
def test_a_beam_wider_than_the_vocabulary_works_and_terminates(alpha):
    found = beam_search(
        uniform(5), ONE, symbols=SYMBOLS, max_lengths=[30], beam_size=12, alpha=alpha, n_best=12
    )
    assert len({h.ids for h in found[0]}) == 12


def test_there_are_fewer_hypotheses_where_there_are_no_more():
    found = beam_search(uniform(5), ONE, symbols=SYMBOLS, max_lengths=[1], beam_size=9, n_best=9)
    assert [h.ids for h in found[0]] == [(), (3,), (4,)]
    assert [h.stopped for h in found[0]] == ["end", "max_length", "max_length"]


def test_a_model_that_can_only_end_says_nothing():
    model = uniform(6)
    only_end = torch.full((6,), -math.inf)
    only_end[2] = 0.0
    model.step = lambda ids, state: (only_end.repeat(len(ids), 1), state)
    found = beam_search(model, ONE, symbols=SYMBOLS, max_lengths=[4], beam_size=3, n_best=2)
    assert [h.ids for h in found[0]] == [()]


@pytest.mark.parametrize("end_logit", [-1e9, -math.inf])
def test_a_model_that_never_ends_is_stopped_at_the_maximum_length(end_logit):
    model = uniform(6)
    never = torch.zeros(6)
    never[2] = end_logit
    model.step = lambda ids, state: (never.repeat(len(ids), 1), state)
    found = beam_search(model, ONE, symbols=SYMBOLS, max_lengths=[40], beam_size=3, alpha=0.6)
    assert found[0][0].ids == (3,) * 40
    assert found[0][0].stopped == "max_length"


def test_low_precision_logits_are_summed_in_float32():
    model = uniform(5)
    model.step = lambda ids, state: (torch.zeros(len(ids), 5, dtype=torch.bfloat16), state)
    found = beam_search(model, ONE, symbols=SYMBOLS, max_lengths=[7], beam_size=2, alpha=-2.0)
    assert found[0][0].score == pytest.approx(-math.log(5), abs=1e-6)


@pytest.mark.parametrize("number", [math.nan, -math.inf, math.inf])
def test_a_model_without_numbers_is_refused(number):
    model = uniform(5)
    model.step = lambda ids, state: (torch.full((len(ids), 5), number), state)
    with pytest.raises(ModelError, match="position 1 of a target"):
        beam_search(model, ONE, symbols=SYMBOLS, max_lengths=[7], beam_size=2)


@pytest.mark.parametrize(("beam_size", "n_best"), [(2, 3), (2, 0), (0, 0), (0, 1)])
def test_more_results_than_slots_are_refused(beam_size, n_best):
    asked = {"symbols": SYMBOLS, "max_lengths": [7], "beam_size": beam_size, "n_best": n_best}
    with pytest.raises(ConfigError, match=r"n_best is|beam_size is"):
        beam_search(uniform(5), ONE, **asked)
