"""One model of English, German and Romanian: how often the small pair comes, and what a pair gives that was never trained on.

Tatoeba English-German and English-Romanian share English sentences. Those make a test set in three languages, and nothing of it stays in
the training text, which has four directions: from English and into it. One model is trained on the text as it is, one with
``corpus.temperature``. German-Romanian is zero-shot; beside it stands the way through English, by the same model. Restartable, and a
measurement: it asks for no gain, and fails only if ``evaluate`` calls a direction zero-shot that was trained on, or the other way round.
"""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from prove_commands import (
    corpora,
    describe_machine,
    evaluate,
    first_pairs,
    parallel_text,
    run,
    settings_folder,
    table,
    translated,
)

from interlingua.corpus.lines import read_lines, write_lines
from interlingua.evaluation.metrics import corpus_bleu
from interlingua.hardware import num_cores

TRAINED = ("en-de", "de-en", "en-ro", "ro-en")
ZERO_SHOT = ("de-ro", "ro-de")
HELD_BACK = 300
"""Validation pairs of each pair of languages."""
OPTIONS = (
    "--model.dropout 0.1 --tokenization.kind bpe --tokenization.vocabulary-size 8000 --tokenization.shared true "
    "--tokenization.sampling 0 --batching.batch-tokens 2048 --training.warmup-steps 500 --training.schedule linear "
    "--training.validate-every 1000 --training.threads 1 --training.seed 1"
)


def main() -> None:
    """Train what is missing, and print BLEU of every direction."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/prove-many-languages"))
    parser.add_argument("--preset", default="tiny", help="the sizes of the models")
    parser.add_argument("--updates", type=int, default=5_000, help="of each model")
    parser.add_argument("--temperatures", type=float, nargs="+", default=[1.0, 5.0])
    flags = parser.parse_args()
    print(describe_machine(), flush=True)
    text = write_text(flags.runs / "text")
    place = settings_folder(flags.runs, preset=flags.preset, updates=flags.updates)
    sizes = f"--model.preset {flags.preset} --training.steps {flags.updates} {OPTIONS}"

    def learn(temperature: float) -> Path:
        model = settings_folder(place, temperature=temperature)
        train(model, text, f"{sizes} --corpus.temperature {temperature:g}")
        return model

    with ThreadPoolExecutor(num_cores()) as pool:
        models = list(pool.map(learn, flags.temperatures))
    head = ["direction", *(f"temperature {each:g}" for each in flags.temperatures)]
    told = [measure(model, text / "test") for model in models]
    print(table(head, [[way, *(f"{each[way]:.2f}" for each in told)] for way in told[0]]))


def write_text(place: Path) -> Path:
    """Write training, validation and test text, unless it is there; return the folder."""
    if (place / "valid-ro.ro").exists():  # which is written last
        return place
    german, romanian = corpora() / "tatoeba_en_de", corpora() / "ro_en/tatoeba/pairs"
    write_test(german, romanian, place / "test")
    write_training(german / "train", place / "test", "de", place)
    first_pairs(german / "valid", place / "valid-de", HELD_BACK)
    cleaned = write_training(romanian, place / "test", "ro", place)
    for lang in ("en", "ro"):  # this corpus has no validation part
        lines = read_lines(Path(f"{cleaned}.{lang}"))
        step = len(lines) // HELD_BACK
        held = lines[::step][:HELD_BACK]
        kept = [line for n, line in enumerate(lines) if n % step or n // step >= HELD_BACK]
        write_lines(Path(f"{cleaned}.{lang}"), kept)
        write_lines(place / f"valid-ro.{lang}", held)
    return place


def write_test(german: Path, romanian: Path, test: Path) -> None:
    """Write the sentences of which there is a translation into both languages, the first of each."""
    into_german: dict[str, str] = {}
    for part in ("train", "valid", "test"):
        pairs = zip(*(read_lines(german / f"{part}.{lang}") for lang in ("en", "de")), strict=True)
        for english, other in pairs:
            into_german.setdefault(english.strip(), other)
    into_romanian: dict[str, str] = {}
    pairs = zip(*(read_lines(Path(f"{romanian}.{lang}")) for lang in ("en", "ro")), strict=True)
    for english, other in pairs:
        if english.strip() in into_german:
            into_romanian.setdefault(english.strip(), other)
    test.parent.mkdir(parents=True, exist_ok=True)
    sentences = {
        "en": list(into_romanian),
        "de": [into_german[english] for english in into_romanian],
        "ro": list(into_romanian.values()),
    }
    for lang, lines in sentences.items():
        write_lines(Path(f"{test}.{lang}"), lines)


def write_training(pairs: Path, test: Path, code: str, place: Path) -> Path:
    """Clean English and another language, so that no test sentence of either is left."""
    output = place / f"en-{code}"
    asked = [f"--source={pairs}.en", f"--target={pairs}.{code}"]
    asked += [f"--test-source={test}.en", f"--test-target={test}.{code}"]
    told = run("clean", *asked, "--output", str(output)).output
    print(told.partition("\n")[0], flush=True)
    (name,) = {path.with_suffix("") for path in output.glob(f"*.{code}")}
    return name


def train(model: Path, text: Path, options: str) -> None:
    """Train on all four directions, or find trained."""
    named: list[str] = []
    for direction in TRAINED:
        langs = direction.split("-")
        other = "ro" if "ro" in langs else "de"
        name = "pairs" if other == "ro" else "train"
        named += parallel_text(text / f"en-{other}" / name, text / f"valid-{other}", langs)
    directions = ("--corpus.directions", ",".join(TRAINED))
    run("train", *named, "--run-dir", str(model), *directions, *options.split())


def measure(model: Path, test: Path) -> dict[str, float]:
    """Return BLEU of every direction on the test set, and of the way through English where there is no other."""
    found: dict[str, float] = {}
    for direction in (*TRAINED, *ZERO_SHOT):
        source, target = direction.split("-")
        files = (Path(f"{test}.{source}"), Path(f"{test}.{target}"))
        asked = ("--to", direction, "--threads", "1", "--metrics", "bleu")
        report = evaluate(str(model), *files, *asked)
        if report["zero_shot"] != (direction in ZERO_SHOT):
            sys.exit(f"evaluate says of {direction}, zero-shot: {report['zero_shot']}")
        (score,) = report["scores"]
        found[direction] = score["value"]
    for direction in ZERO_SHOT:
        found[f"{direction} through en"] = through_english(model, test, direction.split("-"))
    return found


def through_english(model: Path, test: Path, langs: Sequence[str]) -> float:
    """Translate in two steps."""
    source, target = langs
    middle, output = model / f"{source}-en.en", model / f"{source}-en-{target}.{target}"
    one = ("--threads", "1", "--to")
    translated(model, f"{test}.{source}", middle, *one, f"{source}-en")
    lines = translated(model, middle, output, *one, f"en-{target}")
    return corpus_bleu(lines, [read_lines(Path(f"{test}.{target}"))])


if __name__ == "__main__":
    main()
