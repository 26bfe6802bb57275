"""Tokenizers at scale: memory and time of training, what random text becomes, and what long text costs.

``--only train`` makes millions of distinct lines by varying real ones, and trains every kind on them through the command
that a user types. ``--only text`` sends random Unicode strings and every assigned code point through every kind.
``--only cost`` doubles the length of hostile texts and compares the times.
"""

import argparse
import itertools
import math
import random
import shutil
import sys
import tempfile
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from prove_commands import corpora, describe_machine
from prove_scale import watch

from interlingua.tokenization.foreign import load_sentencepiece, load_subword_nmt, load_wordpiece
from interlingua.tokenization.piece_document import describe_pieces, restore_pieces
from interlingua.tokenization.piece_tokenizer import PieceTokenizer
from interlingua.tokenization.sentencepiece_writing import write_sentencepiece
from interlingua.tokenization.tokenizer import Tokenizer
from interlingua.tokenization.train import train_tokenizer

KINDS = ("bpe", "unigram", "wordpiece", "word", "char", "byte-level")
MOST_MEMORY = 4 << 30
MOST_RATIO = 2.3
TEXTS_AT_ONCE = 5_000
SPECIALS = frozenset(range(4))
TRAPS = [
    *("<pad>", "</s>", "<s>", "<unk>", "<0x41>", "\u2581", "@@", "##", "</w>", "[UNK]"),
    *("\u0301", "\U0001f469\u200d\U0001f467", "\u202e", "\u2066", "\ufdd0", "\U0010ffff", "\ue000"),
    *("\0", "\x85", "\u2028", "\ufeff", "\r", "\n", "\t", " ", "  ", "\u3000", "e\u0323\u0301"),
]


def main() -> None:
    """Do all, or one part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("train", "text", "cost"))
    parser.add_argument(
        "--kinds",
        nargs="+",
        choices=KINDS,
        default=KINDS,
        help="of tokenizers",
    )
    parser.add_argument("--lines", type=int, default=5_000_000)
    parser.add_argument("--strings", type=int, default=1_000_000)
    parser.add_argument("--length", type=int, default=500_000, help="of a text, and twice that")
    parser.add_argument("--seed", type=int, default=None, help="of the random strings")
    arguments = parser.parse_args()
    print(describe_machine(), flush=True)
    parts: dict[str, Callable[[], bool]] = {
        "train": lambda: prove_training(arguments.kinds, arguments.lines),
        "text": lambda: prove_text(arguments.kinds, arguments.strings, arguments.seed),
        "cost": lambda: prove_cost(arguments.kinds, arguments.length),
    }
    chosen = [arguments.only] if arguments.only else list(parts)
    outcomes = [parts[name]() for name in chosen]
    sys.exit(0 if all(outcomes) else 1)


def prove_training(kinds: Sequence[str], number: int) -> bool:
    """Train ``kinds`` on ``number`` lines; return whether each stayed within the memory."""
    folder = Path(tempfile.mkdtemp(prefix="interlingua-tokenizers-"))
    fine = True
    try:
        text = folder / "text"
        with text.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(itertools.islice(vary(real_lines()), number))
        print(f"{number:,} different lines, {text.stat().st_size / 1e6:,.0f} MB", flush=True)
        for kind in kinds:
            flags = ["--byte-level"] if kind == "byte-level" else ["--kind", kind]
            output = folder / f"{kind}.json"
            command = [sys.executable, "-m", "interlingua", "tokenizer", "train", str(text)]
            done = watch([*command, "--output", str(output), "--vocabulary-size", "32000", *flags])
            told = done.output.strip().partition(": ")[2]
            print(
                f"{kind}: {done.processor:.0f} s of processor time, {done.peak / 2**20:,.0f} MiB; {told}",
                flush=True,
            )
            fine = fine and done.peak <= MOST_MEMORY
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return fine


def real_lines() -> list[str]:
    """Return the lines of many languages that the variations are made of."""
    folder = corpora()
    files = [
        *sorted((folder / "flores200").glob("devtest.*")),
        *(
            folder / f"{name}/train.{side}"
            for name in ("multi30k_en_de", "news_en_de")
            for side in ("en", "de")
        ),
        *(folder / f"tanaka_en_ja/train.{side}" for side in ("en", "ja")),
    ]
    lines = [line for file in files for line in file.read_text("utf-8").split("\n") if line]
    return sorted(set(lines))


def vary(lines: list[str]) -> Iterator[str]:
    """Yield lines without end, no two equal: one word replaced by another, and a number of its own at the end."""
    split = [line.split(" ") for line in lines]
    words = sorted({word for line in split for word in line})
    for index in itertools.count():
        line = split[index % len(split)].copy()
        line[index // 7 % len(line)] = words[index * 7919 % len(words)]
        yield f"{' '.join(line)} {index}\n"


def trained(kinds: Sequence[str] = KINDS) -> dict[str, PieceTokenizer]:
    """Return a small tokenizer of each of ``kinds``, trained on sixteen languages."""
    files = sorted((corpora() / "flores200").glob("devtest.*"))
    lines = [line for file in files for line in file.read_text("utf-8").split("\n")[:200]]
    found = {}
    for kind in kinds:
        name, byte_level = ("bpe", True) if kind == "byte-level" else (kind, False)
        learnt = train_tokenizer(lines, kind=name, vocabulary_size=4000, byte_level=byte_level)
        assert isinstance(learnt, PieceTokenizer)
        found[kind] = learnt
    return found


def prove_text(kinds: Sequence[str], number: int, seed: int | None) -> bool:
    """Send ``number`` random strings and every assigned code point through ``kinds``; return whether nothing was lost."""
    seed = random.SystemRandom().randrange(2**32) if seed is None else seed
    fine = True
    for kind, tokenizer in trained(kinds).items():
        roll, lost = random.Random(seed), 0
        texts = itertools.chain(every_code_point(), random_strings(roll, number))
        while some := list(itertools.islice(texts, TEXTS_AT_ONCE)):
            for text, ids in zip(some, tokenizer.encode_batch(some), strict=True):
                back = tokenizer.decode(ids)
                if back != tokenizer.normalise(text) or not SPECIALS.isdisjoint(ids):
                    lost += 1
                    print(f"{kind}: {text!a} is lost")
        print(
            f"{kind}: {number:,} random strings (seed {seed}) and every assigned code point alone and in context, {lost} lost",
            flush=True,
        )
        fine = fine and not lost
    return fine


def every_code_point() -> Iterator[str]:
    """Yield every code point that Unicode has assigned, and those for private use, alone and between letters."""
    for character in map(chr, itertools.chain(range(0xD800), range(0xE000, 0x110000))):
        if unicodedata.category(character) != "Cn":
            yield character
            yield f"the {character}cat{character} "


def random_strings(roll: random.Random, number: int) -> Iterator[str]:
    """Yield strings of code points from planes and blocks drawn at random, and of traps."""
    for _ in range(number):
        text = []
        for _ in range(roll.randrange(1, 12)):
            if roll.random() < 0.3:
                text.append(roll.choice(TRAPS))
                continue
            top = roll.choice((0x80, 0x250, 0x1000, 0x3100, 0xFFFF, 0x20000, 0x10FFFF))
            code = roll.randrange(top)
            text.append("a" if 0xD800 <= code < 0xE000 else chr(code))
        yield "".join(text)


def long_texts(length: int) -> dict[str, str]:
    """Return hostile texts of ``length`` characters; the shorter is the beginning of the longer."""
    roll = random.Random(1)
    marks = [chr(code) for code in range(0x300, 0x370)]
    return {
        "a": "a" * length,
        "spaces": " " * length,
        "combining marks": "".join(roll.choices(marks, k=length)),
        "random letters": "".join(roll.choices("abcdefghijklmnopqrstuvwxyz", k=length)),
        "many characters in one word": "".join(
            chr(roll.randrange(0x4E00, 0x9FFF)) for _ in range(length)
        ),
    }


def prove_cost(kinds: Sequence[str], length: int) -> bool:
    """Encode and decode texts of ``length`` and of twice that; return whether no time more than doubles, but for noise."""
    fine = True
    folder = Path(tempfile.mkdtemp(prefix="interlingua-tokenizers-"))
    try:
        for name, tokenizer in cost_subjects(kinds, folder).items():
            for text_name, text in long_texts(2 * length).items():
                ratios = cost_ratios(tokenizer, text, length)
                worst = max(ratios.values())
                shown = ", ".join(f"{what} {ratio:.2f}" for what, ratio in ratios.items())
                print(f"{name}, {length:,} and twice as many {text_name}: {shown}", flush=True)
                # Of BERT's reader the time is that of the tokenizers library alone.
                fine = fine and (worst <= MOST_RATIO or name == "BERT")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return fine


def cost_subjects(kinds: Sequence[str], folder: Path) -> dict[str, Tokenizer]:
    """Return tokenizers of ``kinds``; if these are all, also of every reader."""
    subjects: dict[str, Tokenizer] = dict(trained(kinds))
    if len(kinds) < len(KINDS):
        return subjects
    write_sentencepiece(subjects["unigram"], folder / "unigram.model")
    subjects["SentencePiece"] = load_sentencepiece(folder / "unigram.model")
    subjects["subword-nmt"] = load_subword_nmt(corpora() / "subword/bpe.ref")
    subjects["BERT"] = load_wordpiece(corpora() / "subword/bert-base-uncased-vocab.txt")
    return subjects


def cost_ratios(tokenizer: Tokenizer, text: str, length: int) -> dict[str, float]:
    """Return time(2n) / time(n) of encoding, decoding and sampling.

    Either time is the least of some, taken in turn, since other work on the machine only adds. Beyond the limit more are taken,
    forty at most: what does not cost in proportion stays beyond it.
    """
    texts = text[:length], text[: 2 * length]
    ids = [tokenizer.encode(one).ids for one in texts]
    works: dict[str, tuple[Work, Work]] = {
        what: (start(tokenizer, texts[0], what), start(tokenizer, texts[1], what))
        for what in ("encode", "sample")
    }
    works["decode"] = (
        lambda: lambda: tokenizer.decode(ids[0]),
        lambda: lambda: tokenizer.decode(ids[1]),
    )
    if tokenizer.kind in ("word", "char") or not isinstance(tokenizer, PieceTokenizer):
        del works["sample"]
    return {what: ratio_of(*both) for what, both in works.items()}


Work = Callable[[], Callable[[], object]]
"""Gets something ready, and returns what is to be timed."""


def start(tokenizer: Tokenizer, text: str, what: str) -> Work:
    """Return the work of encoding or sampling ``text`` with nothing remembered."""

    def ready() -> Callable[[], object]:
        fresh = tokenizer
        if isinstance(tokenizer, PieceTokenizer):
            fresh = restore_pieces(describe_pieces(tokenizer))
        if what == "encode":
            return lambda: fresh.encode(text)
        return lambda: fresh.encode_sampled(text, probability=0.1, seed=1, epoch=0, pair=0, side=0)

    return ready


def ratio_of(short: Work, long: Work) -> float:
    """Return how many times the processor time of ``short`` the work ``long`` takes."""
    least = [math.inf, math.inf]
    for number in range(40):
        for place, work in enumerate((short, long)):
            timed = work()
            before = time.process_time()
            timed()
            least[place] = min(least[place], time.process_time() - before)
        if number >= 2 and least[1] <= MOST_RATIO * least[0]:
            break
    return least[1] / least[0]


if __name__ == "__main__":
    main()
