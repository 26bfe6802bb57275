"""Files and folders that appear whole or not at all.

What is written goes to a neighbour with a temporary name, is flushed to the disk, and only then takes its final name.
Where the system can swap two names (Linux, most file systems), that is one step, and a reader finds the old or the
new at every moment; elsewhere a folder takes two, since it cannot be renamed over another. An exception, Ctrl-C
included, leaves the old content or the new, never half of one. A process that is killed outright leaves its temporary
neighbour behind, and if it is killed between the two steps, the old folder under a temporary name; the next write of
the same name, or :func:`clear_left_overs`, puts it back or clears it away. Only processes of the same machine are
known to be dead.
"""

import contextlib
import ctypes
import errno
import fcntl
import functools
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from interlingua.errors import InterlinguaError, OutputError

__all__ = [
    "clear_left_overs",
    "hold_folder",
    "is_there",
    "refuse_to_write_over",
    "remove_folder",
    "replace_file",
    "replace_folder",
    "spelled_out",
    "sync_folder",
    "temporary_neighbour",
    "write_text",
]


def spelled_out(path: Path) -> Path:
    """Return a path to the same place whose last part is its name, as that of the present folder and the one above is not."""
    return path.resolve() if path.name in ("", "..") else path


def given_twice(paths: Sequence[Path]) -> Path | None:
    """Return the first of some paths that leads where another one does, if there is one."""
    places = [path.resolve() for path in paths]
    return next(
        (path for path, place in zip(paths, places, strict=True) if places.count(place) > 1), None
    )


def is_there(path: Path) -> bool:
    """Tell whether there is such a file or folder; a name that is too long for one is none."""
    try:
        return path.exists()
    except OSError:
        return False


def refuse_to_write_over(read: Iterable[Path], written: Iterable[Path]) -> None:
    """Refuse, before work is done, to write over a file that is read, or to write two things to one file.

    A device (``/dev/null``) keeps nothing that could be lost.

    Raises:
        OutputError: it names the file.
    """
    inputs, outputs = set(map(_identity, read)), set()
    for path in written:
        identity = _identity(path)
        if identity is None:
            continue
        if identity in inputs:
            raise OutputError(f"{path}: is read from as well, and would be lost; write elsewhere")
        if identity in outputs:
            raise OutputError(f"{path}: is to be written twice; give each output its own name")
        outputs.add(identity)


def _identity(path: Path) -> tuple[int, int] | Path | None:
    """Return what is the same for all names of a file, also of one that is yet to be written; None for a device or folder."""
    try:
        found = path.stat()
    except OSError:
        return path.resolve()
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


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
        _make_folder(path.parent)
        for left_over in _left_by_the_dead(path.parent, path.name, "tmp"):
            _discard(left_over)
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        _discard(temporary)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8, whole or not at all."""
    with replace_file(path) as file:
        file.write(text.encode("utf-8"))


@contextmanager
def replace_folder(path: Path, check: Callable[[Path], None] | None = None) -> Iterator[Path]:
    """Yield an empty folder that takes the place of ``path`` when the block ends without an exception.

    Args:
        path: the name.
        check: called with the new folder once every byte of it is on the disk, and before it takes the name; what it
            raises leaves the old one.

    Raises:
        OutputError: the place cannot be written.
    """
    path = Path(path)
    if not path.name:
        raise OutputError(f"{path}: has no name that it could be replaced by; name the folder")
    temporary = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    try:
        if path.is_file():
            raise OutputError(f"{path}: is a file, and a folder is to be written there; move it")
        _make_folder(path.parent)
        _clear_the_dead(path.parent, path.name)
        temporary.mkdir()
        yield temporary
        _sync_tree(temporary)
        if check:
            check(temporary)
        _swap(temporary, path)
        try:
            sync_folder(path.parent)
        except OSError:  # the new name may not outlive a power cut: only the old one is certain
            _swap(path, temporary)
            raise
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        _discard(temporary)


@contextmanager
def hold_folder(path: Path, *, busy: InterlinguaError, remedy: str) -> Iterator[None]:
    """Hold a folder for this process until the block ends; it is made if it is not there.

    Args:
        path: the folder; the lock is its file ``.lock``, which stays.
        busy: raised when another process holds it.
        remedy: what to do when it cannot be written.

    Raises:
        OutputError: it cannot be made or written.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = (path / ".lock").open("w")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror}); {remedy}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise busy from None
        except OSError as error:
            raise OutputError(
                f"{path}: cannot be locked ({error.strerror}), so that two programs could write there at once; choose a "
                "folder on another file system"
            ) from error
        try:
            is_renamed = not os.path.samestat(os.fstat(lock.fileno()), (path / ".lock").stat())
        except OSError:
            is_renamed = True
        if is_renamed:  # between the two calls, by a process that held it and has let go
            raise busy
        yield


def temporary_neighbour(path: Path) -> Path:
    """Make an empty folder beside ``path`` for what is going to be moved there; whoever makes it removes it.

    That of a process which was killed is removed by the next call for the same ``path``.

    Raises:
        OutputError: the place cannot be written.
    """
    temporary = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    try:
        _make_folder(path.parent)
        _clear_the_dead(path.parent, path.name)
        temporary.mkdir()
    except OSError as error:
        raise _cannot_write(path, error) from error
    return temporary


def remove_folder(path: Path) -> None:
    """Remove ``path`` as well as the system lets us; at no moment does half of it bear its name."""
    doomed = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    _discard(doomed)
    with contextlib.suppress(OSError):
        path.rename(doomed)
    _discard(doomed)


def clear_left_overs(folder: Path) -> None:
    """Put back or remove what writers of anything in ``folder`` left when they were killed; there may be no folder."""
    with contextlib.suppress(OSError):
        _clear_the_dead(folder)


def _make_folder(folder: Path) -> None:
    """Make ``folder`` and those above it, and let their names survive a power cut."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync_folder(each.parent)


def _swap(new: Path, path: Path) -> None:
    """Give ``new`` the name ``path``, and what was there, if anything, the name ``new``."""
    if not path.exists():
        new.rename(path)
        return
    if _exchange(new, path):
        return
    old = path.with_name(f".{path.name}.old-{os.getpid()}")
    try:
        path.rename(old)
        new.rename(path)
        old.rename(new)
    finally:
        if is_there(old) and not is_there(path):
            old.rename(path)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two names in one step; False where the system or the file system cannot."""
    rename = _renameat2()
    if rename is None:
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE: see renameat2(2)
    if rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM):
        return False
    raise OSError(number, os.strerror(number), str(other))


@functools.cache
def _renameat2() -> Callable[..., int] | None:
    """Find the C library's function, which Python does not offer; it is in glibc 2.28 and later, on Linux only."""
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return None
    function.argtypes = (*(ctypes.c_int, ctypes.c_char_p) * 2, ctypes.c_uint)
    function.restype = ctypes.c_int
    return function


def _clear_the_dead(folder: Path, name: str | None = None) -> None:
    """Put back the folder of a process killed between its two renames, then remove what the dead left.

    Only neighbours of ``name`` are looked at, or of every name.
    """
    olds = sorted(_left_by_the_dead(folder, name, "old"), key=lambda old: old.stat().st_mtime)
    for old in reversed(olds):  # the newest first: it is the one to put back
        place = old.with_name(old.name[1:].rpartition(".old-")[0])
        _discard(old) if place.exists() else old.rename(place)
    for left_over in _left_by_the_dead(folder, name, "tmp"):
        _discard(left_over)


def _left_by_the_dead(folder: Path, name: str | None, kind: str) -> list[Path]:
    """Find temporary neighbours of ``name`` (of any name, if None) whose process is gone, or had our number before us."""
    of_whom = ".+" if name is None else re.escape(name)
    pattern = re.compile(rf"\.{of_whom}\.{kind}-(\d{{1,9}})")
    neighbours = ((other, pattern.fullmatch(other.name)) for other in folder.iterdir())
    return [
        other
        for other, match in neighbours
        if match and (int(match[1]) == os.getpid() or not _is_alive(int(match[1])))
    ]


def _discard(path: Path) -> None:
    """Remove a file, a link or a folder, if it is there and as well as the system lets us."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


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


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_tree(folder: Path) -> None:
    """Put every file on the disk, then the names in every folder, the inner ones first."""
    for inner, _, files in os.walk(folder, topdown=False, onerror=_raise):
        for name in files:
            _sync_file(Path(inner, name))
        sync_folder(Path(inner))


def _raise(error: OSError) -> None:
    raise error


def sync_folder(path: Path) -> None:
    """Make a new name in a folder survive a power cut, where the system can (Windows cannot open folders).

    Raises:
        OSError: the disk does not take it.
    """
    if os.name == "posix":
        _sync_file(path)


def _cannot_write(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"{path}: cannot be written ({error.strerror or error}); "
        "check that the place exists, is yours to write, and has room"
    )
