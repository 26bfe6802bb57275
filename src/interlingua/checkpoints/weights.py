"""Named tensors <-> one safetensors file, with every name, shape and number checked on the way in."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from interlingua.errors import ModelError

__all__ = ["check_tensors", "load_weights", "parameters_of", "read_tensors", "write_tensors"]


def parameters_of(model: nn.Module) -> dict[str, Tensor]:
    """Return every parameter once (shared ones under their first name), detached."""
    return {name: p.detach() for name, p in model.named_parameters(remove_duplicate=True)}


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write contiguous CPU copies of ``tensors``; the same tensors give the same bytes.

    Written by Python and not by safetensors, whose files only their owner could read, and whose errors hide what the
    system said.

    Raises:
        OSError: the disk is full, or the place cannot be written.
    """
    copies = {name: t.detach().cpu().contiguous() for name, t in sorted(tensors.items())}
    path.write_bytes(save(copies))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file.

    Raises:
        ModelError: it is missing, truncated, or something else.
    """
    try:
        return load_file(path)
    except FileNotFoundError:
        raise ModelError(f"{path}: is missing; copy the folder again") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelError(
            f"{path}: is not a readable safetensors file ({error}); copy the folder again"
        ) from error


def load_weights(model: nn.Module, path: Path) -> None:
    """Copy the tensors in ``path`` into ``model``.

    Raises:
        ModelError: a tensor is missing, unknown, of another shape, or holds NaN or infinity.
    """
    tensors = read_tensors(path)
    expected = parameters_of(model)
    check_tensors(path, tensors, expected)
    with torch.no_grad():
        for name, parameter in expected.items():
            parameter.copy_(tensors[name])


def check_tensors(
    path: Path, tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor]
) -> None:
    """Compare the names and shapes of what ``path`` held with ``expected``, and look at every number.

    Raises:
        ModelError: a tensor is missing, unknown, of another shape, or holds NaN or infinity.
    """
    if missing := sorted(expected.keys() - tensors.keys()):
        raise ModelError(
            f"{path}: lacks the tensor {missing[0]!r} ({len(missing)} in all) that config.json "
            "describes; the two files do not belong together"
        )
    if extra := sorted(tensors.keys() - expected.keys()):
        raise ModelError(
            f"{path}: holds the tensor {extra[0]!r} ({len(extra)} in all) that config.json does not "
            "describe; was it made by a model with parts of your own? then give build_model"
        )
    for name, tensor in sorted(tensors.items()):
        shape = expected[name].shape
        if tensor.shape != shape:
            raise ModelError(
                f"{path}: the tensor {name!r} has shape {tuple(tensor.shape)} instead of "
                f"{tuple(shape)}; config.json or the tokenizer belongs to another model"
            )
        if not torch.isfinite(tensor).all():
            raise ModelError(
                f"{path}: the tensor {name!r} holds NaN or infinity; "
                "training went wrong, take an earlier checkpoint"
            )
