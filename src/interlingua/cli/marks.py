"""What is told on standard error about the translations of a command: how many are marked with what, and of which languages they are."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from interlingua.cli.streams import note

if TYPE_CHECKING:
    from interlingua.requests.translation import Translation
    from interlingua.translator import Translator

__all__ = [
    "count_flags",
    "note_marks",
    "note_opened",
    "note_other_languages",
    "note_zero_shot",
    "towards_text",
]

_TOLD = {
    "truncated-source": (
        "source is longer than {room}the model takes, and was not read whole; split such lines into sentences",
        "sources are longer than {room}the model takes, and were not read whole; split such lines into "
        "sentences",
    ),
    "max-length": (
        "translation was cut off at the longest length, before the model ended: the source is unlike what it was "
        "trained on, or too long",
        "translations were cut off at the longest length, before the model ended: the source is unlike what it was "
        "trained on, or too long",
    ),
    "repetition": (
        "translation was stopped for writing the same again and again (--max-repeats)",
        "translations were stopped for writing the same again and again (--max-repeats)",
    ),
    "term-missed": (
        "translation lacks a word that was forced, or a term of the glossary; see its flags (--json)",
        "translations lack a word that was forced, or a term of the glossary; see their flags (--json)",
    ),
    "banned-word": (
        "translation has a word that was banned: there was nothing else to write",
        "translations have a word that was banned: there was nothing else to write",
    ),
    "placeholders-lost": (
        "translation lacks what was locked (--lock); see its flags (--json)",
        "translations lack what was locked (--lock); see their flags (--json)",
    ),
    "placeholders-split": (
        "text was translated piece by piece between placeholders (--lock), which the model would not keep",
        "texts were translated piece by piece between placeholders (--lock), which the model would not keep",
    ),
    "float32": (
        "translation was computed in float32: --dtype is for plain searches, and more was asked for",
        "translations were computed in float32: --dtype is for plain searches, and more was asked for",
    ),
    "uncalibrated": (
        "translation was not searched as calibrate searches: take the confidence for an order, not for a probability",
        "translations were not searched as calibrate searches: take the confidence for an order, not for a probability",
    ),
    "loop": (
        "translation with the same words again and again (--check; --json says which)",
        "translations with the same words again and again (--check; --json says which)",
    ),
    "copy": (
        "translation that copied the source (--check; --json says which)",
        "translations that copied the source (--check; --json says which)",
    ),
    "uncovered-source": (
        "translation that left a part of the source hardly looked at (--check; --json says which)",
        "translations that left a part of the source hardly looked at (--check; --json says which)",
    ),
    "empty-output": (
        "translation is empty, although the source is not: the model has learnt too little to say more; train it longer, "
        "or look at how it was trained",
        "translations are empty, although the source is not: the model has learnt too little to say more; train it longer, "
        "or look at how it was trained",
    ),
}
"""What a mark means, of one text and of several."""


def note_marks(counts: Counter[str], longest: int | None) -> None:
    """Say how many translations carry which mark; ``longest`` is how many tokens the model takes, where that is known."""
    room = "" if longest is None else f"the {longest:,} tokens that "
    for mark, (one, several) in _TOLD.items():
        if count := counts[mark]:
            told = one if count == 1 else several
            note(f"{count:,} {told.format(room=room)}")


def count_flags(
    translations: Iterable["Translation"], counts: Counter[str]
) -> Iterator["Translation"]:
    """Pass ``translations`` on and count in ``counts`` what they are marked with."""
    for each in translations:
        counts.update(each.flags)
        yield each


def note_opened(translator: "Translator") -> None:
    """Say what somebody should know of a translator before it is used: a pair that it never met, corrections that it cannot use."""
    note_zero_shot(translator)
    if translator.corrections and (unused := translator.corrections.unused):
        what = "correction is" if len(unused) == 1 else "corrections are"
        note(f"{len(unused):,} {what} not used; the first: {unused[0]}")


def towards_text(
    translator: "Translator", to: str | None, text: Path | None
) -> "tuple[Translator, str]":
    """Return a model of several pairs for the one that ``to`` and the name of a text tell, and what to call this."""
    from interlingua.corpus.languages import language_named
    from interlingua.directions import direction_of_text

    known = translator.directions
    named = language_named(text, {each.source for each in known}) if text else None
    found = direction_of_text(known, to, named)
    if found is None:
        return translator, f"into {translator.target_lang}"
    if found == translator.direction:  # which may follow corrections
        return translator, str(found)
    return translator.towards(found), str(found)


def note_other_languages(
    translator: "Translator", model: Path, source: Path | None = None, *references: Path
) -> None:
    """Say where the name of a file tells another language than the model reads or writes: it is scored, since names may err."""
    from interlingua.corpus.languages import names_another
    from interlingua.corpus.parallel import language_of

    sides = [(source, "reads", translator.source_lang)]
    sides += [(each, "writes", translator.target_lang) for each in references]
    for path, does, language in sides:
        if path is not None and names_another(path, language):
            note(f"{path}: is in {language_of(path)}, by its name, and {model} {does} {language}")


def note_zero_shot(translator: "Translator") -> None:
    """Say that a model is asked for languages that it never met together."""
    if translator.is_zero_shot:
        note(
            f"{translator.source_lang} into {translator.target_lang} is zero-shot: the model was never trained on this pair"
        )
