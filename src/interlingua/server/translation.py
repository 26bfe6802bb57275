"""Texts through one model, or through two where no model knows both languages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from interlingua.requests.sentences import Sentence, split_sentences
from interlingua.server.engine import Engine, ServedModel

__all__ = ["Translated", "is_translatable", "translate_texts"]

_WORD = re.compile(r"\w")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Translated:
    """What one text became, and the next best."""

    text: str
    alternatives: tuple[str, ...] = ()


async def translate_texts(
    engine: Engine, way: Sequence[ServedModel], texts: Sequence[str], *, alternatives: int = 0
) -> list[Translated]:
    """Translate each text sentence by sentence through the models of ``way``; white space stays.

    A sentence without a letter comes back as it is, unless the model was trained on such. The n-th alternative of a text is put together from the n-th of its
    sentences; where there are two models, all come from the last.

    Raises:
        Refusal: too much waits already, or the model cannot do it.
    """
    done = [Translated(text) for text in texts]
    for place, model in enumerate(way):
        wanted = alternatives if place == len(way) - 1 else 0
        done = await _through(engine, model, [each.text for each in done], wanted)
    return done


async def _through(
    engine: Engine, model: ServedModel, texts: Sequence[str], alternatives: int
) -> list[Translated]:
    options: dict[str, Any] = {}
    if alternatives:
        options = {
            "n_best": alternatives + 1,
            "beam_size": max(model.beam_size, alternatives + 1),
        }
    cut = [split_sentences(text, model.source) for text in texts]
    asked = [[is_translatable(model, each) for each in parts] for parts in cut]
    sentences = [
        each.text
        for parts, wanted in zip(cut, asked, strict=True)
        for each in compress(parts, wanted)
    ]
    found = (
        iter(await engine.batcher.translate(model.number, sentences, options))
        if sentences
        else iter(())
    )
    results = []
    for parts, wanted in zip(cut, asked, strict=True):
        ranked = [_ranked(next(found)) if is_asked else [] for is_asked in wanted]
        longest = min(max(map(len, ranked), default=1), alternatives + 1)
        whole = [_join(parts, ranked, number) for number in range(max(1, longest))]
        results.append(Translated(whole[0], tuple(dict.fromkeys(whole[1:]))))
    return results


def is_translatable(model: ServedModel, sentence: Sentence) -> bool:
    """Whether there is something in a sentence that the model could translate."""
    return bool((_LETTER if model.has_letters else _WORD).search(sentence.text))


def _ranked(found: dict[str, Any]) -> list[str]:
    return [found["text"], *found["alternatives"]]


def _join(parts: Sequence[Sentence], ranked: Sequence[Sequence[str]], number: int) -> str:
    """Put together the translations of that rank, or the last where there are fewer."""
    return "".join(
        f"{part.before}{texts[min(number, len(texts) - 1)] if texts else part.text}{part.after}"
        for part, texts in zip(parts, ranked, strict=True)
    )
