"""Which device, which arithmetic."""

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch

from interlingua.errors import ConfigError

__all__ = ["autocast", "choose_device", "choose_dtype", "set_threads"]


def choose_device(name: str) -> torch.device:
    """Return the device called ``name``; ``auto`` takes a GPU if there is one.

    Raises:
        ConfigError: no such device here.
    """
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"device {name!r}: not available here ({reason}); try cpu") from error
    return device


def choose_dtype(name: str, device: torch.device) -> torch.dtype:
    """Return the arithmetic of matrix products; ``auto`` is bfloat16 where the hardware has it."""
    if name == "float32":
        return torch.float32
    if name == "bfloat16":
        return torch.bfloat16
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
    return torch.bfloat16 if device.type == "cpu" and _cpu_has_bfloat16() else torch.float32


def autocast(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[object]:
    """Return a context in which matrix products are computed in ``dtype``."""
    if dtype is torch.float32:
        return nullcontext()
    return torch.autocast(device.type, dtype)


def set_threads(threads: int | None) -> None:
    """Use ``threads`` CPU threads, or one a core that this process may use."""
    torch.set_num_threads(
        threads or len(os.sched_getaffinity(0)) if _has_affinity() else threads or 1
    )


def _has_affinity() -> bool:
    return hasattr(os, "sched_getaffinity")


def _cpu_has_bfloat16() -> bool:
    """Tell whether products in bfloat16 are faster than in float32: AMX or AVX-512 BF16.

    Read from the system, because torch's own test is not public in every release that we admit.
    """
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return "amx_bf16" in flags or "avx512_bf16" in flags
