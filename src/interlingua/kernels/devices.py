"""Which kernels a device has: those that a C++ compiler made for the processor, or those that Triton makes for a graphics card."""

from collections.abc import Callable

import torch

from interlingua.kernels import card, native

__all__ = ["describe", "function", "is_available"]


def is_available(device: torch.device, dtype: torch.dtype) -> bool:
    """Tell whether there are kernels for ``device`` that store numbers as ``dtype``."""
    if dtype not in native.DTYPES:
        return False
    if device.type == "cuda":
        return card.is_available()
    return device.type == "cpu" and native.is_available()


def function(name: str, device: torch.device, dtype: torch.dtype) -> Callable[..., None]:
    """Return one kernel; its arguments are the same on every device."""
    return card.function(name) if device.type == "cuda" else native.function(name, dtype)


def describe(device: torch.device) -> str:
    """Say what computes between the matrix products."""
    if device.type == "cuda":
        return card.describe()
    return native.describe() if device.type == "cpu" else "torch alone"
