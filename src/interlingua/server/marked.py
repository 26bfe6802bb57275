"""Texts with markup through one model or two: elements keep their words, and everything else stays as it is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from interlingua.requests.sentences import Sentence
from interlingua.server.engine import Engine, ServedModel
from interlingua.server.markup import (
    Dialect,
    Run,
    escape_like,
    loses_entities,
    read_markup,
    without_entities,
)
from interlingua.server.placement import Atom, atoms_of, place
from interlingua.server.translation import (
    cut_for,
    find_corrections,
    is_translatable,
    translate_sentences,
)

__all__ = ["translate_markup", "translate_runs"]

_PAIRS_AT_ONCE = 16
"""Sentences whose words are linked in one step of the worker, which does others in between."""

_BLANKS = str.maketrans("\n\r\f", "   ")

Links = tuple[list[tuple[int, int]], list[tuple[int, int]]]
"""Of the words of a sentence: the sure ones, and the spare ones."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a run, and what it became."""

    sentence: Sentence
    found: str
    is_translated: bool


async def translate_markup(
    engine: Engine, way: Sequence[ServedModel], documents: Sequence[str], dialect: Dialect
) -> list[str]:
    """Translate the text of each document.

    Raises:
        Refusal: too much waits already, or a model cannot do it.
    """
    done = list(documents)
    for model in way:
        pieces = [read_markup(document, dialect) for document in done]
        found = await _translate_pieces(engine, model, pieces)
        runs = [run for of_one in pieces for run in of_one if isinstance(run, Run)]
        lost = [
            number
            for number, (run, written) in enumerate(zip(runs, found, strict=True))
            if loses_entities(run, written, dialect)
        ]
        kept = [read_markup(runs[number].source, dialect, keep_words=True) for number in lost]
        again = _joined(kept, await _translate_pieces(engine, model, kept))
        for number, written in zip(lost, again, strict=True):
            found[number] = written
        done = _joined(pieces, found)
    return done


async def _translate_pieces(
    engine: Engine, model: ServedModel, documents: Sequence[Sequence[str | Run]]
) -> list[str]:
    """Translate the runs of all documents."""
    runs = [piece for pieces in documents for piece in pieces if isinstance(piece, Run)]
    return await translate_runs(engine, model, runs)


def _joined(documents: Sequence[Sequence[str | Run]], found: Sequence[str]) -> list[str]:
    """Put documents together with what their runs became."""
    texts = iter(found)
    return [
        "".join(next(texts) if isinstance(piece, Run) else piece for piece in pieces)
        for pieces in documents
    ]


async def translate_runs(engine: Engine, model: ServedModel, runs: Sequence[Run]) -> list[str]:
    """Translate each run and write it with its elements.

    Raises:
        Refusal: too much waits already, or the model cannot do it.
    """
    plain = [without_entities(run) for run in runs]
    told = await find_corrections(engine, model, [each.text if each else "" for each in plain])
    others = [run for run, each in zip(runs, told, strict=True) if each is None]
    found = iter(await _translate_uncorrected(engine, model, others))
    return [
        escape_like(each, seen.entities) if seen and each is not None else next(found)
        for seen, each in zip(plain, told, strict=True)
    ]


async def _translate_uncorrected(
    engine: Engine, model: ServedModel, runs: Sequence[Run]
) -> list[str]:
    cut = [_cut(model, run) for run in runs]
    asked = [each.text for parts in cut for each in parts if is_translatable(model, each.text)]
    found = await translate_sentences(engine, model, asked, {})
    texts = iter([best for best, *_ in found])
    translated = [
        [
            _Sentence(each, next(texts), True)
            if is_translatable(model, each.text)
            else _Sentence(each, each.text, False)
            for each in parts
        ]
        for parts in cut
    ]
    marked = [sentences for run, sentences in zip(runs, translated, strict=True) if run.nodes]
    pairs = [
        (each.sentence.text, each.found)
        for sentences in marked
        for each in sentences
        if each.is_translated
    ]
    links = iter(await _link(engine, model, pairs))
    return [
        _with_elements(run, sentences, links) if run.nodes else _without(run, sentences)
        for run, sentences in zip(runs, translated, strict=True)
    ]


def _cut(model: ServedModel, run: Run) -> list[Sentence]:
    """Cut a run into sentences; line breaks that are no more than blanks part none, and stay where they are between two."""
    if not run.folds:
        return cut_for(model, run.text)
    sentences, at = [], 0
    for each in cut_for(model, run.text.translate(_BLANKS)):
        start, end = at + len(each.before), at + len(each.before) + len(each.text)
        before, at = run.text[at:start], end + len(each.after)
        sentences.append(Sentence(before, each.text, run.text[end:at]))
    return sentences


async def _link(
    engine: Engine, model: ServedModel, pairs: Sequence[tuple[str, str]]
) -> list[Links]:
    links: list[Links] = []
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        some = list(pairs[start : start + _PAIRS_AT_ONCE])
        asked = {"do": "align", "model": model.number, "pairs": some}
        links += await engine.ask(asked, is_let_in=True)
    return links


def _without(run: Run, sentences: Sequence[_Sentence]) -> str:
    text = "".join(f"{s.sentence.before}{s.found}{s.sentence.after}" for s in sentences)
    return escape_like(text, run.entities)


def _with_elements(run: Run, sentences: Sequence[_Sentence], links: Iterator[Links]) -> str:
    atoms: list[Atom] = []
    offset, space = 0, ""
    for each in sentences:
        sentence = each.sentence
        space += sentence.before
        offset += len(sentence.before)
        if sentence.text:
            sure, spare = (
                next(links)
                if each.is_translated
                else ([(n, n) for n in range(len(sentence.text.split()))], [])
            )
            found = atoms_of(sentence.text, each.found, sure, spare, offset=offset, before=space)
            atoms += found
            space = sentence.after if found else space + sentence.after
        else:
            space += sentence.after
        offset += len(sentence.text) + len(sentence.after)
    return place(run, atoms, space)
