"""An intermediary language: the English encoder of English-German, frozen, with a new decoder for Japanese, against all from scratch.

Both train on the same pairs of Tanaka for the same time, with the same sizes and the same Japanese vocabulary size, on one thread; a
third way lets the encoder learn on. They are compared on the test sentences whose source is not in the training text, by a paired
bootstrap. The English of Tatoeba is written as Tanaka's is first: small letters, marks between spaces. Restartable: what is trained
is not trained again, and what is translated is not translated again.
"""

import argparse
import re
from pathlib import Path
from typing import Any

from prove_commands import (
    corpora,
    describe_machine,
    first_pairs,
    length_flags,
    parallel_text,
    run_json,
    table,
    translated,
)

from interlingua.corpus.lines import read_lines, write_lines
from interlingua.evaluation.significance import compare

FROZEN = "--start.freeze encoder.*,source_embedding.*"
SCRATCH = "from scratch"
_MARK = re.compile(r"('\w+|[^\w\s'])")


def main() -> None:
    """Train what is missing and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/intermediary"))
    parser.add_argument("--base-minutes", type=float, default=40.0, help="of English-German")
    parser.add_argument("--minutes", type=float, default=15.0, help="of each way to Japanese")
    parser.add_argument("--steps", type=int, help="updates of each training, for a trial")
    parser.add_argument("--pairs", default="50000,5000", help="of Tanaka to train on, with commas")
    parser.add_argument("--preset", default="small", help="the sizes of all models")
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    print(describe_machine())
    tanaka = corpora() / "tanaka_en_ja"
    base = asked.folder / "en-de"
    if not (base / "finished").exists():
        train_base(base, asked)
        (base / "finished").touch()
    told = [f"{describe_machine()}, {asked.threads} thread(s)", ""]
    for pairs in map(int, asked.pairs.split(",")):
        told += compare_ways(tanaka, base, pairs, asked)
    (asked.folder / "intermediary.md").write_text("\n".join(told) + "\n", encoding="utf-8")
    print("\n".join(told))


def train_base(base: Path, asked: argparse.Namespace) -> None:
    """Train English to German on Tatoeba, its English written as Tanaka's."""
    tatoeba, text = corpora() / "tatoeba_en_de", asked.folder / "tatoeba"
    text.mkdir(parents=True, exist_ok=True)
    for part in ("train", "valid"):
        english = [as_in_tanaka(line) for line in read_lines(tatoeba / f"{part}.en")]
        write_lines(text / f"{part}.en", english)
        write_lines(text / f"{part}.de", read_lines(tatoeba / f"{part}.de"))
    flags = f"--model.preset {asked.preset} --tokenization.kind bpe --tokenization.vocabulary-size 8000 --tokenization.shared true"
    train(base, text / "train", text / "valid", ("en", "de"), asked.base_minutes, asked, flags)


def as_in_tanaka(text: str) -> str:
    """Write English in small letters, its marks and what follows an apostrophe by themselves: "i can 't swim .".

    >>> as_in_tanaka("I can't swim.")
    "i can 't swim ."
    """
    spaced = _MARK.sub(r" \1 ", text.lower().replace("’", "'").replace("n't", "n 't"))
    return " ".join(spaced.split())


def compare_ways(tanaka: Path, base: Path, pairs: int, asked: argparse.Namespace) -> list[str]:
    """Train each way on the first so many pairs, and tell how they differ."""
    folder = asked.folder / f"tanaka-{pairs}"
    langs = ("en", "ja")
    some = first_pairs(tanaka / "train", folder / "train", pairs, langs)
    tokens = (
        "--tokenization.kind bpe --tokenization.vocabulary-size 4000 --tokenization.shared false"
    )
    ways = {
        SCRATCH: f"--model.preset {asked.preset} {tokens}",
        "encoder of English-German, frozen": f"--encoder-from {base} {FROZEN} {tokens}",
        "encoder of English-German, learning on": f"--encoder-from {base} {tokens}",
    }
    seen = set(read_lines(folder / "train.en"))
    sources, references = (read_lines(tanaka / f"test.{lang}") for lang in langs)
    kept = [place for place, line in enumerate(sources) if line not in seen]
    outputs, rows = {}, []
    for name, flags in ways.items():
        run_dir = folder / re.sub(r"\W+", "-", name.lower())
        told = train(run_dir, some, tanaka / "valid", langs, asked.minutes, asked, flags)
        output, threads = run_dir / "test.out", ("--threads", str(asked.threads))
        lines = translated(run_dir, tanaka / "test.en", output, *threads)
        outputs[name] = [lines[place] for place in kept]
        rows.append((name, told["steps"], told["seconds"]))
    reference = [references[place] for place in kept]
    head = "encoder", "updates", "minutes", "BLEU (char)", "chrF", "p against from scratch"
    compared, signature = [], ""
    for name, steps, seconds in rows:
        found = compare(
            outputs[name], outputs[SCRATCH], [reference], ("bleu", "chrf"), target_lang="ja"
        )
        values = [f"{each.system.value:.2f} ({each.difference:+.2f})" for each in found]
        chances = [f"{each.p_value:.4f}" if each.difference else "" for each in found]
        signature = found[0].system.signature
        chance = ", ".join(filter(None, chances))
        compared.append([name, f"{steps:,}", f"{seconds / 60:.1f}", *values, chance])
    title = f"### {pairs:,} pairs, {len(kept)} test sentences that are not among them"
    return [title, "", table(head, compared), "", f"BLEU: `{signature}`", ""]


def train(
    run_dir: Path,
    text: Path,
    valid: Path,
    langs: tuple[str, str],
    minutes: float,
    asked: argparse.Namespace,
    flags: str,
) -> dict[str, Any]:
    """Train, or find trained, and return what the command tells."""
    length = length_flags(minutes, asked.steps).split()
    return run_json(
        *("train", *parallel_text(text, valid, langs), "--run-dir", str(run_dir), *length),
        *("--training.threads", str(asked.threads)),
        *("--batching.batch-tokens", "2048", "--training.schedule", "linear"),
        *("--training.peak-learning-rate", "0.002", "--model.dropout", "0.2"),
        *flags.split(),
    )


if __name__ == "__main__":
    main()
