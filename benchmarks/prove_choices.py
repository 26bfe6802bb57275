"""What the choices are worth that the seeds of this project discuss: one table each, on Multi30k, and how far positions reach.

    python benchmarks/prove_choices.py [--steps 1500] [--seeds 1] [--only NAME]

Each table is one `interlingua ablate --vary`, restartable. Lengths are asked on the digits to copy: trained on sequences of 1 to 20, with
sinusoidal and with learned positions, and tested on 1 to 40.
"""

import argparse
import random
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from prove_commands import describe_machine, run

from interlingua.corpus.demo_lexicon import ADJECTIVES, NOUNS, POSSESSIVES, VERBS
from interlingua.corpus.lines import read_lines, write_lines
from interlingua.inspection.canvas import figure_style, save_figure

ROOT = Path(__file__).parents[1]
TABLES = {
    "tokenizers": ["tokenization.kind=word,char,unigram,wordpiece"],
    "heads": ["model.heads=1,2,8,16"],
    "widths": ["model.d_k=4,8,64", "model.d_v=4,8,64"],
    "tables": ["model.tie=target,none", "model.positions=learned"],
}
CLASSES = {
    form.lower(): kind
    for kind, forms in {
        "noun": [
            (n.bare, n.definite, n.plural, n.definite_plural, n.genitive, n.genitive_plural)
            for n in NOUNS
        ],
        "adjective": [
            (a.masculine, a.feminine, a.masculine_plural, a.feminine_plural) for a in ADJECTIVES
        ],
        "verb": [(*v.present, v.participle, v.infinitive) for v in VERBS],
        "possessive": [
            (p.masculine, p.feminine, p.masculine_plural, p.feminine_plural) for p in POSSESSIVES
        ],
    }.items()
    for group in forms
    for form in group
}
"""Word class by form, of the demo's lexicon; what is not in it is "other"."""
LENGTHS, EACH = range(1, 41), 25


def main() -> None:
    """Do what is missing and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/prove-choices"))
    parser.add_argument("--steps", type=int, default=1_500, help="updates of each run of a table")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", choices=[*TABLES, "lengths", "layers"])
    flags = parser.parse_args()
    print(describe_machine())
    for name, varied in TABLES.items():
        if flags.only in (None, name):
            vary = [part for each in varied for part in ("--vary", each)]
            size = ["--steps", str(flags.steps), "--seeds", str(flags.seeds)]
            more = ["--output", str(flags.runs / name), "--training.threads", str(flags.threads)]
            recipe = ROOT / "recipes/multi30k_tiny.toml"
            print(run("ablate", str(recipe), *vary, *size, *more).output, flush=True)
    if flags.only in (None, "lengths"):
        reach_of_positions(flags.runs / "lengths", flags.threads)
    if flags.only in (None, "layers"):
        what_layers_know(flags.runs / "layers", flags.threads)


def reach_of_positions(place: Path, threads: int) -> None:
    """Train on short sequences, ask for longer ones too, and draw the share that is copied without a mistake."""
    chance = random.Random(40)
    asked = [
        " ".join(chance.choices("0123456789", k=length)) for length in LENGTHS for _ in range(EACH)
    ]
    write_lines(place / "asked.digits", asked)
    curves = {}
    for positions in ("sinusoidal", "learned"):
        model, output = place / positions, place / f"{positions}.copy"
        flags = f"--run-dir {model} --model.positions {positions} --training.threads {threads}"
        run("train", str(ROOT / "recipes/copy.toml"), *flags.split())
        files = ("--input", str(place / "asked.digits"), "--output", str(output))
        run("translate", str(model), *files, "--threads", str(threads))
        right = np.array(read_lines(output)) == np.array(asked)
        curves[positions] = 100 * right.reshape(len(LENGTHS), EACH).mean(1)
    with figure_style():
        figure = Figure(figsize=(7.5, 4.0))
        axes = figure.add_axes((0.1, 0.14, 0.86, 0.8))
        for name, shares in curves.items():
            axes.plot(list(LENGTHS), shares, marker="o", markersize=3, label=name)
            seen, unseen = shares[:20].mean(), shares[20:].mean()
            print(f"{name}: {seen:.1f} % of 1 to 20 digits right, {unseen:.1f} % of 21 to 40")
        axes.axvline(20.5, linestyle="--", linewidth=0.8)
        axes.set_xlabel("digits (trained on 1 to 20)")
        axes.set_ylabel("copied without a mistake (%)")
        axes.legend(frameon=False)
    save_figure(figure, place / "lengths")


def what_layers_know(place: Path, threads: int) -> None:
    """Train a deeper encoder on the demo's grammar, and probe for the class of each word and of the one behind it."""
    model, text = place / "demo", place / "text.ro"
    # Six layers learn nothing here with the sum normalised after each sublayer: BLEU 1.24.
    flags = (
        f"--run-dir {model} --model.encoder-layers 6 --model.norm pre --training.threads {threads}"
    )
    run("train", str(ROOT / "recipes/demo_ro_en.toml"), *flags.split())
    lines = read_lines(model / "corpus/train.ro")[:3_000]
    write_lines(text, lines)
    classes = [
        [CLASSES.get(word.strip(",.?!").lower(), "other") for word in line.split()]
        for line in lines
    ]
    behind = [[*each[1:], "end"] for each in classes]
    for name, tags in (("own", classes), ("behind", behind)):
        write_lines(place / f"{name}.tags", [" ".join(each) for each in tags])
        files = f"--input {text} --tags {place}/{name}.tags --output {place}/{name}.svg"
        print(f"class: {name}\n" + run("probe", str(model), *files.split()).output, flush=True)


if __name__ == "__main__":
    main()
