"""Fine-tuning on real text: a Tatoeba model learns 2,000 pairs of Multi30k, in three ways, and what each one forgets.

Restartable: a run that is finished is not trained again, and a text that is translated is not translated again. The base model
takes 33 minutes on one thread, each fine-tuning some minutes.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from prove_commands import (
    corpora,
    describe_machine,
    first_pairs,
    parallel_text,
    run_json,
    translated,
)

from interlingua.corpus.lines import read_lines
from interlingua.evaluation.significance import SIGNIFICANCE_LEVEL, compare

PAIRS = 2_000
BASE = (
    "--model.preset tiny --model.dropout 0.1 --tokenization.vocabulary-size 4000 --batching.batch-tokens 2048 "
    "--training.minutes 33 --training.schedule cosine --training.threads 1 --training.peak-learning-rate 0.003 "
    "--training.warmup-steps 300 --training.validate-every 500 --training.validate-sentences 100"
)
WAYS = {
    "all weights": "",
    "adapter of rank 8": "--start.lora-rank 8",
    "encoder frozen": "--start.freeze encoder.*",
}
WANTED = 4.0
"""BLEU that training all weights must gain on the new text, with p below 0.05."""


def main() -> None:
    """Train what is missing, and end with status 1 if training all weights gains too little."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, default=Path("runs/prove-finetune"))
    place = parser.parse_args().runs
    print(describe_machine())
    new, old = corpora() / "multi30k_en_de", corpora() / "tatoeba_en_de"
    base = place / "base"
    train(base, old / "train", old / "valid", BASE)
    some = first_pairs(new / "train", place / "some", PAIRS)
    good = True
    for way, flags in WAYS.items():
        tuned = place / way.replace(" ", "-")
        keep = f"--keep-source {old / 'valid.en'} --keep-target {old / 'valid.de'}"
        options = f"--init-from {base} {keep} --training.threads 1 {flags}"
        result = train(tuned, some, new / "valid", options)
        print(f"{way}: {result['steps']:,} updates, {result['seconds']:.0f} s")
        for text, test in ((new, "test_2016_flickr"), (old, "test")):
            gained = tell(way, tuned, base, text / test)
            good &= text == old or bool(flags) or gained
    sys.exit(0 if good else 1)


def train(run_dir: Path, text: Path, valid: Path, options: str) -> dict[str, Any]:
    """Train, or find trained, and return what the command tells."""
    named = parallel_text(text, valid)
    return run_json("train", *named, "--run-dir", str(run_dir), *options.split())


def tell(way: str, tuned: Path, base: Path, test: Path) -> bool:
    """Print what a test set says of a model against the base model; tell whether it gained enough."""
    reference = read_lines(Path(f"{test}.de"))
    outputs = [
        translated(model, f"{test}.en", model / f"{test.parent.name}.de", "--threads", "1")
        for model in (tuned, base)
    ]
    bleu, chrf = compare(*outputs, [reference], ("bleu", "chrf"), target_lang="de")
    for found in (bleu, chrf):
        print(
            f"{way}, {test.parent.name}/{test.name}: {found.system.name} {found.baseline.value:.2f} -> "
            f"{found.system.value:.2f} ({found.difference:+.2f}, p = {found.p_value:.4f}) {found.system.signature}",
            flush=True,
        )
    return bleu.difference >= WANTED and bleu.p_value < SIGNIFICANCE_LEVEL


if __name__ == "__main__":
    main()
