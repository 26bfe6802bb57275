"""Which kernels a device has: those in C++ for the processor, or those that Triton makes for a graphics card."""

from collections.abc import Callable

import torch

from interlingua.kernels import gpu, native

__all__ = ["describe", "function", "has_room", "is_available"]


def is_available(device: torch.device, dtype: torch.dtype) -> bool:
    """Tell whether there are kernels for ``device`` that store numbers as ``dtype``."""
    if dtype not in native.DTYPES:
        return False
    if device.type == "cuda":
        return gpu.is_available()
    return device.type == "cpu" and native.is_available()


def has_room(device: torch.device, dtype: torch.dtype, head: int) -> bool:
    """Tell whether attention with heads of this width fits: a card of 99 KB of shared memory holds tiles of 512 bytes a row."""
    return device.type != "cuda" or dtype.itemsize * head <= 512


def function(name: str, device: torch.device, dtype: torch.dtype) -> Callable[..., None]:
    """Return one kernel; its arguments are the same on every device."""
    return gpu.function(name) if device.type == "cuda" else native.function(name, dtype)


def describe(device: torch.device) -> str:
    """Say what computes between the matrix products."""
    if device.type == "cuda":
        return gpu.describe()
    return native.describe() if device.type == "cpu" else "torch alone"
