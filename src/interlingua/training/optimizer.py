"""Adam: Vaswani et al. 2017, section 5.3; Kingma and Ba 2015.

The update is the one function that ``torch.optim.AdamW`` calls, which goes over all tensors in one pass. That class around it
imports torch's compiler, for which every training would wait a second.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from interlingua.config import TrainingConfig
from interlingua.training.dividing import part_like, whole
from interlingua.training.shared_parameters import SharedParameters

__all__ = ["Adam", "moments_of", "restore_moments"]


class Adam:
    """Adam with a run's constants; decoupled decay, if any, falls on matrices only. With a decay of zero AdamW is Adam.

    Args:
        model: its parameters that need a gradient are trained.
        config: the constants.
        shared: where several processes keep the parameters together, and each updates a part of them.
    """

    def __init__(
        self, model: nn.Module, config: TrainingConfig, shared: SharedParameters | None = None
    ) -> None:
        trained = [p for p in model.parameters() if p.requires_grad]
        self.groups = [
            ([p for p in trained if p.dim() >= 2], config.weight_decay),
            ([p for p in trained if p.dim() < 2], 0.0),
        ]
        self.config = config
        self.shared = shared
        self.state: dict[Tensor, dict[str, Tensor]] = {}
        """Of each parameter that was ever updated: ``step``, and the running means ``exp_avg`` and ``exp_avg_sq``."""

    @torch.no_grad()
    def step(self, learning_rate: float | Tensor) -> None:
        """Update all parameters that have a gradient; where they are shared, all processes must ask for it, and wait for each other.

        The rate may lie on the card of the parameters, for a step that is captured.
        """
        for parameters, weight_decay in self.groups:
            updated: dict[Tensor, Tensor] = {p: p.grad for p in parameters if p.grad is not None}
            states = {parameter: self._state_of(parameter) for parameter in updated}
            adamw(
                self._parts({p: p for p in updated}),
                self._parts(updated),
                self._parts({p: state["exp_avg"] for p, state in states.items()}),
                self._parts({p: state["exp_avg_sq"] for p, state in states.items()}),
                [],
                [state["step"] for state in states.values()],
                fused=True,
                amsgrad=False,
                maximize=False,
                lr=learning_rate,
                beta1=self.config.adam_beta1,
                beta2=self.config.adam_beta2,
                eps=self.config.adam_epsilon,
                weight_decay=weight_decay,
            )
        if self.shared:
            self.shared.meet()

    def restore(self, parameter: Tensor, saved: dict[str, Tensor]) -> None:
        """Go on with a copy of the state of ``parameter`` that was saved: what is read from a file keeps that on the disk."""
        state = self._state_of(parameter)
        for key, tensor in saved.items():
            state[key].copy_(tensor)

    def _parts(self, tensors: Mapping[Tensor, Tensor]) -> list[Tensor]:
        """Return what this process updates of tensors that are given by their parameters."""
        return self.shared.parts_of(tensors) if self.shared else list(tensors.values())

    def _state_of(self, parameter: Tensor) -> dict[str, Tensor]:
        if parameter not in self.state:
            step = torch.zeros((), dtype=torch.float32, device=parameter.device)
            moments = (
                self.shared.moments_of(parameter)
                if self.shared
                else {
                    "exp_avg": torch.zeros_like(parameter),
                    "exp_avg_sq": torch.zeros_like(parameter),
                }
            )
            self.state[parameter] = {"step": step} | moments
        return self.state[parameter]


def moments_of(optimizer: Adam, model: nn.Module, *, keep: bool = True) -> dict[str, Tensor]:
    """Return Adam's running means as named tensors, for a checkpoint.

    Of a divided model all processes must ask for them, and those that do not ``keep`` them get none: they are put together one
    after the other, in main memory.
    """
    moments = {}
    for name, parameter in model.named_parameters():
        for key, tensor in optimizer.state.get(parameter, {}).items():
            found = whole(tensor)
            if keep:
                moments[f"{key}/{name}"] = found if found is tensor else found.cpu()
    return moments


def restore_moments(optimizer: Adam, model: nn.Module, moments: Mapping[str, Tensor]) -> None:
    """Put back what :func:`moments_of` returned, each on the device of its parameter.

    The number of steps goes there too: it is counted on the device.
    """
    for name, parameter in model.named_parameters():
        state = {
            key: moments[f"{key}/{name}"]
            for key in ("step", "exp_avg", "exp_avg_sq")
            if f"{key}/{name}" in moments
        }
        if state:
            of_device = {
                key: part_like(value, parameter) if value.dim() else value.to(parameter.device)
                for key, value in state.items()
            }
            optimizer.restore(parameter, of_device)
