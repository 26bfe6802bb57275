"""The C++ files of this room made into a library: for this machine, when it is first needed, or beforehand for a wheel.

Nothing is imported but the standard library: what builds a wheel has no torch.
"""

import hashlib
import os
import platform
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "AVX2",
    "BUILT",
    "CLASSES",
    "HEADERS",
    "OPTIMISE",
    "SOURCES",
    "ProcessorClass",
    "compile_library",
    "compilers",
    "is_whole",
    "processor",
    "run_compiler",
]

SOURCES = [Path(__file__).with_name(f"{name}.cpp") for name in ("training", "decoding")]
HEADERS = [
    Path(__file__).with_name(f"{name}.h")
    for name in (
        *("native", "products", "training_products", "training_integers"),
        *("dropout", "attention"),
    )
]
OPTIMISE = (
    *("-std=c++17", "-O3", "-fPIC"),
    # Sums may be taken in several lanes. Not -ffast-math: a NaN must stay one, and subnormals stay in the process.
    *("-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-fassociative-math"),
)
AVX2 = ("-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2", "-mlzcnt", "-mmovbe")
_PATIENCE = 120.0
_SCRATCH = "compiling-"
_CHECKSUM = hashlib.sha256().digest_size
_LEFT_OVER = 24 * 3600.0
"""Seconds after which nobody can still be compiling."""

BUILT = Path(__file__).with_name("built")
"""Where a wheel for Linux on x86-64 has a library for each class of processors; there is no such folder elsewhere."""


@dataclass(frozen=True)
class ProcessorClass:
    """Processors that one library of a wheel is for.

    Attributes:
        name: what the library is called, less its ending.
        needs: what such a processor has, in the words of Linux.
        flags: what the compiler is told.
    """

    name: str
    needs: frozenset[str]
    flags: tuple[str, ...]

    def suits(self, capability: str, has: set[str]) -> bool:
        """Tell whether a processor is one that has all this, of which torch uses ``capability``."""
        allowed = ("AVX512",) if "avx512f" in self.needs else ("AVX512", "AVX2")
        return capability in allowed and self.needs <= has


_NARROW = frozenset(("avx2", "fma", "f16c", "bmi1", "bmi2", "abm", "movbe"))
_WIDE = _NARROW | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
_WIDE_FLAGS = ("-march=x86-64-v4",)
_VNNI, _VNNI_FLAGS = _WIDE | {"avx512_vnni"}, (*_WIDE_FLAGS, "-mavx512vnni")
_PAIRS, _PAIRS_FLAGS = _VNNI | {"avx512_bf16"}, (*_VNNI_FLAGS, "-mavx512bf16")
CLASSES = (
    # Its library is told of AMX only so that the kernels leave products in bfloat16 to torch (``training_products.h``).
    ProcessorClass(
        *("avx512-amx", _PAIRS | {"amx_tile", "amx_bf16"}),
        (*_PAIRS_FLAGS, "-mamx-tile", "-mamx-bf16"),
    ),
    ProcessorClass("avx512-bf16", _PAIRS, _PAIRS_FLAGS),
    ProcessorClass("avx512-vnni", _VNNI, _VNNI_FLAGS),
    ProcessorClass("avx512", _WIDE, _WIDE_FLAGS),
    ProcessorClass("avx2-vnni", _NARROW | {"avx_vnni"}, (*AVX2, "-mavxvnni")),
    ProcessorClass("avx2", _NARROW, AVX2),
)
"""The best first."""


def compilers() -> list[list[str]]:
    """Return the compilers that are here, as the first words of a command: what ``CXX`` names, or else the usual ones."""
    wished = os.environ.get("CXX")
    try:
        commands = [shlex.split(words) for words in ([wished] if wished else ["c++", "g++"])]
    except ValueError:  # a quotation without its end
        return []
    return [command for command in commands if command and shutil.which(command[0])]


def processor() -> str:
    """Return what the system says of this processor: its name and what it has."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags"))}))


def compile_library(command: list[str], path: Path, patience: float = _PATIENCE) -> None:
    """Put the library at ``path``, whole or not at all; several processes may do so at once, and machines that share a home.

    So no number of a process is in the name of what is being written: another machine would miss it among its own, and clear it away.
    What was left by those that were killed goes when it is old. After ``patience`` seconds a compiler is given up. A checksum of the
    library follows its last byte, where nothing that loads it looks, for :func:`is_whole`.
    """
    for left_over in path.parent.glob(f"{_SCRATCH}*"):
        with suppress(OSError):  # another process may be quicker
            if time.time() - left_over.stat().st_mtime > _LEFT_OVER:
                shutil.rmtree(left_over)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=path.parent) as scratch:
        objects = [str(Path(scratch) / f"{source.stem}.o") for source in SOURCES]
        commands = [
            [*command, "-fopenmp", "-c", str(source), "-o", made]
            for source, made in zip(SOURCES, objects, strict=True)
        ]
        _run_together(commands, patience)
        linked = Path(scratch) / path.name
        run_compiler([*command, "-shared", *objects, "-o", str(linked)])
        with linked.open("ab") as made:
            made.write(hashlib.sha256(linked.read_bytes()).digest())
            made.flush()
            os.fsync(made.fileno())
        linked.replace(path)


def is_whole(path: Path) -> bool:
    """Tell whether a library is as it was written; one that was cut off would end the process that loads it, without a word.

    Raises:
        OSError: it cannot be read.
    """
    content = path.read_bytes()
    return hashlib.sha256(content[:-_CHECKSUM]).digest() == content[-_CHECKSUM:]


def _run_together(commands: Iterable[list[str]], patience: float = _PATIENCE) -> None:
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
            output, errors = process.communicate(timeout=patience)
            if process.returncode != 0:
                raise subprocess.CalledProcessError(
                    process.returncode, process.args, output, errors
                )


def _end(compiler: subprocess.Popen[bytes]) -> None:
    """End a compiler that is still at work, and what it has started."""
    if compiler.poll() is None:
        os.killpg(compiler.pid, signal.SIGTERM)


def run_compiler(command: list[str]) -> bytes:
    """Return what a compiler prints.

    Raises:
        CalledProcessError: it failed.
        TimeoutExpired: it took too long.
    """
    return subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=True).stdout
