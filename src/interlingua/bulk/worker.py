"""What a worker needs to translate parts: told in a few small values, so that it can be made on another machine."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from interlingua.bulk.parts import Part
from interlingua.corpus.lines import one_line
from interlingua.corpus.repairs import repair_line
from interlingua.decoding.held_model import Precision
from interlingua.requests.request import TranslateOptions
from interlingua.requests.translation import Translation
from interlingua.translator import Translator

__all__ = ["LineForm", "Recipe", "Worker", "open_translator", "scored_line"]

LineForm = Literal["text", "json", "scored"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a translator is opened, and what is asked of it.

    Attributes:
        model: run folder or model folder; every machine of a cluster must see it under this name.
        adapter: adapter folder, or None.
        device: where to compute.
        dtype: of the matrix products.
        threads: CPU threads of one worker.
        options: of each call to translate.
        form: of a line: the text; a JSON object with all that is known; or, of the mended line (``corpus.repairs``), the text and what a
            filter asks for (``scored_line``).
        ensemble: further models with the same vocabulary and languages, which write together with the first.
        corrections: folder of corrections, or None.
        to: of a model of several pairs of languages, which one, or None.
    """

    model: Path
    adapter: Path | None
    device: str
    dtype: Precision
    threads: int | None
    options: TranslateOptions
    form: LineForm
    ensemble: tuple[Path, ...] = ()
    corrections: Path | None = None
    to: str | None = None


class Worker:
    """Holds one model, and translates part after part.

    Args:
        recipe: how it is opened, and what is asked of it.
        translator: opened by the recipe before, if it was: a second copy of a teacher may not find room.

    Raises:
        ModelError: see :meth:`Translator.load`; also ``ConfigError``, ``TokenizerError``.
    """

    def __init__(self, recipe: Recipe, translator: Translator | None = None) -> None:
        self._recipe = recipe
        self._translator = translator or open_translator(recipe)

    def translate(self, part: Part) -> tuple[str, Counter[str]]:
        """Return the translation of a part, one line for each of its own, and how many carry which mark.

        Raises:
            CorpusError: the text changed meanwhile.
            ModelError: the model gives not-a-number.
        """
        marks = Counter[str]()
        lines, options = part.read(), self._recipe.options
        if self._recipe.form == "scored":  # the pair will hold the line as it is mended
            lines = [repair_line(line)[0] for line in lines]
        if options.get(
            "sample"
        ):  # else the n-th line of every part would be drawn with the same luck
            options = {**options, "seed": (options.get("seed") or 0) + part.checksum}
        translations = self._translator.translate_iter(lines, **options)
        return "".join(f"{line}\n" for line in self._write(lines, translations, marks)), marks

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Do the same for the row of a table, as Ray Data has it."""
        part = Part.from_row(row)
        text, marks = self.translate(part)
        return {**asdict(part), "text": text, "marks": json.dumps(marks)}

    def _write(
        self, lines: list[str], translations: Iterable[Translation], marks: Counter[str]
    ) -> Iterator[str]:
        for line, found in zip(lines, translations, strict=True):
            marks.update(found.flags)
            if self._recipe.form == "json":
                yield found.to_json(line)
            elif self._recipe.form == "scored":
                yield scored_line(found)
            else:
                yield one_line(found.text)


def scored_line(found: Translation) -> str:
    """Write a translation and its alternatives, best first, as a JSON list of [text, mean log-probability, flags]."""
    candidates = [
        [
            one_line(each.text),
            math.fsum(each.log_probabilities) / max(len(each.log_probabilities), 1),
            list(each.flags),
        ]
        for each in (found, *found.alternatives)
    ]
    return json.dumps(candidates, ensure_ascii=False)


def open_translator(recipe: Recipe) -> Translator:
    """Open the model, or the models, of a recipe.

    Raises:
        ModelError: see :meth:`Translator.load`; also ``ConfigError``, ``TokenizerError``.
    """
    if recipe.ensemble:
        return Translator.load_ensemble(
            [recipe.model, *recipe.ensemble],
            device=recipe.device,
            threads=recipe.threads,
            to=recipe.to,
        )
    return Translator.load(
        recipe.model,
        device=recipe.device,
        dtype=recipe.dtype,
        threads=recipe.threads,
        adapter=recipe.adapter,
        corrections=recipe.corrections,
        to=recipe.to,
    )
