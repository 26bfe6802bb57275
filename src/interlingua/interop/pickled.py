"""A ``pytorch_model.bin`` without trusting it: its pickle is read in a process of its own that can do nothing else.

torch's weights-only reader makes tensors and plain containers and calls nothing that the file names. Should it ever
have a hole, or the file ask for too much, the process has little memory, few seconds, no files to open for writing but
one, no right to start another process, and no answer is taken from it but tensors in a safetensors file.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from torch import Tensor

from interlingua.checkpoints.untrusted import (
    read_safetensors,
    refuse_large_directory,
    refuse_special_file,
    safetensors_shapes,
)
from interlingua.errors import ModelError

__all__ = ["read_pickled"]

SECONDS = 120
_LARGEST_PICKLE = 16 << 20
_OVERHEAD = 8 << 30
"""Bytes of address space that Python and torch take before they have read anything."""


def read_pickled(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file that ``torch.save`` wrote from a dictionary of tensors.

    Raises:
        ModelError: it is something else, is damaged, asks for code to be run, or for more memory or time than it is worth.
    """
    size = refuse_special_file(path)
    _refuse_bombs(path, size)
    with tempfile.TemporaryDirectory(prefix="interlingua-") as folder:
        output = Path(folder) / "model.safetensors"
        limits = [str(_OVERHEAD + 6 * size), str(2 * size + (1 << 20))]
        command = [
            sys.executable,
            "-m",
            "interlingua.interop.pickled",
            str(path),
            str(output),
            *limits,
        ]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=SECONDS,
                check=False,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
        except subprocess.TimeoutExpired:
            raise ModelError(
                f"{path}: took longer than {SECONDS} seconds to read; {_ADVICE}"
            ) from None
        if done.returncode != 0 or not output.exists():
            last = done.stderr.decode("utf-8", errors="replace").strip().splitlines()[-1:]
            why = last[0][:200] if last else f"the reader ended with status {done.returncode}"
            raise ModelError(f"{path}: is not a file of weights alone ({why}); {_ADVICE}")
        return read_safetensors(output, list(safetensors_shapes(output)))


_ADVICE = "fetch the model again, or one in safetensors format"


def _refuse_bombs(path: Path, size: int) -> None:
    """Look at the directory of the archive: torch stores tensors as they are, so nothing may grow."""
    refuse_large_directory(path)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise ModelError(
            f"{path}: is not an archive of torch (1.6 or newer, a zip file); {_ADVICE}"
        ) from None
    if sum(entry.file_size for entry in entries) > size:
        raise ModelError(f"{path}: grows when it is unpacked, as no file of torch does; {_ADVICE}")
    for entry in entries:
        if entry.filename.startswith("/") or ".." in entry.filename.split("/"):
            raise ModelError(
                f"{path}: names a place outside itself ({entry.filename[:60]!r}); {_ADVICE}"
            )
        if entry.filename.endswith("data.pkl") and entry.file_size > _LARGEST_PICKLE:
            raise ModelError(f"{path}: its index has {entry.file_size:,} bytes; {_ADVICE}")


def _main(source: str, output: str, memory: str, written: str) -> None:
    """Read and convert, in the process of its own; the imports come before the limits."""
    import torch
    from safetensors.torch import save

    torch.set_num_threads(1)
    with contextlib.suppress(ImportError):
        import resource

        for what, most in (
            (resource.RLIMIT_AS, int(memory)),
            (resource.RLIMIT_FSIZE, int(written)),
            (resource.RLIMIT_CPU, SECONDS),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_NPROC, 0),
        ):
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(what, (most, most))
    try:
        found = torch.load(source, map_location="cpu", weights_only=True)
        if not isinstance(found, dict):
            raise TypeError("it does not hold a dictionary")
        tensors = {}
        for name, tensor in found.items():
            if not isinstance(name, str) or not isinstance(tensor, torch.Tensor):
                raise TypeError("it holds something beside tensors")
            if tensor.is_sparse or tensor.numel() * tensor.element_size() > int(written):
                raise TypeError(f"{name[:60]} is larger than the file")
            tensors[name] = tensor.detach().clone().contiguous()
        with open(output, "wb") as file:
            file.write(save(tensors))
    except Exception as error:  # one line of it is all that anybody reads
        sys.exit(" ".join(str(error).split())[:160] or type(error).__name__)


if __name__ == "__main__":
    _main(*sys.argv[1:5])
