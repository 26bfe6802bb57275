"""Export models to every format, and print how far each copy translates like its model.

    python benchmarks/prove_exports.py [MODEL ...] [--verify FILE ...]

Without a MODEL the demo is trained first (two minutes). Each export proves itself; this only collects the figures.
"""

import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path

from prove_commands import describe_machine, run, run_json

EXPORTS = [
    ("ctranslate2", "float32"),
    ("ctranslate2", "int8"),
    ("ctranslate2", "int16"),
    ("ctranslate2", "float16"),
    ("ctranslate2", "bfloat16"),
    ("marian", "float32"),
    ("marian", "float16"),
    ("onnx", "float32"),
    ("onnx", "int8"),
    ("html", "float32"),
    ("html", "float16"),
    ("html", "int8"),
    ("argos", "float32"),
    ("argos", "int8"),
]
REFUSED = "| refused | | | | | | |"


def main() -> None:
    """Export and prove everything; end with status 1 if an export was refused."""
    parser = ArgumentParser()
    parser.add_argument("model", nargs="*")
    parser.add_argument("--verify", action="append", default=[])
    parser.add_argument("--format", action="append", default=[])
    asked = parser.parse_args()
    print(describe_machine(), flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        models = asked.model or [train_demo(scratch)]
        verify = [word for file in asked.verify for word in ("--verify", file)]
        rows = [
            export(model, form, precision, f"{scratch}/{number}", verify)
            for model in models
            for number, (form, precision) in enumerate(EXPORTS)
            if form in (asked.format or [form])
        ]
    print(
        "| model | format | search | same tokens | same sentences | score | BLEU here | there | MB |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    print("\n".join(line for row in rows for line in row))
    sys.exit(1 if any(REFUSED in line for row in rows for line in row) else 0)


def train_demo(scratch: str) -> str:
    """Train the demo, and return its run folder."""
    run("demo", "--output", f"{scratch}/demo")
    return f"{scratch}/demo"


def export(model: str, form: str, precision: str, folder: str, verify: list[str]) -> list[str]:
    """Write one export and return a row for each way of searching."""
    folder = f"{folder}-{Path(model).name}"
    words = ["--format", form, "--quantization", precision, "--output", folder, *verify]
    try:
        told = run_json("export", model, *words)
    except SystemExit:  # it has said why
        return [f"| {Path(model).name} | {form} {precision} {REFUSED}"]
    size = sum(told["files"].values()) / 1e6
    rows = []
    for each in told["proof"]["comparisons"]:
        search = "greedy" if each["beam_size"] == 1 else f"beam {each['beam_size']}"
        score = each["score_difference"]
        shown = "not told" if score is None else f"{score:.1e}"
        here = "none" if each["bleu"] is None else f"{each['bleu']:.2f}"
        rows.append(
            f"| {Path(model).name} | {form} {precision} | {search} | {each['agreement']:.2%} "
            f"| {each['same']} of {told['proof']['sentences']} ({len(each['near_ties'])} near-ties) | {shown} | {here} "
            f"| {each['bleu_there']:.2f} | {size:.1f} |"
        )
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


if __name__ == "__main__":
    main()
