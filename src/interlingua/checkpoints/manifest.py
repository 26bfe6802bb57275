"""A folder's proof that it is whole: ``manifest.json`` with the size and SHA-256 of every other file."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from interlingua.checkpoints.untrusted import refuse_special_file
from interlingua.errors import ModelError, OutputError
from interlingua.files import is_there

__all__ = [
    "FORMAT_VERSION",
    "MANIFEST",
    "check_manifest",
    "intact_files",
    "listed_files",
    "listed_sha256",
    "read_back",
    "write_manifest",
]

FORMAT_VERSION = 1
MANIFEST = "manifest.json"
_LARGEST = 1 << 20
"""Bytes; a folder has a handful of files."""


def write_manifest(folder: Path) -> None:
    """Describe every file of ``folder``."""
    files = {
        file.name: {"bytes": file.stat().st_size, "sha256": _sha256(file)}
        for file in sorted(folder.iterdir())
        if file.name != MANIFEST and file.is_file()
    }
    text = json.dumps({"format_version": FORMAT_VERSION, "files": files}, indent=2)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def check_manifest(folder: Path, needed: Iterable[str] = ()) -> None:
    """Compare every file that the manifest of ``folder`` lists with what was written.

    Args:
        folder: a model or a checkpoint.
        needed: the files that will be read, so that none of them escapes the comparison.

    Raises:
        ModelError: no manifest, another format version, a file missing, truncated, changed or not listed.
    """
    files = _listed(folder)
    for name, entry in files.items():
        _check_file(folder / name, entry)
    for name in needed:
        if name not in files:
            what = "is not listed in" if is_there(folder / name) else "is missing, also from"
            raise ModelError(f"{folder / name}: {what} {MANIFEST}; copy the folder again")


def intact_files(folder: Path) -> list[str]:
    """Return the files that are as the manifest of ``folder`` lists them; none where it is missing or damaged itself.

    Raises:
        ModelError: the disk does not give a file, so that nothing is known of it.
    """
    found: list[str] = []
    try:
        listed = _listed(folder)
    except ModelError as error:
        if isinstance(error.__cause__, OSError):
            raise
        return found
    for name, entry in listed.items():
        try:
            _check_file(folder / name, entry)
        except ModelError as error:
            if isinstance(error.__cause__, OSError):
                raise
        else:
            found.append(name)
    return found


def _listed(folder: Path) -> dict[str, dict[str, object]]:
    """Return what the manifest of ``folder`` says of each file.

    Raises:
        ModelError: there is none, or it cannot be read, or is of another version.
    """
    path = folder / MANIFEST
    try:
        if path.exists():
            refuse_special_file(path, _LARGEST)
        manifest = json.loads(path.read_text(encoding="utf-8"))
        version = manifest["format_version"]
        files = {str(name): dict(entry) for name, entry in manifest["files"].items()}
    except FileNotFoundError:
        raise ModelError(
            f"{folder}: is not a model folder (no {MANIFEST}); give a folder that "
            "`interlingua train` made, such as runs/ro-en"
        ) from None
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise ModelError(
            f"{path}: cannot be read ({error}); restore the folder from a copy, or train again"
        ) from error
    if version != FORMAT_VERSION:
        raise ModelError(
            f"{path}: has format version {version}; this program reads version {FORMAT_VERSION}; "
            "install the version of interlingua that wrote it"
        )
    for name in files:
        if name in {"", ".", ".."} or Path(name).name != name:
            raise ModelError(f"{path}: lists {name!r}, which is not a file of this folder")
    return files


def listed_files(folder: Path) -> dict[str, str]:
    """Return the checksum of each file of ``folder`` from its manifest, which ``check_manifest`` has found to hold."""
    return {name: str(entry["sha256"]) for name, entry in _listed(folder).items()}


def listed_sha256(folder: Path, name: str) -> str:
    """Return the checksum of one file, see :func:`listed_files`."""
    return listed_files(folder)[name]


def read_back(folder: Path) -> None:
    """Compare ``folder``, which has just been written and flushed, with its manifest, by reading it from the disk.

    Raises:
        OutputError: it does not hold what was written to it.
    """
    try:
        for file in folder.iterdir():
            _forget_cached(file)
        check_manifest(folder)
    except (ModelError, OSError) as error:
        raise OutputError(
            f"{folder.parent}: what was written does not read back as it was ({error}); nothing older was removed: "
            "check this disk, or choose another --run-dir"
        ) from error


def _forget_cached(file: Path) -> None:
    """Have the next read ask the disk and not the memory that the file was written from, where the system lets us."""
    if not hasattr(os, "posix_fadvise"):
        return
    with contextlib.suppress(OSError), file.open("rb") as stream:  # to read is what counts
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _check_file(file: Path, entry: dict[str, object]) -> None:
    try:
        size = refuse_special_file(file) if file.exists() else file.stat().st_size
        if size != entry.get("bytes"):
            raise ModelError(
                f"{file}: has {size} bytes instead of {entry.get('bytes')}; "
                "it was cut or changed: copy the folder again"
            )
        if _sha256(file) != entry.get("sha256"):
            raise ModelError(f"{file}: was changed since it was written; copy the folder again")
    except FileNotFoundError:
        raise ModelError(f"{file}: is missing; copy the folder again") from None
    except OSError as error:
        raise ModelError(
            f"{file}: cannot be read ({error.strerror or error}); check its rights, and the disk"
        ) from error


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
