"""Files and folders that appear whole or not at all.

What is written goes to a neighbour with a temporary name, is flushed to the disk, and takes its final name
in one step. A crash, a full disk or Ctrl-C leaves the old content, never half of the new one.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from interlingua.errors import OutputError

__all__ = ["replace_file", "replace_folder", "write_text"]


@contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a binary file that becomes ``path`` when the block ends without an exception.

    Raises:
        OutputError: the place cannot be written (missing rights, a folder of that name, a full disk).
    """
    path = Path(path)
    if path.is_dir():
        raise OutputError(f"{path}: is a folder; give the name of a file to write")
    temporary = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        temporary.unlink(missing_ok=True) if _is_there(temporary) else None


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8, whole or not at all."""
    with replace_file(path) as file:
        file.write(text.encode("utf-8"))


@contextmanager
def replace_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder that takes the place of ``path`` when the block ends without an exception.

    Raises:
        OutputError: the place cannot be written.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    old = path.with_name(f".{path.name}.old-{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        yield temporary
        for file in temporary.rglob("*"):
            if file.is_file():
                _sync_file(file)
        _sync_folder(temporary)
        if path.exists():
            path.rename(old)
        temporary.rename(path)
        _sync_folder(path.parent)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        if old.exists() and not path.exists():
            old.rename(path)
        raise _cannot_write(path, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(path: Path) -> None:
    """Make the new name survive a power cut, where the system can (Windows cannot open folders)."""
    if os.name == "posix":
        _sync_file(path)


def _cannot_write(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"{path}: cannot be written ({error.strerror or error}); "
        "check that the place exists, is yours to write, and has room"
    )
