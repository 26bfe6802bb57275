"""Adam: Vaswani et al. 2017, section 5.3; Kingma and Ba 2015."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from interlingua.config import TrainingConfig
from interlingua.training.dividing import part_like, whole

__all__ = ["build_optimizer", "moments_of", "restore_moments"]


def build_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.AdamW:
    """Return Adam with the run's constants; decoupled decay, if any, falls on matrices only.

    With a decay of zero AdamW is Adam. The fused implementation updates all tensors in one pass.
    """
    trained = [p for p in model.parameters() if p.requires_grad]
    matrices = [p for p in trained if p.dim() >= 2]
    vectors = [p for p in trained if p.dim() < 2]
    return torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": config.weight_decay},
            {"params": vectors, "weight_decay": 0.0},
        ],
        lr=0.0,
        betas=(config.adam_beta1, config.adam_beta2),
        eps=config.adam_epsilon,
        fused=True,
    )


def moments_of(
    optimizer: torch.optim.Optimizer, model: nn.Module, *, keep: bool = True
) -> dict[str, Tensor]:
    """Return Adam's running means as named tensors, for a checkpoint.

    Of a divided model all processes must ask for them, and those that do not ``keep`` them get none: they are put together one
    after the other, in main memory.
    """
    moments = {}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensor = torch.as_tensor(value)
            found = whole(tensor)
            if keep:
                moments[f"{key}/{name}"] = found if found is tensor else found.cpu()
    return moments


def restore_moments(
    optimizer: torch.optim.Optimizer, model: nn.Module, moments: Mapping[str, Tensor]
) -> None:
    """Put back what :func:`moments_of` returned, each on the device of its parameter.

    The number of steps goes there too: the fused implementation counts on the device, as
    ``torch.optim.Optimizer.load_state_dict`` places it for ``fused=True``.
    """
    for name, parameter in model.named_parameters():
        state = {
            key: moments[f"{key}/{name}"]
            for key in ("step", "exp_avg", "exp_avg_sq")
            if f"{key}/{name}" in moments
        }
        if state:
            optimizer.state[parameter] = {
                key: part_like(value, parameter) if value.dim() else value.to(parameter.device)
                for key, value in state.items()
            }
