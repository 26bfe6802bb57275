"""What doctor says of sides that do not belong together line by line: unequal, shifted, unrelated."""

import shlex
from collections.abc import Iterator

from interlingua.corpus.findings import Finding
from interlingua.corpus.line_shift import Stretch, find_stretches
from interlingua.corpus.plain_sides import PlainSides
from interlingua.corpus.telling import on_plain_files

__all__ = ["find_misalignment"]


def find_misalignment(sides: PlainSides, counts: tuple[int, int]) -> Iterator[Finding]:
    """Compare the numbers of lines, and find where lines stop belonging together."""
    for name, number in zip(sides.names, counts, strict=True):
        if not number:
            yield Finding("empty", "error", (), f"{name} is empty.", "give a file that holds text")
    stretches = find_stretches(sides.source, sides.target, counts) if all(counts) else []
    before = 0
    remedies = []
    for stretch in stretches:
        if stretch.lag is None:
            remedies.append(_mend_lost(sides, stretch, counts))
            yield _report_lost(stretch, len(stretches), counts, remedies[-1])
            continue
        remedies.append(_mend_shift(sides, stretch, stretch.lag - before, before, counts))
        yield _report_shift(stretch, stretch.lag, len(stretches), counts, remedies[-1])
        before = stretch.lag
    if counts[0] == counts[1]:
        return
    longer = int(counts[1] > counts[0])
    kept = min(counts)
    file = shlex.quote(str((sides.source, sides.target)[longer]))
    whole = any(_is_whole(stretch, counts) for stretch in stretches)
    where = (
        "No line of one seems to belong to a line of the other."
        if whole
        else f"They seem to part at line {stretches[0].first:,}."
        if stretches
        else f"No shift was found, so that the last lines of {sides.names[longer]} may be all that is too much."
    )
    yield Finding(
        code="unequal-lines",
        severity="error",
        lines=(stretches[0].first if stretches else kept + 1,),
        message=(
            f"{sides.names[0]} has {counts[0]:,} lines and {sides.names[1]} has {counts[1]:,}. Line N of one must be the "
            f"translation of line N of the other, so that training would refuse them. {where}"
        ),
        remedy=remedies[0]
        if stretches
        else on_plain_files(sides, f"head -n {kept} {file} > {file}.cut"),
    )


def _report_shift(
    stretch: Stretch, lag: int, number: int, counts: tuple[int, int], remedy: str
) -> Finding:
    lines = stretch.last - stretch.first + 1
    return Finding(
        code="line-shift",
        severity="error",
        lines=(stretch.first,),
        message=(
            f"From about line {stretch.first:,} {_until(stretch, counts)}, source line N belongs to target line "
            f"N {'+' if lag > 0 else '-'} {abs(lag):,} ({lines:,} lines, log odds {stretch.gain:,.0f}). A model would "
            f"learn that every source may mean anything.{_again(number)}"
        ),
        remedy=remedy,
    )


def _report_lost(stretch: Stretch, number: int, counts: tuple[int, int], remedy: str) -> Finding:
    if _is_whole(stretch, counts):
        what = (
            f"The two sides do not belong together: lines of the same number fit no better than any others do "
            f"({min(counts):,} lines were compared), nor are they shifted"
        )
    else:
        what = (
            f"From line {stretch.first:,} {_until(stretch, counts)} the two sides do not belong together, nor with lines "
            f"elsewhere ({stretch.last - stretch.first + 1:,} lines)"
        )
    return Finding(
        code="unrelated-sides",
        severity="error",
        lines=(stretch.first,),
        message=f"{what}. A model would learn that every source may mean anything.{_again(number)}",
        remedy=remedy,
    )


def _is_whole(stretch: Stretch, counts: tuple[int, int]) -> bool:
    return stretch.lag is None and stretch.first == 1 and stretch.last >= min(counts)


def _until(stretch: Stretch, counts: tuple[int, int]) -> str:
    return "to the end" if stretch.last >= min(counts) else f"to line {stretch.last:,}"


def _again(number: int) -> str:
    return " Mend the first one, and examine the result." if number > 1 else ""


def _mend_lost(sides: PlainSides, stretch: Stretch, counts: tuple[int, int]) -> str:
    """Say how to get sides that belong together: without some lines, or other files where no line does."""
    if _is_whole(stretch, counts):
        return (
            "give two files of one corpus, both as they were published: of the same part, in the same order, and neither "
            "of them sorted, shuffled or filtered by itself"
        )
    if sides.unpacking is not None:
        return sides.unpacking
    cut = f"{stretch.first},{stretch.last}d"
    names = [shlex.quote(str(path)) for path in (sides.source, sides.target)]
    return "; ".join(f"sed '{cut}' {name} > {name}.fixed" for name in names)


def _mend_shift(
    sides: PlainSides, stretch: Stretch, more: int, before: int, counts: tuple[int, int]
) -> str:
    """Write the command that takes out the lines too many, so that both sides go on together.

    Args:
        sides: the corpus.
        stretch: the lines that are shifted.
        more: by how many more lines than those before them; fewer than 0 if the source has lines too many.
        before: by how many lines those before them are shifted.
        counts: the lines of both sides.
    """
    if sides.unpacking is not None:
        return sides.unpacking
    names = [shlex.quote(str(path)) for path in (sides.source, sides.target)]
    first = stretch.first + stretch.alone + (before if more > 0 else more)
    kept = min(counts[0] + min(more, 0), counts[1] - max(more, 0))
    cut = f"sed '{max(first, 1)},{max(first, 1) + abs(more) - 1}d'"
    edited, other = (names[1], names[0]) if more > 0 else (names[0], names[1])
    return (
        f"{cut} {edited} | head -n {kept} > {edited}.fixed; head -n {kept} {other} > {other}.fixed"
    )
