"""The matrix products of a training step against torch's own, for every shape of factors and however many threads share them."""

import pytest
import torch
from factor_shapes import SHAPES

from interlingua.kernels import matrix_products
from interlingua.kernels.matrix_products import product, product_over_rows

ours = pytest.mark.skipif(
    not matrix_products._has_pairs(), reason="no such products for this processor"
)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize(("rows", "columns", "inner"), SHAPES)
def test_products_are_those_of_torch(
    rows: int, columns: int, inner: int, dtype: torch.dtype, threads: int
) -> None:
    torch.manual_seed(rows)
    a, b = torch.randn(rows, inner).to(dtype), torch.randn(inner, columns).to(dtype)
    wanted = a.double() @ b.double()
    one_number = {torch.float32: 2e-6, torch.bfloat16: 5e-3, torch.float64: 1e-14}[dtype]
    most = one_number * wanted.abs().max().item()
    for second in (b, b.T.contiguous().T):
        found = product(a, second)
        assert found.dtype is dtype
        torch.testing.assert_close(found.double(), wanted, atol=most, rtol=one_number)
    turned = a.T.contiguous()
    torch.testing.assert_close(product(turned.T, b).double(), wanted, atol=most, rtol=one_number)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("tokens", [1, 2, 511, 1025, 2051])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (15, 33), (70, 600), (300, 64)])
def test_sums_over_tokens_are_those_of_torch(
    rows: int, columns: int, tokens: int, dtype: torch.dtype, threads: int
) -> None:
    torch.manual_seed(tokens)
    a, b = torch.randn(tokens, rows).to(dtype), torch.randn(tokens, columns).to(dtype)
    found, wanted = product_over_rows(a, b), a.double().T @ b.double()
    assert found.dtype is torch.promote_types(dtype, torch.float32)
    close = 1e-14 if dtype is torch.float64 else 2e-6  # of bfloat16 only what goes in is rounded
    if dtype is torch.bfloat16 and not matrix_products._has_pairs():
        close = 5e-3
    most = close * wanted.abs().max().item() + close * tokens**0.5
    torch.testing.assert_close(found.double(), wanted, atol=most, rtol=close)
    before = torch.randn(rows, columns).to(found.dtype)
    into = before.clone()
    assert product_over_rows(a, b, into) is into
    torch.testing.assert_close(into, before + found, atol=most, rtol=close)


def test_what_lies_in_no_order_of_ours_is_multiplied_too() -> None:
    a, b = torch.randn(6, 40).bfloat16(), torch.randn(40, 50).bfloat16()
    odd, apart = a[:, :39], b[:, ::2]
    torch.testing.assert_close(product(odd, b[:39]), odd @ b[:39])
    torch.testing.assert_close(product(a, apart), a @ apart, atol=0.1, rtol=0.02)
    torch.testing.assert_close(
        product_over_rows(b[:, ::2], b), (b[:, ::2].T @ b).float(), atol=0.1, rtol=0.02
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_no_tokens_give_no_rows_and_no_gradient(dtype: torch.dtype) -> None:
    nothing, weight = torch.empty(0, 8, dtype=dtype), torch.randn(8, 6).to(dtype)
    assert product(nothing, weight).shape == (0, 6)
    assert product_over_rows(nothing, torch.empty(0, 6, dtype=dtype)).equal(torch.zeros(8, 6))


@ours
def test_the_number_of_threads_changes_no_bit() -> None:
    before = torch.get_num_threads()
    a, b = torch.randn(1500, 130).bfloat16(), torch.randn(1500, 260).bfloat16()
    found = []
    for number in (1, 2, 5):
        torch.set_num_threads(number)
        found.append((product(b, a[:260]), product_over_rows(a, b)))
    torch.set_num_threads(before)
    for one in found[1:]:
        assert one[0].equal(found[0][0])
        assert one[1].equal(found[0][1])


@ours
def test_what_is_no_number_stays_none() -> None:
    a, b = torch.randn(40, 34).bfloat16(), torch.randn(34, 50).bfloat16()
    a[7, 3], a[9, 5] = float("nan"), float("inf")
    found = product(a, b)
    assert found[7].isnan().all()
    assert not found[9].isfinite().any()
    assert found[[0, 8, 39]].isfinite().all()
    assert product_over_rows(a, a)[3].isnan().all()
