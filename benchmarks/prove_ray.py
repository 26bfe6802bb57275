"""A file of many lines through Ray Data: a worker is killed, then the whole command; every line comes out once, in order.

The lines are different ones, in the manner of the demo's corpus. Without ``--model`` the demo is trained first.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from prove_commands import describe_machine, run

from interlingua.corpus.lines import read_lines, write_lines
from interlingua.translator import Translator

SAMPLE = 1_000


def main() -> None:
    """Do it, and fail if a line is missing, doubled, or in another's place."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--part-lines", type=int, default=5_000)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--words", help="words that lines are made of, with spaces between")
    arguments = parser.parse_args()
    print(describe_machine())
    model = arguments.model or train_demo()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = arguments.words.split() if arguments.words else words_of(model)
        write_lines(folder / "text", make_lines(words, arguments.lines))
        command = [
            str(Path(sys.executable).with_name("interlingua")),
            *(
                "translate",
                str(model),
                "--input",
                str(folder / "text"),
                "--output",
                str(folder / "out"),
            ),
            *("--ray", "--beam-size", "1", "--part-lines", str(arguments.part_lines)),
        ]
        began = time.monotonic()
        kept = disturb(command, folder)
        last = subprocess.run(command, capture_output=True, text=True, check=False)
        print(last.stderr.strip())
        if last.returncode:
            sys.exit(f"translate ended with status {last.returncode}")
        if f"{kept * arguments.part_lines:,} of" not in last.stderr:
            sys.exit(f"{kept} parts were kept, and were translated again")
        check(folder, model)
        print(f"{arguments.lines:,} lines, in order, in {time.monotonic() - began:.0f} s")


def train_demo() -> Path:
    """Train the demo's model unless it is there."""
    if not Path("runs/demo-ro-en/model").exists():
        run("demo")
    return Path("runs/demo-ro-en")


def words_of(model: Path) -> list[str]:
    """Return the words that the demo's model was trained on."""
    text = " ".join(read_lines(model / "corpus" / "train.ro"))
    return sorted(set(text.split()))


def make_lines(words: list[str], count: int) -> list[str]:
    """Return lines of three to nine words; they are different as long as there are so many."""
    draw = random.Random(1)
    return [" ".join(draw.choices(words, k=draw.randint(3, 9))) for _ in range(count)]


def disturb(command: list[str], folder: Path) -> int:
    """Start, kill a worker after the first part, end the command after some more; return how many parts are kept."""
    parts = folder / "out" / ".interlingua" / "text.parts"
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_for(parts, 1, process)
    victim = workers()[0]
    os.kill(victim, signal.SIGKILL)
    print(f"worker {victim} was killed after {len(list(parts.glob('*.txt')))} parts")
    wait_for(parts, len(list(parts.glob("*.txt"))) + 3, process)
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=60)
    kept = len(list(parts.glob("*.txt")))
    print(f"the command was ended after {kept} parts")
    return kept


def wait_for(parts: Path, count: int, process: subprocess.Popen[str]) -> None:
    """Wait until so many parts are there."""
    while len(list(parts.glob("*.txt"))) < count:
        if process.poll() is not None:
            sys.exit(
                f"translate ended too early: {process.stderr.read() if process.stderr else ''}"
            )
        time.sleep(0.2)


def workers() -> list[int]:
    """Return the processes that translate, which Ray names after their work."""
    found = subprocess.run(
        ["pgrep", "-f", "^ray::.*Worker"], capture_output=True, text=True, check=False
    )
    numbers = [int(number) for number in found.stdout.split()]
    if not numbers:
        sys.exit("no worker is to be seen")
    return numbers


def check(folder: Path, model: Path) -> None:
    """Compare the number of lines, and some of them with what one process makes of them."""
    sources, outputs = read_lines(folder / "text"), read_lines(folder / "out" / "text")
    if len(sources) != len(outputs):
        sys.exit(f"{len(sources):,} lines became {len(outputs):,}")
    places = sorted(random.Random(2).sample(range(len(sources)), min(SAMPLE, len(sources))))
    alone = Translator.load(model, threads=1).translate([sources[p] for p in places], beam_size=1)
    wrong = [p for p, found in zip(places, alone, strict=True) if found.text != outputs[p]]
    if wrong:
        sys.exit(f"{len(wrong)} of {len(places)} lines differ, the first is line {wrong[0] + 1}")
    different = len({found.text for found in alone})
    print(
        f"{len(places):,} lines, {different:,} different ones, are as one process translates them"
    )


if __name__ == "__main__":
    main()
