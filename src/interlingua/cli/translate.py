"""The ``translate`` command: lines in, lines out, with whatever was asked for."""

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from dataclasses import asdict
from typing import cast

from interlingua.bulk.worker import Recipe, open_translator
from interlingua.cli.bulk import translate_files
from interlingua.cli.flags import AskedTranslation
from interlingua.cli.marks import count_flags, note_marks, note_opened
from interlingua.cli.streams import (
    Write,
    note,
    open_output,
    write_translations,
)
from interlingua.corpus.lines import one_line
from interlingua.errors import ConfigError
from interlingua.evaluation.alignment import format_links
from interlingua.inspection.alignment import align, choose_alone, some_to_choose_by
from interlingua.requests.glossary import Glossary
from interlingua.requests.request import TranslateOptions
from interlingua.requests.translation import Translation
from interlingua.translator import Translator

__all__ = ["translate_folder", "translate_lines"]


def translate_lines(lines: Sequence[str], asked: AskedTranslation) -> None:
    """Translate ``lines`` and write what comes out where it was asked for.

    Raises:
        ConfigError: a value out of range, or flags that do not go together.
        ModelError: a model that cannot be read.
        OutputError: the translations cannot be written.
    """
    io, show, n_best = asked.io, asked.show, asked.n_best
    recipe = _recipe_of(asked)
    options, translator = recipe.options, open_translator(recipe)
    note_opened(translator)
    marks = Counter[str]()
    if show.stream:
        texts = [translator.stream(line, place=n, **options) for n, line in enumerate(lines)]
        with open_output(io.output) as write:
            for text in texts:
                marks.update(_write_growing(write, text).flags)
        note_marks(marks, translator.max_source_length)
        return
    translations = count_flags(translator.translate_iter(lines, **options), marks)
    with open_output(io.output) as write:
        if show.align:
            _write_aligned(write, translator, lines, list(translations))
        elif asked.decode.confidence and n_best == 1 and not io.json:
            _write_confident(write, translations)
        else:
            write_translations(write, lines, translations, n_best=n_best, as_json=io.json)
    note_marks(marks, translator.max_source_length)


def translate_folder(text: Sequence[str], asked: AskedTranslation) -> None:
    """Translate the file or the folder of files ``--input`` into the folder ``--output``, part by part.

    Raises:
        ConfigError: as :func:`translate_lines`; text as well as files; what cannot be done part by part.
        CorpusError: a file is missing or not UTF-8.
        ModelError: a model that cannot be read.
        OutputError: the translations cannot be written.
    """
    io, decode, show = asked.io, asked.decode, asked.show
    if text and io.input is not None:
        raise ConfigError("text and --input are both given; give one of the two")
    if show.stream or show.align or show.ensemble or (decode.confidence and not io.json):
        raise ConfigError(
            "files are translated without --stream, --align and --ensemble, and with --confidence as --json only"
        )
    if asked.n_best > 1 and not io.json:
        raise ConfigError("--n-best of files needs --json, so that each line stays one line")
    marks = translate_files(io.input, io.output, _recipe_of(asked), show)
    note_marks(marks, None)


def _recipe_of(asked: AskedTranslation) -> Recipe:
    """Say how the translator is opened, and what is asked of it."""
    search, show, machine = asked.search, asked.show, asked.machine
    options = _read_options(asked)
    if show.ensemble and (asked.adapter or show.corrections or search.dtype != "auto"):
        raise ConfigError(
            "--ensemble goes without --adapter, --corrections and --dtype; leave them out"
        )
    return Recipe(
        model=asked.model,
        adapter=asked.adapter,
        device=machine.device,
        dtype=search.dtype,
        threads=machine.threads,
        options=options,
        form="json" if asked.io.json else "text",
        ensemble=tuple(show.ensemble),
        corrections=show.corrections,
        to=asked.to,
    )


def _read_options(asked: AskedTranslation) -> TranslateOptions:
    io, decode, show, n_best = asked.io, asked.decode, asked.show, asked.n_best
    if show.part_lines < 1:
        raise ConfigError(f"--part-lines must be at least 1, not {show.part_lines}")
    if show.ray_workers is not None and show.ray_workers < 1:
        raise ConfigError(f"--ray-workers must be at least 1, not {show.ray_workers}")
    options = {"n_best": n_best, **asdict(asked.search), **asdict(decode)}
    del options["dtype"]  # of the translator, not of one request
    for name in ("force", "ban"):
        phrases = options[name]
        options[name] = [each.strip() for each in phrases.split(";")] if phrases else None
    if decode.glossary:
        options["glossary"] = Glossary.read(decode.glossary)
    if decode.confidence and not io.json and (n_best > 1 or show.align):
        raise ConfigError(
            "--confidence is written behind one text a line; with --n-best ask for --json, and leave --align out"
        )
    if show.ensemble and (show.align or decode.confidence):
        raise ConfigError(
            "--ensemble goes without --align and --confidence, which are of one model; leave them out"
        )
    if sum((show.stream, show.align, io.json)) > 1 or (n_best > 1 and (show.stream or show.align)):
        raise ConfigError(
            "--stream and --align give one text a line; leave out --json, --n-best, or one of the two"
        )
    return cast(TranslateOptions, options)


def _write_growing(write: Write, pieces: Generator[str, None, Translation]) -> Translation:
    """Write a text as it grows, and return all that is known of it at its end."""
    while True:
        try:
            write(one_line(next(pieces)))
        except StopIteration as end:
            write("\n")
            return end.value


def _write_confident(write: Write, translations: Iterable[Translation]) -> None:
    """Write the confidence behind each text, after ``|||`` as Moses does."""
    for each in translations:
        write(f"{one_line(each.text)} ||| {each.confidence:.3f}\n")


def _write_aligned(
    write: Write, translator: Translator, lines: Sequence[str], found: Sequence[Translation]
) -> None:
    """Write the links of the words behind each text, after ``|||``."""
    pairs = [(line, each.text) for line, each in zip(lines, found, strict=True)]
    view, _ = choose_alone(translator, some_to_choose_by(pairs))
    note(f"words are linked by {view}")
    for (_, text), (links,) in zip(pairs, align(translator, pairs, [view]), strict=True):
        write(f"{one_line(text)} ||| {format_links(links)}\n")
