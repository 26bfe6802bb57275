"""What every trainer under measurement shares: the same ids, the same clock, one line of JSON at the end.

Runs in the environment of a peer, so it imports neither Interlingua nor the peer. Called as
``python PEER.py BATCHES SIZE MODE THREADS STEPS``; BATCHES is a JSON file of id lists, not padded. With BENCH_DEVICE=cuda in the environment
all of it computes on a graphics card, with BENCH_GPU_BYTES of its memory if that is set; BENCH_STARTED is when whoever starts it did so, in seconds since 1970.
With BENCH_KEPT=1 it measures once for each line that it is sent, and ends with its input.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

STARTED = float(os.environ.get("BENCH_STARTED") or time.time())
"""When the process was started; not when this file is read, as some peers import torch before it and others after."""

DEVICE = os.environ.get("BENCH_DEVICE", "cpu")
KEPT = bool(os.environ.get("BENCH_KEPT"))

SIZES: dict[str, dict[str, int]] = {
    "big": {"d_model": 1024, "d_ff": 4096, "heads": 16, "layers": 6},
    "base": {"d_model": 512, "d_ff": 2048, "heads": 8, "layers": 6},
    "small": {"d_model": 256, "d_ff": 1024, "heads": 4, "layers": 3},
    "tiny": {"d_model": 128, "d_ff": 256, "heads": 4, "layers": 4},
}
DROPOUT, SMOOTHING = 0.1, 0.1
PAD, BEGIN, END = 0, 2, 3


@dataclass(frozen=True)
class Task:
    """One measurement: which model, in which arithmetic, on which batches."""

    sizes: dict[str, int]
    mode: str
    vocabulary: int
    batches: list[tuple[list[list[int]], list[list[int]]]]
    steps: int


def read_task() -> Task:
    """Read the command line and the batches; set the number of threads."""
    import torch

    path, size, mode, threads, steps = sys.argv[1:6]
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    if DEVICE == "cuda" and os.environ.get("BENCH_GPU_BYTES"):
        whole = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(float(os.environ["BENCH_GPU_BYTES"]) / whole)
    batches = [(batch["source"], batch["target"]) for batch in data["batches"]]
    return Task(SIZES[size], mode, data["vocabulary"], batches, int(steps))


def padded(rows: Sequence[Sequence[int]]) -> Any:
    """Pad id lists into one tensor, as quickly as ours does it."""
    import numpy as np
    import torch

    lengths = np.array([len(row) for row in rows])
    ids = np.full((len(rows), lengths.max()), PAD, dtype=np.int64)
    ids[np.arange(lengths.max()) < lengths[:, None]] = np.concatenate(rows)
    return torch.from_numpy(ids).to(DEVICE)


def with_ends(batch: tuple[list[list[int]], list[list[int]]]) -> tuple[Any, Any, Any]:
    """Pad a batch: source, target to read, target to write."""
    source = padded([[*ids, END] for ids in batch[0]])
    target_in = padded([[BEGIN, *ids] for ids in batch[1]])
    target_out = padded([[*ids, END] for ids in batch[1]])
    return source, target_in, target_out


def autocast(mode: str) -> Any:
    """Return the context of the forward pass: bf16 or not."""
    import torch

    return torch.autocast(DEVICE, torch.bfloat16, enabled=mode.startswith("bf16"))


def wait() -> None:
    """Let a graphics card end what it was given, so that the clock sees it."""
    if DEVICE == "cuda":
        import torch

        torch.cuda.synchronize()


def rounds() -> Iterable[object]:
    """Return what to go through to measure as often as is asked for: once, or for each line of standard input."""
    return sys.stdin if KEPT else [None]


def peak_bytes() -> int:
    """Return the largest memory that was held: of the process, or by torch on the graphics card."""
    if DEVICE == "cuda":
        import torch

        return torch.cuda.max_memory_reserved()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(
    task: Task,
    step: Callable[[tuple[list[list[int]], list[list[int]]]], float],
    report: Callable[[str], object] = print,
    at_the_end: Callable[[], dict[str, object]] | None = None,
    **more: object,
) -> None:
    """Run the steps and report what they came to, with ``more`` and what is known only after them; ``step`` returns the loss a target token.

    Each batch passes once before the clock starts, whichever system it is. That hides what a new shape costs at first:

    * the compilations of torch.compile, which with dynamic shapes are few, and over early in a training of thousands of updates;
    * the kernels that oneDNN makes for the shape of each product: in bfloat16 some 25 a batch, about a millisecond each (small, Zen 4). They
      are not over early, as hardly two batches have the same shape. Under the clock a peer finds all of its kernels kept; ours keeps 64
      (``interlingua.hardware``), and of five batches makes most anew, as in a training. So what is hidden favours peers;
    * on a graphics card the graphs that ours makes for the shape of each batch: of a long training a twentieth of the updates. That favours ours.
    """
    import torch

    batches = task.batches[: task.steps]
    start_seconds = time.time() - STARTED
    ready = time.perf_counter()
    for batch in batches:
        step(batch)
    wait()
    warm = time.perf_counter()
    tokens = sum(len(ids) + 1 for batch in batches for ids in batch[1])
    for _ in rounds():
        if KEPT:  # a card that waited has slowed down
            for batch in batches:
                step(batch)
            wait()
        seconds, losses = 0.0, []
        for batch in batches:
            started = time.perf_counter()
            losses.append(step(batch))
            wait()
            seconds += time.perf_counter() - started
        found = {
            "tokens_a_second": tokens / seconds,
            "seconds": seconds,
            "tokens": tokens,
            "loss": sum(losses) / len(losses),
            "peak_bytes": peak_bytes(),
            "start_seconds": start_seconds,
            "warmup_seconds": warm - ready,
            "torch": torch.__version__,
            **more,
            **(at_the_end() if at_the_end else {}),
        }
        report(json.dumps(found))
        sys.stdout.flush()
        if DEVICE == "cuda":  # others need the memory meanwhile
            torch.cuda.empty_cache()


def train(
    task: Task,
    model: Any,
    loss_of: Callable[[tuple[list[list[int]], list[list[int]]]], Any],
    **more: object,
) -> None:
    """Measure an ordinary loop around ``loss_of``, which gives the loss a target token: AdamW, clipping at 1."""
    import torch

    model.to(DEVICE)
    betas = (0.9, 0.98)  # fused, as transformers' own trainer takes it
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=betas, eps=1e-9, fused=True)

    def step(batch: tuple[list[list[int]], list[list[int]]]) -> float:
        optimizer.zero_grad()
        with autocast(task.mode):
            loss = loss_of(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return float(loss.item())

    measure(task, step, parameters=sum(p.numel() for p in model.parameters()), **more)


def smoothed_loss(logits: Any, targets: Any) -> Any:
    """Return torch's own label-smoothed cross-entropy a token, padding left out."""
    import torch

    return torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING
    )


def compiled(model: Any, mode: str) -> Any:
    """Compile the model where the mode asks for it."""
    import torch

    return torch.compile(model, dynamic=True) if mode.endswith("compile") else model
