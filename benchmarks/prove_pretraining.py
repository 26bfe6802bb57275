"""Denoising pretraining, then fine-tuning for translation, against fine-tuning's pairs alone: 5,000 pairs of Tatoeba English-German.

The text to learn from first is the rest of the corpus, each language by itself and not as pairs: the English lines that the 5,000 pairs
do not hold, and the German ones. All have the same sizes, and a vocabulary from the text that they see. One way from scratch has the
time that the pairs get after pretraining, another also the time that pretraining took. They are compared with
`compare_systems`. Restartable: what is trained is not trained again, and what is translated is not translated again.
"""

import argparse
from pathlib import Path

from prove_commands import (
    compared_over_seeds,
    corpora,
    describe_machine,
    length_flags,
    parallel_text,
    run,
    translated,
)

from interlingua.corpus.lines import read_lines, write_lines
from interlingua.evaluation.systems import TestSet

TOKENS = "--tokenization.kind bpe --tokenization.vocabulary-size 8000 --tokenization.shared true"
RATE = "--training.peak-learning-rate 0.0015"
"""Of every way: to translate is another task than to fill gaps, and the gentler rate of fine-tuning leaves BLEU behind."""
SCRATCH, LONGER, PRETRAINED = "from scratch", "from scratch, all the time", "pretrained, then tuned"


def main() -> None:
    """Train what is missing and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/pretraining"))
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument(
        "--lines", type=int, default=150_000, help="of each language, to pretrain on"
    )
    parser.add_argument("--pretrain-minutes", type=float, default=40.0)
    parser.add_argument("--minutes", type=float, default=10.0, help="of training on the pairs")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--steps", type=int, help="updates of each training, for a trial")
    parser.add_argument("--preset", default="small", help="the sizes of all models")
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    print(describe_machine())
    data = corpora() / "tatoeba_en_de"
    write_texts(data, asked)
    fresh = f"--model.preset {asked.preset} {TOKENS} {RATE}"
    regular = "--model.dropout 0.3"
    gaps = f"--corpus.denoise 0.35 --model.dropout 0.1 {fresh}"
    texts = ["--text", *(str(asked.folder / f"mono.{lang}") for lang in ("en", "de"))]
    base = asked.folder / "pretrained"
    train(base, texts, gaps, asked.pretrain_minutes, asked)
    pairs = parallel_text(asked.folder / "some", data / "valid")
    rows: dict[str, list[list[str]]] = {SCRATCH: [], LONGER: [], PRETRAINED: []}
    for seed in asked.seeds.split(","):
        for name, flags, minutes in (
            (SCRATCH, fresh, asked.minutes),
            (LONGER, fresh, asked.minutes + asked.pretrain_minutes),
            (PRETRAINED, f"--init-from {base} {RATE}", asked.minutes),
        ):
            run_dir = asked.folder / f"{name.replace(',', '').replace(' ', '-')}-{seed}"
            train(run_dir, pairs, f"{flags} {regular} --training.seed {seed}", minutes, asked)
            output, threads = run_dir / "test.out", ("--threads", str(asked.threads))
            rows[name].append(translated(run_dir, data / "test.en", output, *threads))
    sides = (tuple(read_lines(data / f"test.{lang}")) for lang in ("en", "de"))
    told = f"{describe_machine()}, {asked.threads} thread(s); {asked.pairs:,} pairs\n\n"
    told += compared_over_seeds(rows, TestSet("Tatoeba", *sides), "de")
    (asked.folder / "pretraining.md").write_text(told, encoding="utf-8")
    print(told)


def write_texts(data: Path, asked: argparse.Namespace) -> None:
    """Write the pairs, and the text that is in neither of their sides nor in validation or test."""
    asked.folder.mkdir(parents=True, exist_ok=True)
    for lang in ("en", "de"):
        lines = read_lines(data / f"train.{lang}")
        some, rest = lines[: asked.pairs], lines[asked.pairs :]
        held = {*some, *read_lines(data / f"valid.{lang}"), *read_lines(data / f"test.{lang}")}
        mono = [line for line in dict.fromkeys(rest) if line not in held][: asked.lines]
        for name, text in (("some", some), ("mono", mono)):
            if not (asked.folder / f"{name}.{lang}").exists():
                write_lines(asked.folder / f"{name}.{lang}", text)


def train(
    run_dir: Path, text: list[str], flags: str, minutes: float, asked: argparse.Namespace
) -> None:
    """Train, or find trained."""
    length = length_flags(minutes, asked.steps).split()
    run(
        *("train", *text, "--run-dir", str(run_dir), *length),
        *("--training.threads", str(asked.threads), "--batching.batch-tokens", "2048"),
        *("--training.schedule", "linear", "--training.patience", "20"),
        *flags.split(),
    )


if __name__ == "__main__":
    main()
