"""Tasks that are no translation, by the same commands: letters to phonemes, summaries, commands to actions, is it a translation or not,
and what marks and capitals a text has lost.

Each is a recipe, trained and then scored by what its field counts, beside the plainest answer that needs no model. Restartable: a
run that is finished is not trained again. A task that is not named with --tasks is left out.
"""

import argparse
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from prove_commands import corpora, describe_machine, evaluate, run_json, table

from interlingua.corpus.lines import read_lines, write_lines
from interlingua.evaluation.metrics import score

PAIR_CLASSES = Path("runs/translation-or-not-corpus")
MARKS = Path("runs/marks-corpus")
SUMMARIES, MOST_SUMMARIES = Path("runs/summaries-corpus"), 4
BETWEEN = " ||| "
"""Stands between the sentences of a pair, and nowhere else in the corpora."""
YES, NO = "yes", "no"
_SENTENCE_END = re.compile(r"(?<=[.!?]) ")


@dataclass(frozen=True)
class Task:
    """One recipe, what it is tested with, and the answers to beat."""

    recipe: str
    source: Path
    references: tuple[Path, ...]
    metrics: str
    plain: str
    """What the answers to beat are, in words."""

    def answers(self) -> list[str]:
        """Return the answers that need no model."""
        sources = read_lines(self.source)
        match self.recipe:
            case "scitldr":
                return [_SENTENCE_END.split(line, maxsplit=1)[0] for line in sources]
            case "translation_or_not":
                return [YES if 2 / 3 <= _ratio(line) <= 3 / 2 else NO for line in sources]
            case "marks":
                return [_plain_marks(line) for line in sources]
            case _:
                return sources


def tasks() -> Iterator[Task]:
    """Yield the tasks, smallest first."""
    data = corpora()
    yield Task(
        "phonemes",
        data / "phonemes" / "valid.src",
        (data / "phonemes" / "valid.tgt",),
        "wer,exact",
        "the letters themselves",
    )
    yield Task(
        "scitldr",
        data / "scitldr" / "test.src",
        tuple(SUMMARIES / f"test.{n}" for n in range(1, MOST_SUMMARIES + 1)),
        "rouge1,rouge2,rougel",
        "the first sentence",
    )
    yield Task(
        "translation_or_not",
        PAIR_CLASSES / "test.pair",
        (PAIR_CLASSES / "test.class",),
        "exact",
        "yes to what is about as long",
    )
    yield Task(
        "marks",
        MARKS / "test.words",
        (MARKS / "test.marks",),
        "wer,exact",
        "a capital first, a full stop last",
    )
    yield Task(
        "scan",
        data / "scan_simple" / "test.src",
        (data / "scan_simple" / "test.tgt",),
        "exact",
        "the command itself",
    )


def main() -> None:
    """Train what is missing, score it, and print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", default="phonemes,scitldr,translation_or_not,marks,scan")
    parser.add_argument(
        "--steps", type=int, help="updates of each training, instead of its recipe's"
    )
    parser.add_argument("--threads", type=int, help="of each training")
    parser.add_argument(
        "--pairs-only", action="store_true", help="write the pairs that recipes learn from, no more"
    )
    parser.add_argument("--folder", type=Path, default=Path("runs/tasks"))
    asked = parser.parse_args()
    print(describe_machine())
    chosen = asked.tasks.split(",")
    if "translation_or_not" in chosen:
        write_pair_classes()
    if "scitldr" in chosen and not asked.pairs_only:
        write_summaries()
    if "marks" in chosen:
        write_marks()
    if asked.pairs_only:
        return
    rows: list[list[str]] = []
    for task in tasks():
        if task.recipe in chosen:
            rows += prove(task, asked)
    asked.folder.mkdir(parents=True, exist_ok=True)
    text = table(("task", "answers", "figure", "95 %"), rows)
    (asked.folder / "tasks.md").write_text(f"{describe_machine()}\n\n{text}\n", encoding="utf-8")
    print(text)


def prove(task: Task, asked: argparse.Namespace) -> list[list[str]]:
    """Train one recipe and return its rows."""
    flags = ["--run-dir", str(asked.folder / task.recipe.replace("_", "-"))]
    flags += ["--training.steps", str(asked.steps)] if asked.steps else []
    flags += ["--training.threads", str(asked.threads)] if asked.threads else []
    told = run_json("train", f"recipes/{task.recipe}.toml", *flags)
    first, *others = task.references
    more = [word for path in others for word in ("--reference", str(path))]
    report = evaluate(flags[1], task.source, first, *more, "--metrics", task.metrics)
    references = [read_lines(path) for path in task.references]
    plain = score(task.answers(), references, task.metrics.split(","), confidence=True)
    trained = f"the model ({told['steps']:,} updates, {told['seconds'] / 60:.1f} min)"
    figures = [
        (trained, *(each[key] for key in ("name", "value", "low", "high")))
        for each in report["scores"]
    ]
    figures += [(task.plain, each.name, each.value, each.low, each.high) for each in plain]
    return [
        [task.recipe, who, f"{name} {value:.2f}", f"{low:.2f} to {high:.2f}"]
        for who, name, value, low, high in figures
    ]


def write_summaries() -> None:
    """Write the two to four summaries of each abstract as so many files; where there are fewer, the first stands again."""
    rows = [json.loads(line) for line in read_lines(corpora() / "scitldr" / "test.refs.jsonl")]
    SUMMARIES.mkdir(parents=True, exist_ok=True)
    for n in range(MOST_SUMMARIES):
        column = [row[n] if n < len(row) else row[0] for row in rows]
        write_lines(SUMMARIES / f"test.{n + 1}", [" ".join(each.split()) for each in column])


def write_pair_classes() -> None:
    """Write the pairs of sentences that are translations and as many that are not, unless they are there.

    What is no translation is the English of another pair with as many words, so that length alone tells nothing. A training pair that
    shares a sentence with validation or test is left out.
    """
    if (PAIR_CLASSES / "test.class").exists():
        return
    PAIR_CLASSES.mkdir(parents=True, exist_ok=True)
    parts = {
        "test": ("sts/test", "mlqe/test"),
        "valid": ("sts/valid", "mlqe/valid"),
        "train": ("sts/train", "mlqe/train", "tatoeba/pairs"),
    }
    seen: set[str] = set()
    for part, names in parts.items():
        pairs = [
            pair
            for name in names
            for pair in zip(
                *(read_lines(corpora() / "ro_en" / f"{name}.{lang}") for lang in ("ro", "en")),
                strict=True,
            )
            if part != "train" or not seen & set(pair)
        ]
        seen |= {side for pair in pairs for side in pair}
        rows = list(classes_of(pairs, random.Random(f"translation or not {part}")))
        write_lines(PAIR_CLASSES / f"{part}.pair", [text for text, _ in rows])
        write_lines(PAIR_CLASSES / f"{part}.class", [answer for _, answer in rows])


def classes_of(pairs: Sequence[tuple[str, str]], dice: random.Random) -> Iterator[tuple[str, str]]:
    """Yield each pair as it is, and with another English sentence of as many words, if there is one."""
    by_length: dict[int, list[str]] = defaultdict(list)
    right: dict[str, set[str]] = defaultdict(set)
    for source, target in pairs:
        by_length[len(target.split())].append(target)
        right[source].add(target)
    for source, target in pairs:
        others = by_length[len(target.split())]
        other = next(
            (
                each
                for each in (others[int(dice.random() * len(others))] for _ in range(20))
                if each not in right[source]
            ),
            None,
        )
        if other is not None:
            yield f"{source}{BETWEEN}{target}", YES
            yield f"{source}{BETWEEN}{other}", NO


def write_marks() -> None:
    """Write the English of Tatoeba in small letters without marks, and of each word what it has lost, unless they are there.

    A text that training would share with validation or test is left out of it.
    """
    if (MARKS / "train.marks").exists():
        return
    MARKS.mkdir(parents=True, exist_ok=True)
    seen: set[str] = set()
    for part in ("test", "valid", "train"):
        kept = {}
        for line in read_lines(corpora() / "tatoeba_en_de" / f"{part}.en"):
            row = [found for word in line.split() if (found := _word_and_mark(word))]
            words = " ".join(word for word, _ in row)
            if words and words not in seen:
                kept[words] = " ".join(mark for _, mark in row)
        seen |= kept.keys()
        write_lines(MARKS / f"{part}.words", kept.keys())
        write_lines(MARKS / f"{part}.marks", kept.values())


def _word_and_mark(written: str) -> tuple[str, str] | None:
    """Return a word in small letters, and its tag: how it was written, and the mark behind it.

    >>> _word_and_mark("Tom,")
    ('tom', 'Aa,')
    >>> _word_and_mark("TV")
    ('tv', 'AA')
    """
    word = re.sub(r"^\W+|\W+$", "", written)
    if not word:
        return None
    behind = re.search(r"\w([,.;:?!])\W*$", written)
    case = "a" if word == word.lower() else "Aa" if word == word.capitalize() else "AA"
    return word.lower(), case + (behind[1] if behind else "")


def _plain_marks(line: str) -> str:
    marks = ["a"] * len(line.split())
    marks[0] = "Aa"
    marks[-1] += "."
    return " ".join(marks)


def _ratio(line: str) -> float:
    """Return how many words the first sentence has for one of the second."""
    first, second = line.split(BETWEEN)
    return len(first.split()) / max(len(second.split()), 1)


if __name__ == "__main__":
    main()
