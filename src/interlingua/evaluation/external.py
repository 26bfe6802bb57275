"""Metrics of other programs, each in a process of its own: COMET, or any command that reads lines and writes numbers.

Nothing of theirs is imported, so that they may want another Python, another torch or a graphics card.
"""

import math
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from interlingua.corpus.lines import one_cell
from interlingua.errors import ConfigError
from interlingua.evaluation.bootstrap import Resampled, check_seed, score_draws
from interlingua.evaluation.metrics import LOWER_IS_BETTER, METRIC_NAMES, score

__all__ = [
    "CometScore",
    "CommandMetric",
    "SegmentMetric",
    "read_metrics",
    "resample_segments",
    "try_out",
]

_SEED = 12345
_ERROR_RATES = (*LOWER_IS_BETTER, "CER")
_SEGMENT = re.compile(r"\tSegment (\d+)\tscore: (\S+)")


@runtime_checkable
class SegmentMetric(Protocol):
    """A metric that scores sentence by sentence; a text scores their mean, and higher is better."""

    @property
    def name(self) -> str:
        """What it is called in tables."""
        ...

    @property
    def signature(self) -> str:
        """How the figures were made."""
        ...

    def score(
        self, sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]
    ) -> list[float]:
        """Return one number a sentence.

        Raises:
            ConfigError: the program fails, or gives something else.
        """
        ...


@dataclass(frozen=True, slots=True)
class CommandMetric:
    """A command that reads ``source TAB output TAB reference`` a line, and writes one number a line.

    Raises:
        ConfigError: the command cannot be read, or there is no such program.
    """

    command: str
    """``NAME=COMMAND ARGUMENTS``, or without a name, which is then that of the program."""

    def __post_init__(self) -> None:
        """Refuse at once what cannot be run."""
        program = self._words()[0]
        if shutil.which(program) is None:
            raise ConfigError(
                f"flag --metric-command: there is no program {program}; give its path, or install it"
            )

    @property
    def name(self) -> str:
        """The name that was given, or the program's."""
        named = re.match(r"([\w+.-]+)=", self.command)
        return named[1] if named else Path(self._words()[0]).name

    @property
    def signature(self) -> str:
        """The command."""
        return shlex.join(self._words())

    def score(
        self, sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]
    ) -> list[float]:
        """Return one number a sentence; see :class:`SegmentMetric`."""
        rows = zip(sources, outputs, references, strict=True)
        text = "".join("\t".join(map(one_cell, row)) + "\n" for row in rows)
        written = _run(self._words(), text)
        lines = written.split("\n")[:-1] if written.endswith("\n") else written.split("\n")
        if len(lines) != len(sources):
            raise ConfigError(
                f"{self.name}: gave {len(lines):,} lines for {len(sources):,} sentences; it takes one number a line"
            )
        return [_number(self.name, line) for line in lines]

    def _words(self) -> list[str]:
        command = re.sub(r"^[\w+.-]+=", "", self.command)
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise ConfigError(f"flag --metric-command: {command!r}: {error}") from error
        if not words:
            raise ConfigError(
                "flag --metric-command: names no program; write NAME=COMMAND ARGUMENTS"
            )
        return words


@dataclass(frozen=True, slots=True)
class CometScore:
    """COMET by its own command ``comet-score``, which the user has installed (Rei et al. 2020, 2022).

    Raises:
        ConfigError: it is not installed.
    """

    arguments: tuple[str, ...] = ()
    """Given to it besides, such as ``--model NAME``."""

    def __post_init__(self) -> None:
        """Refuse at once what cannot be run."""
        if shutil.which("comet-score") is None:
            raise ConfigError(
                "metric comet: the program comet-score is not installed; install unbabel-comet in an environment of "
                "its own and put that on PATH, or leave comet out"
            )

    @property
    def name(self) -> str:
        """COMET."""
        return "COMET"

    @property
    def signature(self) -> str:
        """The command."""
        return shlex.join(["comet-score", *self.arguments])

    def score(
        self, sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]
    ) -> list[float]:
        """Return one number a sentence; see :class:`SegmentMetric`."""
        try:
            with tempfile.TemporaryDirectory() as folder:
                names = []
                for name, lines in (("s", sources), ("t", outputs), ("r", references)):
                    path = Path(folder, f"{name}.txt")
                    text = "".join(f"{one_cell(line)}\n" for line in lines)
                    path.write_text(text, encoding="utf-8")
                    names += [f"-{name}", str(path)]
                written = _run(["comet-score", *names, *self.arguments], "")
        except OSError as error:
            raise ConfigError(
                f"comet-score: its text cannot be written to a temporary file ({error.strerror or error}); free some space"
            ) from error
        found = {int(match[1]): match[2] for match in _SEGMENT.finditer(written)}
        if sorted(found) != list(range(len(sources))):
            raise ConfigError(
                f"comet-score: told the scores of {len(found):,} segments for {len(sources):,} sentences; "
                "this program reads lines of the form: FILE, tab, Segment N, tab, score: X"
            )
        return [_number(self.name, found[number]) for number in range(len(sources))]


def read_metrics(
    names: str, commands: Sequence[str] = (), comet: str = ""
) -> tuple[tuple[str, ...], tuple[SegmentMetric, ...]]:
    """Check everything that flags ask for, before anything is translated; return our own metrics, and those of other programs.

    Args:
        names: the value of --metrics, with commas between.
        commands: of --metric-command.
        comet: of --comet.

    Raises:
        ConfigError: a metric that does not exist or is not installed, two of one name, or a program that is called as an error rate.
    """
    check_seed()
    wanted = [name.strip().lower() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in (*METRIC_NAMES, "comet"):
            raise ConfigError(
                f"flag --metrics: {name!r} is none of {', '.join(METRIC_NAMES)}, comet"
            )
    if comet and "comet" not in wanted:
        raise ConfigError("flag --comet: is for the metric comet; add it to --metrics")
    programs: list[SegmentMetric] = []
    try:
        if "comet" in wanted:
            programs.append(CometScore(tuple(shlex.split(comet))))
    except ValueError as error:
        raise ConfigError(f"flag --comet: {comet!r}: {error}") from error
    programs += [CommandMetric(each) for each in commands]
    own = tuple(name for name in dict.fromkeys(wanted) if name != "comet")
    if not own:
        raise ConfigError(f"flag --metrics: name one of {', '.join(METRIC_NAMES)} at least")
    _refuse_names(
        [each.name for each in score(["one"], [["one"]], own)], [each.name for each in programs]
    )
    return own, tuple(programs)


def _refuse_names(own: Sequence[str], of_programs: Sequence[str]) -> None:
    """Refuse two metrics of one name, and a program whose figures would be taken the wrong way round."""
    every = [*own, *of_programs]
    for name in of_programs:
        if every.count(name) > 1:
            raise ConfigError(
                f"flag --metric-command: two metrics are called {name}; write NAME=COMMAND with another name"
            )
        if name.upper() in _ERROR_RATES:
            raise ConfigError(
                f"flag --metric-command: {name} is called as an error rate, and what a program writes is taken for the better the "
                "higher it is; have it write 100 minus the rate, and call it otherwise: NAME=COMMAND"
            )


def try_out(
    metrics: Sequence[SegmentMetric], sources: Sequence[str], references: Sequence[str]
) -> None:
    """Have programs score one sentence, so that one that fails does so before anything is translated.

    Raises:
        ConfigError: it fails, or gives something else.
    """
    for metric in metrics:
        metric.score(sources[:1], references[:1], references[:1])


def resample_segments(
    metric: SegmentMetric,
    sources: Sequence[str],
    systems: Sequence[Sequence[str]],
    references: Sequence[str],
) -> list[Resampled]:
    """Score each system whole, and on the same random draws of its sentences, as ``bootstrap.resample`` does.

    Args:
        metric: the program.
        sources: what was translated.
        systems: each system's outputs for all sentences.
        references: their translation.

    Raises:
        ConfigError: the program fails, or gives something else.
    """
    tables = [np.array(metric.score(sources, outputs, references)) for outputs in systems]
    draws = score_draws(tables, np.mean, np.random.default_rng(_SEED))
    return [
        Resampled(metric.name, float(each.mean()), scores, is_of_program=True)
        for each, scores in zip(tables, draws, strict=True)
    ]


def _run(words: Sequence[str], text: str) -> str:
    """Run a program on ``text``; what it says on standard error is shown as it comes."""
    try:
        done = subprocess.run(
            words, input=text.encode("utf-8", "replace"), stdout=subprocess.PIPE, check=False
        )
    except OSError as error:
        raise ConfigError(f"{words[0]}: cannot be run ({error.strerror or error})") from error
    if done.returncode:
        raise ConfigError(
            f"{words[0]}: ended with status {done.returncode}; what it said stands above"
        )
    return done.stdout.decode("utf-8", "replace")


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(f"{name}: gave {text.strip()[:60]!r} where a number was expected")
    return value
