"""An encoder that guesses hidden words first, then classes, against one that learns the classes alone, and against an encoder-decoder.

The task is whether an English sentence translates a Romanian one, as in ``prove_tasks.py``, which writes the pairs. All are compared with
the encoder from scratch by a paired bootstrap. Restartable.
"""

import argparse
from pathlib import Path
from typing import Any

from prove_commands import describe_machine, run_json, table, translated
from prove_tasks import PAIR_CLASSES, write_pair_classes

from interlingua.corpus.lines import read_lines
from interlingua.evaluation.significance import compare

SCRATCH = "encoder, from scratch"
TOKENS = "--tokenization.kind bpe --tokenization.vocabulary-size 4000"


def main() -> None:
    """Train what is missing and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/encoders"))
    parser.add_argument("--minutes", type=float, default=30.0, help="of guessing hidden words")
    parser.add_argument("--steps", type=int, help="updates of each training, for a trial")
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    print(describe_machine())
    write_pair_classes()
    guessing = asked.folder / "hidden-words"
    train("hidden_words", guessing, f"--training.minutes {asked.minutes}", asked)
    fresh = f"--start.encoder-from none {TOKENS} --model.preset tiny --model.norm pre --training.peak-learning-rate 0.0007"
    ways = {
        SCRATCH: ("pair_classes", fresh),
        "encoder, hidden words first": ("pair_classes", f"--encoder-from {guessing}"),
        "encoder-decoder": ("translation_or_not", ""),
    }
    references = read_lines(PAIR_CLASSES / "test.class")
    outputs, told = {}, {}
    for name, (recipe, flags) in ways.items():
        run_dir = asked.folder / name.replace(",", "").replace(" ", "-")
        told[name] = train(recipe, run_dir, flags, asked)
        output, threads = run_dir / "test.out", ("--threads", str(asked.threads))
        outputs[name] = translated(run_dir, PAIR_CLASSES / "test.pair", output, *threads)
    rows = []
    for name, answers in outputs.items():
        (found,) = compare(answers, outputs[SCRATCH], [references], ("exact",))
        chance = f"{found.p_value:.4f}" if found.difference else ""
        minutes = f"{told[name]['seconds'] / 60:.1f}"
        value = f"{found.system.value:.2f} ({found.difference:+.2f})"
        rows.append([name, f"{told[name]['steps']:,}", minutes, value, chance])
    head = "model", "updates", "minutes", "accuracy", "p against from scratch"
    text = f"{describe_machine()}, {asked.threads} thread(s); {len(references):,} test pairs\n\n"
    text += table(head, rows)
    (asked.folder / "encoders.md").write_text(f"{text}\n", encoding="utf-8")
    print(text)


def train(recipe: str, run_dir: Path, flags: str, asked: argparse.Namespace) -> dict[str, Any]:
    """Train, or find trained, and return what the command tells."""
    steps = f"--training.steps {asked.steps}" if asked.steps else ""
    words = f"{flags} {steps} --training.threads {asked.threads} --run-dir {run_dir}".split()
    return run_json("train", f"recipes/{recipe}.toml", *words)


if __name__ == "__main__":
    main()
