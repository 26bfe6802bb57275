"""Write a cleaned corpus: the pairs that stay, and the lists of what went and of what was mended."""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from interlingua.corpus.cleaning_job import RULES, CleaningJob
from interlingua.corpus.cleaning_report import Cleaned, Dropped, Repaired, shorten
from interlingua.corpus.pair_rules import decode_line
from interlingua.corpus.repairs import REPAIRS, names_of, repair_line
from interlingua.files import replace_file

__all__ = ["PairWriter"]

_SAMPLES = 3
_SIDES = ("source", "target")

Bits = NDArray[np.uint32]


class PairWriter:
    """Takes all pairs in their order, and writes those that stay; a context manager.

    The files appear when the block ends without an exception.
    """

    def __init__(self, job: CleaningJob) -> None:
        self._job = job
        self._open = ExitStack()
        self._outputs: list[BinaryIO] = []
        self._dropped: BinaryIO | None = None
        self._repaired: BinaryIO | None = None
        self._pairs = 0
        self._changed = 0
        self._counts = Counter[str]()
        self._repairs = Counter[str]()
        self._samples: dict[str, list[Dropped]] = {}
        self._repair_samples: dict[str, list[Repaired]] = {}

    def __enter__(self) -> "PairWriter":
        job = self._job
        with ExitStack() as opened:
            self._outputs = [opened.enter_context(replace_file(path)) for path in job.outputs]
            if job.dropped_file:
                self._dropped = opened.enter_context(replace_file(job.dropped_file))
                self._dropped.write(b"line\treasons\n")
            if job.repaired_file:
                self._repaired = opened.enter_context(replace_file(job.repaired_file))
            self._open = opened.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._open.__exit__(*error)  # type: ignore[arg-type]

    def write(
        self, first: int, sides: tuple[list[bytes], list[bytes]], reasons: Bits, repairs: Bits
    ) -> None:
        """Take in the pairs from the place ``first`` on, from 0: lines, rules that each breaks, and what is to be mended."""
        self._pairs += len(reasons)
        numbers = self._job.corpus.line_numbers(first, len(reasons))
        for place in np.flatnonzero(reasons).tolist():
            pair = [lines[place] for lines in sides]
            self._drop(int(numbers[place]), pair, int(reasons[place]))
        kept = reasons == 0
        for place in np.flatnonzero(kept & (repairs != 0)).tolist():
            self._repair(int(numbers[place]), sides, place)
        if self._outputs:
            stays = kept.tolist()
            for file, lines in zip(self._outputs, sides, strict=True):
                file.write(
                    b"".join(line + b"\n" for line, stay in zip(lines, stays, strict=True) if stay)
                )

    def _drop(self, line: int, sides: Sequence[bytes], bits: int) -> None:
        why = [rule for place, rule in enumerate(RULES) if bits >> place & 1]
        self._counts[why[0]] += 1
        samples = self._samples.setdefault(why[0], [])
        if len(samples) < _SAMPLES:
            samples.append(Dropped(line, *(shorten(decode_line(side)) for side in sides)))
        if self._dropped:
            self._dropped.write(f"{line}\t{','.join(why)}\n".encode())

    def _repair(self, number: int, sides: tuple[list[bytes], list[bytes]], place: int) -> None:
        """Mend a pair where it stands, and list what was changed."""
        self._changed += 1
        made = set[str]()
        for side, lines in zip(_SIDES, sides, strict=True):
            before = decode_line(lines[place])
            after, bits = repair_line(before)
            if not bits:
                continue
            names = names_of(bits)
            made.update(names)
            lines[place] = after.encode("utf-8", "surrogateescape")
            for name in names:
                samples = self._repair_samples.setdefault(name, [])
                if len(samples) < _SAMPLES:
                    samples.append(_sample(number, side, before, after))
            if self._repaired:
                entry = {
                    "line": number,
                    "side": side,
                    "repairs": names,
                    "before": before,
                    "after": after,
                }
                self._repaired.write(_to_json(entry))
        self._repairs.update(made)

    def result(self) -> Cleaned:
        """Tell what it came to."""
        return Cleaned(
            pairs=self._pairs,
            kept=self._pairs - self._counts.total(),
            counts={rule: self._counts[rule] for rule in RULES if self._counts[rule]},
            samples={rule: tuple(self._samples[rule]) for rule in RULES if rule in self._samples},
            repairs={name: self._repairs[name] for name in REPAIRS if self._repairs[name]},
            repair_samples={
                name: tuple(self._repair_samples[name])
                for name in REPAIRS
                if name in self._repair_samples
            },
            repaired=self._changed,
            outputs=self._job.outputs,
            dropped_file=self._job.dropped_file,
            repaired_file=self._job.repaired_file,
        )


def _sample(number: int, side: str, before: str, after: str) -> Repaired:
    """Show both from a little before where they part."""
    pairs = zip(before, after, strict=False)
    part = next((place for place, (one, other) in enumerate(pairs) if one != other), 0)
    return Repaired(number, side, shorten(before, part), shorten(after, part))


def _to_json(entry: dict[str, object]) -> bytes:
    try:
        return (json.dumps(entry, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # bytes that are not UTF-8, which then are \udc80 and so on
        return (json.dumps(entry) + "\n").encode()
