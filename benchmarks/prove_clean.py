"""Cleaning and examining a million pairs: time by the clock, processor time, and the memory of all processes together.

Makes distinct pairs by varying real ones, damages some of them, and cleans them as a user would. A tenth as many are cleaned
first, to see that memory does not grow with the corpus. What the repairs and rules did is checked against what was damaged,
and ``doctor`` looks at what is left, where it must find no error.
"""

import argparse
import json
import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from prove_commands import corpora, describe_machine
from prove_scale import STEMS, Watched, vary, watch

MOST_SECONDS = 60
MOST_GROWTH = 32 << 20
"""Bytes that ten times the pairs may take more: a system and Python waver by about so much."""

REPAIRABLE = {
    0: lambda text: text.replace(" ", "&nbsp; ", 1),
    1: lambda text: text + "\r",
    2: lambda text: f" {text}  ",
    3: lambda text: "\x00" + text,
    4: lambda text: text + " se\u00c3\u00b1or",
}
"""What befalls the source of a pair, by the remainder of its number through 200."""

LOST = 5
"""The same for a pair that has to go: its source holds a character that was lost."""


def main() -> None:
    """Clean a corpus, and a tenth of it; end with status 1 if a limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--form", choices=("files", "tsv"), default="files")
    arguments = parser.parse_args()
    print(describe_machine(), flush=True)
    folder = Path(tempfile.mkdtemp(prefix="interlingua-clean-"))
    try:
        small = clean(folder, arguments.pairs // 10, arguments.form)
        large = clean(folder, arguments.pairs, arguments.form)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    growth = large.peak - small.peak
    print(f"ten times the pairs took {growth / 2**20:+.0f} MiB")
    sys.exit(0 if large.seconds < MOST_SECONDS and growth < MOST_GROWTH else 1)


def clean(folder: Path, number: int, form: str) -> Watched:
    """Write a corpus of ``number`` pairs, clean it, and tell what it took."""
    lost, repairable = write(folder, number, form)
    named = {
        "files": ["--source", str(folder / "train.en"), "--target", str(folder / "train.de")],
        "tsv": ["--pairs", str(folder / "train.tsv")],
    }[form]
    output = folder / "cleaned"
    command = [sys.executable, "-m", "interlingua", "clean", *named, "--output", str(output)]
    done = watch([*command, "--json"])
    told = json.loads(done.output)
    print(
        f"{told['pairs']:,} pairs: {done.seconds:.1f} s, {done.processor:.1f} s of processor time, "
        f"{done.peak / 2**20:.0f} MiB; {told['kept']:,} kept, {told['repaired']:,} repaired; "
        f"dropped {told['rules']}, repairs {told['repairs']}",
        flush=True,
    )
    if told["repaired"] < repairable or told["rules"].get("encoding", 0) < lost:
        sys.exit(f"{repairable:,} pairs were to be repaired and {lost:,} to be dropped")
    if told["rules"].get("duplicate"):
        sys.exit("all pairs are different, and some were dropped as duplicates")
    if form == "files":
        examine(output, told["kept"])
    shutil.rmtree(output)
    return done


def examine(cleaned: Path, pairs: int) -> None:
    """Let ``doctor`` look at a cleaned corpus, and tell what it took; an error that it finds ends the proof."""
    named = ["--source", str(cleaned / "train.en"), "--target", str(cleaned / "train.de")]
    done = watch([sys.executable, "-m", "interlingua", "doctor", *named])
    found = [line for line in done.output.splitlines() if line.startswith(("warning:", "note:"))]
    print(
        f"doctor on {pairs:,} pairs: {done.seconds:.1f} s, {done.processor:.1f} s of processor time, "
        f"{done.peak / 2**20:.0f} MiB; {', '.join(line.partition(' (')[0] for line in found) or 'nothing'}",
        flush=True,
    )


def write(folder: Path, number: int, form: str) -> tuple[int, int]:
    """Write ``number`` different pairs; return how many are damaged, for good and so that they can be repaired."""
    counts = [0, 0]
    seen: set[int] = set()
    names = ["train.en", "train.de"] if form == "files" else ["train.tsv"]
    with ExitStack() as opened:
        files = [
            opened.enter_context((folder / name).open("w", encoding="utf-8", newline="\n"))
            for name in names
        ]
        for source, target in vary([corpora() / stem for stem in STEMS]):
            if hash((source, target)) in seen:
                continue
            kind = len(seen) % 200
            if len(seen) == number:
                break
            seen.add(hash((source, target)))
            if kind in REPAIRABLE:
                source = REPAIRABLE[kind](source)
                counts[1] += 1
            elif kind == LOST:
                source += " \ufffd"
                counts[0] += 1
            row = (source, target) if form == "files" else (f"{source}\t{target}",)
            for file, line in zip(files, row, strict=True):
                file.write(f"{line}\n")
    return counts[0], counts[1]


if __name__ == "__main__":
    main()
