"""The ``correct`` command: better translations of single sentences, kept beside a model."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from interlingua.cli.parts import read_columns
from interlingua.cli.streams import note, print_json, say
from interlingua.corpus.corrections import (
    Correction,
    add_corrections,
    bare,
    read_corrections,
    remove_correction,
)
from interlingua.corpus.lines import one_cell
from interlingua.directions import Direction
from interlingua.errors import ConfigError, CorpusError, InterlinguaError

__all__ = ["ToldFlags", "correct"]


@dataclass(frozen=True, slots=True)
class ToldFlags:
    """What is told: one correction, or a file of them."""

    source: str | None = None
    """The text, in quotes."""
    target: str | None = None
    """Its right translation."""
    pairs: Path | None = None
    """Many of both instead: TSV, JSON Lines or TMX, or PREFIX of two files PREFIX.en and PREFIX.de."""
    columns: str | None = None
    """Which columns of TSV or keys of JSON Lines hold source and target: 1,2 or ro,en."""


_TOLD = ToldFlags()


def correct(
    model: Path,
    *,
    told: ToldFlags = _TOLD,
    corrections: Path | None = None,
    remove: str | None = None,
    list_: bool = False,
    json: bool = False,
    to: str | None = None,
) -> None:
    """Keep the right translation of a sentence; translate --corrections FOLDER uses it at once.

    Args:
        model: run folder or model folder that is corrected; nothing in it is changed.
        corrections: folder for them; by default corrections in the run, or MODEL-corrections beside a model folder.
        remove: forget the correction of this text.
        list_: show what was corrected: source, tab, target.
        json: print JSON.
        to: language to translate into, of a model of several pairs (ro), or both languages (en-ro).
    """
    given = [told.source or told.target, told.pairs, remove, list_ or None]
    is_half = (told.source is None) != (told.target is None)
    if sum(each is not None for each in given) != 1 or is_half:
        raise ConfigError(
            "give a correction, --source TEXT --target TEXT, or many, --pairs FILE, or --remove TEXT, or --list"
        )
    from interlingua.checkpoints.model_folder import load_model_folder
    from interlingua.requests.remembering import (
        default_folder,
        refuse_uncorrectable,
        spell,
        spelling_of,
    )
    from interlingua.requests.text_forms import text_form_of

    folder = corrections or default_folder(model)
    loaded = load_model_folder(model).chosen(model, to)
    direction = Direction(loaded.source_lang, loaded.target_lang)
    spelling = partial(spelling_of, tokenizer=loaded.tokenizers.source)
    if list_:
        _show([each for each in read_corrections(folder) if each.direction == direction], json)
        return
    if remove is not None:
        _tell_removed(remove_correction(folder, remove, direction, spelling), folder, json)
        return
    refuse_uncorrectable(
        text_form_of(loaded.model, loaded.tokenizers, loaded.max_length, loaded.source_lang)
    )
    found = []
    for where, one, other in _read(told, direction):
        each = Correction(bare(one), other, direction.source, direction.target)
        try:
            spell(each, loaded.tokenizers, loaded.max_length)
        except InterlinguaError as error:
            raise type(error)(f"{where}{error}") from None
        found.append(each)
    new, replaced = add_corrections(folder, found, spelling)
    whole = len(read_corrections(folder))
    if json:
        print_json({"folder": folder, "new": new, "replaced": replaced, "corrections": whole})
    else:
        say(f"{new:,} new and {replaced:,} changed corrections, {whole:,} in {folder}\n")
        into = ["--to", to] if to else []
        names = shlex.join(["translate", str(model), *into, "--corrections", str(folder)])
        say(f'next: interlingua {names} "..."\n')


def _read(told: ToldFlags, direction: Direction) -> Iterator[tuple[str, str, str]]:
    """Yield where each correction was found, its source and its target."""
    if told.source is not None and told.target is not None:
        yield "", told.source, told.target
        return
    from interlingua.corpus.formats import open_pairs

    assert told.pairs is not None
    try:
        languages = (direction.source, direction.target)
        reader = open_pairs(told.pairs, languages, read_columns(told.columns))
        for pair in reader:
            if pair.source.endswith("\r") or pair.target.endswith("\r"):  # two files of lines
                reader.count("windows")
            where = f"{reader.name}, line {pair.line}: "
            yield where, pair.source.removesuffix("\r"), pair.target.removesuffix("\r")
    except CorpusError as error:
        raise CorpusError(
            f"{error} (the model reads {direction.source} and writes {direction.target})"
        ) from error
    for remark in reader.remarks():
        note(remark)


def _tell_removed(removed: list[Correction], folder: Path, json: bool) -> None:
    latest, spellings = removed[-1].source, len({each.source for each in removed})
    if json:
        print_json({"removed": latest, "spellings": spellings, "folder": folder})
        return
    also = f" (told in {spellings:,} spellings)" if spellings > 1 else ""
    say(f"forgotten: {one_cell(latest)}{also}\n")


def _show(found: list[Correction], json: bool) -> None:
    if json:
        print_json([{"source": each.source, "target": each.target} for each in found])
        return
    for each in found:
        say(f"{one_cell(each.source)}\t{one_cell(each.target)}\n")
