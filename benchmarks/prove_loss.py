"""What the fast ways of training cost in loss: Multi30k through the kernels, in bfloat16 and with products in int8, against the plain model
in float32.

    python benchmarks/prove_loss.py [--updates 500] [--seeds 1 2 3] [--threads 2] [-- FLAGS OF TRAIN]

The same recipe, seed and batches; only the arithmetic and the dropout masks differ. Restartable: what is trained is not trained
again. It ends with status 1 if a mean over the seeds is more than 2 % from the plain one. int8 is left out where there are no such
products. For a graphics card, with a large model:

    python benchmarks/prove_loss.py --runs runs/prove-loss-gpu --seeds 1 --ways "kernels, bfloat16" -- --training.device cuda --model.preset base --model.d-ff 2048 \\
        --batching.batch-tokens 25000 --training.peak-learning-rate 0.0007
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

from prove_commands import corpora, describe_machine, run, table

from interlingua.kernels.matrix_products import has_integers

RECIPE = Path(__file__).parents[1] / "recipes/multi30k_en_de.toml"
PLAIN = "plain float32"
WAYS = {
    PLAIN: ("--training.plain", "true", "--training.dtype", "float32"),
    "kernels, bfloat16": ("--training.plain", "false", "--training.dtype", "bfloat16"),
    "kernels, int8": ("--training.plain", "false", "--training.dtype", "int8"),
}
ALLOWED = 0.02


def main() -> None:
    """Train what is missing, compare, and end with 1 if the losses are too far apart."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/prove-loss"), help="folder")
    parser.add_argument("--updates", type=int, default=500, help="of each training")
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3], help="1 2 3 by default")
    parser.add_argument("--threads", type=int, default=2, help="of each training")
    parser.add_argument("--only", choices=tuple(WAYS), help="train only so, and leave")
    fast = [way for way in WAYS if way != PLAIN and (has_integers() or "int8" not in way)]
    parser.add_argument("--ways", choices=fast, nargs="+", default=fast, help="to compare")
    parser.add_argument("flags", nargs="*", help="of every training, after --")
    asked = parser.parse_args()
    corpora()
    print(describe_machine())
    for seed in asked.seeds:
        for way in (PLAIN, *asked.ways):
            if asked.only in (None, way):
                place = folder_of(asked.runs, way, seed)
                train(place, seed, asked.updates, asked.threads, (*WAYS[way], *asked.flags))
    if asked.only is None:
        sys.exit(0 if tell(asked.runs, asked.seeds, asked.ways) else 1)


def folder_of(runs: Path, way: str, seed: int) -> Path:
    """Name the folder of one run."""
    return runs / f"{way.replace(', ', '-').replace(' ', '-')}-{seed}"


def train(folder: Path, seed: int, updates: int, threads: int, flags: tuple[str, ...]) -> None:
    """Train one run, or find that it is done; the rate rises for a fifth of it and falls to nothing."""
    length = (
        f"--training.steps {updates} --training.minutes 100000 --training.validate-every {updates}"
    )
    length += f" --training.warmup-steps {max(1, updates // 5)}"
    options = f"{length} --training.seed {seed} --training.threads {threads}"
    run("train", str(RECIPE), "--run-dir", str(folder), *options.split(), *flags)


def losses_of(folder: Path) -> dict[str, float]:
    """Read the losses at the end of a run: of its last twenty updates, and on the validation text."""
    found = {}
    for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["kind"] in ("training", "validation"):
            found[record["kind"]] = record["loss"]
    return found


def tell(runs: Path, seeds: list[int], ways: list[str]) -> bool:
    """Print the losses of each seed, and how far each mean is from the plain one; tell whether all are near enough."""
    losses = {
        way: [losses_of(folder_of(runs, way, seed)) for seed in seeds] for way in (PLAIN, *ways)
    }
    rows, is_near = [], True
    for kind in ("training", "validation"):
        values = {way: [each[kind] for each in losses[way]] for way in losses}
        means = {way: statistics.fmean(values[way]) for way in losses}
        shown = {
            way: f"{means[way]:.4f} ({', '.join(f'{v:.4f}' for v in values[way])})"
            for way in losses
        }
        for way in ways:
            apart = means[way] / means[PLAIN] - 1
            is_near &= abs(apart) <= ALLOWED
            shown[way] += f" {apart:+.2%}"
        rows.append((f"{kind} loss, mean (seeds)", *shown.values()))
    print(table(("", PLAIN, *(f"{way}, apart (at most {ALLOWED:.0%})" for way in ways)), rows))
    return is_near


if __name__ == "__main__":
    main()
