"""The C++ files of this room, compiled once for this machine by its own compiler; without one, torch does everything.

The library is kept in the user's cache folder under a name that says what it was made from. ``CXX`` names another
compiler, as it does for any build; ``CXX=none`` does without.
"""

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

__all__ = ["DTYPES", "describe", "function", "is_available", "library"]

DTYPES = {torch.float32: "f32", torch.bfloat16: "bf16"}
"""The storage types of the kernels, and what the names of their functions end in."""

_SOURCES = [Path(__file__).with_name(f"{name}.cpp") for name in ("training", "decoding")]
_HEADERS = [
    Path(__file__).with_name(f"{name}.h")
    for name in (
        *("native", "products", "training_products", "training_integers"),
        *("dropout", "attention"),
    )
]
_OPTIMISE = (
    *("-std=c++17", "-O3", "-fPIC"),
    # Sums may be taken in several lanes. Not -ffast-math: a NaN must stay one, and subnormals stay in the process.
    *("-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-fassociative-math"),
)
_AVX2 = ("-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2", "-mlzcnt", "-mmovbe")
_PATIENCE = 120.0
_SCRATCH = "compiling-"
_LEFT_OVER = 24 * 3600.0
"""Seconds after which nobody can still be compiling."""

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
    """Return the library and its name, or None and the reason; the compilers of this machine are tried in turn."""
    wished = os.environ.get("CXX")
    reason = "no C++ compiler: c++ or g++"
    for compiler in [wished] if wished else ["c++", "g++"]:
        command = shlex.split(compiler)
        if not command or not shutil.which(command[0]):
            continue
        for instructions in _instructions():
            try:
                return _load(command, [*_OPTIMISE, *instructions])
            except subprocess.CalledProcessError as error:
                lines = error.stderr.decode(errors="replace").strip().splitlines()
                reason = f"{compiler}: {lines[-1] if lines else 'failed'}"
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                reason = f"{compiler}: {error}"  # a RuntimeError: there is no home folder
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
    has_vnni = "avx_vnni" in _processor() and "ATEN_CPU_CAPABILITY" not in os.environ
    return [(*_AVX2, "-mavxvnni"), _AVX2] if has_vnni else [_AVX2]


def _load(compiler: list[str], flags: list[str]) -> tuple[ctypes.CDLL, str]:
    """Compile if that has not been done, and load; a file that is damaged is made again."""
    name = f"kernels-{_fingerprint(compiler, flags)}"
    path = _cache_folder() / f"{name}.so"
    if path.exists():
        try:
            return ctypes.CDLL(str(path)), name
        except OSError:
            path.unlink(missing_ok=True)
    try:
        _compile([*compiler, *flags], path)
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
    version = _run([*compiler, "--version"])  # of ``ccache g++`` that of the second
    files = [path.read_bytes() for path in (*_SOURCES, *_HEADERS)]
    parts = [*files, version, *(word.encode() for word in (*compiler, *flags))]
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


def _compile(command: list[str], path: Path) -> None:
    """Put the library at ``path``, whole or not at all; several processes may do so at once, and machines that share a home.

    So no number of a process is in the name of what is being written: another machine would miss it among its own, and clear it away.
    What was left by those that were killed goes when it is old.
    """
    for left_over in path.parent.glob(f"{_SCRATCH}*"):
        with suppress(OSError):  # another process may be quicker
            if time.time() - left_over.stat().st_mtime > _LEFT_OVER:
                shutil.rmtree(left_over)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=path.parent) as scratch:
        objects = [str(Path(scratch) / f"{source.stem}.o") for source in _SOURCES]
        _run_together(
            [*command, "-fopenmp", "-c", str(source), "-o", made]
            for source, made in zip(_SOURCES, objects, strict=True)
        )
        linked = Path(scratch) / path.name
        _run([*command, "-shared", *objects, "-o", str(linked)])
        with linked.open("rb") as made:
            os.fsync(made.fileno())
        linked.replace(path)


def _run_together(commands: Iterable[list[str]]) -> None:
    """Run compilers side by side; whoever is told to stop meanwhile does not wait for them."""
    with ExitStack() as started:
        running = []
        for command in commands:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
            started.enter_context(process)
            started.callback(_end, process)  # which comes first
            running.append(process)
        for process in running:
            output, errors = process.communicate(timeout=_PATIENCE)
            if process.returncode != 0:
                raise subprocess.CalledProcessError(
                    process.returncode, process.args, output, errors
                )


def _end(compiler: subprocess.Popen[bytes]) -> None:
    """End a compiler that is still at work, and what it has started."""
    if compiler.poll() is None:
        os.killpg(compiler.pid, signal.SIGTERM)


def _run(command: list[str]) -> bytes:
    return subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=True).stdout
