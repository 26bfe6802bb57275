import torch

from interlingua.decoding.score import score_pairs


class CountState:
    def __init__(self, totals):
        self.totals = totals

    def reorder(self, rows):
        return CountState(self.totals[rows])


class Stepwise:
    """Logits depend on the sum of the ids read so far."""

    table = torch.randn(40, 6, generator=torch.Generator().manual_seed(1))

    def encode(self, source):
        return source.sum(dim=1)

    def start(self, memory):
        return CountState(memory)

    def step(self, ids, state):
        totals = state.totals + ids
        return self.table[totals], CountState(totals)


class AtOnce(Stepwise):
    def decode(self, target_in, memory):
        return self.table[memory[:, None] + target_in.cumsum(dim=1)]


SOURCE = torch.tensor([[1, 2], [4, 0]])
TARGET_IN = torch.tensor([[1, 3, 4], [1, 5, 0]])
TARGET_OUT = torch.tensor([[3, 4, 2], [5, 2, 0]])


def test_each_symbol_gets_the_log_probability_the_model_gave_it():
    scores = score_pairs(AtOnce(), SOURCE, TARGET_IN, TARGET_OUT, pad_id=0)
    rows = Stepwise.table.log_softmax(-1)
    wanted = [[rows[4, 3], rows[7, 4], rows[11, 2]], [rows[5, 5], rows[10, 2], 0.0]]
    assert torch.allclose(scores, torch.tensor(wanted), atol=1e-6)


def test_padding_scores_exactly_nothing():
    assert score_pairs(AtOnce(), SOURCE, TARGET_IN, TARGET_OUT, pad_id=0)[1, 2] == 0.0


def test_a_model_that_can_only_step_scores_the_same():
    stepwise = score_pairs(Stepwise(), SOURCE, TARGET_IN, TARGET_OUT, pad_id=0)
    assert torch.equal(stepwise, score_pairs(AtOnce(), SOURCE, TARGET_IN, TARGET_OUT, pad_id=0))
