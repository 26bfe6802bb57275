"""Two texts whose lines are translations of each other, held in memory as pairs: for texts that are small enough."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from interlingua.corpus.pairs import SentencePair
from interlingua.corpus.scan import ParallelFiles, scan_parallel

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
        files: where they were read.
    """

    pairs: list[SentencePair]
    files: ParallelFiles

    @property
    def blank(self) -> tuple[BlankPair, ...]:
        """The pairs that were left out."""
        return tuple(
            BlankPair(part.source_path, part.target_path, line + 1)
            for part in self.files.parts
            for line in part.blank.tolist()
        )

    def report(self) -> str | None:
        """Say what a user should know about the files, or None when there is nothing to say."""
        return self.files.report()


def read_parallel(sources: Sequence[Path], targets: Sequence[Path]) -> list[SentencePair]:
    """Read the usable pairs of parallel files; ``read_parallel_text`` also tells what was left out.

    Raises:
        CorpusError: see ``scan_parallel``.
    """
    return read_parallel_text(sources, targets).pairs


def read_parallel_text(sources: Sequence[Path], targets: Sequence[Path]) -> ParallelText:
    """Read parallel files, the first source file with the first target file and so on.

    Text is kept as it stands. Pairs with a blank side are left out and listed.

    Raises:
        CorpusError: see ``scan_parallel``.
    """
    files = scan_parallel(sources, targets)
    return ParallelText(list(files.pairs()), files)


def language_of(path: Path) -> str | None:
    """Tell the language from the last suffix of a file name (``train.ro`` gives ``ro``), or None."""
    return Path(path).suffix.removeprefix(".") or None
