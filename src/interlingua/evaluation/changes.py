"""What changed between two systems, sentence by sentence, and of which kind the change is.

A kind of fault is looked for in each output by itself, against the reference and the source; a sentence belongs to the kind
if one system has the fault and the other has not, or both have it in different ways. The rules know no grammar: they find the
places where a person should look, and count them.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from interlingua.corpus.languages import language_code
from interlingua.corpus.words import units_of
from interlingua.errors import CorpusError
from interlingua.evaluation.metrics import sentence_chrf

__all__ = ["KINDS", "NEGATIONS", "Change", "Changes", "find_changes", "is_without_spaces"]

KINDS = {
    "numbers": "other numbers than in the reference",
    "names": "a name that source and reference share is missing",
    "negation": "a negation where the reference has none, or none where it has one",
    "length": "shorter than two thirds of the reference, or longer than one and a half times",
    "unknown words": "a word of the source left as it is, or an unknown symbol",
    "other": "none of these",
}
"""The kinds of changes, and what counts as a fault of each."""

NEGATIONS = {
    "bg": "не|няма|никой|нищо|никога|нито|без",
    # A prefix says no to a verb, and other words begin alike: of the frequent ones these do not count.
    "cs": r"(?!(?:neb|nebo|neboť|neboli|nebe|nebi|nebes\w*|nebezp\w+|neděl(?:e|i|í|ní\w*)|než|nemoc\w*|nech|nech(?:[aá]\w*|ť|te|me|ej\w*)"
    r"|nes(?:u|eš|e|eme|ete|ou|l[aoiy]?|oucí\w*|en\w*)|nevěst\w*|nemovit\w+|nerv\w*|nerost\w*|neon\w*|neutr\w*|netw\w+|neteř\w*"
    r"|netopý\w+|nej(?:en|lepš|víc|vět|men|dřív|prv|star|mlad|krás|rych|rad|vyš|niž|bliž|dál|dél|čast|důlež|hor|sil|nov|obl|znám|spíš)"
    r"\w*)(?!\w))ne\w*|nic|nič(?:eho|emu|ím|em)|nik(?:do|oho|omu|ým|om|dy|de|am)|nikoliv?|nijak|nikter\w+|ani|bez|žádn\w+",
    "de": r"nicht|nichts|nie|niemals|niemand\w*|kein\w*|weder|nirgends|nirgendwo|ohne",
    "en": r"no(?!\.\s?\d)|not|\w*n['’]t|never|nobody|nothing|nowhere|none|neither|nor|cannot|without",
    "es": r"no|nunca|nadie|nada|ning[uú]n\w*|jamás|tampoco|ni|sin",
    "fr": r"ne|n['’]\w+|jamais|rien|aucun\w*|ni|sans",  # pas and personne stand beside ne, or are a step and a person
    "it": r"non|mai|nessun\w*|niente|nulla|né|senza",
    "nl": r"niet|niets|nooit|niemand|geen|noch|nergens|zonder",
    "pl": r"nie|nigdy|nikt|nic|żad\w+|ani|bez",
    "pt": r"não|nunca|ningu[eé]m|nada|nenhum\w*|jamais|nem|sem",
    "ro": r"nu|n-\w+|niciodată|nimeni|nimic|nici|niciun\w*|nicio|fără",
    "ru": r"не|нет|никогда|никто|ничего|ни|без",
    "sv": r"inte|aldrig|ingen|inget|inga|ingenting|varken|utan",
    "uk": r"не|немає|ніколи|ніхто|нічого|ні|без",
}
"""Words that say no, by language of the outputs, as patterns; of other languages negation is not looked at."""

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(
    # A hyphen before a number is a sign inside a line only, and not behind a number: elsewhere it is rather the dash of
    # a dialogue or of a range.
    r"((?<=[\s(])(?<!\d\s)[-\u2212\u2013])?"
    r"([1-9]\d{0,2}(?:[\u00a0\u202f\u2009 ]\d{3}(?!\d))+(?:[.,]\d+)?|\d+(?:['\u2019.,\u066b\u066c]\d+)*)"
)
"""A sign, and digits with what may stand between them."""
_ONE_NUMBER = re.compile(
    r"([1-9]\d{0,2}([.,'\u2019\u066c\u00a0\u202f\u2009 ])\d{3}(?:\2\d{3})*|[1-9]\d?(?:,\d{2})+,\d{3}|\d+)(?:[.,\u066b](\d+))?"
)
"""In groups of three, or as in India of two before the last three, if it can be read so, and decimals; a date or a version is none."""
_UNKNOWN = re.compile(r"<unk>|\u2047|\ufffd")
_LEAST_COPIED = 4
"""Letters of a word that counts as left in the source's language; shorter ones are alike in many languages."""
_SHORTEST, _LONGEST = 2 / 3, 3 / 2
_LEAST_DIFFERENCE = 3
"""Words, or characters without spaces between them, by which a length must differ besides."""
_LONGEST_WORD = 12
"""Characters of what may be one word in a script that is not known to be written without spaces."""


@dataclass(frozen=True, slots=True)
class Change:
    """One sentence that two systems translate differently; ``difference`` is in chrF, the other minus the one."""

    line: int
    source: str
    reference: str
    one: str
    other: str
    difference: float
    kinds: tuple[str, ...]
    """One of :data:`KINDS` at least."""
    faults: tuple[frozenset[str], frozenset[str]]
    """Of which kinds each of the two has a fault."""


@dataclass(frozen=True, slots=True)
class Changes:
    """All sentences that two systems translate differently, in the order of the text."""

    sentences: int
    found: tuple[Change, ...]
    negation_known: bool
    """Whether the words that say no are known in this language."""

    def of_kind(self, kind: str) -> list[Change]:
        """Return the changes of one kind, those that weigh most first."""
        some = [each for each in self.found if kind in each.kinds]
        return sorted(some, key=lambda each: -abs(each.difference))

    def mended(self, kind: str) -> tuple[int, int]:
        """Return in how many sentences only the first system has the fault, and in how many only the other."""
        both = [each.faults for each in self.found]
        return (
            sum(kind in one and kind not in other for one, other in both),
            sum(kind in other and kind not in one for one, other in both),
        )


def find_changes(
    sources: Sequence[str],
    references: Sequence[str],
    one: Sequence[str],
    other: Sequence[str],
    *,
    target_lang: str | None = None,
) -> Changes:
    """Compare two systems' outputs for the same sentences.

    Raises:
        CorpusError: lists of different lengths.
    """
    if len({len(sources), len(references), len(one), len(other)}) != 1:
        raise CorpusError(
            f"{len(sources):,} sources, {len(references):,} references and outputs of {len(one):,} and {len(other):,} "
            "lines cannot be compared; all must have as many"
        )
    pattern = NEGATIONS.get(language_code(target_lang) or "")
    negation = re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.IGNORECASE) if pattern else None
    found = []
    rows = zip(sources, references, one, other, strict=True)
    for line, (source, reference, ours, theirs) in enumerate(rows, 1):
        if ours == theirs:
            continue
        # The same letter may be written as one character or as two, and the rules compare characters.
        given = _composed(source), _composed(reference)
        signs = [_signs(*given, _composed(text), negation) for text in (ours, theirs)]
        kinds = [kind for kind in signs[0] if signs[0][kind] != signs[1][kind]]
        change = Change(
            line=line,
            source=source,
            reference=reference,
            one=ours,
            other=theirs,
            difference=sentence_chrf(theirs, [reference]) - sentence_chrf(ours, [reference]),
            kinds=tuple(kinds) or ("other",),
            faults=(_faulty(signs[0]), _faulty(signs[1])),
        )
        found.append(change)
    return Changes(len(sources), tuple(found), negation is not None)


def is_without_spaces(text: str) -> bool:
    """Tell whether a text is of a script without spaces, by its characters, or one word so long that it is hardly one."""
    words = len(text.split())
    return len(units_of(text)) >= 2 * max(1, words) or (words < 2 and len(text) > _LONGEST_WORD)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _signs(
    source: str, reference: str, output: str, negation: re.Pattern[str] | None
) -> dict[str, tuple[str, ...]]:
    """Return what is wrong with an output, by kind; nothing for a kind is no fault."""
    return {
        "numbers": _wrong_numbers(reference, output),
        "names": _missing_names(source, reference, output),
        "negation": _wrong_negation(reference, output, negation),
        "length": _wrong_length(reference, output),
        "unknown words": _unknown_words(source, reference, output),
    }


def _faulty(signs: dict[str, tuple[str, ...]]) -> frozenset[str]:
    return frozenset(kind for kind, wrong in signs.items() if wrong)


def _wrong_numbers(reference: str, output: str) -> tuple[str, ...]:
    wanted, written = Counter(_numbers(reference)), Counter(_numbers(output))
    missing, added = wanted - written, written - wanted
    return (*(f"-{n}" for n in sorted(missing)), *(f"+{n}" for n in sorted(added)))


def _numbers(text: str) -> list[str]:
    """Return the numbers as Python writes them, whether they have a decimal point or comma; ``2.50`` is ``2.5``.

    One point or comma with three digits behind it, as in ``1.000``, groups. Of dates and versions each part is a number.
    """
    found = []
    for sign, digits in _NUMBER.findall(text):
        plain = "".join(str(unicodedata.decimal(each, each)) for each in digits)
        if one := _ONE_NUMBER.fullmatch(plain):
            whole, decimals = "".join(_DIGITS.findall(one[1])), (one[3] or "").rstrip("0")
            value = (whole.lstrip("0") or "0") + (f".{decimals}" if decimals else "")
            found.append(f"-{value}" if sign else value)
        else:
            found += [part.lstrip("0") or "0" for part in _DIGITS.findall(plain)]
    return found


def _missing_names(source: str, reference: str, output: str) -> tuple[str, ...]:
    """A word with a capital that source and reference have alike is taken for a name."""
    names = {word for word in _words(reference) if word[0].isupper()} & set(_words(source))
    return tuple(sorted(names - set(_words(output))))


def _wrong_negation(
    reference: str, output: str, negation: re.Pattern[str] | None
) -> tuple[str, ...]:
    if negation is None:
        return ()
    wanted, written = bool(negation.search(reference)), bool(negation.search(output))
    return () if wanted == written else ("missing",) if wanted else ("added",)


def _wrong_length(reference: str, output: str) -> tuple[str, ...]:
    wanted, written = len(reference.split()), len(output.split())
    if is_without_spaces(reference):
        wanted, written = len(reference), len(output)
    if abs(wanted - written) < _LEAST_DIFFERENCE:
        return ()
    if written < _SHORTEST * wanted:
        return ("short",)
    return ("long",) if written > _LONGEST * wanted else ()


def _unknown_words(source: str, reference: str, output: str) -> tuple[str, ...]:
    expected = {word.casefold() for word in _words(reference)}
    here = {word.casefold() for word in _words(source)} - expected
    copied = {word for word in map(str.casefold, _words(output)) if word in here}
    long = sorted(word for word in copied if len(word) >= _LEAST_COPIED)
    return (*long, *_UNKNOWN.findall(output))


def _words(text: str) -> list[str]:
    """Find words; a mark upon a letter, such as a vowel sign, is of the word."""
    letters = "".join("x" if unicodedata.category(sign)[0] == "M" else sign for sign in text)
    return [text[found.start() : found.end()] for found in _WORD.finditer(letters)]
