"""The Multi30k recipe: forty minutes on two cores, then BLEU on both test sets with a beam of 5."""

import sys

from prove_commands import corpora, describe_machine, evaluate, run


def main() -> None:
    """Train by the recipe and score the test sets."""
    print(describe_machine())
    data = corpora() / "multi30k_en_de"
    timed = run("train", "recipes/multi30k_en_de.toml", "--fresh", "--json")
    print(timed.output)
    print(f"training took {timed.seconds / 60:.1f} minutes")
    first = 0.0
    for test in ("test_2016_flickr", "test_2017_flickr"):
        report = evaluate(
            "runs/multi30k-en-de",
            data / f"{test}.en",
            data / f"{test}.de",
            *("--beam-size", "5", "--metrics", "bleu,chrf,ter"),
        )
        for score in report["scores"] + report["legacy"]:
            print(f"{test}: {score['name']} {score['value']:.2f} {score['signature']}")
        first = first or report["scores"][0]["value"]
    sys.exit(0 if first >= 36.0 and timed.seconds <= 3600 else 1)


if __name__ == "__main__":
    main()
