import math

import torch

from interlingua.decoding.beam_search import beam_search
from interlingua.decoding.constraints import (
    MinimumLength,
    NoRepeatedNgram,
    TargetPrefix,
    constrain,
)
from interlingua.decoding.options import SearchOptions
from interlingua.decoding.repetition import ends_in_repeats
from interlingua.tokenization.tokenizer import Symbols

SYMBOLS = Symbols(0, 1, 2)
NEVER = -math.inf


class Markov:
    """The next symbol depends on the last one only; ``table[last]`` maps symbols to probabilities."""

    def __init__(self, table, vocabulary=7):
        self.logits = torch.full((vocabulary, vocabulary), -1e9)
        for last, following in table.items():
            for token, probability in following.items():
                self.logits[last, token] = math.log(probability)

    def encode(self, source):
        return source

    def start(self, memory):
        return Nothing()

    def step(self, ids, state):
        return self.logits[ids], state


class Nothing:
    def reorder(self, rows):
        return self


LOOP = Markov({1: {3: 0.9, 4: 0.1}, 3: {3: 0.8, 4: 0.2}, 4: {5: 0.9, 2: 0.1}, 5: {2: 1.0}})


def best_of(model, constraints=(), **options):
    found = beam_search(
        model,
        torch.tensor([[0]]),
        symbols=SYMBOLS,
        max_lengths=[12],
        options=SearchOptions(**{"beam_size": 3, "length_penalty": 5.0} | options),
        constraints=constraints,
    )
    return found[0][0]


def test_a_target_begins_with_its_prefix_and_its_score_stays_the_models_own():
    free = best_of(LOOP, length_penalty=0.0)
    forced = best_of(LOOP, [TargetPrefix([(4, 5)])], length_penalty=0.0)
    assert free.ids[:1] == (3,)
    assert forced.ids == (4, 5)
    assert forced.log_probabilities[0] == torch.tensor(0.1).log().item()


def test_each_sentence_has_its_own_prefix_also_when_others_have_left_the_batch():
    found = beam_search(
        LOOP,
        torch.tensor([[0], [0], [0]]),
        symbols=SYMBOLS,
        max_lengths=[1, 12, 12],
        options=SearchOptions(beam_size=2),
        constraints=[TargetPrefix([(), (3, 3, 4), (4,)])],
    )
    assert found[1][0].ids[:3] == (3, 3, 4)
    assert found[2][0].ids[0] == 4


def test_no_target_ends_before_the_minimum_length():
    assert len(best_of(LOOP, length_penalty=-5.0).ids) < 6
    assert len(best_of(LOOP, [MinimumLength(6, 2)], length_penalty=-5.0).ids) >= 6


def test_no_ngram_is_written_twice():
    assert best_of(LOOP).ids[:4] == (3, 3, 3, 3)
    for n in (1, 2, 3):
        ids = best_of(LOOP, [NoRepeatedNgram(n)]).ids
        ngrams = [ids[i : i + n] for i in range(len(ids) - n + 1)]
        assert len(set(ngrams)) == len(ngrams)


def test_a_rule_that_leaves_nothing_is_not_heard_in_that_row():
    step = torch.tensor([[NEVER, NEVER, 0.0, NEVER], [NEVER, NEVER, 0.0, -1.0]])
    written, rows = torch.tensor([[3], [3]]), torch.tensor([0, 1])
    left = constrain([MinimumLength(5, 2)], step, written, rows)
    assert left.tolist() == [[NEVER, NEVER, 0.0, NEVER], [NEVER, NEVER, NEVER, -1.0]]


def test_a_loop_is_stopped_and_says_so_only_when_nothing_else_is_found():
    endless = Markov({1: {3: 1.0}, 3: {3: 1.0}})
    stopped = best_of(endless, max_repeats=4, beam_size=1)
    assert (stopped.ids, stopped.stopped) == ((3, 3, 3, 3), "repetition")
    assert best_of(endless).stopped == "max_length"
    honest = best_of(LOOP, max_repeats=4)
    assert honest.stopped == "end"


def test_a_loop_is_a_phrase_so_many_times_in_a_row_at_the_end():
    written = torch.tensor([[9, 4, 5, 4, 5, 4, 5], [9, 9, 4, 5, 4, 4, 5], [1, 2, 3, 4, 6, 6, 6]])
    assert ends_in_repeats(written, 3).tolist() == [True, False, True]
    assert ends_in_repeats(written[:, :2], 3).tolist() == [False, False, False]
