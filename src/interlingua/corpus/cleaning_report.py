"""What cleaning came to, for a person and for a program."""

import json
from dataclasses import dataclass
from pathlib import Path

from interlingua.corpus.findings import show_text
from interlingua.corpus.repairs import REPAIRS

__all__ = ["Cleaned", "Dropped", "Repaired", "shorten"]

_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Dropped:
    """A pair that went: its line, from 1, and the beginning of its two sides."""

    line: int
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Repaired:
    """A line that was mended: its number, from 1, its side, and how it begins before and after."""

    line: int
    side: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What cleaning came to.

    Attributes:
        pairs: pairs before.
        kept: pairs after.
        counts: how many pairs each rule dropped; a pair counts for the first rule that it breaks.
        samples: some of them.
        repairs: how many of the pairs that were kept each repair changed; several may have changed one pair.
        repair_samples: some lines of them.
        repaired: how many of the pairs that were kept were changed at all.
        outputs: the cleaned files; none in a dry run.
        dropped_file: the list of dropped lines, each with all its reasons.
        repaired_file: the list of changed lines, as they were and as they are.
    """

    pairs: int
    kept: int
    counts: dict[str, int]
    samples: dict[str, tuple[Dropped, ...]]
    repairs: dict[str, int]
    repair_samples: dict[str, tuple[Repaired, ...]]
    repaired: int
    outputs: tuple[Path, ...]
    dropped_file: Path | None
    repaired_file: Path | None

    def to_json(self) -> str:
        """Tell a program."""
        told = {
            "pairs": self.pairs,
            "kept": self.kept,
            "dropped": self.pairs - self.kept,
            "rules": self.counts,
            "samples": {
                rule: [
                    {"line": each.line, "source": each.source, "target": each.target}
                    for each in samples
                ]
                for rule, samples in self.samples.items()
            },
            "repaired": self.repaired,
            "repairs": self.repairs,
            "repair_samples": {
                repair: [
                    {
                        "line": each.line,
                        "side": each.side,
                        "before": each.before,
                        "after": each.after,
                    }
                    for each in samples
                ]
                for repair, samples in self.repair_samples.items()
            },
            "outputs": [str(path) for path in self.outputs],
            "dropped_list": str(self.dropped_file) if self.dropped_file else None,
            "repaired_list": str(self.repaired_file) if self.repaired_file else None,
        }
        return json.dumps(told, ensure_ascii=False) + "\n"

    def to_text(self) -> str:
        """Tell a person."""
        share = (self.pairs - self.kept) / max(self.pairs, 1)
        lines = [
            f"{self.kept:,} of {self.pairs:,} pairs kept, {self.pairs - self.kept:,} dropped ({share:.2%}), "
            f"{self.repaired:,} repaired"
        ]
        for rule, count in self.counts.items():
            lines.append(f"\ndropped: {rule}: {count:,}")
            for pair in self.samples[rule]:
                margin = f"  line {pair.line}: "
                lines += [f"{margin}{pair.source}", f"{'= ':>{len(margin)}}{pair.target}"]
        for repair, count in self.repairs.items():
            lines.append(f"\nrepaired: {repair}: {count:,} ({REPAIRS[repair]})")
            for line in self.repair_samples[repair]:
                margin = f"  {line.side} {line.line}: "
                lines += [f"{margin}{line.before}", f"{'> ':>{len(margin)}}{line.after}"]
        lines.append("")
        lines += [f"written: {path}" for path in self.outputs]
        if self.dropped_file:
            lines.append(f"dropped lines and why: {self.dropped_file}")
        if self.repaired_file:
            lines.append(f"repaired lines, before and after: {self.repaired_file}")
        if not self.outputs:
            lines.append("nothing was written: a dry run")
        return "\n".join(lines) + "\n"


def shorten(text: str, around: int = 0) -> str:
    """Return what can be shown of ``text`` in a line; ``around`` is the place that must not be cut off."""
    start = max(0, around - _SHOWN // 2) if len(text) > _SHOWN else 0
    shown = show_text(text[start : start + _SHOWN])
    return f"{'... ' * bool(start)}{shown}{' ...' * (len(text) > start + _SHOWN)}"
