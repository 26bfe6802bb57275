"""Long text into sentences, and back, with the white space as it was."""

from dataclasses import dataclass

from interlingua.errors import ConfigError

__all__ = ["Sentence", "split_sentences"]


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
            "sentences are split by the package sentencex, which is not installed: "
            "pip install 'interlingua[sentences]'"
        ) from None
    sentences = []
    for line in text.splitlines(keepends=True):
        rest = line
        for found in segment(language, line):
            core = found.strip()
            if not core:
                continue
            start = rest.index(core)
            before, rest = rest[:start], rest[start + len(core) :]
            sentences.append(Sentence(before, core, ""))
        if rest and sentences and sentences[-1].text:
            last = sentences.pop()
            sentences.append(Sentence(last.before, last.text, last.after + rest))
        elif rest:
            sentences.append(Sentence(rest, "", ""))
    return sentences
