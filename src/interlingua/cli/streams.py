"""Text in, text out, and what the shell hears when a command ends.

Exit status: that of the ``InterlinguaError``; 0 success, 70 a bug of this program, 71 out of memory, 130 Ctrl-C,
141 the reader of the output went away, 143 SIGTERM, 129 SIGHUP.
"""

import contextlib
import io
import json
import os
import stat
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from interlingua.corpus.lines import one_line
from interlingua.errors import ConfigError, CorpusError, InterlinguaError, OutputError
from interlingua.files import refuse_to_write_over, replace_file, temporary_neighbour

if TYPE_CHECKING:
    from interlingua.requests.translation import Translation

__all__ = [
    "is_folder",
    "note",
    "open_named",
    "open_output",
    "print_json",
    "progress_bar",
    "read_aligned",
    "read_input",
    "refuse_figure",
    "refuse_missing_folder",
    "refuse_missing_text",
    "refuse_odd_names",
    "refuse_unwritable",
    "report_failure",
    "say",
    "write_translations",
]

BUG, OUT_OF_MEMORY, INTERRUPTED, PIPE_CLOSED = 70, 71, 130, 141

SMALLER_BATCHES = {
    **dict.fromkeys(
        ("train", "prepare", "plan", "ablate"),
        "take smaller batches (--batching.batch-tokens; with --fresh, if the run has begun)",
    ),
    **dict.fromkeys(
        ("translate", "evaluate", "distill"),
        "take smaller batches (--batch-tokens)",
    ),
    "back-translate": "where it translated take smaller batches (--batch-tokens), where it trained finish that by hand (interlingua "
    "train ITS/train.toml --fresh --batching.batch-tokens N) and run this command again",
}
"""What to do where memory is too small, by the commands that have a flag for it."""

Write = Callable[[str], None]


def read_input(text: Sequence[str], source: str | None, output: str = "-") -> list[str]:
    r"""Return the lines to work on: ``text``, else the lines of the file ``source``, else standard input.

    A text from Windows, whose lines end in CR, is remarked on.

    Raises:
        ConfigError: both are given, or neither while standard input is a terminal.
        CorpusError: the file is missing, or the bytes are not UTF-8.
        OutputError: ``output``, where the result goes, is the input.
    """
    if text and source is not None:
        raise ConfigError("text and --input are both given; give one of the two")
    if text:
        return list(text)
    from interlingua.corpus.lines import read_lines, report_carriage_returns

    if source not in (None, "-"):
        lines = read_lines(Path(str(source)))
        _refuse_lost_input([Path(str(source))], output)
        _note_if(report_carriage_returns(str(source), lines))
        return lines
    if sys.stdin is None or (source is None and sys.stdin.isatty()):
        raise ConfigError(
            'no text is given; add it in quotes ("O casă mare."), or --input FILE, or pipe it in'
        )
    lines = _read_standard_input()
    _note_if(report_carriage_returns("standard input", lines))
    return lines


def _refuse_lost_input(read: Sequence[Path], output: str) -> None:
    if output != "-":
        refuse_to_write_over(read, [Path(output)])


def refuse_missing_text(path: Path | None) -> None:
    """Refuse a text that is not there, or cannot be read more than once, before work is done; None is no text.

    Raises:
        CorpusError: it says why.
    """
    from interlingua.corpus.lines import open_bytes
    from interlingua.corpus.packed import is_pipe

    if path is not None:
        if is_pipe(path):
            raise CorpusError(
                f"{path}: can be read only once, and is needed more often; write it into a file, and name that"
            )
        open_bytes(path).close()


def refuse_odd_names(paths: Iterable[Path | None]) -> None:
    """Refuse names that no report and no configuration can hold, before work is done; None is no name.

    Raises:
        ConfigError: it says which.
    """
    for path in paths:
        if path is not None and any("\ud800" <= sign <= "\udfff" for sign in str(path)):
            raise ConfigError(f"the name {str(path)!r} is not UTF-8; rename that file")


def open_closed_streams() -> None:
    """Put the null device in the place of standard streams that the caller has closed, which Python has as None."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def is_folder(name: str | None) -> bool:
    """Tell whether an input names a folder rather than a file, standard input (``-``), or nothing."""
    return name not in (None, "", "-") and Path(str(name)).is_dir()


def _note_if(remark: str | None) -> None:
    if remark:
        note(remark)


def _read_standard_input() -> list[str]:
    lines = sys.stdin.buffer.read().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if not lines[-1]:
        lines.pop()
    decoded = []
    for number, line in enumerate(lines, start=1):
        try:
            decoded.append(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise CorpusError(
                f"standard input, line {number}, byte {error.start + 1}: 0x{line[error.start]:02x} is "
                "not UTF-8; convert the text, for example: iconv -f ISO-8859-1 -t UTF-8"
            ) from error
    return decoded


def read_aligned(
    source: Path, references: Sequence[Path], output: str = "-"
) -> tuple[list[str], list[list[str]]]:
    """Read a source text and its references, which must have as many lines; remark on those from Windows.

    Raises:
        CorpusError: a file is missing, not UTF-8, empty, or has another number of lines.
        OutputError: ``output``, where the result goes, is one of them.
    """
    from interlingua.corpus.lines import read_lines, report_carriage_returns

    _refuse_lost_input([source, *references], output)
    sources = read_lines(source)
    if not sources:
        raise CorpusError(f"{source}: is empty; give a file with one sentence a line")
    lines = [read_lines(path) for path in references]
    for path, reference in zip(references, lines, strict=True):
        if len(reference) != len(sources):
            raise CorpusError(
                f"{source} has {len(sources):,} lines but {path} has {len(reference):,}; "
                "line N of a reference must be the translation of line N of the source"
            )
    for path, text in zip((source, *references), (sources, *lines), strict=True):
        _note_if(report_carriage_returns(path, text))
    return sources, lines


@contextlib.contextmanager
def open_output(name: str) -> Iterator[Write]:
    """Yield a function that writes text to the file ``name``, whole or not at all, or to standard output (``-``).

    A device or pipe (``/dev/null``) is written to as it is, and what a link points to is replaced, not the link.

    Raises:
        OutputError: it cannot be written.
    """
    if name in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        yield say
        return
    path = Path(name)
    refuse_missing_folder(path)
    opened = _open_device(path) if _is_device(path) else replace_file(path.resolve())
    with opened as file:
        yield lambda text: _ignore(file.write(text.encode("utf-8", "surrogateescape")))


def open_named(name: Path | None) -> contextlib.AbstractContextManager[Write | None]:
    """Open the output that was asked for, before what it will hold is worked out; None is no output."""
    return open_output(str(name)) if name is not None else contextlib.nullcontext()


def refuse_figure(path: Path | None) -> None:
    """Refuse a figure that could not be written, before work is done; None is no figure.

    Raises:
        OutputError: another suffix than those of figures, or a place that cannot be written.
    """
    if path is None:
        return
    if path.suffix.lower() not in (".png", ".svg"):
        raise OutputError(f"{path}: figures are written as .png or .svg; change the ending")
    refuse_missing_folder(path)
    refuse_unwritable(path)


def refuse_unwritable(path: Path) -> None:
    """Refuse a file or folder that nothing can be made beside, so that it could not be replaced, before work is done.

    Raises:
        OutputError: its folder cannot be written.
    """
    temporary_neighbour(path).rmdir()


def refuse_missing_folder(path: Path) -> None:
    """Refuse to write where a folder would have to be made first, which is most often a slip of the pen.

    Raises:
        OutputError: the folder of ``path`` is not there.
    """
    if _is_missing(path.parent):
        raise OutputError(
            f"{path}: cannot be written, as there is no folder {path.parent}; make it first, or correct the name"
        )


def _is_missing(folder: Path) -> bool:
    """Tell that there is no such folder; one that may not be looked into says so when it is written to."""
    try:
        return not folder.exists()
    except OSError:
        return False


def _is_device(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return path.parts[:2] in (("/", "dev"), ("/", "proc")) and path.parts[2:3] != ("shm",)
    is_open = path.parts[:3] in (("/", "dev", "fd"), ("/", "dev", "stderr"))
    if is_open or path.parts[:2] == ("/", "proc"):
        return True  # a file that this program was given opened, at some place
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextlib.contextmanager
def _open_device(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("ab") as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error})") from error


def write_translations(
    write: Write,
    lines: Sequence[str],
    translations: Iterable["Translation"],
    *,
    n_best: int,
    as_json: bool,
) -> None:
    """Write one line a translation; with ``n_best`` above 1 ``N ||| text ||| score``, as Moses does."""
    for number, (line, best) in enumerate(zip(lines, translations, strict=True)):
        ranked = [best, *best.alternatives]
        if as_json:
            write(best.to_json(line) + "\n")
        elif n_best > 1:
            write("".join(f"{number} ||| {one_line(x.text)} ||| {x.score:.6f}\n" for x in ranked))
        else:
            write(one_line(best.text) + "\n")


def _ignore(_: int) -> None:
    """Forget how many bytes were written."""


@contextlib.contextmanager
def progress_bar(
    name: str, *, in_bytes: bool = False
) -> Iterator[Callable[[int, int | None], None]]:
    """Yield a function that is told how much is done of how much; a bar is drawn if a terminal is there to see it."""
    if not sys.stderr.isatty():
        yield lambda _done, _whole: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TimeRemainingColumn,
    )

    amount = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = ("{task.description}", BarColumn(), amount, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task(name, total=None)
        yield lambda done, whole: shown.update(task, completed=done, total=whole)


def say(text: str) -> None:
    """Write ``text`` to standard output as UTF-8, whatever the locale is.

    Raises:
        OutputError: standard output cannot be written (a full disk).
    """
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(
            f"standard output: cannot be written ({error.strerror or error}); free some space"
        ) from error


def print_json(value: object, *, indent: int | None = None) -> None:
    """Write ``value`` as JSON to standard output, on one line unless it is indented."""
    say(json.dumps(value, ensure_ascii=False, default=str, indent=indent) + "\n")


def report_failure(error: BaseException, command: str = "") -> int:
    """Tell the user in plain words why a command failed, and return the exit status."""
    if os.environ.get("INTERLINGUA_TRACEBACK", "") not in ("", "0"):
        traceback.print_exception(error)
    if isinstance(error, BrokenPipeError):
        _abandon_standard_output()
        return PIPE_CLOSED
    if isinstance(error, KeyboardInterrupt):
        note("stopped by Ctrl-C")
        return INTERRUPTED
    if isinstance(error, InterlinguaError):
        note(f"error: {error}")
        if isinstance(error, OutputError):
            _abandon_standard_output()
        return error.exit_status
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        note(f"error: {place}{error.strerror or error}")
        _abandon_standard_output()
        return OutputError.exit_status if not place else InterlinguaError.exit_status
    if _is_out_of_memory(error):
        remedy = SMALLER_BATCHES.get(command, "split long lines")
        note(f"error: out of memory; {remedy}, take a smaller model, or a machine with more")
        return OUT_OF_MEMORY
    words = " ".join(str(error).split())
    note(
        f"error: {type(error).__name__}: {words} (a bug in this program: please report it, with what "
        "INTERLINGUA_TRACEBACK=1 shows)"
    )
    return BUG


def _is_out_of_memory(error: BaseException) -> bool:
    """Recognise Python's and torch's own kinds, without importing torch."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and "allocate memory" in str(error)


def note(message: str) -> None:
    """Write ``message`` to standard error, in whatever encoding that has."""
    with contextlib.suppress(OSError, ValueError):
        encoding = sys.stderr.encoding or "utf-8"
        text = message.encode(encoding, "backslashreplace").decode(encoding)
        print(text, file=sys.stderr, flush=True)


def _abandon_standard_output() -> None:
    """Point standard output at nothing, so that Python does not fail again while it shuts down."""
    with contextlib.suppress(OSError, ValueError, AttributeError, io.UnsupportedOperation):
        sys.stdout.flush()
        return
    with contextlib.suppress(OSError, ValueError, AttributeError, io.UnsupportedOperation):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
