"""What the machine can do at most: the fastest of several large matrix products, in FLOP a second.

By two libraries, torch's usual one and oneDNN, as each leaves something unused on some processors; on a graphics card by torch alone.
"""

import json
import sys
import time

import torch
from harness import DEVICE, rounds, wait

from interlingua.kernels.matrix_products import product


def peak(dtype: torch.dtype, side: int) -> float:
    """Return FLOP a second of the best of a dozen products of two square matrices."""
    a, b = (torch.randn(side, side, device=DEVICE).to(dtype) for _ in range(2))
    best = float("inf")
    for _ in range(12):
        for multiply in (torch.matmul, product):
            wait()
            started = time.perf_counter()
            multiply(a, b)
            wait()
            best = min(best, time.perf_counter() - started)
    return 2 * side**3 / best


torch.set_num_threads(int(sys.argv[1]))
kinds = {"bf16": torch.bfloat16, "fp32": torch.float32}
for _ in rounds():
    found = peak(kinds[sys.argv[2]], 2048 if DEVICE == "cpu" else 8192)
    print(json.dumps(found), flush=True)
