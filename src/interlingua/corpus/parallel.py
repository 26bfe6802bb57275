"""Two texts whose lines are translations of each other, read as pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from interlingua.corpus.lines import count_lines, read_lines, report_carriage_returns
from interlingua.corpus.pairs import SentencePair
from interlingua.errors import CorpusError

__all__ = ["BlankPair", "ParallelText", "language_of", "read_parallel", "read_parallel_text"]


@dataclass(frozen=True, slots=True)
class BlankPair:
    """A line that has nothing to learn from: one side, or both, is empty or only white space.

    Attributes:
        source_path: the source file.
        target_path: the target file.
        line: 1 for the first line of these two files.
    """

    source_path: Path
    target_path: Path
    line: int


@dataclass(frozen=True, slots=True)
class ParallelText:
    """What parallel files hold.

    Attributes:
        pairs: the usable pairs.
        blank: the pairs that were left out.
        carriage_returns: a remark on each file of which most lines end in CR, as in Windows; here CR is text.
    """

    pairs: list[SentencePair]
    blank: tuple[BlankPair, ...]
    carriage_returns: tuple[str, ...] = ()

    def report(self) -> str | None:
        """Say what a user should know about the files, or None when there is nothing to say."""
        remarks = [self._report_blank()] if self.blank else []
        return "\n".join([*remarks, *self.carriage_returns]) or None

    def _report_blank(self) -> str:
        first = self.blank[0]
        named = [pair.line for pair in self.blank if pair.source_path == first.source_path][:5]
        others = len(self.blank) - len(named)
        return (
            f"{len(self.blank):,} {'pair was' if len(self.blank) == 1 else 'pairs were'} left out "
            f"because a side is blank: line {', '.join(f'{line:,}' for line in named)} "
            f"({first.source_path} | {first.target_path})"
            + (f" and {others:,} more" if others else "")
        )


def read_parallel(sources: Sequence[Path], targets: Sequence[Path]) -> list[SentencePair]:
    """Read the usable pairs of parallel files; ``read_parallel_text`` also tells what was left out.

    Raises:
        CorpusError: see ``read_parallel_text``.
    """
    return read_parallel_text(sources, targets).pairs


def read_parallel_text(sources: Sequence[Path], targets: Sequence[Path]) -> ParallelText:
    """Read parallel files, the first source file with the first target file and so on.

    Both sides of every two files are counted before anything is read. Text is kept as it stands. Pairs with a
    blank side are left out and listed.

    Raises:
        CorpusError: there are no files or not as many targets as sources; a file is missing, empty or not
            UTF-8; two files differ in lines; or every pair is blank.
    """
    if not sources or not targets:
        side = "source" if not sources else "target"
        raise CorpusError(f"no {side} file is given; name one, for example --{side} train.ro")
    if len(sources) != len(targets):
        raise CorpusError(
            f"{len(sources)} source files but {len(targets)} target files; each source file needs "
            "the file of its translations, in the same order"
        )
    for source_path, target_path in zip(sources, targets, strict=True):
        _check_counts(source_path, target_path)
    pairs: list[SentencePair] = []
    blank: list[BlankPair] = []
    carriage_returns: list[str] = []
    lines_before = 0
    for source_path, target_path in zip(sources, targets, strict=True):
        source_lines, target_lines = read_lines(source_path), read_lines(target_path)
        for path, lines in ((source_path, source_lines), (target_path, target_lines)):
            if remark := report_carriage_returns(path, lines):
                carriage_returns.append(remark)
        numbered = enumerate(zip(source_lines, target_lines, strict=True), start=1)
        for line, (source, target) in numbered:
            if source.strip() and target.strip():
                pairs.append(SentencePair(source, target, lines_before + line))
            else:
                blank.append(BlankPair(source_path, target_path, line))
        lines_before += len(source_lines)
    if not pairs:
        raise CorpusError(
            f"{sources[0]} | {targets[0]}: all {lines_before:,} pairs have a blank side; "
            "give files that hold text"
        )
    return ParallelText(pairs, tuple(blank), tuple(carriage_returns))


def language_of(path: Path) -> str | None:
    """Tell the language from the last suffix of a file name (``train.ro`` gives ``ro``), or None."""
    return Path(path).suffix.removeprefix(".") or None


def _check_counts(source_path: Path, target_path: Path) -> None:
    source_count, target_count = count_lines(source_path), count_lines(target_path)
    for path, count in ((source_path, source_count), (target_path, target_count)):
        if count == 0:
            raise CorpusError(f"{path}: is empty; give a file with one sentence a line")
    if source_count == target_count:
        return
    longer, shorter = source_path, target_path
    if source_count < target_count:
        longer, shorter = target_path, source_path
    raise CorpusError(
        f"{source_path} has {source_count:,} lines but {target_path} has {target_count:,}; "
        f"line {min(source_count, target_count) + 1:,} of {longer} has no translation. "
        "Line N of one file must be the translation of line N of the other."
        + _line_end_hint(longer, shorter, max(source_count, target_count))
    )


def _line_end_hint(longer: Path, shorter: Path, wanted: int) -> str:
    """Recognise a file that was written by a tool with another idea of line ends.

    Reading also finds out whether one of the two is no text at all, which then is what the user should hear.
    """
    text = "\n".join(read_lines(shorter))
    longer_text = "\n".join(read_lines(longer))
    if len(text.splitlines()) == wanted:
        return (
            f" {shorter} would have as many lines if CR, U+0085, U+2028 and the like ended a line as well; "
            r"here only \n does: write \n in their place."
        )
    if longer_text.endswith("\n"):
        return f" {longer} ends in blank lines: remove them if they are not meant."
    return ""
