"""Puts compiled kernels into a wheel for Linux on x86-64: `make build`, which sets HATCH_BUILD_HOOK_ENABLE_CUSTOM.

Whoever installs such a wheel needs no C++ compiler. A wheel that is built otherwise has none of them and serves every platform.
"""

import importlib.util
import platform
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNELS = Path("src", "interlingua", "kernels")
PATIENCE = 1200.0
"""Seconds for a compiler that takes ten where nothing else is going on: nobody waits for a sentence here."""


class Kernels(BuildHookInterface):
    """A library for each class of processors, each of them chosen when the package is used."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name the files and the platform; an installation that stays in the sources has none."""
        if version == "editable":
            return
        here = sys.platform, platform.machine(), platform.libc_ver()[0]
        if here != ("linux", "x86_64", "glibc"):
            self.app.display_warning(
                "Wheels have kernels on Linux, x86-64, glibc only: not this one."
            )
            return
        compiling = compiling_of(Path(self.root) / KERNELS / "compiling.py")
        self.scratch = tempfile.TemporaryDirectory(prefix="interlingua-kernels-")
        newest = 0
        for kind in compiling.CLASSES:
            library = Path(self.scratch.name, f"{kind.name}.so")
            compile_for(compiling, kind, library)
            newest = max(newest, *map(int, re.findall(rb"GLIBC_2\.(\d+)", library.read_bytes())))
            build_data["force_include"][str(library)] = (
                f"interlingua/kernels/{compiling.BUILT.name}/{library.name}"
            )
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_{newest}_x86_64"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Clear away what lies in the wheel now."""
        if hasattr(self, "scratch"):
            self.scratch.cleanup()


def compiling_of(path: Path) -> ModuleType:
    """Return the module alone: its package imports torch, which no build has."""
    spec = importlib.util.spec_from_file_location("compiling", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["compiling"] = module  # where its dataclass looks
    spec.loader.exec_module(module)
    return module


def compile_for(compiling: ModuleType, kind: Any, library: Path) -> None:
    """Write the library of one class of processors, without the names that nobody calls."""
    compiler = next(iter(compiling.compilers()), None)
    without = "a wheel without kernels is made by: python -m build"
    if compiler is None:
        raise SystemExit(f"No C++ compiler: c++ or g++, or what CXX names; {without}")
    try:
        command = [*compiler, *compiling.OPTIMISE, *kind.flags, "-s"]
        compiling.compile_library(command, library, PATIENCE)
    except subprocess.SubprocessError as error:
        told = (error.stderr or b"").decode(errors="replace") or str(error)
        failed = f"The kernels cannot be compiled for {kind.name} (GCC 11 or newer can); {without}"
        raise SystemExit(f"{told}\n{failed}") from None
    # That is in the library of threads that torch brings along; other compilers call another.
    if b"GOMP_parallel" not in library.read_bytes():
        raise SystemExit(f"The kernels need GCC, and {shlex.join(compiler)} is another; {without}")
