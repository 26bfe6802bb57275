import pytest
import torch

from interlingua.model.positions import (
    LearnedPositions,
    Positions,
    SinusoidalPositions,
    sinusoidal_table,
)


@pytest.mark.parametrize("kind", [SinusoidalPositions, LearnedPositions])
def test_a_later_start_continues_the_same_table(
    kind: type[SinusoidalPositions] | type[LearnedPositions],
) -> None:
    positions = kind(20, 6)
    whole = positions(0, 12)
    assert torch.equal(torch.cat((positions(0, 5), positions(5, 7))), whole)
    assert isinstance(positions, Positions)


@pytest.mark.parametrize("kind", [SinusoidalPositions, LearnedPositions])
def test_a_sequence_longer_than_the_table_is_refused_with_both_lengths(
    kind: type[SinusoidalPositions] | type[LearnedPositions],
) -> None:
    positions = kind(20, 6)
    assert positions(15, 5).shape == (5, 6)
    with pytest.raises(ValueError, match="21 tokens is longer than the 20 positions"):
        positions(16, 5)


def test_sinusoids_are_not_learned_and_not_stored() -> None:
    positions = SinusoidalPositions(20, 6)
    assert not list(positions.parameters())
    assert not positions.state_dict()


def test_learned_positions_are_one_parameter_that_gets_a_gradient() -> None:
    positions = LearnedPositions(20, 6)
    positions(3, 2).sum().backward()
    assert set(positions.state_dict()) == {"table"}
    assert positions.table.grad[3:5].eq(1).all()
    assert not positions.table.grad[:3].any()
    assert not positions.table.grad[5:].any()


def test_the_first_position_is_zeros_and_ones_in_turn() -> None:
    assert sinusoidal_table(1, 6).tolist() == [[0.0, 1.0, 0.0, 1.0, 0.0, 1.0]]


def test_far_positions_are_computed_in_double_precision() -> None:
    position, d_model = 100_000, 8
    row = sinusoidal_table(position + 1, d_model)[position]
    angles = torch.tensor(
        [position / 10000 ** (2 * i / d_model) for i in range(4)], dtype=torch.float64
    )
    torch.testing.assert_close(row[0::2], angles.sin(), rtol=0, atol=1e-9)
