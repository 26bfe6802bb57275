"""The ``translate`` command: lines in, lines out, with whatever was asked for."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import cast

from interlingua.cli_flags import DecodeFlags, MachineFlags, SearchFlags, TextFlags
from interlingua.cli_streams import count_flags, note_marks, open_output, write_translations
from interlingua.requests.glossary import Glossary
from interlingua.requests.request import TranslateOptions
from interlingua.translator import Translator

__all__ = ["translate_lines"]


def translate_lines(
    model: Path,
    lines: Sequence[str],
    io: TextFlags,
    n_best: int,
    search: SearchFlags,
    decode: DecodeFlags,
    machine: MachineFlags,
    adapter: Path | None = None,
) -> None:
    """Translate ``lines`` and write what comes out where ``io`` says.

    Raises:
        ConfigError: a value out of range, or flags that do not go together.
        ModelError: a model that cannot be read.
        OutputError: the translations cannot be written.
    """
    asked = {"n_best": n_best, **asdict(search), **asdict(decode)}
    del asked["dtype"]  # of the translator, not of one request
    if decode.glossary:
        asked["glossary"] = Glossary.read(decode.glossary)
    options = cast(TranslateOptions, asked)
    translator = Translator.load(
        model,
        device=machine.device,
        dtype=search.dtype,
        threads=machine.threads,
        adapter=adapter,
    )
    marks = Counter[str]()
    translations = count_flags(translator.translate_iter(lines, **options), marks)
    with open_output(io.output) as write:
        write_translations(write, lines, translations, n_best=n_best, as_json=io.json)
    note_marks(marks, translator.max_source_length)
