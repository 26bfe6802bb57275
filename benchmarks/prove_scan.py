"""SCAN simple (Lake and Baroni 2018): commands to actions, at least 99.5 % exact."""

import sys

from prove_commands import corpora, describe_machine, evaluate, run


def main() -> None:
    """Train by the recipe and count exact answers on the test set."""
    print(describe_machine())
    data = corpora() / "scan_simple"
    timed = run("train", "recipes/scan.toml", "--fresh")
    report = evaluate("runs/scan", data / "test.src", data / "test.tgt", "--metrics", "bleu")
    share = 100.0 * report["health"]["exact"]
    print(f"recipes/scan.toml: {timed.seconds:.0f} s, exact {share:.2f} % (at least 99.5)")
    sys.exit(0 if share >= 99.5 else 1)


if __name__ == "__main__":
    main()
