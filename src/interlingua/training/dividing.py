"""Weights, gradients and moments divided among the processes of a run, for models that are too large for one of them.

Each process keeps a part of every tensor and fetches the rest of a layer when it is the layer's turn (FSDP2). What is divided
is a copy: the model that is validated and saved stays whole, and is brought up to date before either.

What torch needs for it is imported where it is used: it takes a second that other runs need not wait.
"""

from typing import TYPE_CHECKING, TypeGuard

import torch
from torch import Tensor, distributed, nn

from interlingua.checkpoints.weights import parameters_of
from interlingua.model.decoder import DecoderLayer
from interlingua.model.encoder import EncoderLayer
from interlingua.model.language_model import LanguageModel

if TYPE_CHECKING:
    from torch.distributed.tensor import DTensor

__all__ = ["copy_weights", "divide", "part_like", "whole"]


def divide(objective: nn.Module, device: torch.device) -> nn.Module:
    """Divide the parameters of ``objective``, and return it; its gradients are averaged over the processes while they are computed.

    A layer of encoder or decoder fetches its parameters when it is its turn, and forgets them; all others come for all of a
    pass, and so do the layers of a language model, which it reads part by part.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(device.type, (distributed.get_world_size(),))
    parts = list(objective.modules())
    if not any(isinstance(part, LanguageModel) for part in parts):
        for part in parts:
            if isinstance(part, EncoderLayer | DecoderLayer):
                fully_shard(part, mesh=mesh)
    fully_shard(objective, mesh=mesh)
    return objective


def whole(tensor: Tensor) -> Tensor:
    """Return all of a tensor: if it is divided, all processes must ask for it."""
    return tensor.full_tensor() if _is_divided(tensor) else tensor


def part_like(tensor: Tensor, like: Tensor) -> Tensor:
    """Return a whole tensor on the device of ``like``, and divided as ``like`` is: then all processes must ask for it."""
    tensor = tensor.to(like.device)
    if not _is_divided(like):
        return tensor
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(tensor, like.device_mesh, like.placements)


@torch.no_grad()
def copy_weights(of: nn.Module, into: nn.Module) -> None:
    """Copy all parameters of one model into another of the same form; either may be divided."""
    given = parameters_of(of)
    for name, parameter in parameters_of(into).items():
        parameter.copy_(part_like(whole(given[name]), parameter))


def _is_divided(tensor: Tensor) -> "TypeGuard[DTensor]":
    """Tell it without importing what it is."""
    return hasattr(tensor, "full_tensor")
