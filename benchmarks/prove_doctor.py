"""``doctor`` against faults that are put into real corpora: found or not, and a shift within 20 lines.

Files, kinds, sides, sizes and places are drawn anew each run, and the seed is printed; ``--seed`` repeats one. A fault counts
as found when its code is told for seven tenths of its lines, or for a line within 20 of where a shift begins, by the
command that a user types. ``--untouched`` examines every corpus as it is instead: none may have an error.
"""

import argparse
import contextlib
import io
import json
import os
import random
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from interlingua.cli import main as interlingua

Lines = list[bytes]
Findings = list[dict[str, Any]]

FLORES = (
    "arb_Arab", "ces_Latn", "deu_Latn", "eng_Latn", "fra_Latn", "hin_Deva", "jpn_Jpan", "kor_Hang",
    "npi_Deva", "ron_Latn", "rus_Cyrl", "swh_Latn", "tha_Thai", "vie_Latn", "yor_Latn", "zho_Hans",
)  # fmt: skip
PAIRS = (
    "multi30k_en_de/train en de", "multi30k_en_de/valid en de", "multi30k_en_de/test_2017_flickr en de",
    "tatoeba_en_de/train en de", "tatoeba_en_de/test en de", "ro_en/sts/train ro en", "ro_en/mlqe/train ro en",
    "ro_en/tatoeba/pairs ro en", "ro_en/newstest2016/newstest2016 ro en", "news_en_de/train en de",
    "news_en_de/newstest2009 en de", "news_en_de/newstest2013 en de", "news_en_de/newstest2014 en de",
    "noisy_en_de/train en de", "tanaka_en_ja/train en ja", "tanaka_en_ja/test en ja", "tico19/en-fr/test en fr",
    "tico19/en-zh/test en zh", "tico19/en-ar/test en ar", "tico19/en-hi/test en hi", "align/ro_en/test ro en",
    "align/en_fr/test en fr",
)  # fmt: skip
SIZES = (200, 400, 1000, 3000, 8000)
LARGEST = 200_000
ISO = {
    "en": "eng", "de": "deu", "ro": "ron", "fr": "fra", "ja": "jpn", "zh": "zho", "ar": "arb", "hi": "hin",
}  # fmt: skip
LOOK_ALIKES = str.maketrans("aceopxyABCEHKMOPTX", "асеорхуАВСЕНКМОРТХ")  # codespell:ignore
TOLERANCE, SHARE = 20, 0.7


class Case:
    """A corpus, or a piece of one, and one fault in it; ``lines`` or ``place`` are what must be told."""

    def __init__(self, rng: random.Random, data: Path, largest: int = LARGEST) -> None:
        self.rng, self.data = rng, data
        stem, *languages = self._draw_pair()
        self.languages = languages[0], languages[1]
        sides = [read(data / f"{stem}.{language}") for language in languages]
        whole = min(len(sides[0]), largest)
        # One in ten is the whole file, whatever its size.
        size = whole if rng.random() < 0.1 else min(rng.choice(SIZES), whole)
        start = rng.randrange(len(sides[0]) - size + 1)
        self.sides = [lines[start : start + size] for lines in sides]
        self.whole, self.start, self.folder = sides, start, stem.split("/")[0]
        self.name = f"{stem} {'-'.join(languages)} lines {start + 1}-{start + size}"
        self.held_out: list[Lines] | None = None
        self.lines: set[int] = set()
        self.place: int | None = None

    def _draw_pair(self) -> list[str]:
        if self.rng.random() < 0.4:
            return ["flores200/devtest", *self.rng.sample(FLORES, 2)]
        return self.rng.choice(PAIRS).split()

    def choose(self, share: float = 0.02) -> list[int]:
        """Draw lines with enough letters to be harmed, from 0."""
        number = max(3, int(share * len(self.sides[0])))
        long = [n for n, pair in enumerate(zip(*self.sides, strict=True)) if shortest(*pair) > 25]
        chosen = sorted(self.rng.sample(long, min(number, len(long))))
        self.lines = {n + 1 for n in chosen}
        return chosen


def shortest(*texts: bytes) -> int:
    """Return the characters of the shortest."""
    return min(len(text.decode("utf-8", "replace")) for text in texts)


def shift(case: Case) -> None:
    """Take lines out of one side, or put some in; half the time cut both sides to one length."""
    size = len(case.sides[0])
    place = case.rng.choice(
        [case.rng.randrange(1, 30), case.rng.randrange(30, size - 30), size - case.rng.randrange(20, 45)]
    )  # fmt: skip
    _shift_at(case, case.sides[case.rng.randint(0, 1)], place, _draw_lag(case, size - place))
    _cut_to_one_length(case)
    case.place = place + 1


def shift_and_back(case: Case) -> None:
    """Shift some lines only: later as many are taken out of the other side."""
    size = len(case.sides[0])
    length = case.rng.randrange(30, 120)
    place = case.rng.randrange(0, max(1, size - length - 20))
    by, side = min(_draw_lag(case, size), length // 2), case.rng.randint(0, 1)
    del case.sides[1 - side][place + length : place + length + by]
    del case.sides[side][place : place + by]
    case.place = place + 1


def shift_twice(case: Case) -> None:
    """Shift twice; the first is what must be told where it begins."""
    size = len(case.sides[0])
    first = case.rng.randrange(1, size // 2)
    second = case.rng.randrange(first + 30, size - 20)
    for place in (second, first):
        _shift_at(case, case.sides[case.rng.randint(0, 1)], place, _draw_lag(case, 40))
    _cut_to_one_length(case)
    case.place = first + 1


def _draw_lag(case: Case, lines: int) -> int:
    """Draw by how many lines to shift so many: a few mostly, up to 50 one time in four, if enough lines are left."""
    if case.rng.random() < 0.75 or lines < 60:
        return case.rng.randint(1, 5)
    return case.rng.randint(6, min(50, lines // 3))


def _shift_at(case: Case, lines: Lines, place: int, by: int) -> None:
    if case.rng.random() < 0.5:
        del lines[place : place + by]
    else:
        lines[place:place] = [case.rng.choice(lines) for _ in range(by)]


def _cut_to_one_length(case: Case) -> None:
    if case.rng.random() < 0.5:
        shorter = min(map(len, case.sides))
        case.sides = [lines[:shorter] for lines in case.sides]


def unrelated(case: Case) -> None:
    """Give one side other lines: of elsewhere in the corpus, of another corpus, or its own in another order."""
    side = case.rng.randint(0, 1)
    size = len(case.sides[side])
    how = case.rng.choice(["elsewhere", "other", "shuffled", "reversed"])
    if how == "elsewhere" and 2 * size <= len(case.whole[side]):
        # Behind the lines of the case, or from the beginning where the file ends.
        start = (
            case.start + size + case.rng.randrange(len(case.whole[side]) - 2 * size + 1)
        ) % len(case.whole[side])
        case.sides[side] = [*case.whole[side][start:], *case.whole[side]][:size]
    elif how == "other":
        other = case
        # The parts of one folder may be the same lines in other languages.
        while other.folder == case.folder:
            other = Case(case.rng, case.data, size)
        case.sides[side] = other.sides[1][:size]
    elif how == "shuffled":
        case.rng.shuffle(case.sides[side])
    else:
        case.sides[side].reverse()
    case.name += f" {how}"


def cut_file(case: Case) -> None:
    """Leave out the end of one side."""
    side = case.sides[case.rng.randint(0, 1)]
    del side[-case.rng.randint(1, len(side) // 3) :]


def swap_files(case: Case) -> None:
    """Give each side the name of the other."""
    case.sides.reverse()


def swap_lines(case: Case) -> None:
    """Exchange the sides of single pairs."""
    for n in case.choose():
        case.sides[0][n], case.sides[1][n] = case.sides[1][n], case.sides[0][n]


def swap_block(case: Case) -> None:
    """Exchange the sides of pairs that follow each other."""
    length = case.rng.randrange(10, min(100, len(case.sides[0]) // 5))
    start = case.rng.randrange(len(case.sides[0]) - length)
    for n in range(start, start + length):
        case.sides[0][n], case.sides[1][n] = case.sides[1][n], case.sides[0][n]
    case.lines = set(range(start + 1, start + length + 1))


def other_language(case: Case) -> None:
    """Write 5 % of one side in a third language."""
    own = {ISO.get(each, each[:3]) for each in case.languages}
    foreign = case.rng.choice([each for each in FLORES if each[:3] not in own])
    text = read(case.data / f"flores200/devtest.{foreign}")
    side = case.sides[case.rng.randint(0, 1)]
    for n in case.choose(0.05):
        side[n] = case.rng.choice(text)


def copy(case: Case) -> None:
    """Give one side what the other has."""
    side = case.rng.randint(0, 1)
    for n in case.choose():
        case.sides[side][n] = case.sides[1 - side][n]


def repeat(case: Case) -> None:
    """Write pairs once more, somewhere else."""
    _repeat(case, lambda text: text)


def repeat_nearly(case: Case) -> None:
    """Write pairs once more with other case, spaces or punctuation."""
    changes: list[Callable[[str], str]] = [
        lambda text: f"{text} !",
        lambda text: f"  {text}",
        lambda text: text.swapcase() if text.swapcase().casefold() == text.casefold() != text.swapcase() else f'"{text}"',
        lambda text: f"- {text}",
    ]  # fmt: skip
    change = case.rng.choice(changes)
    _repeat(case, lambda line: change(line.decode()).encode())


def _repeat(case: Case, change: Callable[[bytes], bytes]) -> None:
    chosen = case.choose()
    at = case.rng.randrange(chosen[-1] + 1, len(case.sides[0]) + 1)
    for side in case.sides:
        side[at:at] = [change(side[n]) for n in chosen]
    case.lines = set(range(at + 1, at + len(chosen) + 1))


def leak(case: Case) -> None:
    """Hold out some pairs that are also in training."""
    chosen = case.choose()
    case.held_out = [[side[n] for n in chosen] for side in case.sides]


def leak_nearly(case: Case) -> None:
    """Hold out some pairs with other case and punctuation."""
    chosen = case.choose()
    changed = [[side[n].decode().upper() + " ..." for n in chosen] for side in case.sides]
    case.held_out = [[line.encode() for line in lines] for lines in changed]


def _damage(case: Case, change: Callable[[bytes], bytes]) -> None:
    side = case.sides[case.rng.randint(0, 1)]
    for n in case.choose(case.rng.choice([0.0, 0.02])):
        side[n] = change(side[n])


def _put_in(case: Case, piece: bytes) -> None:
    def change(line: bytes) -> bytes:
        spaces = [at for at, byte in enumerate(line) if byte == 0x20]
        at = case.rng.choice(spaces) + 1 if spaces else len(line)
        return line[:at] + piece + line[at:]

    _damage(case, change)


def misread(case: Case) -> None:
    """Read UTF-8 as Latin-1 or Windows-1252."""
    encoding = case.rng.choice(["latin-1", "cp1252"])

    def change(line: bytes) -> bytes:
        accented = line if not line.isascii() else line + " à é".encode()
        try:
            return accented.decode(encoding).encode()
        except UnicodeDecodeError:
            return accented.decode("latin-1").encode()

    _damage(case, change)


def put_nul(case: Case) -> None:
    """Put NUL into lines."""
    _put_in(case, b"\x00")


def put_mark(case: Case) -> None:
    """Put a byte order mark into lines."""
    _put_in(case, b"\xef\xbb\xbf")


def put_control(case: Case) -> None:
    """Put a control character into lines."""
    _put_in(case, case.rng.choice([b"\x07", b"\x1b", b"\x02", b"\x0c", b"\x7f", b"\xc2\x91"]))


def put_line_end(case: Case) -> None:
    """Put in a character where other tools end a line."""
    _put_in(case, case.rng.choice([b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9"]))


def put_entity(case: Case) -> None:
    """Put an HTML entity into lines."""
    _put_in(case, case.rng.choice([b"&quot;", b"&amp;", b"&#39;", b"&lt;", b"&nbsp;", b"&#x2019;"]))


def put_wrong_bytes(case: Case) -> None:
    """Put bytes of another encoding into lines."""
    _put_in(case, case.rng.choice([b"\xe4\xf6", b"\xff", b"\xe9t\xe9 "]))


def cut_character(case: Case) -> None:
    """Cut lines in the middle of a character."""
    _damage(case, lambda line: line + case.rng.choice(["é", "語", "ن", "😀"]).encode()[:-1])


def change_numbers(case: Case) -> None:
    """Give the two sides different numbers."""
    for n in case.choose():
        case.sides[0][n] += f" {case.rng.randrange(1000, 5000)}".encode()
        case.sides[1][n] += f" {case.rng.randrange(5000, 9999)}".encode()


def lengthen(case: Case) -> None:
    """Write hundreds of lines into one."""
    side = case.sides[case.rng.randint(0, 1)]
    chosen = case.choose()[:3]
    case.lines = {n + 1 for n in chosen}
    for n in chosen:
        side[n] = b" ".join(case.rng.choices(side, k=300))


def shorten(case: Case) -> None:
    """Leave three characters of one side."""
    side = case.sides[case.rng.randint(0, 1)]
    for n in case.choose():
        side[n] = side[n].decode("utf-8", "replace")[:3].encode()


def blank(case: Case) -> None:
    """Leave nothing of one side."""
    for n in case.choose():
        case.sides[case.rng.randint(0, 1)][n] = case.rng.choice([b"", b" ", b"\t"])


def mix_scripts(case: Case) -> None:
    """Write some letters of a word in an alphabet that looks alike."""
    latin = [n for n, language in enumerate(case.languages) if is_latin(language)]
    if not latin:
        case.languages = ("fr", "en")  # no side has Latin letters: take one that does
        case.sides = [read(case.data / f"tico19/en-fr/test.{language}")[:1000] for language in case.languages]  # fmt: skip
        latin = [0, 1]
    side = case.sides[case.rng.choice(latin)]
    for n in case.choose():
        words = side[n].decode().split(" ")
        places = [p for p, word in enumerate(words) if word.translate(LOOK_ALIKES) != word and len(word) > 3]  # fmt: skip
        if places:
            place = case.rng.choice(places)
            words[place] = words[place].translate(LOOK_ALIKES)
            if not any(each.isascii() and each.isalpha() for each in words[place]):
                words[place] += "s"
            side[n] = " ".join(words).encode()
        else:
            case.lines.discard(n + 1)


def is_latin(language: str) -> bool:
    """Tell whether a language of the corpora is written in Latin letters."""
    return language.endswith("_Latn") or language in ("en", "de", "ro", "fr")


@dataclass(frozen=True)
class Kind:
    """A kind of fault: what puts it in, what must be told, and how often it is drawn beside the others."""

    put_in: Callable[[Case], None]
    code: str
    weight: int = 1


KINDS = (
    Kind(shift, "line-shift", 5), Kind(shift_and_back, "line-shift"), Kind(shift_twice, "line-shift"),
    Kind(unrelated, "unrelated-sides", 2),
    Kind(cut_file, "unequal-lines"), Kind(swap_files, "swapped-sides"), Kind(swap_lines, "swapped-sides"),
    Kind(swap_block, "swapped-sides"), Kind(other_language, "wrong-language", 2), Kind(copy, "copied"),
    Kind(repeat, "duplicate"), Kind(repeat_nearly, "near-duplicate"), Kind(leak, "leakage"),
    Kind(leak_nearly, "leakage"), Kind(misread, "encoding"), Kind(put_nul, "encoding"), Kind(put_mark, "encoding"),
    Kind(put_control, "encoding"), Kind(put_line_end, "encoding"), Kind(put_entity, "encoding"),
    Kind(put_wrong_bytes, "encoding"), Kind(cut_character, "encoding"), Kind(change_numbers, "number-mismatch"),
    Kind(lengthen, "long-line"), Kind(shorten, "length-ratio"), Kind(blank, "empty"), Kind(mix_scripts, "mixed-script"),
)  # fmt: skip


def main() -> None:
    """Put in the faults one by one, and count what is found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=400)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9))
    parser.add_argument("--only", help="kinds of faults, with commas between")
    parser.add_argument("--largest", type=int, default=LARGEST, help="pairs of a corpus, at most")
    parser.add_argument("--untouched", action="store_true")
    asked = parser.parse_args()
    folder = os.environ.get("INTERLINGUA_DATA")
    if not folder:
        sys.exit("set INTERLINGUA_DATA to the folder of the corpora first")
    if asked.untouched:
        sys.exit(examine_untouched(Path(folder)))
    sys.exit(examine_faults(Path(folder), asked))


def examine_faults(data: Path, asked: argparse.Namespace) -> int:
    """Examine corpora with a fault each; return the exit status."""
    print(f"seed {asked.seed}", flush=True)
    rng = random.Random(asked.seed)
    only = asked.only.split(",") if asked.only else [kind.put_in.__name__ for kind in KINDS]
    kinds = [kind for kind in KINDS if kind.put_in.__name__ in only]
    found, put_in = Counter[str](), Counter[str]()
    started = time.process_time()
    deck: list[Kind] = []
    for _ in range(asked.faults):
        if not deck:
            deck = [kind for kind in kinds for _ in range(kind.weight)]
            rng.shuffle(deck)
        kind = deck.pop()
        name = f"{kind.code} ({kind.put_in.__name__})"
        case = Case(random.Random(rng.getrandbits(64)), data, asked.largest)
        kind.put_in(case)
        put_in[name] += 1
        told = examine(case)
        if is_told(case, kind.code, told):
            found[name] += 1
        else:
            report_miss(name, case, kind.code, told)
    for name in sorted(put_in):
        print(f"{name:36} {found[name]:4} of {put_in[name]:4}")
    share = found.total() / put_in.total()
    seconds = time.process_time() - started
    print(
        f"seed {asked.seed}: {found.total()} of {put_in.total()} faults found ({share:.1%}), {seconds:.0f} s of one core"
    )
    return 0 if share >= 0.98 else 1


def report_miss(name: str, case: Case, code: str, told: Findings) -> None:
    """Say what was missed, and what was told instead."""
    place = case.place or f"{len(case.lines)} lines, {sorted(case.lines)[:3]}"
    instead = [(each["code"], len(each["lines"]), each["lines"][:2]) for each in told]
    of_it = [each["lines"][:6] for each in told if each["code"] == code]
    print(f"MISSED {name} in {case.name}, at {place}; told {of_it} {instead}", flush=True)


def examine_untouched(data: Path) -> int:
    """Examine every corpus as it is; return 1 if any has an error."""
    pairs = [
        *map(str.split, PAIRS),
        *(["flores200/devtest", "eng_Latn", each] for each in FLORES if each != "eng_Latn"),
    ]
    pairs += [["flores200/devtest", *two] for two in pairwise(FLORES)]
    wrong = 0
    for stem, *languages in pairs:
        command = [
            "--source",
            f"{data / stem}.{languages[0]}",
            "--target",
            f"{data / stem}.{languages[1]}",
        ]
        told = [each for each in run_doctor(command) if each["severity"] != "note"]
        wrong += any(each["severity"] == "error" for each in told)
        print(
            stem,
            *languages,
            [
                (each["severity"], each["code"], len(each["lines"]), each["lines"][:3])
                for each in told
            ],
            flush=True,
        )
    print(f"{wrong} of {len(pairs)} untouched corpora have an error")
    return int(wrong > 0)


@cache
def read(path: Path) -> Lines:
    """Read the lines of a file as bytes; callers take a copy before they change any."""
    lines = path.read_bytes().split(b"\n")
    return lines if lines[-1] else lines[:-1]


def examine(case: Case) -> Findings:
    """Write the files of a case, and run the command on them."""
    command = []
    with tempfile.TemporaryDirectory() as scratch:
        for flag, sides in (("", case.sides), ("test-", case.held_out)):
            if sides is None:
                continue
            named = zip(("source", "target"), case.languages, sides, strict=True)
            for side, language, lines in named:
                path = Path(scratch) / f"{flag}text.{language}"
                path.write_bytes(b"".join(line + b"\n" for line in lines))
                command += [f"--{flag}{side}", str(path)]
        return run_doctor(command)


def run_doctor(command: list[str]) -> Findings:
    """Run the command that a user types, in this process, and return its findings."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(printed):
        status = interlingua(["doctor", *command, "--json"])
    if status not in (0, 1):
        print(f"doctor ended with status {status}", flush=True)
        return []
    printed.seek(0)
    findings: Findings = json.load(printed)["findings"]
    return findings


def is_told(case: Case, code: str, told: Findings) -> bool:
    """Tell whether a fault was found, on most of its lines, a shift within 20 lines."""
    named = [each["lines"] for each in told if each["code"] == code]
    if case.place is not None:
        return any(abs(line - case.place) <= TOLERANCE for lines in named for line in lines[:1])
    lines = {line for each in named for line in each}
    if not case.lines:
        return bool(named)
    return len(lines & case.lines) >= SHARE * len(case.lines)


if __name__ == "__main__":
    main()
