"""Texts through one model, or through two where no model knows both languages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from interlingua.corpus.corrections import bare
from interlingua.requests.sentences import Sentence, split_lines, split_sentences
from interlingua.server.engine import Engine, ServedModel

__all__ = [
    "Translated",
    "cut_for",
    "cut_in_two",
    "find_corrections",
    "is_translatable",
    "translate_sentences",
    "translate_texts",
]

_WORD = re.compile(r"\w")
_CLAUSE = re.compile(r"[,;:–—،、，；：]\s*")
_SPACE = re.compile(r"\s+")
_LONGEST_CORRECTED = 5_000
"""Characters of a text that may have been corrected whole: a correction has no more tokens than a model reads."""
_LETTER = re.compile(r"[^\W\d_]")

_Part = tuple[str, str, str]
"""A sentence between the white space that belongs to it. Plain, so that the collector of garbage does not look at all that waits."""


@dataclass(frozen=True, slots=True)
class Translated:
    """What one text became, and the next best."""

    text: str
    alternatives: tuple[str, ...] = ()


async def translate_texts(
    engine: Engine, way: Sequence[ServedModel], texts: Sequence[str], *, alternatives: int = 0
) -> list[Translated]:
    """Translate each text sentence by sentence through the models of ``way``, or line by line where a model takes lines; white space stays.

    A sentence without a letter comes back as it is, unless the model was trained on such or does not translate. The n-th alternative of a text is put together from the n-th of its
    sentences; where there are two models, all come from the last.

    Raises:
        Refusal: too much waits already, or the model cannot do it.
    """
    done = [Translated(text) for text in texts]
    for place, model in enumerate(way):
        wanted = alternatives if place == len(way) - 1 else 0
        done = await _through(engine, model, [each.text for each in done], wanted)
    return done


async def find_corrections(
    engine: Engine, model: ServedModel, texts: Sequence[str]
) -> list[str | None]:
    """Return what was told to be the translation of each whole text, with the white space around it; None where nothing was.

    A correction may be of several sentences, or of none, and is looked for before a text is cut.
    """
    if engine.settings.corrections is None:
        return [None] * len(texts)
    cores = [bare(text) if len(text) <= _LONGEST_CORRECTED else "" for text in texts]
    if not any(cores):
        return [None] * len(texts)
    asked = {"do": "find-corrections", "model": model.number, "texts": cores}
    return [
        None if told is None else text.replace(core, told, 1)
        for text, core, told in zip(
            texts, cores, await engine.ask(asked, is_let_in=True), strict=True
        )
    ]


async def _through(
    engine: Engine, model: ServedModel, texts: Sequence[str], alternatives: int
) -> list[Translated]:
    told = await find_corrections(engine, model, texts)
    if alternatives:  # which only a search has: a single sentence is told there what was corrected
        told = [
            None if len(_cut(text, model)) == 1 and is_translatable(model, text) else each
            for text, each in zip(texts, told, strict=True)
        ]
    others = [text for text, each in zip(texts, told, strict=True) if each is None]
    found = iter(await _translated(engine, model, others, alternatives))
    return [next(found) if each is None else Translated(each) for each in told]


async def _translated(
    engine: Engine, model: ServedModel, texts: Sequence[str], alternatives: int
) -> list[Translated]:
    options: dict[str, Any] = {}
    if alternatives:
        options = {
            "n_best": alternatives + 1,
            "beam_size": max(model.beam_size, alternatives + 1),
        }
    cut = [_cut(text, model) for text in texts]
    asked = [[is_translatable(model, sentence) for _, sentence, _ in parts] for parts in cut]
    sentences = [
        sentence
        for parts, wanted in zip(cut, asked, strict=True)
        for _, sentence, _ in compress(parts, wanted)
    ]
    found = iter(await translate_sentences(engine, model, sentences, options))
    results = []
    for parts, wanted in zip(cut, asked, strict=True):
        ranked = [next(found) if is_asked else [] for is_asked in wanted]
        longest = min(max(map(len, ranked), default=1), alternatives + 1)
        whole = [_join(parts, ranked, number) for number in range(max(1, longest))]
        results.append(Translated(whole[0], tuple(dict.fromkeys(whole[1:]))))
    return results


def _cut(text: str, model: ServedModel) -> list[_Part]:
    return [(each.before, each.text, each.after) for each in cut_for(model, text)]


def cut_for(model: ServedModel, text: str) -> list[Sentence]:
    """Cut a text into what the model takes at once: sentences, or lines."""
    return split_sentences(text, model.source) if model.takes_sentences else split_lines(text)


def is_translatable(model: ServedModel, sentence: str) -> bool:
    """Whether there is something in a sentence that the model could translate."""
    if not model.takes_sentences:
        return bool(sentence)
    return bool((_LETTER if model.has_letters else _WORD).search(sentence))


async def translate_sentences(
    engine: Engine, model: ServedModel, sentences: Sequence[str], options: dict[str, Any]
) -> list[list[str]]:
    """Translate each sentence, best first; one that is longer than the model reads is cut in two, and again.

    A whole that is no sentence is not cut: of a long one the model reads what it can.

    Raises:
        Refusal: too much waits already, or the model cannot do it.
    """
    if not sentences:
        return []
    found = await engine.batcher.translate(model.number, sentences, options)
    ranked = [[best, *others] for best, others, _ in found]
    for place, (_, _, is_cut_off) in enumerate(found):
        if is_cut_off and model.takes_sentences and len(sentences[place]) > 1:
            halves = await translate_sentences(engine, model, cut_in_two(sentences[place]), options)
            ranked[place] = [" ".join(texts) for texts in zip(*halves, strict=False)]
    return ranked


def cut_in_two(sentence: str) -> tuple[str, str]:
    """Cut a sentence near its middle: behind a comma or the like, else between words, else anywhere."""
    middle = len(sentence) // 2
    for mark in (_CLAUSE, _SPACE):
        places = [found.end() for found in mark.finditer(sentence)]
        inside = [at for at in places if len(sentence) // 4 <= at <= 3 * len(sentence) // 4]
        if inside:
            at = min(inside, key=lambda at: abs(at - middle))
            return sentence[:at].rstrip(), sentence[at:]
    return sentence[:middle], sentence[middle:]


def _join(parts: Sequence[_Part], ranked: Sequence[Sequence[str]], number: int) -> str:
    """Put together the translations of that rank, or the last where there are fewer."""
    return "".join(
        f"{before}{texts[min(number, len(texts) - 1)] if texts else sentence}{after}"
        for (before, sentence, after), texts in zip(parts, ranked, strict=True)
    )
