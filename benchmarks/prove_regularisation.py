"""What may help small data, each against the Multi30k recipe as it is, for the same time: BPE-dropout, R-Drop, a running mean.

    python benchmarks/prove_regularisation.py [--minutes 20] [--seeds 1 2 3]

One thread a training, as many at once as there are cores; the same command goes on where it was stopped. Equal time, not equal
updates, since R-Drop passes every batch twice. All are scored on the validation set, by which a default would be chosen, and on
test_2016_flickr, in BLEU (13a, cased).
"""

import argparse
import itertools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from prove_commands import compare_bleu, corpora, describe_machine, run, table, translated

from interlingua.corpus.lines import read_lines
from interlingua.hardware import num_cores

RECIPE = Path(__file__).parents[1] / "recipes/multi30k_en_de.toml"
WAYS = {
    "as it is": "",
    "BPE-dropout 0.1": "--tokenization.sampling 0.1",
    "R-Drop, alpha 5": "--training.r-drop 5",
    "R-Drop, alpha 1": "--training.r-drop 1",
    "running mean, 0.999": "--training.ema 0.999",
    "BPE-dropout and R-Drop": "--tokenization.sampling 0.1 --training.r-drop 5",
}
TESTS = ("valid", "test_2016_flickr")


def main() -> None:
    """Train what is missing, score everything, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/prove-regularisation"))
    parser.add_argument("--minutes", type=float, default=20.0, help="of each training")
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--ways", nargs="*", choices=tuple(WAYS), default=list(WAYS))
    asked = parser.parse_args()
    print(describe_machine())
    corpora()

    place = asked.runs / f"{asked.minutes:g}-minutes"  # another time is another experiment

    def train(one: tuple[int, str]) -> None:
        seed, way = one
        options = f"--training.seed {seed} --training.minutes {asked.minutes} --training.threads 1"
        folder = ("--run-dir", str(folder_of(place, way, seed)))
        run("train", str(RECIPE), *folder, *options.split(), *WAYS[way].split())

    with ThreadPoolExecutor(num_cores()) as pool:
        list(pool.map(train, itertools.product(asked.seeds, asked.ways)))
    rows = [row_of(way, [folder_of(place, way, s) for s in asked.seeds]) for way in asked.ways]
    print(table((f"{asked.minutes:g} minutes each", *TESTS), rows))


def folder_of(runs: Path, way: str, seed: int) -> Path:
    """Name the folder of one run."""
    return runs / f"{way.replace(',', '').replace(' ', '-').lower()}-{seed}"


def row_of(way: str, models: list[Path]) -> list[str]:
    """Return the mean BLEU of each test over the seeds, and that of each seed."""
    cells = [way]
    for test in TESTS:
        text = corpora() / "multi30k_en_de" / test
        reference = read_lines(text.with_suffix(".de"))
        values = [
            compare_bleu(
                translated(
                    model, text.with_suffix(".en"), model / f"{test}.de", "--beam-size", "5"
                ),
                reference,
                "de",
            ).system.value
            for model in models
        ]
        shown = ", ".join(f"{value:.2f}" for value in values)
        cells.append(f"{sum(values) / len(values):.2f} ({shown})")
    return cells


if __name__ == "__main__":
    main()
