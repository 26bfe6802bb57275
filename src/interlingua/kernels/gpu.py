"""The kernels of a graphics card, if Triton, which torch brings along for such cards, can compile them; otherwise torch does everything."""

from collections.abc import Callable
from functools import cache

import torch

__all__ = ["describe", "function", "is_available"]

LEAST_CAPABILITY = (8, 0)
"""Of NVIDIA's cards, those since 2020 (Ampere); Triton promises nothing for older ones."""


def is_available() -> bool:
    """Tell whether the kernels can be used on the present card; the first call may take the seconds that compiling takes."""
    return _found()[0]


def describe() -> str:
    """Say what computes between the matrix products on a card, and why it is torch where it is."""
    can, words = _found()
    return words if can else f"torch alone ({words})"


@cache
def function(name: str) -> Callable[..., None]:
    """Return one kernel: ask ``is_available`` first."""
    from interlingua.kernels import gpu_training  # imports Triton, which takes a second

    return gpu_training.FUNCTIONS[name]


@cache
def _found() -> tuple[bool, str]:
    """Compile and run one kernel: Triton may be missing, or the C compiler that it wants."""
    if not torch.cuda.is_available():
        return False, "no graphics card"
    if torch.version.hip or torch.cuda.get_device_capability() < LEAST_CAPABILITY:
        return False, "kernels are for NVIDIA's cards of compute capability 8.0 and later"
    try:
        import triton

        hidden, bias = (torch.ones(size, device="cuda") for size in ((1, 16), (16,)))
        function("relu_forward")(1, 16, hidden, bias, 0, 0, 0, 1.0)
        works = bool((hidden == 2.0).all())
    except Exception as error:  # whatever a compiler does not like
        lines = str(error).strip().splitlines()
        return False, f"Triton: {lines[-1] if lines else type(error).__name__}"
    return works, f"Triton {triton.__version__}" if works else "Triton: a wrong result"
