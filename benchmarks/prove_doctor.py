"""``doctor`` against faults that are put into real corpora: found or not, and a shift within 20 lines.

Files, kinds and places are drawn anew each run, and the seed is printed; ``--seed`` repeats one.
"""

import argparse
import json
import os
import random
import secrets
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

Lines = list[bytes]

FLORES = [
    "arb_Arab",
    "ces_Latn",
    "deu_Latn",
    "eng_Latn",
    "fra_Latn",
    "hin_Deva",
    "jpn_Jpan",
    "kor_Hang",
    "npi_Deva",
    "ron_Latn",
    "rus_Cyrl",
    "swh_Latn",
    "tha_Thai",
    "vie_Latn",
    "yor_Latn",
    "zho_Hans",
]
PAIRS = [
    "multi30k_en_de/train en de",
    "multi30k_en_de/valid en de",
    "tatoeba_en_de/train en de",
    "tatoeba_en_de/test en de",
    "ro_en/sts/train ro en",
    "ro_en/mlqe/train ro en",
    "ro_en/tatoeba/pairs ro en",
    "ro_en/newstest2016/newstest2016 ro en",
    "news_en_de/train en de",
    "news_en_de/newstest2013 en de",
    "noisy_en_de/train en de",
    "tanaka_en_ja/train en ja",
    "tico19/en-fr/test en fr",
    "tico19/en-zh/test en zh",
    "tico19/en-ar/test en ar",
    "tico19/en-hi/test en hi",
    "align/ro_en/test ro en",
    "align/en_fr/test en fr",
]


class Case:
    """A piece of a real corpus, one fault in it, and the codes and lines that must be told."""

    def __init__(self, rng: random.Random, data: Path) -> None:
        self.rng, self.data = rng, data
        stem, source, target = self._draw_pair()
        self.name = f"{stem} {source}-{target}"
        self.languages = source, target
        sides = [read(data / f"{stem}.{language}") for language in self.languages]
        size = min(rng.choice([200, 400, 1000, 3000]), len(sides[0]))
        start = rng.randrange(len(sides[0]) - size + 1)
        self.sides = [lines[start : start + size] for lines in sides]
        self.held_out: list[Lines] | None = None
        self.lines: set[int] = set()
        self.place: int | None = None

    def _draw_pair(self) -> tuple[str, str, str]:
        if self.rng.random() < 0.4:
            one, other = self.rng.sample(FLORES, 2)
            return "flores200/devtest", one, other
        stem, source, target = self.rng.choice(PAIRS).split()
        return stem, source, target

    def some(self, share: float = 0.02) -> list[int]:
        """Draw lines with enough letters to be harmed."""
        number = max(3, int(share * len(self.sides[0])))
        long = [
            n for n, (s, t) in enumerate(zip(*self.sides, strict=True)) if min(len(s), len(t)) > 25
        ]
        chosen = sorted(self.rng.sample(long, min(number, len(long))))
        self.lines = {n + 1 for n in chosen}
        return chosen

    def shift(self) -> str:
        by, side, size = self.rng.randint(1, 5), self.rng.randint(0, 1), len(self.sides[0])
        near = self.rng.choice(["begin", "middle", "end"])
        place = {
            "begin": self.rng.randrange(1, 30),
            "middle": self.rng.randrange(30, size - 30),
            "end": size - self.rng.randrange(20, 45),
        }[near]
        lines = self.sides[side]
        if self.rng.random() < 0.5:
            del lines[place : place + by]
        else:
            lines[place:place] = [self.rng.choice(lines) for _ in range(by)]
        if self.rng.random() < 0.5:
            shorter = min(map(len, self.sides))
            self.sides = [each[:shorter] for each in self.sides]
        self.place = place + 1
        return "line-shift"

    def truncate(self) -> str:
        side = self.sides[self.rng.randint(0, 1)]
        del side[-self.rng.randint(1, len(side) // 3) :]
        return "unequal-lines"

    def swap_files(self) -> str:
        self.sides.reverse()
        return "swapped-sides"

    def swap_lines(self) -> str:
        for n in self.some():
            self.sides[0][n], self.sides[1][n] = self.sides[1][n], self.sides[0][n]
        return "swapped-sides"

    def other_language(self) -> str:
        own = {FLORES_OF.get(each, each[:3]) for each in self.languages}
        foreign = self.rng.choice([each for each in FLORES if each[:3] not in own])
        text = read(self.data / f"flores200/devtest.{foreign}")
        side = self.rng.randint(0, 1)
        for n in self.some(0.05):
            self.sides[side][n] = self.rng.choice(text)
        return "wrong-language"

    def copy(self) -> str:
        for n in self.some():
            self.sides[1][n] = self.sides[0][n]
        return "copied"

    def repeat(self) -> str:
        first = len(self.sides[0])
        chosen = self.some()
        for n in chosen:
            for side in self.sides:
                side.append(side[n])
        self.lines = {first + n + 1 for n in range(len(chosen))}
        return "duplicate"

    def repeat_nearly(self) -> str:
        first = len(self.sides[0])
        chosen = self.some()
        for n in chosen:
            for side in self.sides:
                side.append(side[n] + b" !")
        self.lines = {first + n + 1 for n in range(len(chosen))}
        return "near-duplicate"

    def leak(self) -> str:
        chosen = self.some()
        self.held_out = [[side[n] for n in chosen] for side in self.sides]
        return "leakage"

    def damage(self) -> str:
        side = self.sides[self.rng.randint(0, 1)]
        kind = self.rng.choice(
            ["mojibake", "nul", "bom", "entity", "invalid", "next-line", "control"]
        )
        chosen = self.some()
        for n in chosen:
            line, at = side[n], side[n].find(b" ") + 1
            if kind == "mojibake":
                accented = line if not line.isascii() else line + " à é".encode()
                side[n] = accented.decode().encode("utf-8").decode("latin-1").encode("utf-8")
                continue
            piece = {
                "nul": b"\x00", "bom": b"\xef\xbb\xbf", "entity": b"&quot;", "invalid": b"\xe4\xf6",
                "next-line": b"\xc2\x85", "control": b"\x07",
            }[kind]  # fmt: skip
            side[n] = line[:at] + piece + line[at:]
        return "encoding"

    def number(self) -> str:
        chosen = self.some()
        for n in chosen:
            self.sides[0][n] += b" 1987"
            self.sides[1][n] += b" 4321"
        return "number-mismatch"

    def lengthen(self) -> str:
        chosen = self.some()[:3]
        self.lines = {n + 1 for n in chosen}
        for n in chosen:
            self.sides[1][n] = b" ".join(self.rng.choices(self.sides[1], k=300))
        return "long-line"

    def cut_lines(self) -> str:
        chosen = self.some()
        for n in chosen:
            self.sides[1][n] = self.sides[1][n].decode()[:3].encode()
        return "length-ratio"

    def empty(self) -> str:
        for n in self.some():
            self.sides[self.rng.randint(0, 1)][n] = b""
        return "empty"


FLORES_OF = {
    "en": "eng",
    "de": "deu",
    "ro": "ron",
    "fr": "fra",
    "ja": "jpn",
    "zh": "zho",
    "ar": "arb",
    "hi": "hin",
}
KINDS = (
    Case.shift, Case.shift, Case.shift, Case.shift, Case.truncate, Case.swap_files, Case.swap_lines,
    Case.other_language, Case.copy, Case.repeat, Case.repeat_nearly, Case.leak, Case.damage,
    Case.damage, Case.number, Case.lengthen, Case.cut_lines, Case.empty,
)  # fmt: skip


def main() -> None:
    """Put in the faults one by one, and count what is found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=400)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9))
    asked = parser.parse_args()
    folder = os.environ.get("INTERLINGUA_DATA")
    if not folder:
        sys.exit("set INTERLINGUA_DATA to the folder of the corpora first")
    print(f"seed {asked.seed}", flush=True)
    rng = random.Random(asked.seed)
    found, put_in = Counter[str](), Counter[str]()
    for number in range(asked.faults):
        case = Case(rng, Path(folder))
        kind = KINDS[number % len(KINDS)]
        code = kind(case)
        put_in[code] += 1
        with tempfile.TemporaryDirectory() as scratch:
            told = examine(case, Path(scratch))
        if is_told(case, code, told):
            found[code] += 1
        else:
            print(
                f"MISSED {code} ({kind.__name__}) in {case.name}, {len(case.sides[0])} lines, line {case.place or sorted(case.lines)[:3]}",
                flush=True,
            )
    for code, number in put_in.items():
        print(f"{code:16} {found[code]:4} of {number:4}")
    share = found.total() / put_in.total()
    print(f"{found.total()} of {put_in.total()} faults found ({share:.1%})")
    sys.exit(0 if share >= 0.98 else 1)


def read(path: Path) -> Lines:
    """Read the lines of a file as bytes."""
    lines = path.read_bytes().split(b"\n")
    return lines if lines[-1] else lines[:-1]


def examine(case: Case, scratch: Path) -> list[dict[str, object]]:
    """Run the command that a user types; return the findings."""
    arguments = []
    for flag, sides in (("", case.sides), ("test-", case.held_out)):
        if sides is None:
            continue
        for side, language, lines in zip(("source", "target"), case.languages, sides, strict=True):
            path = scratch / f"{flag}text.{language}"
            path.write_bytes(b"".join(line + b"\n" for line in lines))
            arguments += [f"--{flag}{side}", str(path)]
    command = [sys.executable, "-m", "interlingua", "doctor", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode not in (0, 1):
        print(done.stderr.decode(), flush=True)
        return []
    findings: list[dict[str, object]] = json.loads(done.stdout)["findings"]
    return findings


def is_told(case: Case, code: str, told: list[dict[str, object]]) -> bool:
    """Tell whether a fault was found, on most of its lines, a shift within 20 lines."""
    lines = {line for each in told if each["code"] == code for line in each["lines"]}  # type: ignore[attr-defined]
    if case.place is not None:
        return any(abs(line - case.place) <= 20 for line in lines)
    if not case.lines:
        return any(each["code"] == code for each in told)
    return len(lines & case.lines) >= 0.7 * len(case.lines)


if __name__ == "__main__":
    main()
