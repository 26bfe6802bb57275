"""What is taken out of an archive that came from somewhere: files that were asked for, under names of our own.

An archive is refused whole when a name in it leaves its folder or is a link, or when it would unpack to far more than
text can.
"""

import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from interlingua.errors import CorpusError
from interlingua.files import replace_file

__all__ = ["list_members", "take_members"]

_LARGEST_RATIO = 100
"""Bytes that one byte of an archive may become; text becomes 3 to 10, and very repetitive text 30."""
_SMALL = 2**20
"""So much may come out of anything."""
_PIECE = 1 << 20


def list_members(archive: Path) -> list[str]:
    """Return the names of the files in a zip archive, or a tar archive, compressed or not.

    Raises:
        CorpusError: it is no such archive, damaged, or refused.
    """
    return list(_sizes(archive))


def take_members(archive: Path, places: Mapping[str, Path]) -> None:
    """Write members of an archive to files of other names, each whole or not at all.

    Args:
        archive: the archive.
        places: for the name of each member that is wanted, the file to write.

    Raises:
        CorpusError: as ``list_members``.
        OutputError: a file cannot be written.
    """
    sizes = _sizes(archive)
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as opened:
                for name, place in places.items():
                    with opened.open(name) as member:
                        _write(member, place, sizes[name], archive)
            return
        with tarfile.open(archive) as tar:
            for name, place in places.items():
                inside = tar.extractfile(name)
                if inside is not None:
                    _write(inside, place, sizes[name], archive)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError) as error:
        raise _damaged(archive, error) from error
    except (
        NotImplementedError,
        RuntimeError,
    ) as error:  # a method that Python does not know; a password
        raise CorpusError(f"{archive}: cannot be unpacked ({error}); unpack it by hand") from error


def _sizes(archive: Path) -> dict[str, int]:
    """Return the size of each file that the archive holds, after all that makes one be refused was looked at."""
    sizes: dict[str, int] = {}
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as opened:
                for info in opened.infolist():
                    link = stat.S_ISLNK(info.external_attr >> 16)
                    _check_name(archive, info.filename, is_link=link)
                    if not info.is_dir():
                        sizes[info.filename] = info.file_size
        elif tarfile.is_tarfile(archive):
            with tarfile.open(archive) as tar:
                for member in tar:
                    is_link = not (member.isfile() or member.isdir())
                    _check_name(archive, member.name, is_link=is_link)
                    if member.isfile():
                        sizes[member.name] = member.size
                    _check_total(archive, sum(sizes.values()))
                while tar.fileobj and tar.fileobj.read(_PIECE):
                    pass  # only at its end can a compressed archive be told to be whole
        else:
            raise CorpusError(
                f"{archive}: is neither a zip nor a tar archive; look at what it is: file {archive}"
            )
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise _damaged(archive, error) from error
    _check_total(archive, sum(sizes.values()))
    return sizes


def _check_name(archive: Path, name: str, *, is_link: bool) -> None:
    parts = PurePosixPath(name.replace("\\", "/"))
    leaves = parts.is_absolute() or ".." in parts.parts or re.match(r"[A-Za-z]:", name)
    if leaves or is_link or "\0" in name:
        what = "is a link or device" if is_link else "leaves the folder that it is unpacked in"
        raise CorpusError(
            f"{archive}: is refused, because {name!r} in it {what}; such an archive is made to do harm"
        )


def _check_total(archive: Path, total: int) -> None:
    size = archive.stat().st_size
    if total > _LARGEST_RATIO * size + _SMALL:
        raise CorpusError(
            f"{archive}: is refused, because {size:,} bytes would become {total:,}, which text does not; "
            "if it is meant, unpack it by hand"
        )


def _write(member: Any, place: Path, size: int, archive: Path) -> None:
    with replace_file(place) as file:
        written = 0
        while piece := member.read(_PIECE):
            written += len(piece)
            if written > size:
                raise CorpusError(
                    f"{archive}: is refused, because more comes out of it than it says"
                )
            file.write(piece)


def _damaged(archive: Path, error: Exception) -> CorpusError:
    return CorpusError(f"{archive}: is a damaged archive ({error}); download it again")
