"""What ``back-translate`` and ``distill`` share: a text translated part by part, its cost told before, and what of it is refused."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import cast

from interlingua.bulk.parts import Part
from interlingua.bulk.worker import Recipe, open_translator
from interlingua.checkpoints.model_folder import find_model_folder
from interlingua.cli.bulk import Cost, measure_cost, translate_files, waiting_parts
from interlingua.cli.flags import MachineFlags, SearchFlags, ShowFlags, SyntheticFlags
from interlingua.cli.streams import note, print_json
from interlingua.corpus.formats import UNNAMED, count_pairs
from interlingua.corpus.language_codes import two_letters
from interlingua.corpus.languages import (
    is_another,
    language_named,
    language_of_lines,
    names_another,
)
from interlingua.corpus.lines import read_blocks
from interlingua.corpus.packed import PackedFile
from interlingua.corpus.parallel import language_of
from interlingua.directions import direction_of_text
from interlingua.directions import in_words as trained
from interlingua.errors import ConfigError, CorpusError
from interlingua.requests.request import TranslateOptions
from interlingua.training.synthetic import SyntheticCorpus, Written, write_synthetic
from interlingua.translator import Translator

__all__ = [
    "check_flags",
    "check_languages",
    "in_words",
    "languages_of",
    "make_corpus",
    "open_for",
    "recipe_of",
    "refuse_damaged",
    "refuse_empty",
    "refuse_unequal",
    "refuse_unreadable",
    "width_of",
]

BLOCK_LINES = 10_000
SEARCHED = ("beam_size", "length_penalty", "batch_tokens")
"""Flags of a search that are options of a translation; its arithmetic is chosen when the model is opened."""


def recipe_of(
    model: Path,
    search: SearchFlags,
    machine: MachineFlags,
    options: dict[str, object],
    *,
    ensemble: tuple[Path, ...] = (),
    to: str | None = None,
) -> Recipe:
    """Return how a model is opened and asked for scored candidates; ``options`` come before those of the flags."""
    flags = {name: getattr(search, name) for name in SEARCHED}
    asked = {name: value for name, value in {**flags, **options}.items() if value is not None}
    return Recipe(
        model=model,
        adapter=None,
        device=machine.device,
        dtype=search.dtype,
        threads=machine.threads,
        options=cast("TranslateOptions", asked),
        form="scored",
        ensemble=ensemble,
        to=to,
    )


def open_for(recipe: Recipe, text: Path) -> Translator:
    """Open the model of a recipe; of several pairs of languages, for the one that the name of ``text`` tells, unless ``to`` told both.

    Raises:
        ConfigError: the name tells no pair that the model was trained on; see also ``open_translator``.
    """
    translator = open_translator(recipe)
    known, target = translator.directions, translator.target_lang
    if not known or recipe.to not in (None, target):
        return translator
    named = language_named(text, {target, *(each.source for each in known)})
    found = direction_of_text(known, recipe.to, named)
    if found in known:
        return translator.towards(found)
    both = "say both languages: --to " + " or ".join(
        str(each) for each in known if each.target == target
    )
    if found is not None:
        told = (
            f"its name tells {found.source}, and {recipe.model} was trained on {trained(known)}; --to {found} asks for {found} all the "
            f"same (zero-shot), or if the text is in another language, {both}"
        )
    elif named == target:
        told = (
            f"its name tells {target}, the language to translate into; give another text, or {both}"
        )
    else:
        told = f"its name does not tell which language {recipe.model} is to read; {both}"
    raise ConfigError(f"{text}: {told}")


def check_flags(flags: SyntheticFlags) -> None:
    """Raise a ConfigError for what cannot be meant, before anything is read or tried."""
    if not 0.0 < flags.keep <= 1.0:
        raise ConfigError(f"--keep must be above 0 and at most 1, not {flags.keep:g}")
    if flags.min_score is not None and not flags.min_score <= 0.0:
        raise ConfigError(
            f"--min-score is a mean log-probability, 0 at most, not {flags.min_score:g}"
        )
    if flags.part_lines < 1:
        raise ConfigError(f"--part-lines must be at least 1, not {flags.part_lines}")


def languages_of(source: Path | None, target: Path | None) -> tuple[str, str]:
    """Return the two languages that the names of a corpus tell, or ``UNNAMED``."""
    first, second = (language_of(path) if path is not None else None for path in (source, target))
    return (first, second) if first and second and first != second else UNNAMED


def refuse_empty(text: Path) -> None:
    """Raise a CorpusError for a text without lines, or of blank ones alone."""
    blocks = read_blocks(text, BLOCK_LINES)
    if not any(line.strip() for block in blocks for line in block.lines):
        raise CorpusError(f"{text}: holds no text; give a file with one sentence a line")


def refuse_unreadable(text: Path) -> None:
    """Raise a CorpusError for a text without lines, or one that cannot be read to its end."""
    refuse_empty(text)
    for _ in read_blocks(text, BLOCK_LINES):
        pass


def refuse_damaged(texts: Sequence[Path]) -> None:
    """Raise a CorpusError for a text, which may be compressed, that cannot be read to its end, before work is done."""
    for text in texts:
        with PackedFile(text) as file:
            for _ in file.lines():
                pass


def refuse_unequal(source: Path | None, target: Path | None) -> None:
    """Raise a CorpusError unless line N of one text can be the translation of line N of the other, before work is done on them."""
    if source is not None and target is not None:
        count_pairs(source, target)


def check_languages(
    model: Path,
    reads: str,
    writes: str,
    text: Path,
    other: Path | None,
    genuine: Path | None = None,
    to: str | None = None,
) -> None:
    """Refuse a model that translates in another direction, or other languages, than the names of the files tell.

    Args:
        model: what to call it.
        reads, writes: its languages.
        text: what it is to read.
        other: text in the language that it is to write, if there is any.
        genuine: more text in the language that it reads, if there is any.
        to: what was said of the languages; both of them (``de-en``) count for more than the name of ``text``.

    Raises:
        ConfigError: it reads the language that it should write, or writes the one that it should read, or a name tells a language that
            is neither.
    """
    if reads == writes:
        return
    own = two_letters(reads), two_letters(writes)  # deu is de
    plain: Callable[[str], str] = two_letters
    if own[0] == own[1]:  # zh-Hans and zh-Hant
        own, plain = (reads, writes), str
    names = language_of(text), language_of(other) if other else None
    told, wanted = (name and plain(name) for name in names)
    if told == own[1] or wanted == own[0]:
        raise ConfigError(
            f"{model}: translates {reads} into {writes}, but {text} is to be translated"
            f"{f' into {names[1]}' if wanted else ''}; give a model of the other direction"
        )
    unsaid = text if to in (None, writes) else None
    for path, language in ((unsaid, reads), (other, writes), (genuine, reads)):
        if path is not None and names_another(path, language):
            raise ConfigError(
                f"{path}: is in {language_of(path)}, by its name, and {model} translates {reads} into {writes}; give text in {language}, or "
                "a model of other languages"
            )


def width_of(model: Path) -> int:
    """Return the width of a model that can be opened (d_model)."""
    config = json.loads((find_model_folder(model) / "config.json").read_text(encoding="utf-8"))
    return int(config["architecture"]["d_model"])


def make_corpus(
    recipe: Recipe, translator: Translator, job: SyntheticCorpus, flags: SyntheticFlags
) -> Written | None:
    """Translate the text of ``job``, or what is left of it, and write the corpus; None in a dry run.

    Raises:
        ConfigError: a folder with parts that another model or option left.
        CorpusError: a text is missing, empty, not UTF-8, or no line of it is left.
        ModelError: the model gives not-a-number.
        OutputError: something cannot be written.
    """
    refuse_unequal(job.text, job.reference)
    folder = job.translated.parent
    waiting = waiting_parts(job.text, folder, recipe, flags.part_lines)
    refuse_empty(job.text)
    if waiting:
        _note_another_language(job.text, waiting, translator.source_lang)
    cost = measure_cost(waiting, recipe, translator) if waiting else Cost(0, 0.0, 0, 0.0)
    if flags.dry_run and flags.json:
        print_json(asdict(cost))
        return None
    note(
        cost.in_words()
        if waiting
        else "every line is translated; what is left is to choose and filter"
    )
    if flags.dry_run:
        return None
    shown = ShowFlags(part_lines=flags.part_lines)
    translate_files(str(job.text), str(folder), recipe, shown, translator)
    written = write_synthetic(job)
    if 2 * (lost := written.dropped.get("no translation", 0)) > written.lines:
        note(
            f"{lost:,} of {written.lines:,} lines got no translation: the model broke off, or repeated itself; train it longer, or give it "
            "text more like its own"
        )
    return written


def _note_another_language(text: Path, waiting: Sequence[Part], reads: str) -> None:
    """Say that what waits of a text is in another language than the model reads; it may still be meant, as half of it may be in that."""
    found = language_of_lines(
        (part.read() for part in waiting), sum(part.num_lines for part in waiting)
    )
    if is_another(found, reads):
        note(f"{text}: looks like {found}, and the model reads {reads}; is it the right text?")


def in_words(written: Written, job: SyntheticCorpus) -> str:
    """Tell a person what the corpus came to."""
    return (
        f"{written.pairs:,} pairs of {written.lines:,} lines, in {job.source} and {job.target}\n"
        + "".join(f"  dropped, {reason}: {count:,}\n" for reason, count in written.dropped.items())
    )
