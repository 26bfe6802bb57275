"""A corpus in any form as two plain files of lines, for what reads them several times and wants every byte of them."""

import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.formats import UNNAMED, PairReader, open_pairs
from interlingua.corpus.packed import PackedFile, is_packed, name_of, without_packing
from interlingua.corpus.parallel import language_of
from interlingua.errors import OutputError

__all__ = ["PlainSides", "plain_sides"]

Languages = tuple[str | None, str | None]

_UNPACK = {"gzip": "gzip -dc", "bzip2": "bzip2 -dc", "xz": "xz -dc", "zstd": "zstd -dc"}


@dataclass(frozen=True, slots=True)
class PlainSides:
    """Two plain files with a corpus, line N of one the translation of line N of the other.

    Attributes:
        source: the source file: the one that was named, or a copy that is gone when the block ends.
        target: the target file.
        names: what to call them in messages.
        languages: those of source and target, as far as they are known.
        named: the files that the user named: one with both sides, or two.
        columns: where the sides are in a file with both.
        unpacking: the command that writes such files to stay; None if they are those that were named.
        remarks: what a user should know about how one file became two.
    """

    source: Path
    target: Path
    names: tuple[str, str]
    languages: Languages
    named: tuple[Path, ...]
    columns: tuple[str, str] | None = None
    unpacking: str | None = None
    remarks: tuple[str, ...] = ()
    _numbers: Path | None = None
    """Eight bytes a pair: the line of the file with both sides where it stands."""

    @classmethod
    def of(cls, source: Path, target: Path) -> "PlainSides":
        """Return two files that are plain already."""
        languages = language_of(source), language_of(target)
        return cls(source, target, (name_of(source), name_of(target)), languages, (source, target))

    def line_numbers(self, first: int, number: int) -> NDArray[np.int64]:
        """Return the lines, from 1, where ``number`` pairs stand in what the user named, from pair ``first``, from 0, on."""
        if self._numbers is None:
            return np.arange(first + 1, first + number + 1, dtype=np.int64)
        return np.fromfile(self._numbers, np.int64, number, offset=8 * first)

    @property
    def name(self) -> str:
        """What to call the corpus."""
        return " | ".join(map(name_of, self.named))

    def flags(self, part: str = "") -> list[str]:
        """Return the flags that name this corpus to a command, as its ``part`` ("", "valid" or "test")."""
        flag = f"--{part}-" if part else "--"
        if len(self.named) == 2:
            return [f"{flag}source", str(self.named[0]), f"{flag}target", str(self.named[1])]
        flags = [f"{flag}pairs", str(self.named[0])]
        if not part:
            for side, language in zip(UNNAMED, self.languages, strict=True):
                flags += [f"--{side}-lang", language] if language else []
            flags += ["--columns", ",".join(self.columns)] if self.columns else []
        return flags


@contextmanager
def plain_sides(
    named: tuple[Path, ...],
    languages: Languages = (None, None),
    columns: tuple[str, str] | None = None,
) -> Iterator[PlainSides]:
    """Yield a corpus as two plain files; what is packed or has both sides in one file is written beside, for so long.

    Two files may have different numbers of lines and hold any bytes; one with both sides is read as ``open_pairs`` does.

    Args:
        named: one file with both sides (or ``-``, a prefix, a folder), or two.
        languages: those of source and target; by default the suffixes of two files.
        columns: as for ``open_pairs``.

    Raises:
        CorpusError: a file is missing, damaged, or not of its form.
        OutputError: there is no room to unpack.
    """
    reader: PairReader | None = None
    if len(named) == 1:
        both = (languages[0] or UNNAMED[0], languages[1] or UNNAMED[1])
        reader = open_pairs(named[0], both, columns)
        reader.keep_bytes = True
        named = reader.paths
    if len(named) == 1 and reader is not None:
        with _scratch() as folder:
            yield _write_both(reader, folder, languages)
        return
    known = languages[0] or language_of(named[0]), languages[1] or language_of(named[1])
    names = name_of(named[0]), name_of(named[1])
    if not any(map(is_packed, named)):
        yield PlainSides(named[0], named[1], names, known, named)
        return
    with _scratch() as folder:
        sides = [_unpack(path, folder / str(number)) for number, path in enumerate(named)]
        yield PlainSides(sides[0], sides[1], names, known, named, unpacking=_tell_unpacking(named))


@contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="interlingua-") as folder:
        try:
            yield Path(folder)
        except OSError as error:
            if error.filename is not None and not str(error.filename).startswith(folder):
                raise
            raise OutputError(
                f"{folder}: the corpus cannot be unpacked there ({error.strerror or error}); make room, or name "
                "another place: TMPDIR=PLACE interlingua ..."
            ) from error


def _write_both(reader: PairReader, folder: Path, languages: Languages) -> PlainSides:
    """Write the pairs of a file with both sides, one line a pair on either side."""
    suffixes = reader.languages if reader.languages[0] != reader.languages[1] else UNNAMED
    stem = (
        Path(without_packing(reader.paths[0].name)).stem
        if reader.paths[0].name != "-"
        else "corpus"
    )
    sides = [folder / f"{stem}.{suffix}" for suffix in suffixes]
    lines = folder / "numbers"
    with sides[0].open("wb") as source, sides[1].open("wb") as target, lines.open("wb") as numbers:
        for pair in reader:
            source.write(_to_bytes(pair.source) + b"\n")
            target.write(_to_bytes(pair.target) + b"\n")
            numbers.write(pair.line.to_bytes(8, sys.byteorder))
    named, columns = reader.paths, reader.columns
    plain = PlainSides(sides[0], sides[1], ("", ""), languages, named, columns)
    split = [
        "interlingua",
        "split",
        *plain.flags(),
        "--valid",
        "0",
        "--test",
        "0",
        "--output",
        "plain",
    ]
    unpacking = _then_examine(shlex.join(split), [f"plain/train.{suffix}" for suffix in suffixes])
    if reader.paths[0].name == "-":
        unpacking = "save standard input as a file, and give that: --pairs FILE"
    names = tuple(f"{reader.name} ({suffix})" for suffix in suffixes)
    return PlainSides(
        sides[0],
        sides[1],
        (names[0], names[1]),
        languages,
        named,
        columns,
        unpacking,
        tuple(reader.remarks()),
        lines,
    )


def _to_bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character that JSON spelled out: no UTF-8 either
        return text.encode("utf-8", "surrogatepass")


def _unpack(path: Path, folder: Path) -> Path:
    """Write what a compressed file or a pipe holds, every byte of it; a plain file stays where it is."""
    if not is_packed(path):
        return path
    folder.mkdir()
    plain = folder / without_packing(path.name)
    with PackedFile(path) as packed, plain.open("wb") as file:
        for piece in packed.pieces():
            file.write(piece)
    return plain


def _tell_unpacking(named: tuple[Path, ...]) -> str:
    commands, plain = [], []
    for path in named:
        if not path.is_file() or not is_packed(path):
            plain.append(path.as_posix())
            continue
        with PackedFile(path) as packed:
            kind = packed.kind or "gzip"
        name = without_packing(path.name)
        plain.append(name if name != path.name else f"{name}.plain")
        commands.append(f"{_UNPACK[kind]} {shlex.quote(str(path))} > {shlex.quote(plain[-1])}")
    return _then_examine(" && ".join(commands), plain)


def _then_examine(command: str, sides: list[str]) -> str:
    again = shlex.join(["interlingua", "doctor", "--source", sides[0], "--target", sides[1]])
    return f"{command} && {again}" if command else again
