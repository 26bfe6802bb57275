"""Examine the machine: what computes, how fast it can, and what will run out."""

import importlib.metadata
import os
import platform
import shutil
from pathlib import Path

import torch

from interlingua.corpus.findings import Finding, Report
from interlingua.hardware import choose_dtype, num_cores, total_memory
from interlingua.kernels import native

__all__ = ["examine_environment"]

_OLDEST_TORCH = (2, 11)
_LITTLE_MEMORY, _NO_MEMORY = 2 << 30, 512 << 20
_LITTLE_DISK, _NO_DISK = 2 << 30, 100 << 20
_NEEDED = ("numpy", "tokenizers", "sentencepiece", "safetensors", "pydantic", "sacrebleu")


def examine_environment(folder: Path = Path()) -> Report:
    """Say what training and translating depend on here; ``folder`` is where runs would be written."""
    findings = [
        *_examine_torch(),
        *_examine_threads(os.environ),
        _describe_instructions(_processor_flags()),
        *_examine_compiler(),
        *_examine_memory(_available_memory()),
        *_examine_disk(folder),
        *_examine_packages(),
    ]
    return Report(f"{platform.platform()}, Python {platform.python_version()}", tuple(findings))


def _examine_torch() -> list[Finding]:
    version = torch.__version__
    numbers = tuple(int(part) for part in version.split("+")[0].split(".")[:2] if part.isdigit())
    found = []
    if numbers < _OLDEST_TORCH:
        wanted = ".".join(map(str, _OLDEST_TORCH))
        found.append(
            Finding(
                "old-torch",
                "error",
                (),
                f"torch {version} is older than {wanted}, the oldest that is tested here.",
                f"pip install 'torch>={wanted}'",
            )
        )
    gpu = torch.cuda.is_available() or torch.backends.mps.is_available()
    if torch.version.cuda and not gpu:
        found.append(
            Finding(
                "no-gpu",
                "warning",
                (),
                f"torch {version} was built for CUDA {torch.version.cuda}, but finds no graphics card: the CPU computes.",
                "install the driver of the card; or, without a card, torch's CPU build, which is smaller",
            )
        )
    capability = torch.backends.cpu.get_cpu_capability()
    where = "a graphics card" if gpu else "the CPU"
    dtype = str(choose_dtype("auto", torch.device("cpu"))).removeprefix("torch.")
    found.append(
        _note(
            "torch",
            f"torch {version} computes on {where}; on the CPU with {capability}, products in {dtype}.",
        )
    )
    return found


def _examine_threads(variables: "os._Environ[str] | dict[str, str]") -> list[Finding]:
    cores, found = num_cores(), []
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        value = variables.get(name, "")
        if value.isdigit() and int(value) > cores:
            found.append(
                Finding(
                    "too-many-threads",
                    "warning",
                    (),
                    f"{name} is {value}, but this process may use {cores} cores: the threads get in each other's way.",
                    f"export {name}={cores}",
                )
            )
    return [
        *found,
        _note(
            "threads", f"{cores} cores may be used, torch uses {torch.get_num_threads()} threads."
        ),
    ]


def _processor_flags() -> set[str] | None:
    """Return what the processor can do, by the names of the system, or None where it does not say."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    lines = (line for line in text.splitlines() if line.startswith(("flags", "Features")))
    return set(next(lines, "").partition(":")[2].split())


def _describe_instructions(flags: set[str] | None) -> Finding:
    if not flags:
        return _note(
            "instructions", "The system does not say which instructions its processor has."
        )
    names = {
        "AVX2": "avx2",
        "AVX-512": "avx512f",
        "AVX-512 BF16": "avx512_bf16",
        "AMX BF16": "amx_bf16",
        "AMX INT8": "amx_int8",
    }
    has = [name for name, flag in names.items() if flag in flags]
    lacks = [name for name, flag in names.items() if flag not in flags]
    told = f"The processor has {', '.join(has) or 'none'} of {', '.join(names)}"
    without = "; without AVX-512 BF16 and AMX BF16 products are computed in float32"
    slow = without if {"AVX-512 BF16", "AMX BF16"} <= set(lacks) else ""
    return _note("instructions", f"{told}{slow}.")


def _examine_compiler() -> list[Finding]:
    if native.is_available():
        return [_note("compiler", f"The kernels are compiled ({native.describe()}).")]
    return [
        Finding(
            "no-compiler",
            "warning",
            (),
            f"Training goes without the compiled kernels ({native.describe()}): the same numbers, but slower.",
            "leave CXX out, or let it name a C++ compiler that is here"
            if os.environ.get("CXX")
            else "install a C++ compiler: apt-get install g++",
        )
    ]


def _available_memory() -> int | None:
    """Return the bytes that a process could still get, or None where the system does not say."""
    total = total_memory(torch.device("cpu"))
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return total
    free = next(
        (int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable")), None
    )
    return total if free is None else min(free, total or free)


def _examine_memory(available: int | None) -> list[Finding]:
    if available is None:
        return [_note("memory", "The system does not say how much memory is free.")]
    size = f"{available / (1 << 30):.1f} GiB of memory are free."
    if available >= _LITTLE_MEMORY:
        return [_note("memory", size)]
    return [
        Finding(
            "little-memory",
            "error" if available < _NO_MEMORY else "warning",
            (),
            f"{size} A small model takes one to two to train.",
            "end other programs; or train with a smaller batching.batch_tokens, and see interlingua plan",
        )
    ]


def _examine_disk(folder: Path) -> list[Finding]:
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return [
            _note("disk", f"{folder}: the system does not say how much room there is ({error}).")
        ]
    size = f"{free / (1 << 30):.1f} GiB are free on the disk of {folder.resolve()}."
    found = [_note("disk", size)]
    if free < _LITTLE_DISK:
        found = [
            Finding(
                "little-disk",
                "error" if free < _NO_DISK else "warning",
                (),
                f"{size} A run keeps several checkpoints, each three times as large as the model.",
                "make room, or choose another place: interlingua train --run-dir PLACE",
            )
        ]
    if not os.access(folder, os.W_OK):
        found.append(
            Finding(
                "read-only",
                "warning",
                (),
                f"{folder.resolve()} cannot be written to, so that no run can be made here.",
                "go to a folder of your own, or name one: interlingua train --run-dir PLACE",
            )
        )
    return found


def _examine_packages() -> list[Finding]:
    """Name the versions of what is installed, and what is missing."""
    versions, missing = [], []
    for name in _NEEDED:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    found = [_note("packages", f"{', '.join(versions)}.")]
    if missing:
        found.append(
            Finding(
                "missing-package",
                "error",
                (),
                f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed; some commands will fail.",
                f"pip install {' '.join(missing)}",
            )
        )
    return found


def _note(code: str, message: str) -> Finding:
    return Finding(code, "note", (), message, "nothing to mend")
