"""Long text into sentences, and back, with the white space as it was."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from interlingua.errors import ConfigError, how_to_install
from interlingua.requests.request import Place
from interlingua.requests.translation import EMPTY, Translation, join_parts

__all__ = ["Sentence", "by_sentence", "split_lines", "split_sentences"]

_WHITE = re.compile(r"\s")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, and the white space around it that belongs to it."""

    before: str
    text: str
    after: str


def split_sentences(text: str, language: str) -> list[Sentence]:
    """Cut ``text`` into sentences; what they hold, joined, is the text again.

    A line break always ends a sentence. Within a line the ``sentencex`` package decides, by the rules of ``language``
    (a code such as ``en``; for those it does not know, by those of a related one).

    Raises:
        ConfigError: ``sentencex`` is not installed.
    """
    try:
        from sentencex import segment
    except ImportError:
        raise ConfigError(
            f"sentences are split by the package sentencex, which is not installed; {how_to_install('sentences')}"
        ) from None
    sentences = []
    for line in text.splitlines(keepends=True):
        plain, end = _WHITE.sub(" ", line), 0  # sentencex 1.0 panics at "C\u00a0. Then"
        for found in segment(language, plain):
            core = found.strip()
            if not core:
                continue
            start = plain.index(core, end)
            before, end = line[end:start], start + len(core)
            sentences.append(Sentence(before, line[start:end], ""))
        rest = line[end:]
        if rest and sentences and sentences[-1].text:
            last = sentences.pop()
            sentences.append(Sentence(last.before, last.text, last.after + rest))
        elif rest:
            sentences.append(Sentence(rest, "", ""))
    return sentences


def split_lines(text: str) -> list[Sentence]:
    """Cut ``text`` into its lines; what they hold, joined, is the text again."""
    sentences = []
    for line in text.splitlines(keepends=True):
        core = line.strip()
        start = line.index(core) if core else len(line)
        sentences.append(Sentence(line[:start], core, line[start + len(core) :]))
    return sentences


def by_sentence(
    texts: Sequence[str],
    places: Sequence[Place],
    language: str,
    translate: Callable[[list[str], list[Place]], list[Translation]],
) -> list[Translation]:
    """Translate each sentence of each text on its own, and put the white space back.

    Args:
        texts: of any length.
        places: where each stands. That of its first sentence is the same, so that a text of one sentence is as it is unsplit.
        language: of the texts, see :func:`split_sentences`.
        translate: is given all the sentences at once, and their places.

    Returns:
        One translation a text, as sure as the least sure of its sentences.
    """
    cut = [split_sentences(text, language) for text in texts]
    inside: list[Place] = [
        (place, n) if n else place
        for place, sentences in zip(places, cut, strict=True)
        for n in range(len(sentences))
    ]
    found = iter(translate([sentence.text for sentences in cut for sentence in sentences], inside))
    joined = []
    for sentences in cut:
        parts = [(sentence, next(found)) for sentence in sentences]
        text = "".join(f"{s.before}{part.text}{s.after}" for s, part in parts)
        filled = [part for sentence, part in parts if sentence.text]
        sure = [part.confidence for part in filled if part.confidence is not None]
        whole = join_parts(text, filled) if filled else replace(EMPTY, text=text)
        joined.append(replace(whole, confidence=min(sure, default=None)))
    return joined
