"""How doctor says what it found in a corpus: numbers of pairs, lines, one example, and the command that mends it."""

import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.findings import Finding, Severity, show_text
from interlingua.corpus.lines import read_raw_lines
from interlingua.corpus.pair_rules import decode_line
from interlingua.corpus.plain_sides import PlainSides

__all__ = [
    "MOST_LINES",
    "cleaning_command",
    "count",
    "name_lines",
    "on_plain_files",
    "rank",
    "show_pair",
    "tell_pairs",
    "where_they_stand",
]

MOST_LINES = 10_000
"""Lines that a finding names at most; its message tells how many there are."""

_SHOWN = 70
_ONE = {"have": "has", "hold": "holds", "are": "is", "were": "was", "translate": "translates"}


def count(number: int, what: str) -> str:
    """Write a number of things: ``1 pair``, ``2,000 pairs``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def tell_pairs(sides: PlainSides, places: NDArray[np.intp], total: int, what: str) -> str:
    """Say what the pairs at ``places``, from 0, have or are, how many of ``total`` that is, and show the first one.

    Args:
        sides: the corpus.
        places: the pairs; one at least.
        total: how many pairs there are.
        what: begins with a verb in the plural: ``have a blank side``.
    """
    share = len(places) / total
    verb, _, rest = what.partition(" ")
    verb = _ONE.get(verb, verb) if len(places) == 1 else verb
    written = f"{share:.2%}" if share >= 0.0001 else "less than 0.01%"
    example = "" if len(places) == 1 else " For example"
    return f"{count(len(places), 'pair')} ({written}) {verb} {rest}.{example}\n" + show_pair(
        sides, int(places[0])
    )


def name_lines(places: NDArray[np.intp]) -> tuple[int, ...]:
    """Return the numbers, from 1, of pairs at places from 0; at most ``MOST_LINES``."""
    return tuple((places[:MOST_LINES] + 1).tolist())


def where_they_stand(sides: PlainSides, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings with the lines of the file that the user named, where that is one with both sides."""
    return tuple(
        replace(
            finding,
            lines=tuple(int(sides.line_numbers(number - 1, 1)[0]) for number in finding.lines),
        )
        if len(sides.named) == 1
        else finding
        for finding in findings
    )


def rank(share: float, warning_from: float, error_from: float = 2.0) -> Severity:
    """Return how bad it is that so large a share of the pairs has a fault."""
    if share >= error_from:
        return "error"
    return "warning" if share >= warning_from else "note"


def show_pair(sides: PlainSides, place: int) -> str:
    """Show both sides of the pair at ``place``, from 0, each on a line and cut."""
    shown = [_read_line(path, place) for path in (sides.source, sides.target)]
    margin = f"line {int(sides.line_numbers(place, 1)[0])}: "
    return f"{margin}{shown[0]}\n{'= ':>{len(margin)}}{shown[1]}"


def _read_line(path: Path, place: int) -> str:
    for lines in read_raw_lines(path, 10_000):
        if place < len(lines):
            text = decode_line(lines[place])
            return show_text(text[:_SHOWN]) + (" ..." if len(text) > _SHOWN else "")
        place -= len(lines)
    return ""


def cleaning_command(sides: PlainSides, *flags: str) -> str:
    """Write the command that cleans a corpus."""
    words = ["interlingua", "clean", *sides.flags(), *flags, "--output", "cleaned"]
    return shlex.join(words)


def on_plain_files(sides: PlainSides, command: str) -> str:
    """Return a command that edits the files of a corpus; of those that cannot be edited, how to get such files."""
    return command if sides.unpacking is None else sides.unpacking
