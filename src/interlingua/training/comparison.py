"""Is the model better than the one it began with, on its own text and on what it should not forget?

The starting model translates before the first update, and what it says is kept in ``start/outputs.json``, so that the
comparison at the end needs nothing else. The test is paired bootstrap resampling (Koehn 2004), see
``evaluation/significance.py``.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from interlingua.config import StartConfig
from interlingua.corpus.lines import one_line
from interlingua.corpus.pairs import SentencePair
from interlingua.corpus.parallel import read_parallel
from interlingua.directions import Direction, in_words
from interlingua.errors import ModelError
from interlingua.evaluation.bootstrap import FEWEST_SENTENCES, TOO_FEW
from interlingua.evaluation.significance import SIGNIFICANCE_LEVEL, compare
from interlingua.files import write_text
from interlingua.training.directions_of_run import direction_of_files
from interlingua.training.validation import spread_pairs
from interlingua.translator import Translator

__all__ = [
    "NO_DIFFERENCE",
    "OUTPUTS",
    "Difference",
    "HeldText",
    "compare_with_start",
    "describe_differences",
    "keep_outputs",
    "read_differences",
    "texts_to_compare",
    "write_differences",
]

OUTPUTS = "outputs.json"
"""In the folder ``start`` of a run."""
MOST_SENTENCES = 2_000
"""So many sentences of a text are compared, spread evenly: more would take longer and decide nothing else."""
WINDOW = 200
"""Sentences between two looks at the signal to stop."""
VALIDATION, KEPT = "validation", "kept"
NO_DIFFERENCE = "no significant difference"


@dataclass(frozen=True, slots=True)
class HeldText:
    """Sentences that are translated before and after, and how a person translated them."""

    name: str
    sources: tuple[str, ...]
    references: tuple[str, ...]
    direction: str | None = None
    """From which language into which, if the run is of several pairs."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric on one text, before and after."""

    text: str
    sentences: int
    metric: str
    before: float
    after: float
    p_value: float
    signature: str

    @property
    def is_of_kept(self) -> bool:
        """Tell whether the text is one that the model should not forget, not one that it learns."""
        return self.text.split()[0] == KEPT

    @property
    def change(self) -> float:
        """After minus before."""
        return self.after - self.before

    @property
    def verdict(self) -> str:
        """better, worse, or no difference that chance does not explain; of a few sentences none of these."""
        if self.change and self.sentences < FEWEST_SENTENCES:
            return TOO_FEW
        if not self.change or self.p_value >= SIGNIFICANCE_LEVEL:
            return NO_DIFFERENCE
        return "better" if self.change > 0 else "worse"

    def in_words(self, text: str) -> str:
        """Say it to a person, who knows the text by that name."""
        return (
            f"{text}, {self.sentences:,} sentences: {self.metric} {self.before:.2f} -> {self.after:.2f} "
            f"({self.change:+.2f}, p = {self.p_value:.3f}): {self.verdict}"
        )


def texts_to_compare(
    validation: Mapping[Direction | None, Sequence[SentencePair]],
    start: StartConfig,
    known: Sequence[Direction] = (),
    say: Callable[[str], None] = lambda _: None,
) -> list[HeldText]:
    """Return the validation pairs, and those that the model should not forget.

    Args:
        validation: pairs of each direction; of None where there is one only, which then need not be told. None of them, where the
            starting model does something else.
        start: what else is to be compared.
        known: the directions of both models, where the run tells directions; of others there is nothing to compare.
        say: told of text that somebody gave and that is left out.

    Raises:
        CorpusError: the latter cannot be read.
    """
    texts = [
        _held(f"{VALIDATION} {direction}" if direction else VALIDATION, pairs, direction)
        for direction, pairs in validation.items()
        if pairs and (direction is None or direction in known)
    ]
    if None in validation:
        kept = read_parallel(start.keep_source, start.keep_target) if start.keep_source else ()
        return [*texts, _held(KEPT, kept)] if kept else texts
    for direction, (sources, targets) in _kept_by(start, known).items():
        if direction is not None:
            texts.append(_held(f"{KEPT} {direction}", read_parallel(sources, targets), direction))
            continue
        both = in_words(known) or "nothing"
        say(
            f"{', '.join(map(str, (*sources, *targets)))}: will not be compared, as what the starting model and this one both "
            f"translate is {both}"
        )
    return texts


def _kept_by(
    start: StartConfig, known: Sequence[Direction]
) -> dict[Direction | None, tuple[list[Path], list[Path]]]:
    """Put the files of text to keep together that go from one language into the other, by their names; None is any that is not ``known``."""
    found: dict[Direction | None, tuple[list[Path], list[Path]]] = {}
    for source, target in zip(start.keep_source, start.keep_target, strict=True):
        direction = direction_of_files(source, target, known)
        sources, targets = found.setdefault(direction, ([], []))
        sources.append(source)
        targets.append(target)
    return found


def keep_outputs(
    path: Path,
    texts: Sequence[HeldText],
    translator: Translator,
    is_told_to_stop: Callable[[], bool],
) -> None:
    """Have the starting model translate ``texts``, and keep what it says; nothing, if told to stop meanwhile."""
    kept = []
    for text in texts:
        outputs = _translate(_towards(translator, text.direction), text.sources, is_told_to_stop)
        if outputs is None:
            return
        kept.append(asdict(text) | {"outputs": outputs})
    write_text(path, json.dumps({"version": 1, "texts": kept}, ensure_ascii=False, indent=1) + "\n")


def compare_with_start(
    path: Path, translator: Translator, is_told_to_stop: Callable[[], bool]
) -> list[Difference] | None:
    """Translate again what ``path`` has kept, and compare; None if told to stop meanwhile.

    A text of a direction that the model was not trained on, which earlier versions kept, is left out.

    Raises:
        ModelError: ``path`` cannot be read.
    """
    differences = []
    for kept in _read(path):
        direction = kept.get("direction")
        if (
            direction
            and translator.directions
            and Direction.read(direction) not in translator.known
        ):
            continue
        one = _towards(translator, direction)
        outputs = _translate(one, kept["sources"], is_told_to_stop)
        if outputs is None:
            return None
        for found in compare(
            outputs,
            kept["outputs"],
            [kept["references"]],
            ("bleu", "chrf"),
            target_lang=one.target_lang,
        ):
            difference = Difference(
                text=kept["name"],
                sentences=len(outputs),
                metric=found.system.name,
                before=found.baseline.value,
                after=found.system.value,
                # No draw of equal outputs departs from 0, which the bootstrap takes for the strongest sign.
                p_value=found.p_value if found.difference else 1.0,
                signature=found.system.signature,
            )
            differences.append(difference)
    return differences


def write_differences(path: Path, differences: Sequence[Difference], model_sha256: str) -> None:
    """Keep the comparison in the run, with the checksum of the model that it is about."""
    listed = [asdict(each) | {"verdict": each.verdict} for each in differences]
    content = {"version": 1, "model_sha256": model_sha256, "differences": listed}
    write_text(path, json.dumps(content, indent=2) + "\n")


def read_differences(path: Path, model_sha256: str) -> tuple[Difference, ...] | None:
    """Return the comparison that is kept of this very model, if there is one."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["model_sha256"] != model_sha256:
            return None
        for each in content["differences"]:
            each.pop("verdict")
        return tuple(Difference(**each) for each in content["differences"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def describe_differences(differences: Sequence[Difference]) -> list[str]:
    """Say it to a person, one line a text and metric; what became worse is said in so many words."""
    lines = ["against the starting model (paired bootstrap):"]
    for each in differences:
        _, *direction = each.text.split()
        name = "text to keep" if each.is_of_kept else VALIDATION
        lines.append(f"  {each.in_words(' '.join([name, *direction]))}")
    if any(each.is_of_kept and each.verdict == "worse" for each in differences):
        lines.append(
            "  the model has forgotten: mix some of the old text in (a second file, with corpus.weights, or corpus.directions where it is of "
            "other languages), lower training.peak_learning_rate, or train an adapter (start.lora_rank)"
        )
    return lines


def _towards(translator: Translator, direction: str | None) -> Translator:
    """Return what translates texts of a direction; a model of one pair of languages does it as it is."""
    if direction is None or not translator.directions:
        return translator
    return translator.towards(Direction.read(direction))


def _held(name: str, pairs: Sequence[SentencePair], direction: Direction | None = None) -> HeldText:
    some = spread_pairs(pairs, MOST_SENTENCES)
    told = None if direction is None else str(direction)
    return HeldText(name, tuple(p.source for p in some), tuple(p.target for p in some), told)


def _translate(
    translator: Translator, sources: Sequence[str], is_told_to_stop: Callable[[], bool]
) -> list[str] | None:
    outputs: list[str] = []
    for start in range(0, len(sources), WINDOW):
        if is_told_to_stop():
            return None
        outputs += [
            one_line(each.text) for each in translator.translate(sources[start : start + WINDOW])
        ]
    return outputs


def _read(path: Path) -> list[Mapping[str, Any]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        texts: list[Mapping[str, Any]] = content["texts"]
        for each in texts:
            if not len(each["sources"]) == len(each["references"]) == len(each["outputs"]):
                raise ValueError("lists of different lengths")
        return texts
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path}: cannot be read ({error}); the comparison is left out") from error
