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
        remedies.append(_mend_shift(sides, stretch, before, counts))
        yield _report_stretch(stretch, len(stretches), min(counts), remedies[-1])
        before = before if stretch.lag is None else stretch.lag
    if counts[0] == counts[1]:
        return
    longer = int(counts[1] > counts[0])
    kept = min(counts)
    file = shlex.quote(str((sides.source, sides.target)[longer]))
    where = (
        f"They seem to part at line {stretches[0].first:,}."
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


def _report_stretch(stretch: Stretch, number: int, num_lines: int, remedy: str) -> Finding:
    lines = stretch.last - stretch.first + 1
    until = "to the end" if stretch.last >= num_lines else f"to line {stretch.last:,}"
    if stretch.lag is None:
        what = f"From line {stretch.first:,} {until} the two sides do not belong together, nor with lines nearby"
    else:
        what = (
            f"From about line {stretch.first:,} {until}, source line N belongs to target line "
            f"N {'+' if stretch.lag > 0 else '-'} {abs(stretch.lag)}"
        )
    again = " Mend the first one, and examine the result." if number > 1 else ""
    return Finding(
        code="line-shift",
        severity="error",
        lines=(stretch.first,),
        message=(
            f"{what} ({lines:,} lines, log odds {stretch.gain:,.0f}). A model would learn that every source may "
            f"mean anything.{again}"
        ),
        remedy=remedy,
    )


def _mend_shift(sides: PlainSides, stretch: Stretch, before: int, counts: tuple[int, int]) -> str:
    """Write the command that takes out the lines too many, so that both sides go on together."""
    if sides.unpacking is not None:
        return sides.unpacking
    names = [shlex.quote(str(path)) for path in (sides.source, sides.target)]
    if stretch.lag is None:
        cut = f"{stretch.first},{stretch.last}d"
        return "; ".join(f"sed '{cut}' {name} > {name}.fixed" for name in names)
    more = stretch.lag - before
    first = stretch.first + (before if more > 0 else more)
    kept = min(counts[0] + min(more, 0), counts[1] - max(more, 0))
    cut = f"sed '{max(first, 1)},{max(first, 1) + abs(more) - 1}d'"
    edited, other = (names[1], names[0]) if more > 0 else (names[0], names[1])
    return (
        f"{cut} {edited} | head -n {kept} > {edited}.fixed; head -n {kept} {other} > {other}.fixed"
    )
