"""Puts compiled kernels into a wheel for Linux on x86-64: `make build`, which sets HATCH_BUILD_HOOK_ENABLE_CUSTOM.

Whoever installs such a wheel needs no C++ compiler. A wheel that is built otherwise has none of them and serves every platform.
"""

import importlib.util
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNELS = Path("src", "interlingua", "kernels")


class Kernels(BuildHookInterface):
    """A library for each class of processors, each of them chosen when the package is used."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name the files and the platform; an installation that stays in the sources has none."""
        if version == "editable":
            return
        if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
            self.app.display_warning("No kernels are compiled for a wheel but on Linux, x86-64.")
            return
        compiling = compiling_of(Path(self.root) / KERNELS / "compiling.py")
        self.made = Path(tempfile.mkdtemp(prefix="interlingua-kernels-"))
        newest = 0
        for kind in compiling.CLASSES:
            library = self.made / f"{kind.name}.so"
            compile_for(compiling, kind, library)
            newest = max(newest, *map(int, re.findall(rb"GLIBC_2\.(\d+)", library.read_bytes())))
            build_data["force_include"][str(library)] = (
                f"interlingua/kernels/{compiling.BUILT.name}/{library.name}"
            )
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_{newest}_x86_64"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Clear away what lies in the wheel now."""
        made = getattr(self, "made", None)
        if made:
            shutil.rmtree(made)


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
        compiling.compile_library([*compiler, *compiling.OPTIMISE, *kind.flags, "-s"], library)
    except subprocess.CalledProcessError as error:
        sys.stderr.buffer.write(error.stderr)
        raise SystemExit(f"The kernels cannot be compiled for {kind.name}; {without}") from None
