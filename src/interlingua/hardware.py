"""Which device, which arithmetic, how much memory."""

import ctypes
import os
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch

from interlingua.errors import ConfigError

__all__ = [
    "autocast",
    "choose_device",
    "choose_dtype",
    "is_lack_of_memory",
    "num_cores",
    "prepare_cpu",
    "product_dtype",
    "release_freed_memory",
    "total_memory",
]

# <malloc.h>, glibc
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3

_KERNEL_CACHES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
_KERNELS_KEPT = "64"
"""oneDNN keeps a kernel for each shape that a product ever had, torch a second copy, 1,024 each by default.

Hardly two batches have the same shape, so only those of the batch under way are worth keeping: the rest doubled the
memory of a run (Multi30k, 60 updates: 2.7 GB against 1.3 GB) and made it a tenth slower.
"""


_NO_MEMORY = (
    "can't allocate memory",
    "could not create a primitive",  # oneDNN, which does not say why
    "could not execute a primitive",
    "could not create a memory object",
    "std::bad_alloc",
    "CUDA error: out of memory",
    "Triton Error [CUDA]: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUBLAS_STATUS_NOT_INITIALIZED",
    "MPS backend out of memory",
)


def is_lack_of_memory(error: BaseException | None) -> bool:
    """Recognise it: on a CPU, and where a library or the driver of the device is refused memory, it is a plain RuntimeError; and where
    memory is lacking, what should clean up may fail too, and hide it.
    """
    if error is None:
        return False
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return any(words in str(error) for words in _NO_MEMORY) or is_lack_of_memory(error.__context__)


def choose_device(name: str | torch.device) -> torch.device:
    """Return the device called ``name``; ``auto`` takes a GPU if there is one.

    Of several processes under torchrun each gets a GPU of its own.

    Raises:
        ConfigError: no such device here.
    """
    if name == "auto":
        cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
        name = "cuda" if cuda else "mps" if mps else "cpu"
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError) as error:
        raise ConfigError(
            f"device is {str(name)!r}, which torch does not know; take auto or cpu, or cuda, cuda:1, mps"
        ) from error
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    own = int(os.environ.get("LOCAL_RANK", "0"))
    if processes > 1 and (device.type == "mps" or device.index not in (None, own)):
        raise ConfigError(
            f"device is {str(name)!r}, one device, but torchrun started {processes} processes; take cpu or cuda"
        )
    try:
        if processes > 1 and device.type == "cuda":
            device = torch.device("cuda", own)
        if device.type == "cuda" and device.index is not None:
            torch.cuda.set_device(device)  # where Triton starts its kernels
        torch.ones(1, device=device).item()
    except (RuntimeError, AssertionError, AttributeError, NotImplementedError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ConfigError(
            f"device is {str(name)!r}, which is not to be had here ({reason}); take auto or cpu"
        ) from error
    return device


def choose_dtype(name: str, device: torch.device) -> torch.dtype:
    """Return the arithmetic of matrix products; ``auto`` is bfloat16 where the hardware has it."""
    if name == "float32":
        return torch.float32
    if name in (
        "bfloat16",
        "int8",
    ):  # of 8 bits are products alone, whatever is between them is bfloat16
        return torch.bfloat16
    if device.type == "cuda":
        return (
            torch.bfloat16
            if torch.cuda.is_bf16_supported(including_emulation=False)
            else torch.float32
        )
    return torch.bfloat16 if device.type == "cpu" and _cpu_has_bfloat16() else torch.float32


def autocast(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[object]:
    """Return a context in which matrix products are computed in ``dtype``."""
    if dtype is torch.float32:
        return nullcontext()
    return torch.autocast(device.type, dtype)


def product_dtype(device: torch.device) -> torch.dtype:
    """Return the arithmetic of matrix products at this moment, as :func:`autocast` says."""
    if torch.is_autocast_enabled(device.type):
        return torch.get_autocast_dtype(device.type)
    return torch.get_default_dtype()


def prepare_cpu(threads: int | None) -> None:
    """Set up this process for training on a CPU: its threads, and what it keeps in memory.

    Call it before the first tensor operation, because the libraries read their limits then.

    Args:
        threads: how many to use (None: one a core that this process may use, divided among the processes that
            torchrun started here).
    """
    if threads is None:
        threads = max(1, num_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    torch.set_num_threads(threads)
    _keep_freed_memory()
    for variable in _KERNEL_CACHES:
        os.environ.setdefault(variable, _KERNELS_KEPT)


def num_cores() -> int:
    """Return how many cores this process may use."""
    mine = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(mine(0)) if mine else os.cpu_count() or 1


def _keep_freed_memory() -> None:
    """Let the C library keep what tensors free, instead of returning it to the system every time.

    A training step frees and asks for the same large blocks again and again; each time the system clears their
    pages first. Up to 1 GiB is kept; blocks above 32 MiB, the largest limit there is, still go back, because a heap
    that kept them too grew to 6 GB in an hour. Only glibc offers the choice; elsewhere nothing happens.
    """
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_M_MMAP_THRESHOLD, 32 << 20)
        libc.mallopt(_M_TRIM_THRESHOLD, 1 << 30)


def release_freed_memory() -> None:
    """Give the system back what was freed, as far as the C library can (glibc); elsewhere nothing happens."""
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)


def total_memory(device: torch.device) -> int | None:
    """Return the bytes of memory that ``device`` has, or None where the system does not say.

    In a container the limit of its control group counts, as what lies above cannot be used.
    """
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    try:
        installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except OSError:
        return installed
    return min(installed, int(limit)) if limit.isdecimal() else installed


def _cpu_has_bfloat16() -> bool:
    """Tell whether products in bfloat16 are faster than in float32: AMX or AVX-512 BF16.

    Read from the system, because torch's own test is not public in every release that we admit. ARM processors that
    report ``bf16`` stay with float32: nothing here has measured that torch is faster on them; ask for bfloat16 by name.
    """
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return "amx_bf16" in flags or "avx512_bf16" in flags
