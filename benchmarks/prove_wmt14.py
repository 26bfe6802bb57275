"""The recipes of the paper's two models, from raw files to a score: that they run, not that three updates translate.

    python benchmarks/prove_wmt14.py [--updates 3] [--sentences 100]

With the news text of the data folder in the place of WMT 2014. For each recipe: what `plan` says of the whole, so many of its
updates, and the first sentences of newstest2014 translated and scored. It ends with an error if a command does.
"""

import argparse
import os
from pathlib import Path

from prove_commands import corpora, describe_machine, evaluate, first_pairs, run_json, table

RECIPES = {"base": "recipes/wmt14_en_de_base.toml", "big": "recipes/wmt14_en_de_big.toml"}


def main() -> None:
    """Plan, train, translate, score; print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/prove-wmt14"))
    parser.add_argument("--updates", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=100)
    asked = parser.parse_args()
    print(describe_machine())
    news = corpora() / "news_en_de"
    os.environ["WMT14_EN_DE"] = str(news)
    asked.runs.mkdir(parents=True, exist_ok=True)
    test = first_pairs(news / "newstest2014", asked.runs / "newstest2014", asked.sentences)
    rows = []
    for size, recipe in RECIPES.items():
        folder = asked.runs / size
        priced = run_json("plan", recipe)
        updates = f"--training.steps {asked.updates} --training.validate-every {asked.updates}"
        done = run_json("train", recipe, "--run-dir", str(folder), *updates.split())
        files = Path(f"{test}.en"), Path(f"{test}.de")
        scores = evaluate(str(folder), *files)["scores"]
        rows.append(
            [
                size,
                f"{priced['seconds'] / 86400:,.0f} days, {priced['memory'] / 1e9:.1f} GB",
                f"{done['seconds'] / asked.updates:.0f} s",
                f"{done['validation']['loss']:.2f}",
                ", ".join(f"{score['name']} {score['value']:.2f}" for score in scores),
            ]
        )
    head = (
        "model",
        "planned for the whole",
        "an update, all told",
        "loss after it",
        "newstest2014",
    )
    print(table(head, rows))


if __name__ == "__main__":
    main()
