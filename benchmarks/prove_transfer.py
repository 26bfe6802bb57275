"""From a big pair of languages to a small one: English-Romanian from 2,000 pairs, with fresh weights and with those of English-German.

A model of Tatoeba English-German is trained once. Then, for each seed, English-Romanian is learnt from 2,000 pairs of the captions,
news and forums of RO-STS: alone, as ``train`` chooses for so little text; alone, with the dropout and the schedule of what
follows; and beginning with the weights of English-German, with new pieces for the words of Romanian (Zoph et al. 2016, Kocmi and
Bojar 2018). The better of the two that are alone counts. How long each is trained is left to ``train``. With --together a third model
learns both pairs at once, with a tag before every source. Models of 2,000 pairs are small, so each has one thread, and as many are
trained at once as there are cores. Restartable: what is trained or translated is not done again, and what has other lengths has a
folder of its own.
"""

import argparse
import itertools
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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
LINEAR = "--model.dropout 0.3 --training.schedule linear --training.patience 10"
TUNED = "--start.new-language true --start.new-pieces 1500"
"""The rest is what ``train`` chooses for another language, which has the schedule and the dropout of ``LINEAR``."""
WANTED = 3.0
"""BLEU that the weights of another pair must be worth, with p below 0.05 for every seed."""


def main() -> None:
    """Do what is missing, and end with status 1 if transfer gains too little."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/prove-transfer"))
    parser.add_argument("--pairs", type=int, default=2_000)
    parser.add_argument("--preset", default="small", help="the sizes of English-German")
    parser.add_argument("--base-updates", type=int, default=5_000, help="of English-German")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--updates", type=int, help="of each other, to try it out")
    parser.add_argument("--together", action="store_true", help="train both pairs at once as well")
    flags = parser.parse_args()
    print(describe_machine())
    big, small = corpora() / "tatoeba_en_de", corpora() / "ro_en/sts"
    base = settings_folder(flags.runs / "base", preset=flags.preset, updates=flags.base_updates)
    place = settings_folder(
        flags.runs / f"from-{base.name}", pairs=flags.pairs, updates=flags.updates
    )
    some = choose_pairs(small, place, flags.pairs)
    steps = f"--training.steps {flags.updates}" if flags.updates else ""
    text = [(big / "train", "de", big / "valid")]
    base_options = f"--model.preset {flags.preset} {BASE} --training.steps {flags.base_updates}"
    train(base, text, base_options)
    new = [(some, "ro", small / "valid")]
    ways = {"transfer": f"--init-from {base} {TUNED}", "alone": "", "alone, linear decay": LINEAR}

    def learn(one: tuple[str, int]) -> list[str]:
        way, seed = one
        model = place / f"seed-{seed}" / way.replace(", ", "-").replace(" ", "-")
        train(model, new, f"{ways[way]} {steps} --training.threads 1 --training.seed {seed}")
        return romanian(model, small, "--threads", "1")

    jobs = list(itertools.product(ways, range(1, flags.seeds + 1)))
    outputs: dict[str, list[list[str]]] = {way: [] for way in ways}
    with ThreadPoolExecutor(num_cores()) as pool:
        for (way, _), lines in zip(jobs, pool.map(learn, jobs), strict=True):
            outputs[way].append(lines)
    if flags.together:
        options = f"{base_options} --corpus.temperature 5"
        train(place / "together", [*text, *new], f"{options} --corpus.directions en-de,en-ro")
        outputs["together, one seed"] = [romanian(place / "together", small, "--to", "ro")]
    sys.exit(0 if tell(outputs, read_lines(small / "test.ro")) else 1)


def choose_pairs(small: Path, place: Path, number: int) -> Path:
    """Take some of the training pairs at even distances, none of which is in the test or validation part."""
    clean = cleaned(small, place / "cleaned", "en", "ro")
    return even_pairs(clean, place / "some", number, ("en", "ro"))


def train(run_dir: Path, texts: list[tuple[Path, str, Path]], options: str) -> None:
    """Train on English and another language, or find trained."""
    named: list[str] = []
    for pairs, code, valid in texts:
        named += parallel_text(pairs, valid, ("en", code))
    run("train", *named, "--run-dir", str(run_dir), *options.split())


def romanian(model: Path, small: Path, *flags: str) -> list[str]:
    """Return a model's translation of the test set."""
    return translated(model, small / "test.en", model / "test.ro", *flags)


def tell(outputs: dict[str, list[list[str]]], reference: list[str]) -> bool:
    """Print BLEU of each, and the comparison seed by seed; tell whether enough was gained."""
    means = mean_bleu(outputs, reference, "ro")
    best = max((way for way in means if way.startswith("alone")), key=means.__getitem__)
    compared = [
        compare_bleu(system, reference, "ro", baseline)
        for system, baseline in zip(outputs["transfer"], outputs[best], strict=True)
    ]
    gained = means["transfer"] - means[best]
    # No draw of equal outputs departs from 0, which the bootstrap takes for the strongest sign.
    chance = [each.p_value if each.difference else 1.0 for each in compared]
    is_enough = gained >= WANTED and max(chance) < SIGNIFICANCE_LEVEL
    print(
        f"transfer against {best}: {gained:+.2f} BLEU (wanted: {WANTED:+.1f}; paired bootstrap, seed by seed: p = "
        f"{', '.join(f'{p:.4f}' for p in chance)}): {'enough' if is_enough else 'NOT enough'} {compared[0].system.signature}"
    )
    return is_enough


if __name__ == "__main__":
    main()
