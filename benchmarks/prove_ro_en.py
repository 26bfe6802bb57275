"""Romanian to English for real: clean, train, beside it transformers on the same pairs, then word alignment.

Every stage leaves its result in ``runs/`` and is not done again: the same command goes on where it was stopped. Two trainings
run at the same time, one thread each, for the same minutes by the clock.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

from prove_commands import cleaned, corpora, describe_machine, evaluate, held_out, run, run_json

from interlingua.config import RunConfig
from interlingua.config_files import load_config
from interlingua.corpus.lines import read_lines, write_lines
from interlingua.evaluation.report import evaluate_outputs
from interlingua.files import write_text
from interlingua.tokenization.pair import TokenizerPair

RECIPE = "recipes/ro_en.toml"
CORPUS, MODEL, PEER = Path("runs/ro-en-corpus"), Path("runs/ro-en"), Path("runs/ro-en-marian")
FOLDED = Path("runs/ro-en-folded")
PARTS = {
    "train": ("sts/train", "mlqe/train", "tatoeba/pairs"),
    "valid": ("sts/valid", "mlqe/valid"),
    "test": ("sts/test", "mlqe/test", "newstest2016/newstest2016"),
}
METRICS = ("bleu", "chrf")
ONE_THREAD = os.environ | {"OMP_NUM_THREADS": "1"}


def main() -> None:
    """Do what is not done yet; fail if transformers is better on a test side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=40.0, help="of each training (40)")
    parser.add_argument("--align-minutes", type=float, default=25.0, help="of each aligner (25)")
    flags = parser.parse_args()
    print(describe_machine())
    clean()
    train_both(flags.minutes)
    is_as_good = compare(score_ours(), score_theirs())
    align_words(flags.align_minutes)
    sys.exit(0 if is_as_good else 1)


def clean() -> None:
    """Put the parts together, drop what must not be in training, and let doctor look for leaks."""
    raw = CORPUS / "raw"
    if not (CORPUS / "train.en").exists():
        raw.mkdir(parents=True, exist_ok=True)
        for part, names in PARTS.items():
            for lang in ("ro", "en"):
                files = [corpora() / "ro_en" / f"{name}.{lang}" for name in names]
                write_lines(
                    raw / f"{part}.{lang}", [line for file in files for line in read_lines(file)]
                )
    text = cleaned(raw, CORPUS, "ro", "en")
    sides = ("--source", f"{text}.ro", "--target", f"{text}.en")
    report = run_json("doctor", *sides, *held_out(raw, "ro", "en"))
    for finding in report["findings"]:
        print(f"doctor: {finding['severity']}: {finding['code']}: {finding['message'][:160]}")


def train_both(minutes: float) -> None:
    """Train ours and transformers side by side, on the same ids."""
    flags = (RECIPE, "--training.threads", "1", "--training.minutes", str(minutes))
    if not (MODEL / "shards").exists():
        run("prepare", *flags)
    PEER.mkdir(parents=True, exist_ok=True)
    task, output = PEER / "task.json", PEER / "output.json"
    if not task.exists():
        write_text(task, json.dumps(describe_task(minutes)))
    if output.exists():
        return
    script = str(Path(__file__).parent / "peers" / "marian_run.py")
    with (PEER / "log").open("a", encoding="utf-8") as log:
        peer = subprocess.Popen(
            [sys.executable, script, str(task), str(output)], env=ONE_THREAD, stdout=log, stderr=log
        )
        try:
            print(run("train", *flags, "--json").output)
            if peer.wait() != 0:
                sys.exit(f"transformers ended with status {peer.returncode}; see {log.name}")
        finally:
            peer.kill()


def describe_task(minutes: float) -> dict[str, Any]:
    """Give transformers the same ids, sizes and schedule."""
    config = load_config(MODEL / "config.toml")
    tokenizers = TokenizerPair.load(MODEL / "tokenizer")
    room = config.batching.max_length - 1

    def cut(source: Path, target: Path) -> list[tuple[list[int], list[int]]]:
        sources = tokenizers.source.encode_batch(read_lines(source))
        targets = tokenizers.target.encode_batch(read_lines(target))
        return [(a[:room], b[:room]) for a, b in zip(sources, targets, strict=True) if a and b]

    raw = CORPUS / "raw"
    return {
        "train": cut(CORPUS / "train.ro", CORPUS / "train.en"),
        "valid": cut(raw / "valid.ro", raw / "valid.en"),
        "tests": {
            test: tokenizers.source.encode_batch(read_lines(corpora() / "ro_en" / f"{test}.ro"))
            for test in PARTS["test"]
        },
        "pad": tokenizers.target.pad_id,
        "begin": tokenizers.target.begin_id,
        "end": tokenizers.target.end_id,
        "vocabulary": tokenizers.target.vocabulary_size,
        "minutes": minutes,
        "bfloat16": True,  # faster than float32 here: 0.90 against 1.07 s an update
        **shared_settings(config),
    }


def shared_settings(config: RunConfig) -> dict[str, Any]:
    """Return what both trainings share."""
    model, training = config.model, config.training
    sizes = ("d_model", "d_ff", "heads", "dropout", "encoder_layers", "decoder_layers")
    schedule = ("warmup_steps", "peak_learning_rate", "label_smoothing", "validate_every")
    return {
        **{name: getattr(model, name) for name in sizes},
        **{name: getattr(training, name) for name in schedule},
        "batch_tokens": config.batching.batch_tokens,
        "beam_size": 5,
        "length_penalty": config.decoding.length_penalty,
    }


def score_ours() -> dict[str, list[dict[str, Any]]]:
    """Translate the test sides with our model and score them, with intervals."""
    found = {}
    for test in PARTS["test"]:
        kept = CORPUS / f"ours-{test.replace('/', '-')}.json"
        if not kept.exists():
            source, reference = (corpora() / "ro_en" / f"{test}.{lang}" for lang in ("ro", "en"))
            flags = ("--beam-size", "5", "--metrics", ",".join(METRICS), "--threads", "1")
            write_text(kept, json.dumps(evaluate(str(MODEL), source, reference, *flags)))
        found[test] = json.loads(kept.read_text(encoding="utf-8"))["scores"]
    return found


def score_theirs() -> dict[str, list[dict[str, Any]]]:
    """Score what transformers wrote, in the same way."""
    tokenizers = TokenizerPair.load(MODEL / "tokenizer")
    record = json.loads((PEER / "output.json").read_text(encoding="utf-8"))
    print("transformers:", json.dumps(record["training"]))
    found = {}
    for test, outputs in record["outputs"].items():
        report = evaluate_outputs(
            read_lines(corpora() / "ro_en" / f"{test}.ro"),
            [tokenizers.target.decode(ids) for ids in outputs],
            [read_lines(corpora() / "ro_en" / f"{test}.en")],
            metrics=METRICS,
            target_lang="en",
        )
        found[test] = json.loads(report.to_json())["scores"]
    return found


def compare(ours: dict[str, list[dict[str, Any]]], theirs: dict[str, list[dict[str, Any]]]) -> bool:
    """Print both systems' scores; tell whether our BLEU is at least as high on every side."""
    for test in PARTS["test"]:
        for name, scores in (("ours", ours[test]), ("transformers", theirs[test])):
            told = ", ".join(
                f"{each['name']} {each['value']:.2f} ({each['low']:.2f} to {each['high']:.2f})"
                for each in scores
            )
            print(f"{test}: {name}: {told}")
    return all(ours[test][0]["value"] >= theirs[test][0]["value"] for test in PARTS["test"])


def align_words(minutes: float) -> None:
    """Train both directions on text as the gold has it, side by side, and measure the alignment error rate.

    The gold text is tokenized and its Romanian has no diacritics: so is the training text, lower-cased too. As is usual
    for aligners, which see no links, they train on all the text there is, that of the gold included.
    """
    fold_text()
    trainings = [
        subprocess.Popen(
            align_command(source, target, minutes), env=ONE_THREAD, stdout=subprocess.DEVNULL
        )
        for source, target in (("ro", "en"), ("en", "ro"))
        if not (FOLDED / f"{source}-{target}.done").exists()
    ]
    if any(training.wait() != 0 for training in trainings):
        sys.exit("a training for word alignment failed")
    models = [str(FOLDED / name) for name in ("ro-en", "en-ro")]
    for model in models:
        Path(f"{model}.done").touch()
    text = ("--source", str(FOLDED / "gold.ro"), "--target", str(FOLDED / "gold.en"))
    gold = ("--gold", str(corpora() / "align/ro_en/gold.talp"))
    print(run("align", models[0], "--reverse-model", models[1], *text, *gold).output)


def align_command(source: str, target: str, minutes: float) -> list[str]:
    """Write the command that trains one direction."""
    files = {
        "--source": f"train.{source}",
        "--target": f"train.{target}",
        "--valid-source": f"valid.{source}",
        "--valid-target": f"valid.{target}",
    }
    settings = {
        "tokenization.vocabulary_size": 4000,
        "tokenization.shared": "true",
        "batching.batch_tokens": 1024,
        "model.preset": "tiny",
        "model.encoder_layers": 2,
        "model.decoder_layers": 2,
        "model.dropout": 0.1,
        "training.minutes": minutes,
        "training.schedule": "linear",
        "training.warmup_steps": 400,
        "training.peak_learning_rate": 0.003,
        "training.validate_every": 1000,
        "training.validate_sentences": 50,
        "training.patience": 100,
        "training.threads": 1,
    }
    flags = [word for flag, file in files.items() for word in (flag, str(FOLDED / file))]
    flags += [word for key, value in settings.items() for word in (f"--{key}", str(value))]
    command = str(Path(sys.executable).with_name("interlingua"))
    return [command, "train", *flags, "--run-dir", str(FOLDED / f"{source}-{target}")]


def fold_text() -> None:
    """Write all pairs without diacritics, tokenized and lower-cased; 300 of them are for validation."""
    if (FOLDED / "gold.en").exists():
        return
    FOLDED.mkdir(parents=True, exist_ok=True)
    names = [name for part in PARTS.values() for name in part]
    texts = [
        [
            fold(line)
            for name in names
            for line in read_lines(corpora() / "ro_en" / f"{name}.{lang}")
        ]
        for lang in ("ro", "en")
    ]
    pairs = list(dict.fromkeys(pair for pair in zip(*texts, strict=True) if all(pair)))
    random.Random(1).shuffle(pairs)
    gold = [read_lines(corpora() / f"align/ro_en/test.{lang}") for lang in ("ro", "en")]
    # Gold is lower-cased and without diacritics, but its words are those that people numbered.
    in_gold = list(zip(*([strip(line) for line in side] for side in gold), strict=True))
    parts = {"valid": pairs[:300], "train": [*pairs[300:], *in_gold], "gold": in_gold}
    for part, chosen in parts.items():
        for side, lang in enumerate(("ro", "en")):
            write_lines(FOLDED / f"{part}.{lang}", [pair[side] for pair in chosen])


def strip(text: str) -> str:
    """Lower-case and drop diacritics; words stay as they are."""
    plain = unicodedata.normalize("NFD", text.translate(str.maketrans("„”“’", '"""\'')).lower())
    return " ".join("".join(c for c in plain if not unicodedata.combining(c)).split())


def fold(text: str) -> str:
    """Write a text as the gold is written: punctuation and clitics stand alone."""
    apart = re.sub(r"([^\w\s'-])", r" \1 ", strip(text))
    return " ".join(re.sub(r"(\w)('s|'re|'ve|'ll|'m|'d|n't)\b", r"\1 \2", apart).split())


if __name__ == "__main__":
    main()
