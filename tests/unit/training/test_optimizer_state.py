"""A restored optimizer stands where the saved one stood, on whatever device the model is."""

import pytest
import torch
from torch import Tensor, nn

from interlingua.config import TrainingConfig
from interlingua.training.optimizer import build_optimizer, moments_of, restore_moments


def step(optimizer: torch.optim.Optimizer, model: nn.Module) -> None:
    optimizer.zero_grad()
    model(torch.arange(6.0).reshape(2, 3)).square().sum().backward()
    for group in optimizer.param_groups:
        group["lr"] = 0.1
    optimizer.step()


def build() -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(1)
    model = nn.Linear(3, 2)
    return model, build_optimizer(model, TrainingConfig())


def saved_moments(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    return {name: tensor.cpu().clone() for name, tensor in moments_of(optimizer, model).items()}


def test_a_restored_optimizer_takes_the_same_next_step_to_the_last_bit() -> None:
    model, optimizer = build()
    step(optimizer, model)
    other, fresh = build()
    other.load_state_dict(model.state_dict())
    restore_moments(fresh, other, saved_moments(model, optimizer))
    step(optimizer, model)
    step(fresh, other)
    for mine, theirs in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize(
    "device",
    [
        "meta",  # no numbers, but a device that is not the CPU, which every machine has
        pytest.param(
            "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
        ),
    ],
)
def test_every_moment_and_the_count_of_steps_go_to_the_device_of_the_parameter(
    device: str,
) -> None:
    model, optimizer = build()
    step(optimizer, model)
    moments = saved_moments(model, optimizer)
    elsewhere = model.to(device)
    restored = build_optimizer(elsewhere, TrainingConfig())
    restore_moments(restored, elsewhere, moments)
    for parameter in elsewhere.parameters():
        state = restored.state[parameter]
        assert state.keys() == {"step", "exp_avg", "exp_avg_sq"}
        assert {tensor.device.type for tensor in state.values()} == {device}
        assert {tensor.dtype for tensor in state.values()} == {torch.float32}
