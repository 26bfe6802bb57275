"""The compiled C++ files of this room, as functions of tensors; where there is no library of them, torch does everything.

A wheel for Linux on x86-64 brings libraries along. Elsewhere this machine's own compiler makes one, once, which is kept in the user's
cache folder under a name that says what it was made from. ``CXX`` names the compiler that shall make one, as it does for any build;
``CXX=none`` does without any.
"""

import ctypes
import hashlib
import os
import platform
import shlex
import subprocess
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from interlingua.kernels.compiling import (
    AVX2,
    BUILT,
    CLASSES,
    HEADERS,
    OPTIMISE,
    SOURCES,
    compile_library,
    compilers,
    is_whole,
    processor,
    run_compiler,
)

__all__ = ["DTYPES", "describe", "function", "is_available", "library"]

DTYPES = {torch.float32: "f32", torch.bfloat16: "bf16"}
"""The storage types of the kernels, and what the names of their functions end in."""

_DROPOUT = "uuuf"
_ATTENTION = "lllll" + "pp" + "ppp" + "lll" + "ppp" + "i" + _DROPOUT
_SIGNATURES = {
    "attention_forward": _ATTENTION + "pl" + "i",
    "attention_backward": _ATTENTION + "pl" + "ppp" + "ppp" + "i",
    "add_norm_forward": "ll" + "ppp" + _DROPOUT + "ppf" + "ppp" + "i",
    "add_norm_backward": "ll" + "ppp" + _DROPOUT + "p" + "pp" + "ppp" + "i",
    "norm_forward": "ll" + "ppp" + "f" + "ppp" + "i",
    "norm_backward": "ll" + "ppp" + "p" + "ppp" + "i",
    "add_forward": "ll" + "ppp" + _DROPOUT + "p" + "i",
    "add_backward": "ll" + "p" + _DROPOUT + "pp" + "i",
    "relu_forward": "ll" + "pp" + _DROPOUT + "i",
    "relu_backward": "ll" + "pp" + "fp" + "i",
    "embed_forward": "ll" + "pppp" + "f" + _DROPOUT + "p" + "i",
    "embed_backward": "ll" + "pp" + "f" + _DROPOUT + "p" + "i",
    "cross_entropy": "ll" + "pp" + "f" + "i" + "p" + "i",
    "r_drop": "ll" + "ppp" + "ff" + "i" + "p" + "i",
    "product": "lll" + "pp" + "i" + "p" + "i",  # in bfloat16 only, and not on every processor
    "product_over_rows": "lll" + "pp" + "pi" + "i",
    "integer_product": "lll" + "pp" + "ii" + "p" + "i",
    "integer_product_over_rows": "lll" + "pp" + "i" + "pi" + "i",
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
    return library() is not None


@cache
def function(name: str, dtype: torch.dtype) -> Function:
    """Return one kernel for tensors that are stored as ``dtype``.

    Raises:
        RuntimeError: there is no library; ask ``is_available`` first.
    """
    compiled = library()
    if compiled is None:
        raise RuntimeError("the compiled kernels are not available here")
    native = getattr(compiled, f"{name}_{DTYPES[dtype]}")
    native.argtypes = [_TYPES[letter] for letter in _SIGNATURES[name]]
    native.restype = ctypes.c_int

    def call(*arguments: Tensor | int | float | None) -> None:
        given = (a.data_ptr() if isinstance(a, Tensor) else a for a in arguments)
        if native(*given, torch.get_num_threads()) != 0:
            raise MemoryError(f"not enough memory for {name}")

    return call


def describe() -> str:
    """Say what computes between the matrix products, and why it is torch where it is."""
    compiled, words = _loaded()
    return words if compiled else f"no compiled kernels ({words})"


def library() -> ctypes.CDLL | None:
    """Return what was compiled, or None where nothing could be."""
    return _loaded()[0]


@cache
def _loaded() -> tuple[ctypes.CDLL | None, str]:
    """Return the library and its name, or None and the reason: what came along, or else what the compilers of this machine make."""
    wished = os.environ.get("CXX")
    brought = (None, f"no C++ compiler {wished}, which CXX names") if wished else _brought()
    if brought[0] is not None:
        return brought
    reason = brought[1]
    for compiler in compilers():
        for instructions in _instructions():
            try:
                return _load(compiler, [*OPTIMISE, *instructions])
            except subprocess.CalledProcessError as error:
                lines = error.stderr.decode(errors="replace").strip().splitlines()
                reason = f"{shlex.join(compiler)}: {lines[-1] if lines else 'failed'}"
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                # a RuntimeError: there is no home folder
                reason = f"{shlex.join(compiler)}: {error}"
    return None, reason


def _brought() -> tuple[ctypes.CDLL | None, str]:
    """Return the library for this processor that came with the package, and its name, or None and the reason."""
    reason = "no C++ compiler: c++ or g++"
    capability, told = torch.backends.cpu.get_cpu_capability(), processor()
    has = {*told.split()}
    if "ATEN_CPU_CAPABILITY" in os.environ:
        has.discard("avx_vnni")
    for kind in CLASSES:
        path = BUILT / f"{kind.name}.so"
        if kind.suits(capability, has) and path.is_file():
            try:
                digest = hashlib.sha256(path.read_bytes() + told.encode()).hexdigest()
                return ctypes.CDLL(str(path)), f"kernels-{kind.name}-{digest[:20]}"
            except OSError as error:
                reason = str(error)
    return None, reason


def _instructions() -> list[tuple[str, ...]]:
    """Return the flags for this processor, best first, the next for a compiler that does not know them.

    What torch uses itself decides, so that ``ATEN_CPU_CAPABILITY`` holds for both. A processor of AVX2 may have the 8-bit
    products of AVX-VNNI, as Intel's for laptops since 2021; one that is held to AVX2 does not use them.
    """
    capability = torch.backends.cpu.get_cpu_capability()
    if capability == "AVX512":
        return [("-march=native",)]
    if capability != "AVX2":
        return [()]
    has_vnni = "avx_vnni" in processor() and "ATEN_CPU_CAPABILITY" not in os.environ
    return [(*AVX2, "-mavxvnni"), AVX2] if has_vnni else [AVX2]


def _load(compiler: list[str], flags: list[str]) -> tuple[ctypes.CDLL, str]:
    """Compile if that has not been done, and load; a file that is damaged is made again."""
    name = f"kernels-{_fingerprint(compiler, flags)}"
    path = _cache_folder() / f"{name}.so"
    if path.exists():
        with suppress(OSError):
            if is_whole(path):
                return ctypes.CDLL(str(path)), name
        path.unlink(missing_ok=True)
    try:
        compile_library([*compiler, *flags], path)
    except (OSError, subprocess.SubprocessError):
        if not path.exists():  # else somebody else has made it meanwhile
            raise
    # Not linked with a library of threads: torch has loaded one, and a second would fight with it for the cores.
    return ctypes.CDLL(str(path)), name


def _cache_folder() -> Path:
    """Return the folder of this user's libraries.

    Raises:
        OSError: it cannot be made, or others could put a library of theirs there.
    """
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(root) / "interlingua"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.stat()
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o022):
        raise OSError(f"{folder}: others can write there; make it yours alone: chmod 700")
    return folder


def _fingerprint(compiler: list[str], flags: list[str]) -> str:
    """Name the sources, the compiler, the flags, and the processor that ``native`` means."""
    version = run_compiler([*compiler, "--version"])  # of ``ccache g++`` that of the second
    files = [path.read_bytes() for path in (*SOURCES, *HEADERS)]
    parts = [*files, version, *(word.encode() for word in (*compiler, *flags))]
    parts.append(f"{platform.machine()} {processor()}".encode())
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:20]
