"""``native.cpp``, compiled once for this machine by its own C++ compiler; without one, everything works in torch alone.

The library is kept in the user's cache folder under a name that says what it was made from. ``CXX`` names another
compiler, as it does for any build; ``CXX=none`` does without.
"""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

__all__ = ["DTYPES", "function", "is_available"]

DTYPES = {torch.float32: "f32", torch.bfloat16: "bf16"}
"""The storage types of the kernels, and what the names of their functions end in."""

_SOURCE = Path(__file__).with_name("native.cpp")
_OPTIMISE = (
    *("-std=c++17", "-O3", "-fPIC"),
    # Sums may be taken in several lanes. Not -ffast-math: a NaN must stay one, and subnormals stay in the process.
    *("-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-fassociative-math"),
)
_INSTRUCTIONS = {"AVX512": ("-march=native",), "AVX2": ("-march=x86-64-v3",)}
"""By torch's name for what it uses itself, so that ``ATEN_CPU_CAPABILITY`` holds for both."""
_PATIENCE = 120.0

_DROPOUT = "uuuf"
_ATTENTION = "lllll" + "pp" + "ppp" + "lll" + "ppp" + "i" + _DROPOUT
_SIGNATURES = {
    "attention_forward": _ATTENTION + "pl" + "i",
    "attention_backward": _ATTENTION + "pl" + "ppp" + "ppp" + "i",
    "add_norm_forward": "ll" + "ppp" + _DROPOUT + "ppf" + "ppp" + "i",
    "add_norm_backward": "ll" + "ppp" + _DROPOUT + "p" + "pp" + "ppp" + "i",
    "relu_forward": "ll" + "pp" + _DROPOUT + "i",
    "relu_backward": "ll" + "pp" + "fp" + "i",
    "embed_forward": "ll" + "pppp" + "f" + _DROPOUT + "p" + "i",
    "embed_backward": "ll" + "pp" + "f" + _DROPOUT + "p" + "i",
    "cross_entropy": "ll" + "pp" + "f" + "i" + "p" + "i",
    "r_drop": "ll" + "ppp" + "ff" + "i" + "p" + "i",
}
_TYPES = {
    "p": ctypes.c_void_p,
    "l": ctypes.c_int64,
    "i": ctypes.c_int,
    "u": ctypes.c_uint32,
    "f": ctypes.c_float,
}


Function = Callable[..., None]
"""A kernel: tensors go in as their addresses; the number of threads, torch's own, comes last and is added by itself."""


def is_available() -> bool:
    """Tell whether the kernels can be used; the first call may take the seconds that compiling takes."""
    return _library() is not None


@cache
def function(name: str, dtype: torch.dtype) -> Function:
    """Return one kernel for tensors that are stored as ``dtype``.

    Raises:
        RuntimeError: there is no library; ask ``is_available`` first.
    """
    library = _library()
    if library is None:
        raise RuntimeError("the compiled kernels are not available here")
    native = getattr(library, f"{name}_{DTYPES[dtype]}")
    native.argtypes = [_TYPES[letter] for letter in _SIGNATURES[name]]
    native.restype = None

    def call(*arguments: Tensor | int | float | None) -> None:
        native(
            *(a.data_ptr() if isinstance(a, Tensor) else a for a in arguments),
            torch.get_num_threads(),
        )

    return call


@cache
def _library() -> ctypes.CDLL | None:
    compiler = _compiler()
    if compiler is None:
        return None
    flags = (*_OPTIMISE, *_INSTRUCTIONS.get(torch.backends.cpu.get_cpu_capability(), ()))
    try:
        path = _cache_folder() / f"kernels-{_fingerprint(compiler, flags)}.so"
        if not path.exists():
            _compile(compiler, flags, path)
        # Not linked with a library of threads: torch has loaded one, and a second would fight with it for the cores.
        return ctypes.CDLL(str(path))
    except (
        OSError,
        RuntimeError,
        subprocess.SubprocessError,
    ):  # RuntimeError: there is no home folder
        return None


def _compiler() -> str | None:
    wished = os.environ.get("CXX")
    candidates = [wished] if wished else ["c++", "g++"]
    return next((found for name in candidates if (found := shutil.which(name))), None)


def _cache_folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(root) / "interlingua"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def _fingerprint(compiler: str, flags: tuple[str, ...]) -> str:
    """Name the source, the compiler, the flags, and the processor that ``native`` means."""
    version = subprocess.run(
        [compiler, "--version"], capture_output=True, timeout=_PATIENCE, check=True
    ).stdout
    parts = [_SOURCE.read_bytes(), version, *(flag.encode() for flag in flags)]
    parts.append(f"{platform.machine()} {_processor()}".encode())
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:20]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags"))}))


def _compile(compiler: str, flags: tuple[str, ...], path: Path) -> None:
    """Put the library at ``path``, whole or not at all; several processes may do so at once."""
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        made = Path(scratch) / path.name
        parts = Path(scratch) / "native.o"
        subprocess.run(
            [compiler, *flags, "-fopenmp", "-c", str(_SOURCE), "-o", str(parts)],
            capture_output=True,
            timeout=_PATIENCE,
            check=True,
        )
        subprocess.run(
            [compiler, "-shared", str(parts), "-o", str(made)],
            capture_output=True,
            timeout=_PATIENCE,
            check=True,
        )
        made.replace(path)
