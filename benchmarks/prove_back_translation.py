"""Back-translation on real text: 10,000 pairs of Multi30k and the other German sentences, against the pairs alone and against all pairs.

For each seed four models are trained for the same time: German to English on the pairs (the reverse model), and English to German on
the pairs alone, on the pairs with the back-translated rest, and on all pairs. Restartable: what is trained or translated is not done again.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prove_commands import corpora, describe_machine, run

from interlingua.corpus.lines import read_lines, write_lines
from interlingua.evaluation.significance import SIGNIFICANCE_LEVEL, Comparison, compare

RECIPE = (
    "--tokenization.kind bpe --tokenization.vocabulary-size 4000 --tokenization.shared true --batching.batch-tokens 4096 "
    "--model.preset small --model.d-ff 512 --model.dropout 0.3 --training.schedule linear --training.warmup-steps 500 "
    "--training.peak-learning-rate 0.002 --training.validate-every 200 --training.average-last 4"
)
TEST = "test_2016_flickr"
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
    parser.add_argument("--minutes", type=float, default=40.0, help="of each training")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--method", default="beam", help="beam, sample or noised-beam")
    flags = parser.parse_args()
    print(describe_machine())
    text = cut(corpora() / "multi30k_en_de", flags.runs, flags.pairs, flags.rest)
    outputs: dict[str, list[list[str]]] = {"alone": [], "with": [], "all": []}
    for seed in range(1, flags.seeds + 1):
        place = flags.runs / f"seed-{seed}"
        options = f"{RECIPE} --training.minutes {flags.minutes} --training.seed {seed}"
        options += f" --training.threads {flags.threads}"
        train(place / "reverse", text.few, text, options, ("de", "en"))
        back_translate(place, text, flags.method, flags.threads)
        train(place / "alone", text.few, text, options)
        config = place / f"{flags.method}/train.toml"
        run("train", str(config), "--run-dir", str(place / "with"), *options.split())
        train(place / "all", text.all, text, options)
        for name, found in outputs.items():
            found.append(translated(place / name, text.test, flags.threads))
    sys.exit(0 if tell(outputs, read_lines(text.test.with_suffix(".de"))) else 1)


def cut(corpus: Path, place: Path, pairs: int, rest: int) -> Text:
    """Write the first pairs, and the target side of those after them, of the training text."""
    sides = {side: read_lines(corpus / f"train.{side}") for side in ("en", "de")}
    for side, lines in sides.items():
        write_lines(place / f"few.{side}", lines[:pairs])
        write_lines(place / f"all.{side}", lines[: pairs + rest])
    write_lines(place / "rest.de", sides["de"][pairs : pairs + rest])
    names = (place / name for name in ("few", "rest", "all"))
    return Text(*names, corpus / "valid", corpus / TEST)


def train(
    run_dir: Path, pairs: Path, text: Text, options: str, sides: Sequence[str] = ("en", "de")
) -> None:
    """Train, or find trained."""
    files = [
        (flag, str(path.with_name(f"{path.name}.{side}")))
        for kind, path in (("", pairs), ("valid-", text.valid))
        for flag, side in zip((f"--{kind}source", f"--{kind}target"), sides, strict=True)
    ]
    named = [word for pair in files for word in pair]
    run("train", *named, "--run-dir", str(run_dir), *options.split())


def back_translate(place: Path, text: Text, method: str, threads: int) -> None:
    """Make the synthetic pairs by the reverse model of this seed."""
    timed = run(
        *("back-translate", str(place / "reverse"), "--mono", f"{text.rest}.de"),
        *("--source", f"{text.few}.en", "--target", f"{text.few}.de"),
        *("--valid-source", f"{text.valid}.en", "--valid-target", f"{text.valid}.de"),
        *("--output", str(place / method), "--method", method, "--threads", str(threads), "--json"),
    )
    told = json.loads(timed.output)
    print(
        f"{told['pairs']:,} synthetic pairs of {told['lines']:,} lines; dropped {told['dropped']}"
    )


def translated(model: Path, test: Path, threads: int) -> list[str]:
    """Return a model's translation of a test set, from an earlier start if it is there."""
    output = model / f"{test.name}.de"
    if not output.exists():
        files = ("--input", f"{test}.en", "--output", str(output))
        run("translate", str(model), *files, "--beam-size", "5", "--threads", str(threads))
    return read_lines(output)


def tell(outputs: dict[str, list[list[str]]], reference: list[str]) -> bool:
    """Print BLEU of each seed and the comparison of all; tell whether enough was gained."""
    found = {
        name: [bleu_of(system, reference).system.value for system in systems]
        for name, systems in outputs.items()
    }
    for name, values in found.items():
        spread = f" +- {statistics.stdev(values):.2f}" if len(values) > 1 else ""
        each = ", ".join(f"{value:.2f}" for value in values)
        print(f"{name}: BLEU {statistics.fmean(values):.2f}{spread} ({each})")
    seeds = range(len(outputs["with"]))
    chance = [bleu_of(outputs["with"][n], reference, outputs["alone"][n]).p_value for n in seeds]
    means = {name: statistics.fmean(values) for name, values in found.items()}
    gained, possible = means["with"] - means["alone"], means["all"] - means["alone"]
    share = f", {gained / possible:.0%} of the way to all pairs" if possible > 0 else ""
    print(
        f"back-translation: {gained:+.2f} BLEU{share} (paired bootstrap, seed by seed: p = "
        f"{', '.join(f'{p:.4f}' for p in chance)}) {bleu_of(outputs['with'][0], reference).system.signature}"
    )
    return gained >= WANTED and max(chance) < SIGNIFICANCE_LEVEL


def bleu_of(
    system: list[str], reference: list[str], baseline: list[str] | None = None
) -> Comparison:
    """Compare a system by BLEU with another one, or with itself."""
    (found,) = compare(system, baseline or system, [reference], ("bleu",), target_lang="de")
    return found


if __name__ == "__main__":
    main()
