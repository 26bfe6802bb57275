"""Corrections learnt for good: a small Tatoeba model adapts to 200 captions of Multi30k, and must lose nothing of what it knew.

All by the commands that a user types: ``train``, ``correct`` with the translations that people wrote, ``adapt``, ``translate`` with the
adapter and without. Judged on captions that were not corrected, which must become better, and on the test sentences of Tatoeba, of which
a paired test must find no loss. Twenty minutes of training on one thread, and some minutes for the rest. Restartable: what is
trained, adapted or translated is not done again, and what has another length or another number of corrections has a folder of its own.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from prove_commands import (
    corpora,
    describe_machine,
    even_pairs,
    length_flags,
    parallel_text,
    run,
    run_json,
    settings_folder,
    translated,
)

from interlingua.corpus.lines import read_lines
from interlingua.evaluation.significance import Comparison, compare

BASE = (
    "--model.preset tiny --model.dropout 0.1 --tokenization.vocabulary-size 4000 --batching.batch-tokens 2048 --training.threads 1 "
    "--training.schedule cosine --training.peak-learning-rate 0.003 --training.warmup-steps 300 --training.validate-sentences 100"
)


def main() -> None:
    """Do what is missing, and end with status 1 if nothing is gained or something is lost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/prove-adapt"))
    parser.add_argument("--minutes", type=float, default=20.0, help="of training the base")
    parser.add_argument("--updates", type=int, help="of the base instead, to try the script out")
    parser.add_argument("--corrections", type=int, default=200)
    flags = parser.parse_args()
    print(describe_machine())
    old, new = corpora() / "tatoeba_en_de", corpora() / "multi30k_en_de"
    place = settings_folder(flags.runs, minutes=flags.minutes, updates=flags.updates)
    base = place / "base"
    options = f"{BASE} {length_flags(flags.minutes, flags.updates)}"
    text = parallel_text(old / "train", old / "valid")
    run("train", *text, "--run-dir", str(base), *options.split())
    adapted = settings_folder(place, corrections=flags.corrections)
    told = adapt(base, new / "train", adapted, flags.corrections)
    for each in told["differences"]:
        print(
            f"adapt itself, {each['text']}: {each['metric']} {each['before']:.2f} -> {each['after']:.2f} (p = {each['p_value']:.4f})"
        )
    gained = tell(base, adapted, "captions", new / "test_2016_flickr")
    lost = tell(base, adapted, "Tatoeba", old / "test")
    good = all(each.significant and each.difference > 0 for each in gained)
    good &= not any(each.significant and each.difference < 0 for each in lost)
    print("learnt, and nothing lost" if good else "NOT learnt, or something lost")
    sys.exit(0 if good else 1)


def adapt(base: Path, text: Path, place: Path, number: int) -> dict[str, Any]:
    """Correct so many sentences, and learn that for good, or find it learnt; an adapter that is refused ends the proof."""
    kept = place / "adapted.json"
    if kept.exists():
        done: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        return done
    pairs = even_pairs(text, place / "some", number)
    folder = ("--corrections", str(place / "corrections"))
    run("correct", str(base), "--pairs", str(pairs), *folder)
    where = ("--output", str(place / "adapter"), "--threads", "1")
    told = run_json("adapt", str(base), *folder, *where)
    kept.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    return told


def tell(base: Path, place: Path, name: str, test: Path) -> list[Comparison]:
    """Print what a test set says of the model with the adapter against the model without; return it for each metric."""
    one_thread = ("--threads", "1")
    adapter = ("--adapter", str(place / "adapter"))
    sources, reference = f"{test}.en", read_lines(Path(f"{test}.de"))
    before = translated(base, sources, place / f"{name}-before.de", *one_thread)
    after = translated(base, sources, place / f"{name}-after.de", *one_thread, *adapter)
    found = compare(after, before, [reference], ("bleu", "chrf"), target_lang="de")
    for each in found:
        print(
            f"{name}, {len(reference):,} test sentences: {each.system.name} {each.baseline.value:.2f} -> {each.system.value:.2f} "
            f"({each.difference:+.2f}, p = {each.p_value:.4f}) {each.system.signature}"
        )
    return found


if __name__ == "__main__":
    main()
