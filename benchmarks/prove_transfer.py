"""From a big pair of languages to a small one: English-Romanian from 2,000 pairs, with fresh weights and with those of English-German.

A model of Tatoeba English-German is trained once. Then, for each seed, English-Romanian is learnt from 2,000 pairs of the captions,
news and forums of RO-STS: alone, as ``train`` chooses for so little text, and beginning with the weights of English-German, with new
pieces for the words of Romanian (Zoph et al. 2016, Kocmi and Bojar 2018). How long each is trained is left to ``train``. Models of 2,000
pairs are small, so each has one thread, and as many are trained at once as there are cores. Restartable: what is trained or translated is
not done again, and what has other lengths has a folder of its own.
"""

import argparse
import itertools
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from prove_commands import (
    cleaned,
    compare_bleu,
    corpora,
    describe_machine,
    even_pairs,
    mean_bleu,
    parallel_text,
    run,
    settings_folder,
    translated,
)

from interlingua.corpus.lines import read_lines
from interlingua.evaluation.significance import SIGNIFICANCE_LEVEL
from interlingua.hardware import num_cores

BASE = (
    "--model.dropout 0.1 --tokenization.kind bpe --tokenization.vocabulary-size 8000 "
    "--tokenization.shared true --batching.batch-tokens 4096 --training.schedule linear --training.warmup-steps 1000 "
    "--training.validate-every 500 --training.average-last 4 --training.seed 1"
)
TUNED = "--start.new-language true --start.new-pieces 1500"
"""The rest is what ``train`` chooses: of a fresh model for so little text, and of another for a new language."""
WANTED = 3.0
"""BLEU that the weights of another pair must be worth, with p below 0.05 for every seed."""


def main() -> None:
    """Do what is missing, and end with status 1 if transfer gains too little."""
    flags = read_flags(__doc__)
    print(describe_machine())
    models = learn(**flags)
    test = corpora() / "ro_en/sts/test"
    outputs = {
        way: [translated(each, f"{test}.en", each / "test.ro", "--threads", "1") for each in seeds]
        for way, seeds in models.items()
    }
    sys.exit(0 if tell(outputs, read_lines(Path(f"{test}.ro"))) else 1)


def read_flags(description: str) -> dict[str, Any]:
    """Return the flags that are given; the others are as ``learn`` has them."""
    parser = argparse.ArgumentParser(
        description=description.splitlines()[0], argument_default=argparse.SUPPRESS
    )
    parser.add_argument("--runs", type=Path)
    parser.add_argument("--pairs", type=int, help="of English-Romanian")
    parser.add_argument("--preset", help="the sizes of English-German")
    parser.add_argument("--base-updates", type=int, help="of English-German")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--updates", type=int, help="of each other, to try it out")
    return vars(parser.parse_args())


def learn(
    runs: Path = Path("runs/prove-transfer"),
    pairs: int = 2_000,
    preset: str = "small",
    base_updates: int = 3_000,
    seeds: int = 3,
    updates: int | None = None,
) -> dict[str, list[Path]]:
    """Train what is missing; return the runs of each way, one a seed."""
    big, small = corpora() / "tatoeba_en_de", corpora() / "ro_en/sts"
    base = settings_folder(runs / "base", preset=preset, updates=base_updates)
    place = settings_folder(runs / f"from-{base.name}", pairs=pairs, updates=updates)
    some = choose_pairs(small, place, pairs)
    sizes = f"--model.preset {preset} --training.steps {base_updates}"
    train(base, "de", big / "train", big / "valid", f"{sizes} {BASE}")
    ways = {"transfer": f"--init-from {base} {TUNED}", "alone": ""}
    steps = f"--training.steps {updates}" if updates else ""
    models = {way: [place / f"seed-{seed}" / way for seed in range(1, seeds + 1)] for way in ways}

    def learn_one(model: Path) -> None:
        seed = model.parent.name.removeprefix("seed-")
        options = f"{ways[model.name]} {steps} --training.threads 1 --training.seed {seed}"
        train(model, "ro", some, small / "valid", options)

    with ThreadPoolExecutor(num_cores()) as pool:
        list(pool.map(learn_one, itertools.chain(*models.values())))
    return models


def choose_pairs(small: Path, place: Path, number: int) -> Path:
    """Take some of the training pairs at even distances, none of which is in the test or validation part."""
    clean = cleaned(small, place / "cleaned", "en", "ro")
    return even_pairs(clean, place / "some", number, ("en", "ro"))


def train(run_dir: Path, code: str, text: Path, valid: Path, options: str) -> None:
    """Train on English and another language, or find trained."""
    named = parallel_text(text, valid, ("en", code))
    run("train", *named, "--run-dir", str(run_dir), *options.split())


def tell(outputs: dict[str, list[list[str]]], reference: list[str]) -> bool:
    """Print BLEU of each, and the comparison seed by seed; tell whether enough was gained."""
    means = mean_bleu(outputs, reference, "ro")
    compared = [
        compare_bleu(system, reference, "ro", baseline)
        for system, baseline in zip(outputs["transfer"], outputs["alone"], strict=True)
    ]
    gained = means["transfer"] - means["alone"]
    # No draw of equal outputs departs from 0, which the bootstrap takes for the strongest sign.
    chance = [each.p_value if each.difference else 1.0 for each in compared]
    is_enough = gained >= WANTED and max(chance) < SIGNIFICANCE_LEVEL
    print(
        f"transfer against alone: {gained:+.2f} BLEU (wanted: {WANTED:+.1f}; paired bootstrap, seed by seed: p = "
        f"{', '.join(f'{p:.4f}' for p in chance)}): {'enough' if is_enough else 'NOT enough'} {compared[0].system.signature}"
    )
    return is_enough


if __name__ == "__main__":
    main()
