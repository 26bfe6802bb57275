"""The parts that a file is cut into, what is done of them, and how they become one file again.

``OUTPUT/NAME`` is the translation of the file ``NAME`` and appears when it is whole. Until then its finished parts lie
in ``OUTPUT/.interlingua/NAME.parts``; the record ``OUTPUT/.interlingua/NAME.json`` says what they are parts of, so that the
same command goes on where it was stopped and another one is refused.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from interlingua.corpus.lines import describe_carriage_returns, read_blocks, read_span
from interlingua.errors import ConfigError, CorpusError, OutputError
from interlingua.files import clear_left_overs, hold_folder, replace_file, write_text

__all__ = ["FileJob", "Part", "begun_in", "find_files", "only_one"]

_STATE = ".interlingua"


@dataclass(frozen=True, slots=True)
class Part:
    """Some lines of a file, one after the other.

    Attributes:
        source: the file.
        number: of the part in its file, from 0.
        start: byte where its first line begins.
        end: byte after its last line.
        checksum: CRC-32 of the bytes between.
        num_lines: how many lines these are.
    """

    source: str
    number: int
    start: int
    end: int
    checksum: int
    num_lines: int

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Part":
        """Take a part out of the row of a table, which may hold more."""
        return cls(**{field.name: row[field.name] for field in fields(cls)})

    def read(self) -> list[str]:
        """Return the lines.

        Raises:
            CorpusError: the file is gone, or holds something else there by now.
        """
        return read_span(Path(self.source), self.start, self.end, self.checksum)


def find_files(source: Path) -> list[Path]:
    """Return the file itself, or the files of a folder by name; hidden ones and folders inside it are left out.

    Raises:
        CorpusError: there is no such file or folder, or nothing in it.
    """
    if not source.is_dir():
        if not source.exists():
            raise CorpusError(
                f"{source}: does not exist; name a text file or a folder of text files"
            )
        return [source]
    files = sorted(x for x in source.iterdir() if x.is_file() and not x.name.startswith("."))
    if not files:
        raise CorpusError(
            f"{source}: holds no file; give a folder of text files, one sentence a line"
        )
    return files


class FileJob:
    """One file that becomes another of the same name and as many lines.

    Args:
        source: the file; it is read from end to end at once, in the memory of one part.
        output: folder of the translation.
        request: what the translation depends on besides the text (model, options), as JSON can hold it.
        part_lines: lines in a part; a file that was begun keeps to the parts that it was cut into.
        earlier: the same request as earlier versions told it; what was begun so goes on, and is written down anew.

    Raises:
        CorpusError: the file cannot be read or is not UTF-8.
        ConfigError: parts lie there that another command left, from other text or by another model.
        OutputError: a file of that name lies there which no such command wrote.
    """

    def __init__(
        self,
        source: Path,
        output: Path,
        request: Mapping[str, Any],
        part_lines: int,
        earlier: Mapping[str, Any] | None = None,
    ) -> None:
        self.source = source
        self.output = output / source.name
        self._folder = output / _STATE / f"{source.name}.parts"  # no record is called so
        self._record = output / _STATE / f"{source.name}.json"
        self._parts: list[Part] = []
        from_windows = 0
        for number, b in enumerate(read_blocks(source, self._lines_begun_with() or part_lines)):
            self._parts.append(
                Part(str(source.absolute()), number, b.start, b.end, b.checksum, len(b.lines))
            )
            from_windows += sum(line.endswith("\r") for line in b.lines)
        self.remark = describe_carriage_returns(source, from_windows, self.num_lines)
        """What is odd about its lines, or None."""
        before = output / _STATE / source.name  # as earlier versions called it
        if before.is_dir() and not self._folder.exists():
            with suppress(OSError):
                before.rename(self._folder)
        spans = [[part.start, part.end, part.checksum, part.num_lines] for part in self._parts]
        self._identity, *self._earlier = [
            json.dumps({"request": dict(each), "parts": spans}, sort_keys=True)
            for each in (request, earlier)
            if each is not None
        ]
        self._check_record()

    @property
    def num_lines(self) -> int:
        """How many lines the file has."""
        return sum(part.num_lines for part in self._parts)

    @property
    def is_done(self) -> bool:
        """Whether the translation is there, whole."""
        return self.output.exists()

    def begin(self) -> None:
        """Write down what the parts will be parts of.

        Raises:
            OutputError: the folder cannot be written.
        """
        if self._record_text() != self._identity:
            write_text(self._record, self._identity)

    def waiting(self) -> list[Part]:
        """Return the parts that are still to be translated."""
        if self.is_done:
            return []
        return [part for part in self._parts if not self._place(part).exists()]

    def keep(self, part: Part, text: str) -> None:
        """Keep the translation of a part, one line for each of its own.

        Raises:
            OutputError: it has another number of lines, or cannot be written.
        """
        if text.count("\n") != part.num_lines:
            raise OutputError(
                f"{self.output}: part {part.number} came back with {text.count(chr(10)):,} lines instead of "
                f"{part.num_lines:,}; this is a fault of the program, please report it"
            )
        write_text(self._place(part), text)

    def finish(self) -> None:
        """Put the parts together, in order, and remove them.

        Raises:
            OutputError: the file cannot be written.
        """
        if not self.is_done:
            with replace_file(self.output) as whole:
                for part in self._parts:
                    whole.write(self._place(part).read_bytes())
        shutil.rmtree(self._folder, ignore_errors=True)

    def _place(self, part: Part) -> Path:
        return self._folder / f"{part.number:06d}.txt"

    def _lines_begun_with(self) -> int | None:
        """Return how many lines the first part has that was written down, and so each but the last."""
        try:
            parts = json.loads(self._record_text() or "{}").get("parts")
            return int(parts[0][3]) if parts else None
        except (ValueError, TypeError, AttributeError, IndexError):
            return None  # the record is damaged, and will be refused

    def _record_text(self) -> str | None:
        return self._record.read_text(encoding="utf-8") if self._record.exists() else None

    def _check_record(self) -> None:
        found = self._record_text()
        if found is None:
            if self.output.exists():
                raise OutputError(
                    f"{self.output}: is there already, and not from this command; move it, or give another --output"
                )
            return
        if found not in (self._identity, *self._earlier):
            raise ConfigError(
                f"{self._record}: tells that {self.output} was begun with another text, model, option or corrections than now; "
                f"give another --output, or remove {self.output.parent} to begin again"
            )


def begun_in(output: Path) -> list[str]:
    """Return the names of the files whose translation was begun in ``output``, or is done."""
    return sorted(path.stem for path in (output / _STATE).glob("*.json"))


@contextmanager
def only_one(output: Path) -> Iterator[None]:
    """Hold the output folder, so that no second command writes the same files meanwhile.

    Raises:
        OutputError: another one holds it, or it cannot be written.
    """
    busy = OutputError(
        f"{output}: another process is translating into this folder; wait for it, or choose another"
    )
    remedy = "--output must be a folder, choose another"
    with hold_folder(output / _STATE, busy=busy, remedy=remedy):
        clear_left_overs(output)
        yield
