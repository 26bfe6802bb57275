"""Two systems of three seeds on two test sets, by one command: its figures and its test against sacreBLEU's own, its table, its page.

The systems are those of ``prove_transfer.py``, which are trained if they are not there: English-Romanian from 2,000 pairs alone, and from the
weights of English-German. Every score of ``interlingua compare`` has to be what the ``sacrebleu`` program says of the same sentences, the
p-value of two single seeds what its paired bootstrap says, the LaTeX table their means, deviations and daggers, and the page has to count the
sentences that differ.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from prove_commands import corpora, describe_machine, run_json, translated
from prove_transfer import learn, read_flags

from interlingua.corpus.lines import read_lines

Figures = list[dict[str, Any]]
Said = dict[tuple[str, str], list[Path]]
"""What each system says of each test set, a file a seed."""

PLACE = Path("runs/prove-comparison")
WAYS = ("alone", "transfer")
METRICS = {"BLEU": "bleu", "chrF2": "chrf"}
DAGGERS = ((0.01, r"$^{\ddagger}$"), (0.05, r"$^{\dagger}$"), (1.0, ""))


def main() -> None:
    """Compare, check everything, and end with status 1 if anything is not as it should be."""
    flags = read_flags(__doc__)
    print(describe_machine(), flush=True)
    models = learn(**flags)
    tests = {name: corpora() / "ro_en" / name for name in ("sts/test", "mlqe/test")}
    systems = [f"{way}={','.join(map(str, models[way]))}" for way in WAYS]
    texts = [text for test in tests.values() for text in files_of(test)]
    PLACE.mkdir(parents=True, exist_ok=True)
    page, latex = PLACE / "page.html", PLACE / "table.tex"
    written = (f"--output={page}", f"--latex={latex}", "--threads=1")
    figures: Figures = run_json("compare", *systems, *texts, *written)["figures"]
    for each in figures:
        values = ", ".join(f"{value:.2f}" for value in each["values"])
        chance = "" if each["p_value"] is None else f", p = {each['p_value']:.4f}"
        print(f"{each['system']}, {each['test_set']}, {each['metric']}: {values}{chance}")
    said: Said = {
        (way, name): [say(each, test) for each in models[way]]
        for way in WAYS
        for name, test in tests.items()
    }
    good = check_scores(figures, said, tests)
    for name, test in tests.items():
        good &= check_chance([path for way in WAYS for path in said[way, name]], test)
    good &= check_latex(figures, latex.read_text("utf-8"))
    good &= check_page(page.read_text("utf-8"), said)
    print("all as it should be" if good else "NOT all as it should be")
    sys.exit(0 if good else 1)


def files_of(test: Path) -> tuple[str, str]:
    """Return the flags that name a test set."""
    return f"--source={test}.en", f"--reference={test}.ro"


def say(model: Path, test: Path) -> Path:
    """Return the file of what a model says of a test set."""
    output = model / f"{test.parent.name}-{test.name}.ro"
    translated(model, f"{test}.en", output, "--threads", "1")
    return output


def sacrebleu(reference: str, *flags: str) -> str:
    """Return what the program of that name prints."""
    command = [sys.executable, "-m", "sacrebleu", reference, *flags]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def check_scores(figures: Figures, said: Said, tests: dict[str, Path]) -> bool:
    """Every score of every seed is sacreBLEU's."""
    furthest, number = 0.0, 0
    for each in figures:
        metric = METRICS[each["metric"]]
        reference = f"{tests[each['test_set']]}.ro"
        files = said[each["system"], each["test_set"]]
        for value, path in zip(each["values"], files, strict=True):
            told = sacrebleu(reference, "-i", str(path), "-m", metric, "-w", "10")
            furthest = max(furthest, abs(value - json.loads(told)["score"]))
            number += 1
    print(f"{number} scores, at most {furthest:.1e} from what sacrebleu prints")
    return furthest < 1e-9


def check_chance(said: list[Path], test: Path) -> bool:
    """The p-value of two files is that of sacreBLEU's paired bootstrap: of both ways, and of two seeds, which differ little."""
    first, *others = said
    good = True
    for other in (others[0], others[-1]):
        found = run_json("compare", f"one={first}", f"other={other}", *files_of(test))["figures"]
        ours = [f"{each['p_value']:.4f}" for each in found if each["system"] == "other"]
        asked = ("-i", str(first), str(other), "-m", *METRICS.values(), "--paired-bs")
        theirs = re.findall(
            r"\(p = ([\d.]+)\)", sacrebleu(f"{test}.ro", *asked, "--format", "text")
        )
        print(f"{first} and {other}: p {', '.join(ours)}, by sacrebleu {', '.join(theirs)}")
        good &= ours == theirs
    return good


def check_latex(figures: Figures, latex: str) -> bool:
    """Every cell of the table has the mean, the deviation over the seeds, and the daggers of its p-value."""
    good = True
    for way in WAYS:
        (row,) = (line for line in latex.splitlines() if line.startswith(f"{way} & "))
        cells = row.removesuffix(r" \\").split(" & ")[1:]
        own = [each for each in figures if each["system"] == way]
        for cell, each in zip(cells, own, strict=True):
            mean, spread = fmean(each["values"]), stdev(each["values"])
            p = each["p_value"]
            dagger = "" if p is None else next(mark for level, mark in DAGGERS if p <= level)
            told = re.sub(r"\\textbf\{([\d.]+)\}", r"\1", cell)
            good &= told == rf"{mean:.2f}\,{{\footnotesize$\pm${spread:.2f}}}{dagger}"
    print(latex)
    return good


def check_page(page: str, said: Said) -> bool:
    """The page counts the sentences that differ between the first seeds."""
    good = True
    for name in dict.fromkeys(name for _, name in said):
        one, other = (read_lines(said[way, name][0]) for way in WAYS)
        differ = sum(a != b for a, b in zip(one, other, strict=True))
        good &= f"{differ:,} of {len(one):,} sentences differ" in page
    for row in re.findall(r"<h2>.*?</h2>|<summary>.*?</summary>|<p>.*?</p>", page):
        print(re.sub("<[^>]*>", "", row))
    return good


if __name__ == "__main__":
    main()
