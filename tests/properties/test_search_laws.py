"""Laws of search, on random models whose every next-symbol distribution depends on the whole history."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from interlingua.decoding.beam_search import beam_search as search_beams
from interlingua.decoding.greedy import greedy_search
from interlingua.decoding.hypothesis import Hypothesis
from interlingua.decoding.options import SearchOptions
from interlingua.decoding.score import score_pairs
from interlingua.tokenization.tokenizer import Symbols

PAD, BEGIN, END = 0, 1, 2
SYMBOLS = Symbols(PAD, BEGIN, END)


def beam_search(model, source, *, beam_size, n_best=1, alpha=0.0, **asked):
    options = SearchOptions(beam_size=beam_size, n_best=n_best, length_penalty=alpha)
    return search_beams(model, source, options=options, **asked)


class HistoryState:
    def __init__(self, model, code, depth):
        self.model, self.code, self.depth = model, code, depth

    def reorder(self, rows):
        model = self.model[rows]
        return HistoryState(model, self.code[rows], self.depth)


class HistoryModel:
    """Source k is the name of the k-th random model; its table has a row of logits for every history."""

    def __init__(self, models, vocabulary, depth, seed, scale=3.0):
        generator = torch.Generator().manual_seed(seed)
        self.vocabulary = vocabulary
        self.tables = [
            scale * torch.randn(models, vocabulary**n, vocabulary, generator=generator)
            for n in range(depth)
        ]

    def encode(self, source):
        return source[:, 0]

    def start(self, memory):
        return HistoryState(memory, torch.zeros_like(memory), 0)

    def step(self, ids, state):
        code = state.code * self.vocabulary + ids if state.depth else state.code
        logits = self.tables[state.depth][state.model, code]
        return logits, HistoryState(state.model, code, state.depth + 1)

    def every_target(self, k, max_length):
        """Map every possible target of model k to its log-probabilities, by recursion."""
        tables = [table[k].log_softmax(-1).tolist() for table in self.tables[:max_length]]
        targets = {}

        def write(ids, code, log_probs):
            row = tables[len(ids)][code]
            targets[ids] = (*log_probs, row[END])
            for token in set(range(self.vocabulary)) - {PAD, BEGIN, END}:
                longer, more = (*ids, token), (*log_probs, row[token])
                if len(longer) == max_length:
                    targets[longer] = more
                else:
                    write(longer, (code * self.vocabulary if ids else 0) + token, more)

        write((), 0, ())
        return targets


def all_sources(model):
    return torch.arange(model.tables[0].size(0))[:, None]


def penalised(log_probs, alpha):
    return math.fsum(log_probs) / ((5 + len(log_probs)) / 6) ** alpha


def assert_beam_equals_exhaustive_search(models, vocabulary, max_length, alpha, seed):
    model = HistoryModel(models, vocabulary, max_length, seed)
    others = vocabulary - 3
    space = sum(others**n for n in range(max_length + 1))
    wanted = {"max_lengths": [max_length] * models, "beam_size": space, "alpha": alpha}
    best = beam_search(model, all_sources(model), symbols=SYMBOLS, **wanted)
    ranked = beam_search(model, all_sources(model), symbols=SYMBOLS, **wanted, n_best=space)
    for k in range(models):
        targets = model.every_target(k, max_length)
        scores = sorted((penalised(p, alpha) for p in targets.values()), reverse=True)
        assert len(targets) == space
        assert best[k][0].score == pytest.approx(scores[0], abs=1e-5)
        assert penalised(targets[best[k][0].ids], alpha) == pytest.approx(scores[0], abs=1e-5)
        assert {h.ids for h in ranked[k]} == set(targets)
        assert [h.score for h in ranked[k]] == pytest.approx(scores, abs=1e-5)


@given(
    alpha=st.sampled_from([-1.0, 0.0, 0.6, 1.0, 2.0]),
    max_length=st.integers(1, 5),
    seed=st.integers(0, 2**32),
)
def test_a_beam_as_wide_as_the_search_space_is_exhaustive_search(alpha, max_length, seed):
    assert_beam_equals_exhaustive_search(20, 5, max_length, alpha, seed)


def test_it_is_exhaustive_search_with_three_words_too():
    assert_beam_equals_exhaustive_search(20, 6, 4, 0.6, seed=7)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("alpha", "seed"), list(zip([-1.0, 0.0, 0.6, 1.0, 2.0] * 4, range(20), strict=True))
)
def test_ten_thousand_models_find_no_beam_short_of_exhaustive_search(alpha, seed):
    assert_beam_equals_exhaustive_search(500, 5, 5, alpha, seed)


@given(
    max_lengths=st.lists(st.integers(1, 5), min_size=1, max_size=30),
    alpha=st.floats(-1, 2),
    scale=st.floats(0, 10),
    seed=st.integers(0, 2**32),
)
def test_a_beam_of_one_is_greedy_search_exactly(max_lengths, alpha, scale, seed):
    model = HistoryModel(len(max_lengths), 6, 5, seed, scale)
    asked = {"symbols": SYMBOLS, "max_lengths": max_lengths, "alpha": alpha}
    greedy = greedy_search(model, all_sources(model), **asked)
    beam = beam_search(model, all_sources(model), **asked, beam_size=1)
    assert beam == [[hypothesis] for hypothesis in greedy]


@given(
    max_lengths=st.lists(st.integers(1, 5), min_size=1, max_size=8),
    beam_size=st.integers(1, 9),
    alpha=st.floats(-1, 2),
    scale=st.floats(0, 10),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
def test_the_n_best_are_sorted_unique_bounded_and_free_of_special_symbols(
    max_lengths, beam_size, alpha, scale, seed, data
):
    n_best = data.draw(st.integers(1, beam_size))
    model = HistoryModel(len(max_lengths), 6, 5, seed, scale)
    found = beam_search(
        model,
        all_sources(model),
        symbols=SYMBOLS,
        max_lengths=max_lengths,
        beam_size=beam_size,
        alpha=alpha,
        n_best=n_best,
    )
    for k, (hypotheses, max_length) in enumerate(zip(found, max_lengths, strict=True)):
        targets = model.every_target(k, max_length)
        assert len(hypotheses) == min(n_best, len(targets))
        assert len({h.ids for h in hypotheses}) == len(hypotheses)
        assert all(a.score >= b.score for a, b in itertools.pairwise(hypotheses))
        for h in hypotheses:
            assert not {PAD, BEGIN, END} & set(h.ids)
            assert h.log_probabilities == pytest.approx(targets[h.ids], abs=1e-5)
            assert h.score == pytest.approx(penalised(targets[h.ids], alpha), abs=1e-5)
            written = len(h.ids) + (h.stopped == "end")
            assert len(h.log_probabilities) == written <= max_length
            assert h.stopped == "end" or len(h.ids) == max_length


@given(
    beam_size=st.integers(1, 5),
    n_best=st.integers(1, 5),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
def test_a_result_does_not_depend_on_the_other_sentences(beam_size, n_best, seed, data):
    n_best = min(n_best, beam_size)
    model = HistoryModel(6, 6, 5, seed)
    order = data.draw(st.permutations(range(6)))
    max_lengths = [1, 2, 3, 4, 5, 5]

    def search(names) -> list[list[Hypothesis]]:
        return beam_search(
            model,
            torch.tensor(names)[:, None],
            symbols=SYMBOLS,
            max_lengths=[max_lengths[k] for k in names],
            beam_size=beam_size,
            alpha=0.6,
            n_best=n_best,
        )

    alone = [search([k])[0] for k in range(6)]
    together = search(order)
    assert together == [alone[k] for k in order]


@given(beam_size=st.integers(1, 6), seed=st.integers(0, 2**32))
def test_teacher_forcing_gives_the_scores_of_search_again(beam_size, seed):
    model = HistoryModel(4, 6, 6, seed)
    found = beam_search(
        model,
        all_sources(model),
        symbols=SYMBOLS,
        max_lengths=[5, 4, 3, 2],
        beam_size=beam_size,
        n_best=beam_size,
    )
    for k, hypotheses in enumerate(found):
        for h in hypotheses:
            written = [*h.ids, END] if h.stopped == "end" else list(h.ids)
            rescored = score_pairs(
                model,
                torch.tensor([[k]]),
                torch.tensor([[BEGIN, *written[:-1], PAD]]),
                torch.tensor([[*written, PAD]]),
                pad_id=PAD,
            )
            assert rescored[0].tolist() == pytest.approx([*h.log_probabilities, 0.0], abs=1e-5)
