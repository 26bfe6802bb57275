"""A folder's proof that it is whole: ``manifest.json`` with the size and SHA-256 of every other file."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from interlingua.errors import ModelError

__all__ = ["FORMAT_VERSION", "MANIFEST", "check_manifest", "write_manifest"]

FORMAT_VERSION = 1
MANIFEST = "manifest.json"


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
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        version = manifest["format_version"]
        files = {str(name): dict(entry) for name, entry in manifest["files"].items()}
    except FileNotFoundError:
        raise ModelError(
            f"{folder}: is not a model folder (no {MANIFEST}); give a folder that "
            "`interlingua train` made, such as runs/ro-en"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"{path}: cannot be read ({error}); restore the folder from a copy, or train again"
        ) from error
    if version != FORMAT_VERSION:
        raise ModelError(
            f"{path}: has format version {version}; this program reads version {FORMAT_VERSION}; "
            "install the version of interlingua that wrote it"
        )
    for name, entry in files.items():
        _check_file(folder / name, entry)
    for name in needed:
        if name not in files:
            what = "is not listed in" if (folder / name).exists() else "is missing, also from"
            raise ModelError(f"{folder / name}: {what} {MANIFEST}; copy the folder again")


def _check_file(file: Path, entry: dict[str, object]) -> None:
    try:
        size = file.stat().st_size
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
        raise ModelError(f"{file}: cannot be read ({error.strerror or error})") from error


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
