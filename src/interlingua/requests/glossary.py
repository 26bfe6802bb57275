"""Terms whose translation is prescribed, and whether a text has them."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from interlingua.corpus.lines import read_lines
from interlingua.corpus.words import is_inside_a_word
from interlingua.errors import ConfigError

__all__ = ["Glossary", "Term"]


@dataclass(frozen=True, slots=True)
class Term:
    """Wherever ``source`` stands in a text, ``target`` has to stand in its translation."""

    source: str
    target: str


class Glossary:
    """Terms, looked up as whole words; case is ignored in the source and kept in the target.

    Raises:
        ConfigError: a term without a source or target, or two targets for one source.
    """

    def __init__(self, terms: Iterable[Term]) -> None:
        self._targets: dict[str, str] = {}
        for term in terms:
            if not isinstance(term, Term) or not all(
                isinstance(side, str) for side in (term.source, term.target)
            ):
                raise TypeError(f"a glossary takes Term(source, target), two texts, not {term!r}")
            source, target = _fold(term.source).strip(), " ".join(term.target.split())
            if not source or not target:
                raise ConfigError(f"the term {term.source!r} -> {term.target!r} has an empty side")
            if self._targets.setdefault(source, target) != target:
                raise ConfigError(
                    f"the term {term.source!r} has two translations, {self._targets[source]!r} and "
                    f"{target!r}; keep one"
                )
        self._lengths = sorted(set(map(len, self._targets)), reverse=True)
        self._firsts = {source[0] for source in self._targets}

    @classmethod
    def read(cls, path: Path) -> "Glossary":
        """Read a file of one term a line: source, tab, target; empty lines and those that begin with # are left out.

        Raises:
            ConfigError: a line that is no term, or no term at all.
            CorpusError: the file is missing, or not UTF-8.
        """
        terms: list[Term] = []
        lines: dict[str, tuple[str, int]] = {}
        for number, line in enumerate(read_lines(path), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            source, tab, target = line.rstrip("\r").partition("\t")
            if not tab or not source.strip() or not target.strip() or "\t" in target:
                raise ConfigError(
                    f"{path}, line {number}: is no term; write the source term, a tab, the target term"
                )
            folded, target = _fold(source).strip(), " ".join(target.split())
            other, first = lines.setdefault(folded, (target, number))
            if other != target:
                raise ConfigError(
                    f"{path}, line {number}: {source.strip()!r} is {target!r} here and {other!r} in line {first}; keep one"
                )
            terms.append(Term(source, target))
        if not terms:
            raise ConfigError(
                f"{path}: holds no term; write one a line: source term, tab, target term"
            )
        return cls(terms)

    @property
    def terms(self) -> list[Term]:
        """All terms, their sources folded."""
        return [Term(source, target) for source, target in self._targets.items()]

    def targets_for(self, text: str, apart: Sequence[tuple[int, int]] = ()) -> tuple[str, ...]:
        """Return the targets of the terms in ``text``, one for each place where a term stands; longer terms first.

        Args:
            text: a source.
            apart: spans of it, from start to end, one after the other; what stands wholly within one is no term.
        """
        folded, done = "", 0
        spans: list[tuple[int, int]] = []
        for start, end in apart:
            folded += _fold(text[done:start])
            begin = len(folded)
            folded += _fold(text[start:end])
            spans.append((begin, len(folded)))
            done = end
        folded += _fold(text[done:])
        found: list[str] = []
        place = 0
        while place < len(folded):
            end = self._end_of_term(folded, place)
            if end and not any(begin <= place and end <= last for begin, last in spans):
                found.append(self._targets[folded[place:end]])
            place = end or place + 1
        return tuple(found)

    def _end_of_term(self, text: str, start: int) -> int:
        """Return where the longest term ends that begins at ``start``; 0 if none does."""
        if text[start] in self._firsts and not is_inside_a_word(text, start):
            for end in (start + length for length in self._lengths):
                if text[start:end] in self._targets and not is_inside_a_word(text, end):
                    return min(end, len(text))
        return 0


def _fold(source: str) -> str:
    """Write what differs in case, in the form of its characters or in its white space as one and the same."""
    folded = unicodedata.normalize("NFKC", source).casefold()
    folded = folded.replace("i\u0307", "i")  # of the Turkish capital, \u0130
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", folded))
