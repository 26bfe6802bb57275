import torch
from torch import nn

from interlingua.model.embeddings import TokenEmbedding
from interlingua.model.positions import SinusoidalPositions


def embedding(dropout: float = 0.0) -> TokenEmbedding:
    torch.manual_seed(0)
    return TokenEmbedding(nn.Embedding(7, 16), SinusoidalPositions(10, 16), dropout)


def test_vectors_are_scaled_by_the_root_of_the_width_before_positions_are_added() -> None:
    layer = embedding()
    ids = torch.tensor([[6, 2, 2], [0, 1, 6]])
    expected = 4.0 * layer.table.weight[ids] + layer.positions(0, 3)
    torch.testing.assert_close(layer(ids), expected)


def test_one_token_at_a_later_start_is_that_column_of_the_whole() -> None:
    layer = embedding()
    ids = torch.tensor([[6, 2, 5, 2]])
    assert torch.equal(layer(ids[:, 2:3], start=2), layer(ids)[:, 2:3])


def test_dropout_falls_on_the_sum() -> None:
    layer = embedding(dropout=0.5).train()
    assert (layer(torch.tensor([[1, 2, 3]])) == 0).any()


def test_the_table_that_is_passed_in_is_shared_not_copied() -> None:
    table = nn.Embedding(7, 16)
    layer = TokenEmbedding(table, SinusoidalPositions(10, 16), 0.0)
    assert layer.table is table
