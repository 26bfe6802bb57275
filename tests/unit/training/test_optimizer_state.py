"""The optimizer is torch's AdamW, and a restored one stands where the saved one stood, on whatever device the model is."""

import subprocess
import sys
from copy import deepcopy

import pytest
import torch
from torch import Tensor, nn

from interlingua.config import TrainingConfig
from interlingua.training.optimizer import Adam, moments_of, restore_moments


def step(optimizer: Adam, model: nn.Module) -> None:
    model.zero_grad()
    model(torch.arange(6.0).reshape(2, 3)).square().sum().backward()
    optimizer.step(0.1)


def build() -> tuple[nn.Module, Adam]:
    torch.manual_seed(1)
    model = nn.Linear(3, 2)
    return model, Adam(model, TrainingConfig())


def saved_moments(model: nn.Module, optimizer: Adam) -> dict[str, Tensor]:
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


def test_a_restored_optimizer_keeps_nothing_of_what_it_was_given() -> None:
    model, optimizer = build()
    step(optimizer, model)
    moments = saved_moments(model, optimizer)
    before = {name: tensor.clone() for name, tensor in moments.items()}
    other, fresh = build()
    restore_moments(fresh, other, moments)
    step(fresh, other)
    for name, tensor in before.items():
        assert torch.equal(moments[name], tensor), name


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
    restored = Adam(elsewhere, TrainingConfig())
    restore_moments(restored, elsewhere, moments)
    for parameter in elsewhere.parameters():
        state = restored.state[parameter]
        assert state.keys() == {"step", "exp_avg", "exp_avg_sq"}
        assert {tensor.device.type for tensor in state.values()} == {device}
        assert {tensor.dtype for tensor in state.values()} == {torch.float32}


def test_twenty_steps_equal_those_of_torch_to_the_last_bit() -> None:
    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(33, 70), nn.Linear(70, 5))
    peer, config = deepcopy(model), TrainingConfig(weight_decay=0.01)
    optimizer = Adam(model, config)
    matrices, vectors = ([p for p in peer.parameters() if p.dim() == n] for n in (2, 1))
    torchs = torch.optim.AdamW(
        [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}],
        betas=(config.adam_beta1, config.adam_beta2),
        eps=config.adam_epsilon,
        weight_decay=0.01,
        fused=True,
    )
    for number in range(20):
        for mine, theirs in zip(model.parameters(), peer.parameters(), strict=True):
            mine.grad = torch.randn_like(mine)
            theirs.grad = mine.grad.clone()
        for group in torchs.param_groups:
            group["lr"] = 0.001 * number
        optimizer.step(0.001 * number)
        torchs.step()
    for mine, theirs in zip(model.parameters(), peer.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_a_training_does_not_wait_for_the_import_of_torchs_compiler() -> None:
    program = """
import sys, torch
from interlingua.config import TrainingConfig
from interlingua.training.loop import Trainer
from interlingua.training.optimizer import Adam
model = torch.nn.Linear(2, 2)
model(torch.ones(2)).sum().backward()
Adam(model, TrainingConfig()).step(0.1)
model.zero_grad()
sys.exit("torch._dynamo" in sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
