"""What the machine can do at most: the fastest of several large matrix products, in FLOP a second."""

import json
import sys
import time

import torch


def peak(dtype: torch.dtype, side: int = 2048) -> float:
    """Return FLOP a second of the best of a dozen products of two square matrices."""
    a, b = torch.randn(side, side).to(dtype), torch.randn(side, side).to(dtype)
    best = float("inf")
    for _ in range(12):
        started = time.perf_counter()
        a @ b
        best = min(best, time.perf_counter() - started)
    return 2 * side**3 / best


torch.set_num_threads(int(sys.argv[1]))
print(json.dumps(peak({"bf16": torch.bfloat16, "fp32": torch.float32}[sys.argv[2]])))
