"""What ``training.py`` measures: the peers, the lines of its table, and what must be met."""

from dataclasses import dataclass

LAPTOP = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}


@dataclass(frozen=True)
class Peer:
    """Another trainer: its script, what to install for it, and the kinds of arithmetic to try."""

    script: str
    packages: tuple[str, ...]
    modes: tuple[str, ...]
    computes_on_gpu: bool = False
    """Whether it counts on a graphics card, where transformers alone is asked for."""


PEERS = {
    "transformers MarianMTModel": Peer(
        "marian.py",
        ("transformers==5.23.0",),
        ("fp32", "fp32-compile", "bf16", "bf16-compile"),
        computes_on_gpu=True,
    ),
    "torch.nn.Transformer": Peer(
        "torch_transformer.py", ("numpy",), ("fp32", "fp32-compile", "bf16", "bf16-compile")
    ),
    "JoeyNMT": Peer("joey.py", ("joeynmt==2.3.0", "importlib_metadata"), ("fp32", "bf16")),
    "Eole": Peer("eole_model.py", ("eole==0.6.4", "aiohttp"), ("fp32", "bf16")),
}


@dataclass(frozen=True)
class Row:
    """One line of the table: a size, an environment, what we run, which peers count, and the ratio to reach.

    What is compared may be asked for (``ours``: int8 is opt-in, and ``prove_loss.py`` shows what it costs); then what everybody gets, the
    ``default``, is measured beside it, and its share of the peak is told.
    """

    name: str
    size: str
    ours: str
    peers: str
    """``all`` kinds of arithmetic, or only those that begin so: ``fp32``, ``bf16``."""
    must: float
    reach: float
    environment: tuple[tuple[str, str], ...] = ()
    vocabulary: int = 8_000
    tokens: int = 4_096
    """Padded tokens a side in a batch, at most."""
    default: str | None = None
    is_from_wheel: bool = False
    """Whether ours is taken from the wheel that ``make build`` makes, and finds no compiler."""


NO_COMPILER = (("CXX", "none"),)
ROWS = [
    Row("base", "base", "int8", "all", 2.5, 3.5, default="bf16"),
    Row("small", "small", "int8", "all", 2.5, 4.0, default="bf16"),
    Row("tiny", "tiny", "int8", "all", 3.0, 5.0, vocabulary=10_000, default="bf16"),
    Row("base, fp32", "base", "fp32", "fp32", 1.3, 1.6),
    Row("small, AVX2", "small", "fp32", "all", 1.3, 1.6, tuple(LAPTOP.items())),
    Row(
        *("base, no compiler", "base", "int8", "all", 2.0, 2.5, NO_COMPILER),
        default="bf16",
        is_from_wheel=True,
    ),
    # An installation from the sources. The row above was this one until 04bdbca, and missed the 2 that it must come to.
    Row("base, torch alone", "base", "bf16", "all", 1.0, 2.0, NO_COMPILER),
]
GPU = (("BENCH_DEVICE", "cuda"),)
ROWS_OF_A_GPU = [
    Row("base, graphics card", "base", "bf16", "bf16", 2.0, 2.0, GPU, tokens=25_000),
    Row("big, graphics card", "big", "bf16", "bf16", 2.0, 2.0, GPU, tokens=25_000),
]
NEEDS_BFLOAT16 = "base"
"""The row that a processor without such instructions lacks; in float32 it has another."""
PROCESSES = "two processes"
LEAST_MFU, LEAST_SCALING = {"base": 0.30, "big": 0.35}, 1.8
"""What else must be met: the share of the measured peak, and the speed of two processes of one thread against one."""
SMALL_GPU = 8e9
"""Bytes of a graphics card on which base must train with 25,000 tokens an update; torch is held to them."""
