r"""Lines of text files, exactly: a line ends at the byte ``\n`` and at nothing else.

Carriage returns, form feeds, U+0085 and U+2028 are text. Python's text mode and ``str.splitlines`` would
break lines there and so shift every following line against its translation. A byte order mark at the start
of a file is not text and is left out.
"""

import codecs
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

from interlingua.errors import CorpusError, OutputError
from interlingua.files import replace_file

__all__ = ["count_lines", "read_lines", "report_carriage_returns", "write_lines"]

_BLOCK = 1 << 20
_BOM = "\ufeff"
_FOREIGN_STARTS = (
    (codecs.BOM_UTF16_LE, "looks like UTF-16; convert it: iconv -f UTF-16 -t UTF-8"),
    (codecs.BOM_UTF16_BE, "looks like UTF-16; convert it: iconv -f UTF-16 -t UTF-8"),
    (b"\x1f\x8b", "is compressed by gzip; unpack it first: gunzip"),
    (b"\xfd7zXZ", "is compressed by xz; unpack it first: unxz"),
    (b"BZh", "is compressed by bzip2; unpack it first: bunzip2"),
    (b"PK\x03\x04", "is a zip archive; unpack it first: unzip"),
)


def read_lines(path: Path) -> list[str]:
    r"""Read the lines of a UTF-8 file; a last line without ``\n`` counts, and the ``\n`` are left out.

    Raises:
        CorpusError: the file is missing or not readable, or holds bytes that are not UTF-8.
    """
    with _open(path) as file:
        data = file.read()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(path, data, error) from error
    lines = text.removeprefix(_BOM).split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def count_lines(path: Path) -> int:
    """Count the lines that ``read_lines`` would give, without keeping or decoding them.

    Raises:
        CorpusError: the file is missing or not readable.
    """
    ends, size, last = 0, 0, b"\n"
    with _open(path) as file:
        while block := file.read(_BLOCK):
            if size == 0:
                block = block.removeprefix(codecs.BOM_UTF8)
            ends += block.count(b"\n")
            size += len(block)
            last = block[-1:] or last
    return ends + (last != b"\n")


def report_carriage_returns(name: Path | str, lines: Sequence[str]) -> str | None:
    r"""Say how many lines of the text ``name`` end in CR, as those from Windows do, or None."""
    ended = sum(line.endswith("\r") for line in lines)
    if not ended:
        return None
    count = "every line ends" if ended == len(lines) else f"{ended:,} of {len(lines):,} lines end"
    return (
        f"{name}: {count} in CR, which is read as text; if it is not meant, remove it first: "
        r"sed 's/\r$//'"
    )


def write_lines(path: Path, lines: Iterable[str]) -> None:
    r"""Write ``lines`` as UTF-8, each ended by ``\n``; the file appears whole or not at all.

    ``read_lines`` gives the same lines back, whatever they hold: a first line that itself begins with
    U+FEFF is written after a byte order mark, which protects it.

    Raises:
        OutputError: a line holds ``\n`` or an unpaired surrogate, or the file cannot be written.
    """
    with replace_file(Path(path)) as file:
        for number, line in enumerate(lines, start=1):
            if "\n" in line:
                raise OutputError(
                    f"{path}, line {number}: holds a line feed, which would shift the lines after it; "
                    "replace it by a space"
                )
            if number == 1 and line.startswith(_BOM):
                file.write(codecs.BOM_UTF8)
            try:
                file.write(line.encode("utf-8") + b"\n")
            except UnicodeEncodeError as error:
                raise OutputError(
                    f"{path}, line {number}, character {error.start + 1}: "
                    f"{line[error.start]!a} is half a character and has no UTF-8 form; remove it"
                ) from error


def _open(path: Path) -> BinaryIO:
    try:
        return Path(path).open("rb")
    except FileNotFoundError as error:
        raise CorpusError(f"{path}: no such file; check the name and the folder") from error
    except IsADirectoryError as error:
        raise CorpusError(f"{path}: is a folder; give a text file in it") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise CorpusError(f"{path}: cannot be read ({reason}); check its rights") from error
    except ValueError as error:
        raise CorpusError(f"{path!r}: is not a file name ({error}); check it") from error


def _not_utf8(path: Path, data: bytes, error: UnicodeDecodeError) -> CorpusError:
    for start, remedy in _FOREIGN_STARTS:
        if data.startswith(start):
            return CorpusError(f"{path}, line 1, byte 1: {remedy}")
    line = data.count(b"\n", 0, error.start) + 1
    in_line = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
    return CorpusError(
        f"{path}, line {line}, byte {in_line} (byte {error.start + 1} of the file): "
        f"0x{data[error.start]:02x} is not UTF-8 ({error.reason}); "
        "correct that line, or convert the file, for example: iconv -f ISO-8859-1 -t UTF-8"
    )
