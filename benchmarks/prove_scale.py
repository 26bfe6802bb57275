"""A corpus of millions of pairs: memory and speed of ``prepare``, and how soon training starts.

Makes distinct pairs by varying real ones, prepares them, and compares with the tokenizer alone on the same text and the same
cores. The cache of the tokenizer is off, so that its speed does not come from words that the variations repeat; ``--cache``
leaves it on.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from pathlib import Path

from prove_commands import corpora, describe_machine

CHILD = Path(__file__).with_name("scale_child.py")
STEMS = ("multi30k_en_de/train", "news_en_de/train", "tatoeba_en_de/train")
SAMPLE = 60_000
"""Pairs that the tokenizer alone is timed on, in each process."""


def vary(stems: list[Path]) -> Iterator[tuple[str, str]]:
    """Yield real pairs, again and again, with one word of each side put in the place of another and a number changed."""
    pairs = []
    for stem in stems:
        sides = [
            stem.with_suffix(f".{lang}").read_text("utf-8").split("\n") for lang in ("en", "de")
        ]
        pairs += [(s.split(), t.split()) for s, t in zip(*sides, strict=True) if s and t]
    words = [sorted({word for pair in pairs for word in pair[side]}) for side in (0, 1)]
    for index in count():
        turn, place = divmod(index, len(pairs))
        varied = []
        for side in (0, 1):
            row = list(pairs[place][side])
            draw = int.from_bytes(blake2b(f"{index} {side}".encode(), digest_size=8).digest())
            if turn:
                row[draw % len(row)] = words[side][(draw >> 16) % len(words[side])]
            row = [str((draw >> 40) % 10_000) if word.isdigit() else word for word in row]
            varied.append(" ".join(row))
        yield varied[0], varied[1]


def write_corpus(folder: Path, stems: list[Path], number: int) -> None:
    """Write ``number`` pairs, no two of them equal."""
    seen: set[int] = set()
    with (folder / "train.en").open("w") as source, (folder / "train.de").open("w") as target:
        for first, second in vary(stems):
            if len(seen) == number:
                return
            pair = f"{first}\n{second}".encode()
            digest = int.from_bytes(blake2b(pair, digest_size=8).digest())
            if digest not in seen:
                seen.add(digest)
                source.write(first + "\n")
                target.write(second + "\n")


@dataclass
class Watched:
    """One command: how long, and the most memory that it and its children held at a time, in bytes."""

    output: str
    seconds: float
    peak: int
    cutting: float
    """Seconds between the first chunk and the finished shards of the training text."""
    processor: float
    """Seconds of processor time, of all its processes."""


def watch(command: list[str], shards: Path | None = None) -> Watched:
    """Run a command and look at the memory of its processes three times a second.

    Memory is the proportional set size: what two processes share counts once.
    """
    started, peak = time.monotonic(), 0
    began = ended = 0.0
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    used = os.times()
    while process.poll() is None:
        peak = max(peak, sum(map(memory_of, tree_of(process.pid))))
        if shards is not None:
            if not began and shards.with_name("training.unfinished").exists():
                began = time.monotonic()
            if not ended and (shards / "manifest.json").exists():
                ended = time.monotonic()
        time.sleep(0.3)
    assert process.stdout is not None
    output = process.stdout.read()
    if process.returncode:
        sys.exit(f"{' '.join(command)}: ended with status {process.returncode}")
    now = os.times()
    processor = now.children_user + now.children_system - used.children_user - used.children_system
    return Watched(output, time.monotonic() - started, peak, ended - began, processor)


def tree_of(pid: int) -> list[int]:
    """Return a process and all that descend from it."""
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        for path in Path(f"/proc/{found[-1]}/task").glob("*/children"):
            try:
                waiting += map(int, path.read_text().split())
            except OSError:
                continue
    return found


def memory_of(pid: int) -> int:
    """Return the proportional set size of a process, in bytes."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        return 0
    return 0


def time_tokenizer(
    folder: Path, run: Path, pairs: int, processes: int, cache: str
) -> tuple[float, float]:
    """Return the pairs a second of the tokenizer alone, in as many processes as there are cores.

    By the clock; and pairs a second of processor time, which other work on the machine does not change.
    """
    every = max(1, pairs // (processes * SAMPLE)) * processes
    crew = [
        subprocess.Popen(
            [
                sys.executable,
                CHILD,
                cache,
                "encode",
                folder,
                run,
                *map(str, (number, every, SAMPLE)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]
    for process in crew:
        assert process.stdout is not None
        process.stdout.readline()
    for process in crew:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [[float(word) for word in process.communicate()[0].split()] for process in crew]
    by_clock = sum(number / seconds for seconds, _, number in told)
    busy = sum(seconds for _, seconds, _ in told)
    return by_clock, sum(number for _, _, number in told) / busy


def main() -> None:
    """Make the corpus, prepare it, start to train, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=4_500_000)
    parser.add_argument("--cache", action="store_true", help="leave the tokenizer's cache on")
    parser.add_argument("--folder", type=Path, help="where to work; kept afterwards")
    arguments = parser.parse_args()
    print(describe_machine())
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="interlingua-scale-"))
    try:
        sys.exit(0 if prove(folder, arguments.pairs, "on" if arguments.cache else "off") else 1)
    finally:
        if arguments.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


def prove(folder: Path, pairs: int, cache: str) -> bool:
    """Do it in ``folder``; return whether every figure is as it must be."""
    processes = len(os.sched_getaffinity(0))
    folder.mkdir(parents=True, exist_ok=True)
    write_corpus(folder, [corpora() / stem for stem in STEMS], pairs)
    sizes = [(folder / f"train.{lang}").stat().st_size / 1e6 for lang in ("en", "de")]
    print(f"{pairs:,} different pairs, {sizes[0]:,.0f} and {sizes[1]:,.0f} MB of text")
    data = corpora() / "multi30k_en_de"
    flags = [
        *("--source", folder / "train.en", "--target", folder / "train.de"),
        *("--valid-source", data / "valid.en", "--valid-target", data / "valid.de"),
        *("--run-dir", folder / "run", "--model.preset", "tiny"),
    ]
    shutil.rmtree(folder / "run", ignore_errors=True)
    child = [sys.executable, str(CHILD), cache]
    flags = list(map(str, flags))
    prepared = watch([*child, "run", "prepare", *flags, "--json"], folder / "run/shards/training")
    vocabulary = json.loads(prepared.output)["source_vocabulary"]
    alone, alone_by_processor = time_tokenizer(folder, folder / "run", pairs, processes, cache)
    whole, cutting = pairs / prepared.seconds, pairs / prepared.cutting
    time.sleep(2.5)  # a file is trusted only if it was read two seconds after it was last changed
    starts = [
        watch([*child, "start", str(time.time()), "train", *flags]).output.split()[-2:]
        for _ in range(3)
    ]
    begun = [float(begins) for begins, _ in starts]
    print(f"vocabulary of {vocabulary:,}, tokenizer cache {cache}, {processes} processes")
    print(f"the tokenizer alone: {alone:,.0f} pairs/s")
    print(
        f"prepare, text to shards: {prepared.cutting:.1f} s, {cutting:,.0f} pairs/s "
        f"({cutting / alone:.1%} of that, at least 90 %)"
    )
    print(
        f"prepare, all of it: {prepared.seconds:.1f} s, {whole:,.0f} pairs/s ({whole / alone:.1%})"
    )
    busy = pairs / prepared.processor
    print(
        f"in pairs a second of processor time: {alone_by_processor:,.0f} the tokenizer alone, {busy:,.0f} "
        f"all of prepare ({busy / alone_by_processor:.1%})"
    )
    print(
        f"memory of all its processes: {prepared.peak / 2**20:,.0f} MiB at the peak (below 1,024)"
    )
    print(
        "from the command to the first update: "
        + ", ".join(f"{seconds:.2f}" for seconds in begun)
        + " s (at most 5); to its end: "
        + ", ".join(f"{float(ends):.2f}" for _, ends in starts)
        + " s"
    )
    return cutting >= 0.9 * alone and prepared.peak < 2**30 and max(begun) <= 5.0


if __name__ == "__main__":
    main()
