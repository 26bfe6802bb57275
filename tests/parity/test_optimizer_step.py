"""The same step as Adam: from identical gradients, and from the loss that training minimises."""

import math
import random

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from interlingua.config import TrainingConfig
from interlingua.training.objective import label_smoothed_cross_entropy
from interlingua.training.optimizer import Adam
from interlingua.training.schedule import learning_rate, paper_peak

Array = NDArray[np.float64]
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}


def assert_close(ours: Tensor, theirs: Tensor | Array, dtype: torch.dtype) -> None:
    expected = torch.as_tensor(theirs, dtype=torch.float64)
    limit = TOLERANCE[dtype] * max(1.0, expected.abs().max().item())
    difference = (ours.detach().double() - expected).abs().max().item()
    assert difference <= limit, f"differs by {difference:.3g}, allowed {limit:.3g}"


class AdamOfThePaper:
    """Algorithm 1 of Kingma and Ba 2015, in NumPy, line by line."""

    def __init__(self, parameters: list[Array]) -> None:
        self.theta = [each.astype(np.float64) for each in parameters]
        self.m = [np.zeros_like(each) for each in self.theta]
        self.v = [np.zeros_like(each) for each in self.theta]
        self.t = 0

    def step(self, gradients: list[Array], alpha: float) -> None:
        beta1, beta2, epsilon = 0.9, 0.98, 1e-9
        self.t += 1
        for i, g in enumerate(gradients):
            self.m[i] = beta1 * self.m[i] + (1 - beta1) * g
            self.v[i] = beta2 * self.v[i] + (1 - beta2) * g * g
            m_hat = self.m[i] / (1 - beta1**self.t)
            v_hat = self.v[i] / (1 - beta2**self.t)
            self.theta[i] = self.theta[i] - alpha * m_hat / (np.sqrt(v_hat) + epsilon)


def some_model(seed: int, dtype: torch.dtype) -> nn.Module:
    draw = random.Random(seed)
    torch.manual_seed(seed)
    shapes = [draw.sample(range(1, 9), draw.randint(1, 2)) for _ in range(draw.randint(1, 4))]
    model = nn.Module()
    for i, shape in enumerate(shapes):
        model.register_parameter(f"part_{i}", nn.Parameter(torch.randn(shape, dtype=dtype)))
    return model


def some_gradient(parameter: Tensor, seed: int) -> Tensor:
    """Sizes from 1e-6 to 1e2 a tensor, and exact zeros, which must move nothing."""
    generator = torch.Generator().manual_seed(seed)
    size = 10.0 ** torch.randint(-6, 3, (), generator=generator).item()
    gradient = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype) * size
    keep = torch.rand(parameter.shape, generator=generator) > 0.2
    return gradient * keep


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["fp64", "fp32"])
@pytest.mark.parametrize("seed", range(50))
def test_ten_warm_up_steps_from_identical_gradients_equal_adam(
    seed: int, dtype: torch.dtype
) -> None:
    model = some_model(seed, dtype)
    parameters = list(model.parameters())
    optimizer = Adam(model, TrainingConfig())
    paper = AdamOfThePaper([p.detach().numpy() for p in parameters])
    torchs = [p.detach().clone().requires_grad_() for p in parameters]
    torch_adam = torch.optim.Adam(torchs, betas=(0.9, 0.98), eps=1e-9, foreach=False)
    for step in range(1, 11):
        alpha = learning_rate(step, peak=paper_peak(512, 6), warmup_steps=6)
        for i, parameter in enumerate(parameters):
            parameter.grad = some_gradient(parameter, 1000 * seed + 10 * step + i)
            torchs[i].grad = parameter.grad.clone()
        for group in torch_adam.param_groups:
            group["lr"] = alpha
        optimizer.step(alpha)
        torch_adam.step()
        paper.step([p.grad.double().numpy() for p in parameters], alpha)
    for parameter, theta, peer in zip(parameters, paper.theta, torchs, strict=True):
        assert_close(parameter, theta, dtype)
        assert_close(parameter, peer.detach(), dtype)


def test_the_learning_rate_is_equation_3_of_the_paper() -> None:
    d_model, warmup = 512, 4000
    peak = paper_peak(d_model, warmup)
    for step in (1, 2, 100, 3999, 4000, 4001, 10_000, 300_000):
        printed = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert math.isclose(
            learning_rate(step, peak=peak, warmup_steps=warmup), printed, rel_tol=1e-12
        )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["fp64", "fp32"])
@pytest.mark.parametrize("seed", range(50))
def test_the_loss_a_token_and_its_gradient_equal_those_of_torch(
    seed: int, dtype: torch.dtype
) -> None:
    draw = random.Random(seed)
    torch.manual_seed(seed)
    batch, length, vocabulary = draw.randint(1, 4), draw.randint(1, 6), draw.randint(2, 30)
    pad, epsilon = draw.randrange(vocabulary), draw.choice([0.0, 0.1, 0.37])
    ours = (4 * torch.randn(batch, length, vocabulary, dtype=dtype)).requires_grad_()
    theirs = ours.detach().clone().requires_grad_()
    targets = torch.randint(vocabulary, (batch, length))
    targets[0, 0] = (pad + 1) % vocabulary
    real = targets != pad
    our_loss = label_smoothed_cross_entropy(ours[real], targets[real], epsilon) / real.sum()
    their_loss = functional.cross_entropy(
        theirs.flatten(0, 1), targets.flatten(), ignore_index=pad, label_smoothing=epsilon
    )
    our_loss.backward()
    their_loss.backward()
    assert_close(our_loss, their_loss.detach(), dtype)
    assert_close(ours.grad, theirs.grad, dtype)
    assert not ours.grad[~real].any()
