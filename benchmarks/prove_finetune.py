"""Fine-tuning on real text: a Tatoeba model learns 2,000 pairs of Multi30k, in three ways, and what each one forgets.

Restartable: a run that is finished is not trained again, and a report that is there is not made again. The base model takes 33
minutes on one thread, each fine-tuning about five, each report one or two.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from prove_commands import corpora, describe_machine, evaluate, run

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
"""BLEU that each way must gain on the new text, with p below 0.05."""


def main() -> None:
    """Train what is missing, and end with status 1 if a way gains too little."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, default=Path("runs/prove-finetune"))
    place = parser.parse_args().runs
    print(describe_machine())
    new, old = corpora() / "multi30k_en_de", corpora() / "tatoeba_en_de"
    base = place / "base"
    train(base, old / "train", old / "valid", BASE)
    some = first_pairs(new, place)
    good = True
    for way, flags in WAYS.items():
        tuned = place / way.replace(" ", "-")
        keep = f"--keep-source {old / 'valid.en'} --keep-target {old / 'valid.de'}"
        options = f"--init-from {base} {keep} --training.threads 1 {flags}"
        result = train(tuned, some, new / "valid", options)
        print(f"{way}: {result['steps']:,} updates, {result['seconds']:.0f} s")
        for test, text in (("test_2016_flickr", new), ("test", old)):
            report = compared(tuned, base, text / test)
            gains = [tell(way, f"{text.name}/{test}", each) for each in report["comparisons"]]
            good &= text == old or gains[0]
    sys.exit(0 if good else 1)


def train(run_dir: Path, text: Path, valid: Path, options: str) -> dict[str, Any]:
    """Train, or find trained, and return what the command tells."""
    timed = run(
        *("train", "--source", f"{text}.en", "--target", f"{text}.de", "--json"),
        *("--valid-source", f"{valid}.en", "--valid-target", f"{valid}.de"),
        *("--run-dir", str(run_dir), *options.split()),
    )
    result: dict[str, Any] = json.loads(timed.output)
    return result


def first_pairs(text: Path, place: Path) -> Path:
    """Write the first pairs of the training text."""
    place.mkdir(parents=True, exist_ok=True)
    for side in ("en", "de"):
        lines = (text / f"train.{side}").read_text(encoding="utf-8").split("\n")[:PAIRS]
        (place / f"some.{side}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return place / "some"


def compared(tuned: Path, base: Path, test: Path) -> dict[str, Any]:
    """Return the report on a test set against the base model, from an earlier start if it is there."""
    path = tuned / f"report-{test.parent.name}.json"
    if not path.exists():
        report = evaluate(
            *(str(tuned), Path(f"{test}.en"), Path(f"{test}.de")),
            *("--against", str(base), "--metrics", "bleu,chrf", "--threads", "1"),
        )
        path.write_text(json.dumps(report), "utf-8")
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def tell(way: str, test: str, found: dict[str, Any]) -> bool:
    """Print one metric of one test set; tell whether it gained enough."""
    gain = found["difference"]
    print(
        f"{way}, {test}: {found['name']} {found['baseline']['value']:.2f} -> {found['system']['value']:.2f} "
        f"({gain:+.2f}, p = {found['p_value']:.4f})",
        flush=True,
    )
    return gain >= WANTED and found["p_value"] < 0.05


if __name__ == "__main__":
    main()
