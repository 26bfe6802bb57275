"""Files and folders that appear whole or not at all.

What is written goes to a neighbour with a temporary name, is flushed to the disk, and only then takes its final
name: a file in one step, a folder in two, since a folder cannot be renamed over another. An exception, Ctrl-C
included, leaves the old content, never half of the new one. A process that is killed outright leaves its temporary
neighbour behind, and if it is killed between a folder's two steps, the old folder under a temporary name; the next
write of the same name puts it back or clears it away. Only processes of the same machine are known to be dead.
"""

import os
import re
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
        for left_over in _left_by_the_dead(path, "tmp"):
            left_over.unlink(missing_ok=True) if left_over.is_file() else None
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

    Whoever reads at that very moment may find no folder, but never a half one.

    Raises:
        OutputError: the place cannot be written.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    old = path.with_name(f".{path.name}.old-{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _clear_folders_of_the_dead(path)
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
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        if _is_there(old) and not _is_there(path):
            old.rename(path)
        shutil.rmtree(old, ignore_errors=True)
        shutil.rmtree(temporary, ignore_errors=True)


def _clear_folders_of_the_dead(path: Path) -> None:
    """Put back the folder of a process killed between its two renames, then remove what the dead left."""
    olds = sorted(_left_by_the_dead(path, "old"), key=lambda old: old.stat().st_mtime)
    if olds and not path.exists():
        olds.pop().rename(path)
    for left_over in (*olds, *_left_by_the_dead(path, "tmp")):
        shutil.rmtree(left_over, ignore_errors=True)


def _left_by_the_dead(path: Path, kind: str) -> list[Path]:
    """Find temporary neighbours of ``path`` whose process is gone, or had our number before us."""
    pattern = re.compile(rf"{re.escape(f'.{path.name}.{kind}-')}(\d{{1,9}})")
    neighbours = ((other, pattern.fullmatch(other.name)) for other in path.parent.iterdir())
    return [
        other
        for other, match in neighbours
        if match and (int(match[1]) == os.getpid() or not _is_alive(int(match[1])))
    ]


def _is_alive(process: int) -> bool:
    """Tell whether a process has this number; where that cannot be asked harmlessly, say yes."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


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
