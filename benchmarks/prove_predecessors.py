"""What came before the Transformer beside it, each trained for the same time: copying ever longer sequences, and Multi30k.

For each model: quality by the length of the sentence, target tokens a second in training, and how many steps lie between two words;
for copying also how much of the last word's gradient arrives at each source word. Each model is a run that resumes, and what was
measured of it is kept: the same command again goes on where it was. Everything ends in FOLDER/predecessors.json and .md, and two
pictures.
"""

import argparse
import json
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from prove_commands import corpora, describe_machine, parallel_text, run_json, table

from interlingua.evaluation.metrics import corpus_bleu, corpus_chrf
from interlingua.inspection.canvas import figure_style, save_figure
from interlingua.inspection.gradient_reach import draw_gradient_reach, gradient_reach
from interlingua.model.architecture import AnyArchitecture
from interlingua.model.building import build_encoder_decoder
from interlingua.model.encoder_decoder import EncoderDecoder
from interlingua.translator import Translator

LOOKS = ("none", "additive", "dot")
KINDS = {
    **{
        f"{kind}-{look}": ("--model.kind", kind, "--model.attention", look)
        for kind in ("rnn", "lstm", "gru")
        for look in LOOKS
    },
    "convolutional": ("--model.kind", "convolutional"),
    "transformer": (),
    "transformer-plain": ("--training.plain", "true"),
}
"""The last is the Transformer without its kernels, computed as the others are."""
SYMBOLS = "abcdefghijklmnopqrst"
TEST_LENGTHS = (5, 10, 20, 30, 40, 50)
GRADIENT_LENGTH = 40
A_LENGTH = 200
"""Sequences of each length."""
WORDS = (1, 8, 11, 14, 18, 1000)
"""Bounds of the lengths, in words, by which sentences of Multi30k are told apart."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One corpus: how a model is trained on it, and how it is measured."""

    name: str
    settings: tuple[str, ...]
    measure: Callable[[Translator], Row]


def main() -> None:
    """Train and measure what is not there yet, then write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/predecessors"))
    parser.add_argument("--tasks", default="copy,multi30k")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--copy-minutes", type=float, default=5.0)
    parser.add_argument("--copy-pairs", type=int, default=30_000)
    parser.add_argument("--longest", type=int, default=40, help="of the sequences trained on")
    parser.add_argument("--multi30k-minutes", type=float, default=20.0)
    parser.add_argument("--sentences", type=int, default=1000, help="of Multi30k, to test with")
    parser.add_argument("--preset", default="small", help="of the models for Multi30k")
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    print(describe_machine(), flush=True)
    torch.set_num_threads(asked.threads)
    tables = []
    for name in asked.tasks.split(","):
        task = copy_task(asked) if name == "copy" else multi30k_task(asked)
        rows = [train_and_measure(task, kind, asked) for kind in asked.kinds.split(",")]
        tables.append(table_of(task.name, rows))
        draw(task.name, rows, asked.folder)
    kept = {
        path.stem: json.loads(path.read_text()) for path in sorted(asked.folder.glob("*/*.json"))
    }
    report = {"machine": describe_machine(), "threads": asked.threads, "rows": kept}
    (asked.folder / "predecessors.json").write_text(json.dumps(report, indent=1) + "\n")
    text = f"{describe_machine()}, {asked.threads} thread(s)\n\n" + "\n\n".join(tables) + "\n"
    (asked.folder / "predecessors.md").write_text(text)
    print(text)


def train_and_measure(task: Task, kind: str, asked: argparse.Namespace) -> Row:
    """Return what is kept of a model, or train it, go on training it, and measure it."""
    place = asked.folder / task.name / f"{task.name}-{kind}.json"
    run_dir = asked.folder / task.name / kind
    if place.exists():
        row: Row = json.loads(place.read_text())
        return row
    flags = (*task.settings, "--training.threads", str(asked.threads), *KINDS[kind])
    told = run_json("train", *flags, "--run-dir", str(run_dir))
    translator = Translator.load(run_dir, device="cpu", plain=True)
    model = translator.model
    assert isinstance(model, EncoderDecoder)
    row = {
        "kind": kind,
        "parameters": sum(p.numel() for p in model.parameters()),
        "steps": told["steps"],
        "training_seconds": told["seconds"],
        "tokens_per_second": statistics.median([*speeds_of(run_dir)] or [0.0]),
        "path": path_between(model.architecture, asked.longest if task.name == "copy" else 12),
        **task.measure(translator),
    }
    place.write_text(json.dumps(row, indent=1) + "\n")
    print(json.dumps({name: row[name] for name in ("kind", "steps", "quality")}), flush=True)
    return row


def speeds_of(run_dir: Path) -> Iterator[float]:
    """Yield target tokens a second, as the run recorded them every twenty updates."""
    for line in (run_dir / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["kind"] == "training":
            yield record["tokens_per_second"]


def path_between(architecture: AnyArchitecture, words: int) -> dict[str, int | None]:
    """Return how many layers or steps lie between two words of one source, and between a source word and the first that is written.

    As in Table 1 of Vaswani et al. 2017, but counted: the first word and the last of a sentence of so many words, and the source word
    that is farthest from the translation. Both directions of an encoder without attention end in the bottleneck, so that the nearer
    end counts. None: the model has too few layers for it.
    """
    apart = words - 1
    match architecture.kind:
        case "transformer":
            return {"words": words, "within": 1, "across": 1}
        case "convolutional":
            to_each_side = architecture.kernel_width // 2
            layers = -(-apart // to_each_side) if to_each_side else words
            fits = layers <= architecture.encoder_layers
            return {"words": words, "within": layers if fits else None, "across": 1}
        case _:
            looks = getattr(architecture, "attention", "none") != "none"
            both = getattr(architecture, "bidirectional", False)
            across = 1 if looks else 1 + (apart // 2 if both else apart)
            return {"words": words, "within": apart, "across": across}


def copy_task(asked: argparse.Namespace) -> Task:
    """Write sequences of letters, and describe how copying them is trained and measured."""
    folder = asked.folder / "copy"
    folder.mkdir(exist_ok=True)
    dice = random.Random(1)

    def draw_line(length: int) -> str:
        return " ".join(dice.choices(SYMBOLS, k=length))

    parts = {
        "train": [draw_line(dice.randint(1, asked.longest)) for _ in range(asked.copy_pairs)],
        "valid": [draw_line(dice.randint(1, asked.longest)) for _ in range(300)],
    }
    tests = {length: [draw_line(length) for _ in range(A_LENGTH)] for length in TEST_LENGTHS}
    for name, lines in parts.items():
        for side in ("in", "out"):
            path, text = folder / f"{name}.{side}", "".join(f"{line}\n" for line in lines)
            if not path.exists() or path.read_text() != text:
                path.write_text(text)
    settings = (
        *parallel_text(folder / "train", folder / "valid", ("in", "out")),
        *("--tokenization.kind", "word", "--tokenization.shared", "true"),
        *("--model.preset", "tiny", "--model.dropout", "0", "--batching.batch-tokens", "2048"),
        *("--model.encoder-layers", "2", "--model.decoder-layers", "2"),
        *("--training.minutes", str(asked.copy_minutes), "--training.patience", "100000"),
        *("--training.schedule", "linear", "--training.warmup-steps", "100"),
        *("--training.validate-every", "200", "--training.validate-sentences", "60"),
    )

    def measure(translator: Translator) -> Row:
        quality = {}
        for length, lines in tests.items():
            found = translator.translate(lines, beam_size=1)
            exact = sum(each.text == line for each, line in zip(found, lines, strict=True))
            right = sum(
                a == b
                for each, line in zip(found, lines, strict=True)
                for a, b in zip(each.text.split(), line.split(), strict=False)
            )
            quality[str(length)] = {
                "exact": 100 * exact / len(lines),
                "symbols": 100 * right / (length * len(lines)),
            }
        lines = tests[GRADIENT_LENGTH][:32]
        return {"quality": quality, "gradient": gradients(translator, lines)}

    return Task("copy", settings, measure)


def gradients(translator: Translator, lines: Sequence[str]) -> dict[str, list[float]]:
    """Return the norms of the gradient of the last letter by source position: of fresh weights, and of the trained ones."""
    read, write = translator.tokenizers.source, translator.tokenizers.target
    source = torch.tensor([[*read.encode(line).ids, read.end_id] for line in lines])
    target = torch.tensor([[write.begin_id, *write.encode(line).ids] for line in lines])
    trained = translator.model
    assert isinstance(trained, EncoderDecoder)
    torch.manual_seed(1)
    fresh = build_encoder_decoder(
        trained.architecture,
        source_vocabulary=read.vocabulary_size,
        target_vocabulary=write.vocabulary_size,
        source_pad=read.pad_id,
        target_pad=write.pad_id,
    )
    return {
        "fresh": gradient_reach(fresh, source, target).tolist(),
        "trained": gradient_reach(trained, source, target).tolist(),
    }


def multi30k_task(asked: argparse.Namespace) -> Task:
    """Describe how Multi30k English-German is trained and measured."""
    data = corpora() / "multi30k_en_de"
    settings = (
        *parallel_text(data / "train", data / "valid"),
        *("--tokenization.kind", "bpe", "--tokenization.vocabulary-size", "4000"),
        *("--tokenization.shared", "true", "--batching.batch-tokens", "2048"),
        *("--model.preset", asked.preset, "--model.dropout", "0.2"),
        *("--training.minutes", str(asked.multi30k_minutes), "--training.patience", "100000"),
        *("--training.schedule", "linear", "--training.warmup-steps", "100"),
        *("--training.peak-learning-rate", "0.002", "--training.validate-every", "400"),
    )
    sources, references = (
        (data / f"test_2016_flickr.{side}").read_text().splitlines()[: asked.sentences]
        for side in ("en", "de")
    )

    def measure(translator: Translator) -> Row:
        outputs = [each.text for each in translator.translate(sources, beam_size=4)]
        quality = {"all": scores(outputs, references)}
        for low, high in pairwise(WORDS):
            rows = [n for n, line in enumerate(sources) if low <= len(line.split()) < high]
            if rows:
                name = f"{low} to {high - 1} words" if high < WORDS[-1] else f"{low} words and more"
                chosen = scores([outputs[n] for n in rows], [references[n] for n in rows])
                quality[name] = chosen | {"sentences": len(rows)}
        return {"quality": quality}

    return Task("multi30k", settings, measure)


def scores(outputs: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Return BLEU and chrF, cased."""
    return {
        "bleu": corpus_bleu(outputs, [references]),
        "chrf": corpus_chrf(outputs, [references]),
    }


def table_of(task: str, rows: Sequence[Row]) -> str:
    """Write one line a model."""
    measure, unit = ("exact", "% exact at length") if task == "copy" else ("bleu", "BLEU,")
    lengths = list(rows[0]["quality"])
    head = ["model", "parameters", "steps", "minutes", "tokens/s", "path within / across"]
    head += [f"{unit} {length}" for length in lengths]
    told = []
    for row in rows:
        path = row["path"]
        cells = [
            row["kind"],
            f"{row['parameters']:,}",
            f"{row['steps']:,}",
            f"{row['training_seconds'] / 60:.1f}",
            f"{row['tokens_per_second']:,.0f}",
            f"{path['within'] or 'beyond its layers'} / {path['across']} of {path['words']}",
            *(f"{row['quality'][length][measure]:.1f}" for length in lengths),
        ]
        told.append(cells)
    return f"### {task}\n\n{table(head, told)}"


def draw(task: str, rows: Sequence[Row], folder: Path) -> None:
    """Draw quality by length, and for copying how the gradient falls."""
    measure = "symbols" if task == "copy" else "bleu"
    lengths = [length for length in rows[0]["quality"] if length != "all"]
    with figure_style():
        figure = Figure(figsize=(7.5, 4.2))
        axes = figure.add_axes((0.1, 0.18, 0.6, 0.72))
        for row in rows:
            axes.plot(
                lengths,
                [row["quality"][length][measure] for length in lengths],
                label=row["kind"],
            )
        axes.set_ylabel("symbols right, %" if task == "copy" else "BLEU")
        axes.set_xlabel("length of the source")
        axes.tick_params(axis="x", labelsize=7, rotation=15)
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)
    save_figure(figure, folder / f"{task}-by-length")
    if task == "copy":
        for when in ("fresh", "trained"):
            curves = {row["kind"]: np.array(row["gradient"][when]) for row in rows}
            title = f"What the last word teaches the words of the source ({when} weights)"
            save_figure(draw_gradient_reach(curves, title), folder / f"gradient-{when}")


if __name__ == "__main__":
    main()
