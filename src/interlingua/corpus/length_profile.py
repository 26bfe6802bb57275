"""How far two sides are shifted, by the lengths of their lines alone: a long line is long in any language.

A segment of one side is slid along the whole other side (by FFT, as correlations are): where it belongs, long lines
meet long ones all along it. That needs no words, costs little, and finds any shift, but not the line where it begins.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Place", "choose_segments", "find_places", "outline"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SEGMENTS = ((120, 60), (400, 200))
"""Lines of a segment, and from one segment to the next; short ones tell more places, and long ones are surer."""

MOST_SEGMENTS = 64
"""Segments of a kind that are slid along a large corpus."""

_SURE = 6.0
"""Standard deviations by which the right place must stand out: chance reaches 5 in a million places."""

_AHEAD = 1.2
"""By what factor it must stand out more than any other place."""

_LOUD = 4.0
_FARTHEST_FROM_ALL = 3.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a segment of the source belongs.

    Attributes:
        first: its first line, from 0.
        end: the line behind its last one.
        lag: source line N belongs to target line N + lag.
        certainty: standard deviations by which this stands out from other lags.
    """

    first: int
    end: int
    lag: int
    certainty: float


def outline(lengths: Ints) -> Floats:
    """Return how much longer or shorter each line is than those of its kind around it: mean 0, variance 1.

    What repeats all along a side (short and long lines by turns) or changes slowly (lines sorted by their lengths) would
    fit at many places: frequencies that are far louder than the others are turned down.
    """
    logs = np.log(lengths + 3.0)
    spectrum = np.fft.rfft(logs - logs.mean())
    loudness = np.abs(spectrum)
    most = _LOUD * float(np.median(loudness)) + 1e-9
    quiet = np.fft.irfft(spectrum * np.minimum(1.0, most / (loudness + 1e-9)), len(logs))
    deviation = float(quiet.std()) + 1e-9
    clipped: Floats = np.clip(quiet / deviation, -_FARTHEST_FROM_ALL, _FARTHEST_FROM_ALL)
    return clipped


def choose_segments(num_lines: int) -> list[tuple[int, int]]:
    """Return first and end of the segments that are looked at, of all sizes that fit into so many lines."""
    chosen = []
    for size, step in SEGMENTS:
        starts = np.arange(0, num_lines - size + 1, step)
        if len(starts) > MOST_SEGMENTS:
            every = np.linspace(0, len(starts) - 1, MOST_SEGMENTS).astype(np.int64)
            starts = starts[every]
        chosen += [(int(start), int(start) + size) for start in starts]
    return chosen


def find_places(source: Floats, target: Floats, segments: Sequence[tuple[int, int]]) -> list[Place]:
    """Return where segments of the source belong in the target, of those of which it is sure.

    Args:
        source: the outline of the source.
        target: the outline of the target.
        segments: first and end of each.
    """
    longest = max((end - first for first, end in segments), default=0)
    size = 1 << int(np.ceil(np.log2(len(target) + longest + 1)))
    heard = np.fft.rfft(target, size)
    places = []
    for first, end in segments:
        # Column c says how well the segment fits when its first line meets target line c.
        fits = np.fft.irfft(np.conj(np.fft.rfft(source[first:end], size)) * heard, size)
        fits = fits[: max(1, len(target) - (end - first) // 2)]
        found = _stand_out(fits)
        if found is not None:
            places.append(Place(first, end, found[0] - first, found[1]))
    return places


def _stand_out(fits: Floats) -> tuple[int, float] | None:
    """Return the place that fits far better than all others, and how far; None if there is none."""
    deviation = 1.4826 * float(np.median(np.abs(fits))) + 1e-9
    best = int(fits.argmax())
    certainty = float(fits[best]) / deviation
    others = float(np.delete(fits, best).max(initial=0.0)) / deviation
    if certainty < max(_SURE, _AHEAD * others):
        return None
    return best, certainty
