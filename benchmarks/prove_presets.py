"""Are the automatic choices good? Each against the best of a random search at equal budget, from 1,000 pairs to 29,000.

For 1,000, 3,000, 10,000 and 29,000 pairs of Multi30k English-German, and for the cleaned RO-STS Romanian-English, one model is
trained as ``train`` chooses by itself, and twenty with vocabulary, sizes, dropout, subword sampling, R-Drop, averaging and learning
rate drawn at random, all for the same minutes of one thread, the more text the more, as many at once as there are cores. The best of the twenty is the one with
the highest BLEU on the whole validation text, searched as the test set is; one that does not train to its end is a lost trial, and
with fewer than were asked for nothing is proved. Restartable: what is trained or evaluated is not done again; another budget, and a
trial that is drawn otherwise, have folders of their own.
"""

import argparse
import hashlib
import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prove_commands import (
    cleaned,
    corpora,
    describe_machine,
    evaluate,
    first_pairs,
    length_flags,
    parallel_text,
    run_json,
    settings_folder,
)

from interlingua.corpus.lines import read_lines
from interlingua.hardware import num_cores

MINUTES_OF_SIZES = {1_000: 3.0, 3_000: 4.0, 10_000: 6.0, 29_000: 10.0}
"""Pairs of Multi30k, and the minutes of each training on them: 130 passes over the fewest, and 4 (small) to 20 (a seventh of it) over the most, on a core of a
Zen 4."""
MINUTES_OF_RO_EN = 6.0
ALLOWED = 0.5
"""BLEU that the automatic choice may lie below the best of the search."""

PATIENT = "--training.patience 1000"
"""A trial uses its minutes up; when to stop is part of the automatic choice."""

CHOICES: dict[str, tuple[str, ...]] = {
    "tokenization.kind": ("bpe", "unigram"),
    "tokenization.vocabulary-size": ("500", "1000", "2000", "4000", "8000"),
    "tokenization.shared": ("true", "false"),
    "tokenization.sampling": ("0", "0.1"),
    "batching.batch-tokens": ("1024", "2048", "4096"),
    "model.d-model": ("128", "192", "256"),
    "model.encoder-layers": ("2", "3", "4", "6"),
    "model.decoder-layers": ("1", "2", "3", "4"),
    "model.dropout": ("0.1", "0.2", "0.3", "0.4"),
    "training.r-drop": ("0", "0", "5"),
    "training.average-last": ("1", "5"),
    "training.schedule": ("linear", "cosine", "inverse-sqrt"),
    "training.peak-learning-rate": ("0.0005", "0.001", "0.002", "0.003"),
    "training.warmup-steps": ("100", "300", "600"),
}
"""What is drawn; feed-forward layers are four times as wide as the model, with heads of 32."""


@dataclass(frozen=True)
class Task:
    """A corpus, each part two files but for their suffixes."""

    name: str
    train: Path
    valid: Path
    test: Path
    source: str
    target: str
    pairs: int
    minutes: float


def main() -> None:
    """Do what is missing, and end with status 1 if an automatic choice is too far below the best."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/prove-presets"))
    parser.add_argument("--minutes", type=float, help="of each training, for each corpus as many")
    parser.add_argument("--updates", type=int, help="of each training instead, to try the script")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--only", help="one task, such as multi30k-1000 or ro-en")
    flags = parser.parse_args()
    print(describe_machine())
    good = []
    for task in tasks(flags.runs, flags.only):
        minutes = flags.minutes or task.minutes
        place = settings_folder(flags.runs, minutes=minutes, updates=flags.updates) / task.name
        budget = f"{length_flags(minutes, flags.updates)} --training.threads 1"
        good.append(tell(task, *measure(task, place, budget, flags.trials), flags.trials))
    sys.exit(0 if all(good) else 1)


def tasks(place: Path, only: str | None) -> list[Task]:
    """Cut the corpora, or the one that is asked for."""
    multi, small = corpora() / "multi30k_en_de", corpora() / "ro_en/sts"
    found = []
    for size, minutes in MINUTES_OF_SIZES.items():
        if only in (None, name := f"multi30k-{size}"):
            some = first_pairs(multi / "train", place / "text" / name, size)
            parts = (some, multi / "valid", multi / "test_2016_flickr")
            found.append(Task(name, *parts, "en", "de", size, minutes))
    if only in (None, "ro-en"):
        text = cleaned(small, place / "text/ro-en", "ro", "en")
        pairs = len(read_lines(text.with_suffix(".en")))
        found.append(
            Task(
                "ro-en", text, small / "valid", small / "test", "ro", "en", pairs, MINUTES_OF_RO_EN
            )
        )
    if not found:
        sys.exit(f"--only {only}: is no task; give multi30k-{min(MINUTES_OF_SIZES)} or ro-en")
    return found


def measure(
    task: Task, place: Path, budget: str, trials: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what the automatic choice and each trial came to."""
    drawn = random.Random(f"presets {task.name}")
    jobs = {"automatic": budget}
    for number in range(1, trials + 1):
        chosen = {key: drawn.choice(values) for key, values in CHOICES.items()}
        width = int(chosen["model.d-model"])
        chosen |= {"model.d-ff": str(4 * width), "model.heads": str(width // 32)}
        settings = " ".join(f"--{key} {value}" for key, value in chosen.items())
        drawn_so = hashlib.sha256(settings.encode()).hexdigest()[:8]
        jobs[f"trial-{number:02}-{drawn_so}"] = f"{budget} {PATIENT} {settings}"
    with ThreadPoolExecutor(num_cores()) as pool:
        tried = list(pool.map(lambda job: try_out(task, place / job[0], job[1]), jobs.items()))
    automatic, *others = tried
    if automatic is None:
        sys.exit(f"{task.name}: the automatic choice did not train to its end")
    return automatic, [each for each in others if each is not None]


def train(task: Task, run_dir: Path, options: str) -> dict[str, Any]:
    """Train and evaluate, or find it done; return validation and test BLEU with what was chosen."""
    kept = run_dir / "measured.json"
    if kept.exists():
        done: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        return done
    langs = (task.source, task.target)
    text = parallel_text(task.train, task.valid, langs)
    told = run_json("train", *text, "--run-dir", str(run_dir), *options.split())
    valid, scores = (
        evaluate(
            str(run_dir),
            *(Path(f"{part}.{code}") for code in langs),
            *("--metrics", "bleu", "--threads", "1"),
        )["scores"][0]
        for part in (task.valid, task.test)
    )
    found = {
        "run": str(run_dir),
        "options": options,
        "validation": valid["value"],
        "steps": told["steps"],
        "bleu": scores["value"],
        "low": scores["low"],
        "high": scores["high"],
        "signature": scores["signature"],
    }
    kept.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return found


def try_out(task: Task, run_dir: Path, options: str) -> dict[str, Any] | None:
    """Do the same with what was drawn; None if it does not train to its end."""
    try:
        return train(task, run_dir, options)
    except SystemExit as failed:
        print(f"{run_dir}: a lost trial ({failed})")
        return None


def tell(task: Task, automatic: dict[str, Any], others: list[dict[str, Any]], trials: int) -> bool:
    """Print how far the automatic choice is from the best of so many trials; tell whether that is near enough."""
    is_whole = len(others) == trials
    if not is_whole:
        print(f"{task.name}: only {len(others)} of {trials} trials count, which proves nothing")
    if not others:
        return False
    best = max(others, key=lambda each: each["validation"])
    luckiest = max(each["bleu"] for each in others)
    behind = best["bleu"] - automatic["bleu"]
    print(
        f"{task.name}, {task.pairs:,} pairs: automatic BLEU {automatic['bleu']:.2f} ({automatic['low']:.2f} to "
        f"{automatic['high']:.2f}), best of {len(others)} by validation {best['bleu']:.2f} ({-behind:+.2f} for the automatic "
        f"choice), highest of all on the test set {luckiest:.2f}: {'near enough' if behind <= ALLOWED else 'NOT near enough'}"
    )
    print(f"  the best: {best['options']}")
    print(f"  {automatic['signature']}")
    return is_whole and bool(behind <= ALLOWED)


if __name__ == "__main__":
    main()
