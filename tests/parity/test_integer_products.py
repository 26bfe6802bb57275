"""Products in 8-bit integers against their plain twin, and what a training step in them comes to."""

import pytest
import torch
from factor_shapes import SHAPES
from torch import Tensor

from interlingua.batching.batch import make_batch
from interlingua.kernels.matrix_products import (
    has_integers,
    in_integers,
    product,
    product_over_rows,
)
from interlingua.kernels.packed import packed_loss
from interlingua.model.architecture import Architecture
from interlingua.model.transformer import Transformer

TOKENS_AT_ONCE = 1_024
"""Tokens that are rounded and summed together in a gradient of weights."""

pytestmark = pytest.mark.skipif(not has_integers(), reason="no such products for this processor")


def rounded(x: Tensor, across: int) -> Tensor:
    """Round each line of ``x`` to steps of a 127th of its largest number; a line is what dimension ``across`` runs along."""
    largest = x.float().abs().amax(across, keepdim=True)
    most = torch.full_like(largest, 127)  # 127 / largest would be its reciprocal, times 127
    steps = (x.float() * torch.where(largest > 0, most / largest, 0)).round()
    return steps.double() * (largest / 127)


def plain(a: Tensor, b: Tensor) -> Tensor:
    """The plain twin of ``a @ b`` in integers."""
    return rounded(a, 1) @ rounded(b, 0)


@pytest.mark.parametrize(("rows", "columns", "inner"), [*SHAPES, (40, 50, 8000)])
def test_products_are_those_of_the_plain_twin(
    rows: int, columns: int, inner: int, threads: int
) -> None:
    torch.manual_seed(rows)
    a, b = torch.randn(rows, inner).bfloat16(), torch.randn(inner, columns).bfloat16()
    a[0] = 0
    b[:, -1] = 0
    wanted = plain(a, b)
    most = 0.005 * wanted.abs().max().item()  # the result is a bfloat16
    for second in (b, b.T.contiguous().T):
        with in_integers():
            found = product(a, second)
        assert found.dtype is torch.bfloat16
        torch.testing.assert_close(found.double(), wanted, atol=most, rtol=0.005)


@pytest.mark.parametrize("tokens", [1, 2, 511, 1025, 2051])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (15, 33), (70, 600), (300, 64)])
def test_sums_over_tokens_are_those_of_the_plain_twin(
    rows: int, columns: int, tokens: int, threads: int
) -> None:
    torch.manual_seed(tokens)
    a, b = torch.randn(tokens, rows).bfloat16(), torch.randn(tokens, columns).bfloat16()
    parts = zip(a.split(TOKENS_AT_ONCE), b.split(TOKENS_AT_ONCE), strict=True)
    wanted = sum((plain(one.T, other) for one, other in parts), torch.zeros(rows, columns))
    with in_integers():
        found = product_over_rows(a, b)
    assert found.dtype is torch.float32
    most = 1e-6 * wanted.abs().max().item() + 1e-6
    torch.testing.assert_close(found.double(), wanted.double(), atol=most, rtol=1e-5)
    before = torch.randn(rows, columns)
    into = before.clone()
    with in_integers():
        assert product_over_rows(a, b, into) is into
    torch.testing.assert_close(into, before + found)


def test_small_numbers_beside_a_large_one_are_right_in_the_mean_if_rounded_by_lot() -> None:
    a = torch.full((64, 4000), 0.001).bfloat16()
    a[:, 0] = 1.0
    b = torch.ones(4000, 40).bfloat16()
    exact = a.float().sum(1).mean().item()
    with in_integers():
        nearest, by_lot = product(a, b).float(), product(a, b, stochastic=True).float()
        over_rows = product_over_rows(a.T.contiguous(), b, stochastic=True)
    assert nearest.mean().item() == pytest.approx(1.0, rel=0.01)
    assert by_lot.mean().item() == pytest.approx(exact, rel=0.02)
    assert over_rows.mean().item() == pytest.approx(exact, rel=0.02)
    assert by_lot[:, 0].std() > 0  # no two rows draw the same


def test_nothing_is_rounded_unless_it_is_asked_for() -> None:
    a, b = torch.randn(60, 130).bfloat16(), torch.randn(130, 70).bfloat16()
    before = product(a, b), product_over_rows(a, a)
    with in_integers(False):
        assert product(a, b).equal(before[0])
        with in_integers():
            assert not product(a, b).equal(before[0])
            assert not product_over_rows(a, a).equal(before[1])
        assert product_over_rows(a, a).equal(before[1])
    assert product(a, b).equal(before[0])


def test_the_number_of_threads_changes_no_bit() -> None:
    before = torch.get_num_threads()
    a, b = torch.randn(1500, 130).bfloat16(), torch.randn(1500, 260).bfloat16()
    found = []
    for number in (1, 2, 5):
        torch.set_num_threads(number)
        with in_integers():
            found.append(
                (
                    product(b, a[:260], stochastic=True),
                    product_over_rows(a, b),
                    product_over_rows(a, b, stochastic=True),
                )
            )
    torch.set_num_threads(before)
    for one in found[1:]:
        for this, first in zip(one, found[0], strict=True):
            assert this.equal(first)


def test_what_is_no_number_stays_none() -> None:
    a, b = torch.randn(40, 34).bfloat16(), torch.randn(34, 50).bfloat16()
    a[7, 3], a[9, 5] = float("nan"), float("inf")
    with in_integers():
        found, sums = product(a, b), product_over_rows(a, a)
    assert found[7].isnan().all()
    assert not found[9].isfinite().any()
    assert found[[0, 8, 39]].isfinite().all()
    assert not sums[3].isfinite().any()
    assert not sums[5].isfinite().any()


@pytest.mark.parametrize("inputs", [16, 34, 64])
def test_one_that_is_no_number_is_in_all_that_its_line_comes_to_wherever_it_stands(
    inputs: int,
) -> None:
    for place in range(inputs):
        a, b = torch.ones(3, inputs).bfloat16(), torch.ones(inputs, 5).bfloat16()
        a[1, place] = float("nan")
        with in_integers():
            found, turned = product(a, b), product(b.T.contiguous(), a.T.contiguous())
        assert found[1].isnan().all()
        assert turned[:, 1].isnan().all()
        assert found[[0, 2]].isfinite().all()


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_step_is_one_or_two_percent_from_that_in_bfloat16(norm: str, alpha: float) -> None:
    torch.manual_seed(1)
    architecture = Architecture(
        encoder_layers=2,
        decoder_layers=2,
        d_model=64,
        d_ff=128,
        heads=4,
        dropout=0.0,
        tie="three-way",
        norm=norm,
    )
    model = Transformer(
        architecture, source_vocabulary=300, target_vocabulary=300, source_pad=0, target_pad=0
    )
    rows = [torch.randint(4, 300, (n,)).tolist() for n in range(5, 37)]
    batch = make_batch(
        rows,
        rows[::-1],
        range(len(rows)),
        source_pad=0,
        source_end=3,
        target_pad=0,
        target_begin=2,
        target_end=3,
    )
    losses, gradients = [], []
    for wanted in (False, True):
        model.zero_grad()
        with in_integers(wanted):
            loss = packed_loss(model, batch, 0.1, torch.bfloat16, alpha)
            loss.backward()
        losses.append(loss.item())
        gradients.append(
            torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
        )
    assert losses[1] == pytest.approx(losses[0], rel=2e-3)
    apart = (gradients[1] - gradients[0]).norm() / gradients[0].norm()
    assert 0 < apart < 0.06
