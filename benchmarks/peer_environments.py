"""A Python of its own for each peer, so that none decides about another's versions; and ours as the wheel of whoever has no compiler."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import torch

TORCH = "torch==2.13.0"
TORCH_OF_CPU = "https://download.pytorch.org/whl/cpu"


def environment_of(name: str, packages: tuple[str, ...], folder: Path) -> Path:
    """Return the Python of a peer's environment, made if it is not there, and changed if other packages are named now."""
    python, ready = folder / "bin" / "python", folder / ".ready"
    wanted = "".join(f"{package}\n" for package in packages)
    if not ready.exists() or ready.read_text(encoding="utf-8") != wanted:
        with_torch = f" and {TORCH}{_size_of_torch()}" if TORCH in packages else ""
        print(f"installing {name}{with_torch} ...", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
        ready.write_text(wanted, encoding="utf-8")
    return python


@cache
def environment_of_wheel(sources: Path, folder: Path) -> tuple[tuple[str, str], ...]:
    """Build the wheel with kernels, from the tree as it is, and return variables with which this Python takes the package from it and finds no compiler."""
    print("building the wheel ...", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(sources)]
    with_kernels = os.environ | {"HATCH_BUILD_HOOK_ENABLE_CUSTOM": "true", "CXX": ""}
    subprocess.run(build, check=True, env=with_kernels, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    site = folder / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", str(site), str(wheel)], check=True)
    return (("PYTHONPATH", str(site)), ("PATH", ""), ("CXX", ""))


def _size_of_torch() -> str:
    """Say what installing torch takes on Linux, and how to take the build for processors where this Python has that."""
    if not sys.platform.startswith("linux"):
        return ""
    size = ", which from PyPI is the build for CUDA, several GB"
    if torch.__version__.endswith("+cpu"):
        size += f"; this Python's is not: PIP_EXTRA_INDEX_URL={TORCH_OF_CPU} takes the same"
    return size
