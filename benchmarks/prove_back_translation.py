"""Back-translation on real text: 10,000 pairs of Multi30k and the other German sentences, against the pairs alone and against all pairs.

For each seed four models of the published Transformer-Tiny's size make the same number of updates: German to English on the pairs (the
reverse model), and English to German on the pairs alone, on the pairs with the back-translated rest, and on all pairs. One thread a
training, as many at once as there are cores. Restartable: what is trained or translated is not done again; other numbers of pairs, lines
or updates have a folder of their own.
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from prove_commands import (
    compare_bleu,
    corpora,
    describe_machine,
    first_pairs,
    mean_bleu,
    parallel_text,
    run,
    run_json,
    settings_folder,
    translated,
)

from interlingua.corpus.lines import read_lines, write_lines
from interlingua.evaluation.significance import SIGNIFICANCE_LEVEL
from interlingua.hardware import num_cores

RECIPE = (
    "--tokenization.kind bpe --tokenization.vocabulary-size 4000 --tokenization.shared true --batching.batch-tokens 4096 "
    "--model.preset tiny --model.dropout 0.3 --training.schedule linear --training.warmup-steps 500 "
    "--training.peak-learning-rate 0.003 --training.average-last 4 --training.patience 1000 --training.threads 1"
)
TEST = "test_2016_flickr"
WAYS = ("with", "alone", "all")
WANTED = 2.0
"""BLEU that back-translation must gain over the pairs alone, with p below 0.05."""


@dataclass(frozen=True)
class Text:
    """Where the parts of the corpus are, each two files but for the suffixes .en and .de."""

    few: Path
    rest: Path
    all: Path
    valid: Path
    test: Path


def main() -> None:
    """Do what is missing, and end with status 1 if back-translation gains too little."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, default=Path("runs/prove-back-translation"))
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--rest", type=int, default=19_000)
    parser.add_argument("--updates", type=int, default=6_000, help="of each training")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--method", default="beam", help="beam, sample or noised-beam")
    flags = parser.parse_args()
    print(describe_machine())
    runs = settings_folder(flags.runs, pairs=flags.pairs, rest=flags.rest, updates=flags.updates)
    text = cut(corpora() / "multi30k_en_de", runs, flags.pairs, flags.rest)
    length = (
        f"--training.steps {flags.updates} --training.validate-every {max(1, flags.updates // 20)}"
    )

    def learn(job: tuple[int, str]) -> list[str]:
        seed, way = job
        place = runs / f"seed-{seed}"
        model = place / (f"with-{flags.method}" if way == "with" else way)
        options = f"{RECIPE} {length} --training.seed {seed}"
        if way == "with":
            train(place / "reverse", text.few, text, options, ("de", "en"))
            config = back_translate(place, text, flags.method)
            run("train", str(config), "--run-dir", str(model), *options.split())
        else:
            train(model, text.few if way == "alone" else text.all, text, options)
        beam = ("--beam-size", "5", "--threads", "1")
        return translated(model, f"{text.test}.en", model / f"{TEST}.de", *beam)

    # Those that take twice as long first, so that no core is left without work at the end.
    jobs = [(seed, way) for way in WAYS for seed in range(1, flags.seeds + 1)]
    outputs: dict[str, list[list[str]]] = {way: [] for way in WAYS}
    with ThreadPoolExecutor(num_cores()) as pool:
        for (_, way), lines in zip(jobs, pool.map(learn, jobs), strict=True):
            outputs[way].append(lines)
    sys.exit(0 if tell(outputs, read_lines(text.test.with_suffix(".de"))) else 1)


def cut(corpus: Path, place: Path, pairs: int, rest: int) -> Text:
    """Write the first pairs, and the target side of those after them, of the training text."""
    few = first_pairs(corpus / "train", place / "few", pairs)
    whole = first_pairs(corpus / "train", place / "all", pairs + rest)
    write_lines(place / "rest.de", read_lines(place / "all.de")[pairs:])
    return Text(few, place / "rest", whole, corpus / "valid", corpus / TEST)


def train(
    run_dir: Path, pairs: Path, text: Text, options: str, langs: tuple[str, str] = ("en", "de")
) -> None:
    """Train, or find trained."""
    named = parallel_text(pairs, text.valid, langs)
    run("train", *named, "--run-dir", str(run_dir), *options.split())


def back_translate(place: Path, text: Text, method: str) -> Path:
    """Make the synthetic pairs by the reverse model of this seed; return the configuration that trains on all."""
    told = run_json(
        *("back-translate", str(place / "reverse"), "--mono", f"{text.rest}.de"),
        *parallel_text(text.few, text.valid),
        *("--output", str(place / method), "--method", method, "--threads", "1"),
    )
    print(
        f"{told['pairs']:,} synthetic pairs of {told['lines']:,} lines; dropped {told['dropped']}"
    )
    return place / method / "train.toml"


def tell(outputs: dict[str, list[list[str]]], reference: list[str]) -> bool:
    """Print BLEU of each seed and the comparison of all; tell whether enough was gained."""
    means = mean_bleu(outputs, reference, "de")
    compared = [
        compare_bleu(system, reference, "de", baseline)
        for system, baseline in zip(outputs["with"], outputs["alone"], strict=True)
    ]
    chance = [each.p_value for each in compared]
    gained, possible = means["with"] - means["alone"], means["all"] - means["alone"]
    share = f", {gained / possible:.0%} of the way to all pairs" if possible > 0 else ""
    print(
        f"back-translation: {gained:+.2f} BLEU{share} (paired bootstrap, seed by seed: p = "
        f"{', '.join(f'{p:.4f}' for p in chance)}) {compared[0].system.signature}"
    )
    return gained >= WANTED and max(chance) < SIGNIFICANCE_LEVEL


if __name__ == "__main__":
    main()
