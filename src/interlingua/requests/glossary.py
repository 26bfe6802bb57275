"""Terms whose translation is prescribed, and whether a text has them."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from interlingua.corpus.lines import read_lines
from interlingua.errors import ConfigError

__all__ = ["Glossary", "Term", "holds_phrase"]


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
            source, target = _fold(term.source), " ".join(term.target.split())
            if not source or not target:
                raise ConfigError(f"the term {term.source!r} -> {term.target!r} has an empty side")
            if self._targets.setdefault(source, target) != target:
                raise ConfigError(
                    f"the term {term.source!r} has two translations, {self._targets[source]!r} and "
                    f"{target!r}; keep one"
                )
        longest_first = sorted(self._targets, key=lambda source: (-len(source), source))
        spelled = "|".join(map(re.escape, longest_first))
        self._pattern = re.compile(rf"(?<!\w)(?:{spelled})(?!\w)")

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
            folded, target = _fold(source), " ".join(target.split())
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

    def targets_for(self, text: str) -> tuple[str, ...]:
        """Return the targets of the terms in ``text``, each once, in the order of the text; longer terms first."""
        found = (self._targets[match[0]] for match in self._pattern.finditer(_fold(text)))
        return tuple(dict.fromkeys(found))


def holds_phrase(text: str, phrase: str) -> bool:
    """Whether ``phrase`` stands in ``text`` as it is, and is not part of a longer word."""
    spelled = r"\s+".join(map(re.escape, phrase.split()))
    return re.search(rf"(?<!\w){spelled}(?!\w)", text) is not None


def holds_all(text: str, phrases: Sequence[str]) -> bool:
    """Whether every one of ``phrases`` stands in ``text``."""
    return all(holds_phrase(text, phrase) for phrase in phrases)


def _fold(source: str) -> str:
    """Write what differs in case, in the form of its characters or in its white space as one and the same."""
    folded = unicodedata.normalize("NFKC", source).casefold()
    folded = folded.replace("i\u0307", "i")  # of the Turkish capital, \u0130
    return " ".join(unicodedata.normalize("NFKC", folded).split())
