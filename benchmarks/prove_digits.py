"""Copy and reverse digit sequences: by recipe within 2 minutes, without any config within 4."""

import sys
import tempfile
from pathlib import Path

from prove_commands import describe_machine, evaluate, run


def main() -> None:
    """Train four translators and count exact answers among 1,000 unseen sequences."""
    print(describe_machine())
    rows, good = [], True
    for task, needed in (("copy", 100.0), ("reverse", 99.0)):
        with tempfile.TemporaryDirectory() as scratch:
            by_recipe, bare = f"{scratch}/recipe", f"{scratch}/bare"
            timed = run("train", f"recipes/{task}.toml", "--run-dir", by_recipe)
            corpus = Path(by_recipe) / "corpus"
            test = (corpus / "test.digits", corpus / f"test.{task}")
            rows.append(
                (f"recipes/{task}.toml", timed.seconds, 120, exact(by_recipe, *test), needed)
            )
            timed = run(
                "train",
                *("--source", str(corpus / "train.digits")),
                *("--target", str(corpus / f"train.{task}")),
                *("--run-dir", bare),
            )
            rows.append((f"{task}, no config", timed.seconds, 240, exact(bare, *test), needed))
    for name, seconds, limit, share, needed in rows:
        fine = seconds <= limit and share >= needed
        good = good and fine
        print(
            f"{name:24} {seconds:6.1f} s (at most {limit}), exact {share:.1f} % (at least {needed:g})"
            f"  {'yes' if fine else 'NO'}"
        )
    sys.exit(0 if good else 1)


def exact(run_dir: str, source: Path, reference: Path) -> float:
    """Return the share of exact translations, in percent."""
    report = evaluate(run_dir, source, reference, "--metrics", "bleu")
    return 100.0 * report["health"]["exact"]


if __name__ == "__main__":
    main()
