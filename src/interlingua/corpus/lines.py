r"""Lines of text files, exactly: a line ends at the byte ``\n`` and at nothing else.

Carriage returns, form feeds, U+0085 and U+2028 are text. Python's text mode and ``str.splitlines`` would
break lines there and so shift every following line against its translation. A byte order mark at the start
of a file is not text and is left out.
"""

import codecs
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

from interlingua.corpus.pairs import SentencePair
from interlingua.errors import CorpusError, OutputError
from interlingua.files import replace_file

__all__ = [
    "LineBlock",
    "LineCounter",
    "check_encoding",
    "count_lines",
    "describe_carriage_returns",
    "explain_not_utf8",
    "one_cell",
    "one_line",
    "open_bytes",
    "read_blocks",
    "read_chunks",
    "read_lines",
    "read_raw_lines",
    "read_span",
    "report_carriage_returns",
    "write_lines",
    "write_sides",
]

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


def one_line(text: str) -> str:
    """Put ``text`` on one line, so that the lines of an output match those of its input; any line end becomes one space."""
    return text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ")


def one_cell(text: str) -> str:
    """Put ``text`` on one line between tabs."""
    return one_line(text).replace("\t", " ")


def read_lines(path: Path) -> list[str]:
    r"""Read the lines of a UTF-8 file; a last line without ``\n`` counts, and the ``\n`` are left out.

    Raises:
        CorpusError: the file is missing or not readable, or holds bytes that are not UTF-8.
    """
    with _reading(path) as file:
        data = file.read()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise explain_not_utf8(path, data, error, data[:16], 0, 0) from error
    lines = text.removeprefix(_BOM).split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


@dataclass(frozen=True, slots=True)
class LineBlock:
    r"""Some lines of a file, one after the other.

    Attributes:
        lines: the text of each, without its ``\n``.
        data: the bytes that they were read from; a byte order mark is among them.
        start: byte of the file where the first line begins, after a byte order mark.
        end: byte of the file after the last line and its ``\n``.
    """

    lines: list[str]
    data: bytes
    start: int
    end: int

    @property
    def checksum(self) -> int:
        """The CRC-32 of the lines' own bytes, from ``start`` to ``end``."""
        mark = len(self.data) - (self.end - self.start)
        return crc32(memoryview(self.data)[mark:])


def read_blocks(path: Path, num_lines: int) -> Iterator[LineBlock]:
    """Read the lines that ``read_lines`` would give, ``num_lines`` at a time, in the memory of so many.

    Raises:
        CorpusError: as ``read_lines``, when the wrong bytes are reached.
    """
    position, lines_before, head = 0, 0, b""
    with _reading(path) as file:
        while data := b"".join(islice(file, num_lines)):
            head = head or data[:16]
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError as error:
                raise explain_not_utf8(path, data, error, head, position, lines_before) from error
            start, position = position, position + len(data)
            if start == 0 and text.startswith(_BOM):
                text, start = text[1:], len(codecs.BOM_UTF8)
            if not text:
                return  # a byte order mark, and nothing after it
            lines = text.removesuffix("\n").split("\n")
            yield LineBlock(lines, data, start, position)
            lines_before += len(lines)


def read_span(path: Path, start: int, end: int, checksum: int) -> list[str]:
    """Read the lines of a block again, which ``read_blocks`` gave before.

    Raises:
        CorpusError: the file is missing, not readable, or holds something else there now.
    """
    with _reading(path) as file:
        file.seek(start)
        data = file.read(end - start)
    if len(data) != end - start or crc32(data) != checksum:
        raise CorpusError(f"{path}: has been changed since it was read; run the same command again")
    return data.decode("utf-8").removesuffix("\n").split("\n")


def read_chunks(path: Path) -> Iterator[bytes]:
    """Read the bytes of a file piece by piece.

    Raises:
        CorpusError: the file is missing or not readable.
    """
    with _reading(path) as file:
        while chunk := file.read(_BLOCK):
            yield chunk


def read_raw_lines(path: Path, num_lines: int) -> Iterator[list[bytes]]:
    r"""Read the bytes of the lines of a file, whatever they are, ``num_lines`` at a time; ``\n`` is left out.

    There are as many as ``read_lines`` would give; a byte order mark stays where it is.

    Raises:
        CorpusError: the file is missing or not readable.
    """
    with _reading(path) as file:
        while data := b"".join(islice(file, num_lines)):
            lines = data.removesuffix(b"\n").split(b"\n")
            if lines != [codecs.BOM_UTF8] or data.endswith(b"\n"):
                yield lines


def count_lines(path: Path) -> int:
    """Count the lines that ``read_lines`` would give, without keeping or decoding them.

    Raises:
        CorpusError: the file is missing or not readable.
    """
    counter = LineCounter()
    for chunk in read_chunks(path):
        counter.add(chunk)
    return counter.lines


class LineCounter:
    """Counts the lines of a file whose bytes come piece by piece."""

    def __init__(self) -> None:
        self.size = 0
        """Bytes so far."""
        self._ends = 0
        self._last = b"\n"

    def add(self, chunk: bytes) -> None:
        """Take in the bytes that follow; the first piece holds a byte order mark whole, or none."""
        text = chunk.removeprefix(codecs.BOM_UTF8) if self.size == 0 else chunk
        self._ends += text.count(b"\n")
        self.size += len(chunk)
        self._last = text[-1:] or self._last

    @property
    def lines(self) -> int:
        """Lines so far; the last one counts though it may lack its end."""
        return self._ends + (self._last != b"\n")


def report_carriage_returns(name: Path | str, lines: Sequence[str]) -> str | None:
    r"""Say how many lines of the text ``name`` end in CR, as those from Windows do, or None."""
    return describe_carriage_returns(name, sum(line.endswith("\r") for line in lines), len(lines))


def describe_carriage_returns(name: Path | str, ended: int, num_lines: int) -> str | None:
    """Say the same of a text of which ``ended`` lines of ``num_lines`` end in CR, or None."""
    if not ended:
        return None
    count = "every line ends" if ended == num_lines else f"{ended:,} of {num_lines:,} lines end"
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
            file.write(_encode(path, number, line))


def write_sides(paths: tuple[Path, Path], pairs: Iterable[SentencePair]) -> None:
    """Write sources and targets as :func:`write_lines` would, in one pass, so that nobody need hold the pairs.

    Raises:
        OutputError: as ``write_lines``.
    """
    with replace_file(Path(paths[0])) as sources, replace_file(Path(paths[1])) as targets:
        for number, pair in enumerate(pairs, start=1):
            sources.write(_encode(paths[0], number, pair.source))
            targets.write(_encode(paths[1], number, pair.target))


def _encode(path: Path, number: int, line: str) -> bytes:
    """Return the bytes of a line of a file, the ``number``-th from 1."""
    if "\n" in line:
        raise OutputError(
            f"{path}, line {number}: holds a line feed, which would shift the lines after it; "
            "replace it by a space"
        )
    mark = codecs.BOM_UTF8 if number == 1 and line.startswith(_BOM) else b""
    try:
        return mark + line.encode("utf-8") + b"\n"
    except UnicodeEncodeError as error:
        raise OutputError(
            f"{path}, line {number}, character {error.start + 1}: "
            f"{line[error.start]!a} is half a character and has no UTF-8 form; remove it"
        ) from error


@contextmanager
def _reading(path: Path) -> Iterator[BinaryIO]:
    """Open a file, and explain what goes wrong while it is read: a bad disk, a server that is gone."""
    with open_bytes(path) as file:
        try:
            yield file
        except OSError as error:
            raise CorpusError(
                f"{path}: cannot be read to its end ({error.strerror or error}); "
                "check the disk or the network that it is on"
            ) from error


def open_bytes(path: Path) -> BinaryIO:
    """Open a file to read.

    Raises:
        CorpusError: it is missing or not readable; the message says why.
    """
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


def check_encoding(path: Path, lines: Sequence[bytes]) -> None:
    """Refuse a file that is in another encoding than UTF-8, by its first lines; wrong bytes here and there are let be.

    Raises:
        CorpusError: it is in another encoding, or no text.
    """
    foreign = _explain_start(path, lines[0] if lines else b"")
    if foreign:
        raise foreign
    accented = [line for line in lines if not line.isascii()]
    wrong = sum(not _is_utf8(line) for line in accented)
    if wrong >= max(5, len(lines) / 5) and wrong > 0.9 * len(accented):
        raise CorpusError(
            f"{path}: {wrong:,} of its first {len(lines):,} lines are not UTF-8; find out what the file is in, and convert it, "
            "for example: iconv -f ISO-8859-1 -t UTF-8"
        )


def _explain_start(path: Path | str, head: bytes) -> CorpusError | None:
    """Name the format of a file that begins with ``head``, if it is one that holds no UTF-8."""
    for start, remedy in _FOREIGN_STARTS:
        if head.startswith(start):
            return CorpusError(f"{path}, line 1, byte 1: {remedy}")
    return None


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def explain_not_utf8(
    path: Path | str,
    data: bytes,
    error: UnicodeDecodeError,
    head: bytes,
    bytes_before: int,
    lines_before: int,
) -> CorpusError:
    """Name the place of wrong bytes in ``data``, which begins with a line; ``head`` begins the file.

    ``data`` comes after ``bytes_before`` bytes and ``lines_before`` lines of the file ``path``.
    """
    foreign = _explain_start(path, head)
    if foreign:
        return foreign
    line = lines_before + data.count(b"\n", 0, error.start) + 1
    in_line = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
    return CorpusError(
        f"{path}, line {line}, byte {in_line} (byte {bytes_before + error.start + 1} of the file): "
        f"0x{data[error.start]:02x} is not UTF-8 ({error.reason}); "
        "correct that line, or convert the file, for example: iconv -f ISO-8859-1 -t UTF-8"
    )
