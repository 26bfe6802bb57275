import math

import pytest
import torch

from interlingua.decoding.greedy import greedy_search
from interlingua.errors import ModelError
from interlingua.tokenization.tokenizer import Symbols

SYMBOLS = Symbols(0, 1, 2)


class ScriptState:
    def __init__(self, sentence, time):
        self.sentence, self.time = sentence, time

    def reorder(self, rows):
        return ScriptState(self.sentence[rows], self.time)


class Script:
    """Writes what it is told: ``lines[source][time]`` is the likeliest symbol; counts rows it computed."""

    def __init__(self, lines, vocabulary=8):
        self.lines, self.vocabulary, self.rows, self.read = lines, vocabulary, [], []

    def encode(self, source):
        return source[:, 0]

    def start(self, memory):
        return ScriptState(memory, 0)

    def step(self, ids, state):
        self.rows.append(len(ids))
        self.read.append(ids.tolist())
        logits = torch.zeros(len(ids), self.vocabulary)
        for row, sentence in enumerate(state.sentence.tolist()):
            logits[row, self.lines[sentence][state.time]] = 5.0
        return logits, ScriptState(state.sentence, state.time + 1)


def test_it_writes_the_likeliest_symbols_up_to_the_end_symbol():
    model = Script([[3, 4, 2], [5, 2], [6, 6, 6, 6]])
    found = greedy_search(
        model, torch.tensor([[0], [1], [2]]), symbols=SYMBOLS, max_lengths=[9, 9, 4]
    )
    assert [h.ids for h in found] == [(3, 4), (5,), (6, 6, 6, 6)]
    assert [h.stopped for h in found] == ["end", "end", "max_length"]
    one = 5.0 - math.log(math.exp(5.0) + 7)
    assert found[0].log_probabilities == pytest.approx([one] * 3, abs=1e-6)
    assert found[0].score == pytest.approx(3 * one, abs=1e-6)


def test_sentences_that_have_ended_leave_the_batch_and_nothing_runs_after_the_last():
    model = Script([[3, 4, 2], [5, 2], [6, 6, 6, 6]])
    greedy_search(model, torch.tensor([[0], [1], [2]]), symbols=SYMBOLS, max_lengths=[9, 9, 4])
    assert model.rows == [3, 3, 2, 1]
    assert model.read == [[1, 1, 1], [3, 5, 6], [4, 6], [6]]


def test_padding_and_the_begin_symbol_are_never_written():
    found = greedy_search(
        Script([[0, 1, 0]]), torch.tensor([[0]]), symbols=SYMBOLS, max_lengths=[3]
    )
    assert found[0].ids == ()
    assert found[0].stopped == "end"


def test_a_tie_goes_to_the_lowest_id():
    model = Script([[3] * 4])
    model.step = lambda ids, state: (torch.zeros(len(ids), 8), state)
    found = greedy_search(model, torch.tensor([[0]]), symbols=Symbols(0, 1, 7), max_lengths=[3])
    assert found[0].ids == (2, 2, 2)


def test_a_model_that_never_ends_is_stopped():
    model = Script([[3] * 50])
    found = greedy_search(model, torch.tensor([[0]]), symbols=SYMBOLS, max_lengths=[50])
    assert len(found[0].ids) == 50


def test_a_model_that_begins_with_its_end_symbol_can_still_end():
    model = Script([[3, 1]])
    found = greedy_search(model, torch.tensor([[0]]), symbols=Symbols(0, 1, 1), max_lengths=[5])
    assert (found[0].ids, found[0].stopped) == ((3,), "end")


def test_not_a_number_is_an_error_and_not_a_translation():
    model = Script([[3, 3, 3]])
    model.step = lambda ids, state: (torch.full((len(ids), 8), math.nan), state)
    with pytest.raises(ModelError, match="not-a-number"):
        greedy_search(model, torch.tensor([[0], [0]]), symbols=SYMBOLS, max_lengths=[3, 3])
