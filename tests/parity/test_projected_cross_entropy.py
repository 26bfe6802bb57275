"""The fused projection and loss equal their plain twin: loss and gradients, over many shapes."""

import pytest
import torch
from torch import Tensor

import interlingua.kernels.projected_cross_entropy as kernel
from interlingua.kernels.projected_cross_entropy import projected_cross_entropy, projected_r_drop
from interlingua.training.objective import label_smoothed_cross_entropy, r_drop

SHAPES = [(1, 1, 1), (1, 7, 3), (255, 33, 8), (256, 40, 16), (257, 300, 12), (1500, 90, 32)]


@pytest.fixture(autouse=True)
def _several_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut even these small cases into pieces of 512 tokens."""
    monkeypatch.setattr(kernel, "LOGITS", 1)


def both(
    tokens: int,
    vocabulary: int,
    width: int,
    epsilon: float,
    dtype: torch.dtype,
    alpha: float | None = None,
) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Loss, gradient of the vectors, gradient of the table: plain, then fused."""
    torch.manual_seed(tokens + vocabulary)
    hidden = torch.randn(tokens if alpha is None else 2 * tokens, width, dtype=dtype)
    table = torch.randn(vocabulary, width, dtype=dtype)
    targets = torch.randint(vocabulary, (tokens,))
    found = []
    for fused in (False, True):
        x, words = hidden.clone().requires_grad_(), table.clone().requires_grad_()
        if fused and alpha is None:
            loss = projected_cross_entropy(x, words, targets, epsilon)
        elif fused:
            loss = projected_r_drop(x, words, targets, epsilon, alpha)
        elif alpha is None:
            loss = label_smoothed_cross_entropy(x @ words.T, targets, epsilon)
        else:
            loss = r_drop(x @ words.T, targets, epsilon, alpha)
        (loss / 3).backward()
        assert x.grad is not None
        assert words.grad is not None
        found.append((loss.detach(), x.grad, words.grad))
    return found


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@pytest.mark.parametrize("shape", SHAPES)
def test_loss_and_gradients_are_those_of_the_plain_twin(
    shape: tuple[int, int, int], dtype: torch.dtype, tolerance: float, epsilon: float
) -> None:
    plain, fused = both(*shape, epsilon, dtype)
    for a, b in zip(fused, plain, strict=True):
        assert a.dtype == b.dtype
        assert (a - b).abs().max() <= tolerance * max(1.0, float(b.abs().max()))


@pytest.mark.parametrize("alpha", [0.5, 5.0])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@pytest.mark.parametrize("shape", SHAPES)
def test_r_drop_and_its_gradients_are_those_of_the_plain_twin(
    shape: tuple[int, int, int], dtype: torch.dtype, tolerance: float, alpha: float
) -> None:
    plain, fused = both(*shape, 0.1, dtype, alpha)
    for a, b in zip(fused, plain, strict=True):
        assert (a - b).abs().max() <= tolerance * max(1.0, float(b.abs().max()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_target_below_zero_has_no_loss_and_no_gradient(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    hidden = torch.randn(6, 8, dtype=dtype, requires_grad=True)
    table, targets = torch.randn(20, 8, dtype=dtype), torch.tensor([3, -1, 5, 7, -1, -1])
    real = targets >= 0
    loss = projected_cross_entropy(hidden, table, targets, 0.1)
    wanted = label_smoothed_cross_entropy(hidden[real] @ table.T, targets[real], 0.1)
    assert float(loss.detach()) == pytest.approx(float(wanted.detach()), rel=1e-5)
    loss.backward()
    assert hidden.grad is not None
    assert not hidden.grad[~real].any()
    assert hidden.grad[real].any()


def test_in_bfloat16_it_is_as_near_to_the_truth_as_the_plain_twin() -> None:
    torch.manual_seed(0)
    hidden, table = torch.randn(700, 64), 0.3 * torch.randn(500, 64)
    targets = torch.randint(500, (700,))
    truth = label_smoothed_cross_entropy(hidden @ table.T, targets, 0.1)
    grads = []
    for fused in (False, True):
        x, words = hidden.clone().requires_grad_(), table.clone().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16):
            if fused:
                loss = projected_cross_entropy(x, words, targets, 0.1)
            else:
                logits = torch.nn.functional.linear(x, words)
                loss = label_smoothed_cross_entropy(logits, targets, 0.1)
        loss.backward()
        assert abs(float(loss.detach() - truth)) <= 0.003 * float(truth)
        grads.append((x.grad, words.grad))
    for a, b in zip(*grads, strict=True):
        assert a is not None
        assert b is not None
        assert (a - b).abs().max() <= 0.02 * b.abs().max()


def test_without_gradients_it_only_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a gradient was computed")

    monkeypatch.setattr(torch, "mm", refuse)
    table = torch.randn(20, 8, requires_grad=True)
    with torch.inference_mode():
        hidden = torch.randn(600, 8)
        targets = torch.randint(20, (600,))
        found = projected_cross_entropy(hidden, table, targets, 0.0)
        wanted = label_smoothed_cross_entropy(hidden @ table.T, targets, 0.0)
    assert float(found) == pytest.approx(float(wanted), rel=1e-5)


def test_no_tokens_give_no_loss_and_gradients_of_zero() -> None:
    x, words = torch.randn(0, 4, requires_grad=True), torch.randn(5, 4, requires_grad=True)
    loss = projected_cross_entropy(x, words, torch.zeros(0, dtype=torch.int64), 0.1)
    loss.backward()
    assert float(loss.detach()) == 0.0
    assert words.grad is not None
    assert not words.grad.any()
