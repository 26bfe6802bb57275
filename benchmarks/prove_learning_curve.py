"""What BLEU does so much text give? Four corpora of other kinds, each cut to 1,000, 3,000 and 10,000 pairs, and one of them whole, with
its 29,000; all choices left to ``train``.

The pairs lie at even distances in the cleaned training text. Every training goes to its own end (early stopping), one thread each, as
many at once as there are cores, the shortest first. Printed are how familiar the validation text is, its BLEU, as ``train`` tells it at
its end, the band for it, and BLEU of the test set with its 95 % interval, which are also drawn. ``training/expected_bleu.py`` has the
law by which ``plan`` and ``train`` foretell a band; here each band is made from texts of the other three kinds only, so that none
foretells itself. It ends with status 1 if too few of the validation scores lie in theirs. Restartable: what is trained or evaluated is not done again, another number of updates has a folder of
its own, and what has no time any more is left out with --most-pairs.
"""

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prove_commands import (
    cleaned,
    corpora,
    describe_machine,
    evaluate,
    even_pairs,
    parallel_text,
    run_json,
    settings_folder,
    table,
)

from interlingua.corpus.parallel import read_parallel
from interlingua.corpus.statistics import CorpusStatistics, familiarity
from interlingua.hardware import num_cores
from interlingua.training.expected_bleu import MEASURED, BleuBand, foretell

SIZES = (1_000, 3_000, 10_000, 29_000)
NAMES = ("captions", "everyday", "mixed", "news")
HELD = 0.8
"""Share of the bands that must hold what they foretell."""


@dataclass(frozen=True)
class Corpus:
    """A corpus, each part two files but for their suffixes."""

    name: str
    train: Path
    valid: Path
    test: Path
    langs: tuple[str, str]
    most_pairs: int = 10_000


@dataclass(frozen=True)
class Point:
    """So many pairs of a corpus, and what a model of them came to."""

    corpus: Corpus
    pairs: int
    familiarity: float
    found: dict[str, Any]

    @property
    def words(self) -> float:
        """Of a line."""
        return CorpusStatistics(**self.found["statistics"]).words_a_line

    @property
    def band(self) -> BleuBand:
        """What is foretold of its validation text by the law of ``plan`` and ``train`` from texts of the other kinds."""
        others = {
            name: of for name, of in MEASURED.items() if not name.startswith(self.corpus.name)
        }
        return foretell(self.words, self.familiarity, others)

    @property
    def is_in_band(self) -> bool:
        """Whether it came to what is foretold."""
        return self.band.low <= self.found["validation_bleu"] <= self.band.high


def main() -> None:
    """Train what is missing, draw the curve, and end with status 1 if too few bands hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/prove-learning-curve"))
    parser.add_argument("--most-pairs", type=int, default=SIZES[-1], help="leave larger parts out")
    parser.add_argument("--updates", type=int, help="of each training, to try the script out")
    parser.add_argument("--only", choices=NAMES, help="one corpus")
    parser.add_argument("--figure", type=Path, help="that of the documentation, if all is measured")
    flags = parser.parse_args()
    print(describe_machine(), flush=True)
    wanted = [
        (corpus, pairs)
        for pairs in SIZES
        if pairs <= flags.most_pairs
        for corpus in kinds(flags.runs / "text")
        if pairs <= corpus.most_pairs and flags.only in (None, corpus.name)
    ]
    runs = settings_folder(flags.runs, updates=flags.updates)

    def learn(one: tuple[Corpus, int]) -> Point:
        corpus, pairs = one
        place = runs / f"{corpus.name}-{pairs}"
        found = measure(corpus, pairs, place, flags.updates)
        return Point(corpus, pairs, known_share(place / "some", corpus), found)

    with ThreadPoolExecutor(num_cores()) as pool:
        points = list(pool.map(learn, wanted))
    print(tell(points))
    is_whole = flags.most_pairs >= SIZES[-1] and flags.updates is None and flags.only is None
    figure = Path("docs/images" if is_whole else flags.runs) / "learning-curve.png"
    draw(points, flags.figure or figure)
    sys.exit(0 if judge(points) else 1)


def kinds(place: Path) -> list[Corpus]:
    """Return the corpora, cleaned where their test or validation text is in their training text."""
    multi, tatoeba, news = (
        corpora() / name for name in ("multi30k_en_de", "tatoeba_en_de", "news_en_de")
    )
    mixed = corpora() / "ro_en/sts"
    clean = cleaned(mixed, place / "mixed", "ro", "en")
    return [
        Corpus(
            "captions",
            multi / "train",
            multi / "valid",
            multi / "test_2016_flickr",
            ("en", "de"),
            most_pairs=29_000,
        ),
        Corpus("everyday", tatoeba / "train", tatoeba / "valid", tatoeba / "test", ("en", "de")),
        Corpus("mixed", clean, mixed / "valid", mixed / "test", ("ro", "en")),
        # Its newstest2009 is in the training text.
        Corpus("news", news / "train", news / "newstest2014", news / "newstest2013", ("en", "de")),
    ]


def measure(corpus: Corpus, pairs: int, place: Path, updates: int | None) -> dict[str, Any]:
    """Train and evaluate, or find it done."""
    kept = place / "measured.json"
    if kept.exists():
        done: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        return done
    place.mkdir(parents=True, exist_ok=True)
    some = even_pairs(corpus.train, place / "some", pairs, corpus.langs)
    length = ("--training.steps", str(updates)) if updates else ()
    text = parallel_text(some, corpus.valid, corpus.langs)
    model = place / "run"
    told = run_json("train", *text, "--run-dir", str(model), "--training.threads", "1", *length)
    test = [Path(f"{corpus.test}.{code}") for code in corpus.langs]
    (score,) = evaluate(str(model), *test, "--metrics", "bleu", "--threads", "1")["scores"]
    corpus_of_run = json.loads((model / "shards/corpus.json").read_text(encoding="utf-8"))
    found = {
        "validation_bleu": told["validation"]["bleu"],
        "bleu": score["value"],
        "low": score["low"],
        "high": score["high"],
        "signature": score["signature"],
        "updates": told["steps"],
        "minutes": told["seconds"] / 60,
        "statistics": corpus_of_run["statistics"],
    }
    kept.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return found


def known_share(some: Path, corpus: Corpus) -> float:
    """Return how familiar the validation text is, as ``train`` measures it."""
    source, target = (f".{code}" for code in corpus.langs)
    return familiarity(
        *(
            read_parallel((Path(f"{text}{source}"),), (Path(f"{text}{target}"),))
            for text in (some, corpus.valid)
        )
    )


def tell(points: list[Point]) -> str:
    """Return the table."""
    head = (
        "text",
        "pairs",
        "words a line",
        "different words",
        "familiarity",
        "validation BLEU",
        "foretold from the other kinds",
        "by familiarity",
        "test BLEU (95 %)",
        "updates, minutes",
    )
    rows = []
    for point in points:
        found, counted = point.found, point.found["statistics"]
        familiar, band = point.familiarity, point.band
        rows.append(
            (
                f"{point.corpus.name}, {'-'.join(point.corpus.langs)}",
                f"{point.pairs:,}",
                f"{point.words:.1f}",
                f"{counted['word_types']:,}",
                f"{familiar:.3f}",
                f"{found['validation_bleu']:.2f}",
                f"{band.low:.1f} to {band.high:.1f}, {'held' if point.is_in_band else 'NOT held'}",
                f"{found['validation_bleu'] / familiar:.1f}",
                f"{found['bleu']:.2f} ({found['low']:.2f} to {found['high']:.2f})",
                f"{found['updates']:,}, {found['minutes']:.0f}",
            )
        )
    signatures = sorted({point.found["signature"] for point in points})
    return "\n".join([table(head, rows), "", *signatures])


def judge(points: list[Point]) -> bool:
    """Print how many bands hold; tell whether that is enough."""
    held = sum(point.is_in_band for point in points)
    is_enough = bool(points) and held >= HELD * len(points)
    print(
        f"the band from texts of other kinds held {held} of {len(points)} times (at least {HELD:.0%} are wanted): "
        f"{'enough' if is_enough else 'NOT enough'}"
    )
    return is_enough


def draw(points: list[Point], path: Path) -> None:
    """Draw BLEU by the number of pairs, with 95 % intervals."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name in dict.fromkeys(point.corpus.name for point in points):
        own = [point for point in points if point.corpus.name == name]
        middle = [point.found["bleu"] for point in own]
        spread = [
            [point.found["bleu"] - point.found["low"] for point in own],
            [point.found["high"] - point.found["bleu"] for point in own],
        ]
        label = f"{name}, {'-'.join(own[0].corpus.langs)}"
        pairs = [point.pairs for point in own]
        axes.errorbar(pairs, middle, spread, marker="o", capsize=3, label=label)
    axes.set(xscale="log", xlabel="sentence pairs", ylabel="BLEU on the test set")
    axes.set_xticks(SIZES, [f"{size:,}" for size in SIZES])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    print(f"figure: {path}")


if __name__ == "__main__":
    main()
