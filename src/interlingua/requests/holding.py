"""Translate, look whether the translation has what was demanded, and translate again where it has not.

0. what is nothing but placeholders is left as it is;
1. as the model writes it: what already holds its terms and placeholders stays as it is;
2. with the missing phrases forced (``decoding.forced``);
3. where placeholders are still lost: piece by piece between them, which loses none.

What could not be held all the same is told in the flags.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from interlingua.corpus.placeholders import keeps_placeholders, split_at_placeholders
from interlingua.corpus.words import core_of, holds_phrase
from interlingua.decoding.options import SearchOptions
from interlingua.requests.demands import Demand, demand_of, holds_all
from interlingua.requests.request import Place, Request
from interlingua.requests.translation import Translation, join_parts, without_repeats

__all__ = ["Spelling", "flag_banned", "hold"]

LONGEST_FORCED = 8
"""Symbols of placeholders that are forced into one translation; with more, the text is cut at them at once."""

WIDEST_FORCED = 20
"""Slots of the widest beam that forced phrases get."""

Phrases = Sequence[tuple[int, ...]]
Attempt = Callable[
    [Sequence[str], Request, Sequence[Place], Sequence[Phrases] | None], list[Translation]
]
"""Texts, request, the place of each, phrases that each must hold -> translations."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a phrase is written by the model."""

    within: Callable[[str], tuple[int, ...]]
    """Its ids inside a sentence."""
    normalise: Callable[[str], str]
    """The form in which its tokenizer gives it back."""
    unknown_id: int
    """The symbol of what it has no letters for, which is never forced."""

    def can_write(self, phrase: str) -> bool:
        """Whether a phrase has a spelling."""
        return self.unknown_id not in self.within(phrase)


def hold(
    texts: Sequence[str],
    request: Request,
    places: Sequence[Place],
    *,
    attempt: Attempt,
    spelling: Spelling,
    left_alone: Callable[[str], bool] = lambda _: False,
) -> list[Translation]:
    """Translate ``texts``, which stand at ``places``, so that each has what it demands.

    What is ``left_alone`` is not translated, unless a term is wanted of it.
    """
    request = replace(request, ban=tuple(map(spelling.normalise, request.ban)))
    demands = [demand_of(text, request, spelling.normalise) for text in texts]
    forced_words = set(map(spelling.normalise, request.force))
    bare = {
        n
        for n, text in enumerate(texts)
        if left_alone(text) and forced_words.issuperset(demands[n].terms)
    }
    done = _as_written(texts, request, places, attempt, bare)
    lacking = [
        place
        for place, demand in enumerate(demands)
        if demand.phrases
        and place not in bare
        and "empty" not in done[place].flags
        and not _holds(done[place], demand, request.n_best)
    ]
    possible = {place: demands[place].only(spelling.can_write) for place in lacking}
    done = _force_missing(texts, request, places, attempt, spelling, done=done, wanted=possible)
    for place in lacking:
        if not keeps_placeholders(demands[place].placeholders, done[place].text):
            done[place] = _between(texts[place], request, places[place], attempt, spelling)
    for place, demand in enumerate(demands):
        if demand.phrases or request.ban:
            done[place] = _report(done[place], demand, request)
    return done


def _as_written(
    texts: Sequence[str],
    request: Request,
    places: Sequence[Place],
    attempt: Attempt,
    bare: Collection[int],
) -> list[Translation]:
    """Translate each text as the model writes it, but those whose numbers are in ``bare``: they stay as they are."""
    asked = [n for n in range(len(texts)) if n not in bare]
    written = attempt([texts[n] for n in asked], request, [places[n] for n in asked], None)
    found = dict(zip(asked, written, strict=True))
    return [found[n] if n in found else _unchanged(texts[n], request) for n in range(len(texts))]


def _force_missing(
    texts: Sequence[str],
    request: Request,
    places: Sequence[Place],
    attempt: Attempt,
    spelling: Spelling,
    *,
    done: list[Translation],
    wanted: Mapping[int, Demand],
) -> list[Translation]:
    """Return ``done`` with those that lack what is ``wanted`` of them translated again, unless it has too many placeholders."""
    phrases = {n: tuple(map(spelling.within, demand.phrases)) for n, demand in wanted.items()}
    short = [
        n
        for n, demand in wanted.items()
        if not demand.placeholders or _size(phrases[n]) <= LONGEST_FORCED
    ]
    # What waits for its phrase likes to go round in circles; but where all do, they may.
    usual = request.search.max_repeats
    for most in dict.fromkeys((usual or 3, usual)):
        missing = {n: phrases[n] for n in short if not _holds(done[n], wanted[n], request.n_best)}
        again = _force(texts, request, places, attempt, wanted=missing, max_repeats=most)
        done = [again.get(n, found) for n, found in enumerate(done)]
    return done


def _force(
    texts: Sequence[str],
    request: Request,
    places: Sequence[Place],
    attempt: Attempt,
    *,
    wanted: Mapping[int, Phrases],
    max_repeats: int,
) -> dict[int, Translation]:
    """Translate the texts whose numbers are in ``wanted`` with their phrases forced.

    Only those with the same beam are searched together, so that no text gets another one for what its neighbours lack.
    """
    alike: dict[int, list[int]] = defaultdict(list)
    for n, phrases in wanted.items():
        alike[_beam_for(phrases, request.search.beam_size)].append(n)
    found: dict[int, Translation] = {}
    for beam_size, some in alike.items():
        again = attempt(
            [texts[n] for n in some],
            _widen(request, beam_size, max_repeats),
            [places[n] for n in some],
            [wanted[n] for n in some],
        )
        found.update(zip(some, map(_constrained, again), strict=True))
    return found


def _constrained(found: Translation) -> Translation:
    others = tuple(_flag(each, "constrained") for each in found.alternatives)
    return replace(_flag(found, "constrained"), alternatives=others)


def _between(
    text: str, request: Request, place: Place, attempt: Attempt, spelling: Spelling
) -> Translation:
    """Translate what stands between the placeholders of ``text``, and leave them where they are.

    The first piece begins with the prefix, the longest holds the forced words. An alternative has an alternative of one
    piece, the nearest of all.
    """
    pieces = split_at_placeholders(text)
    # Quotes and brackets stay where they are: one that is lost would join a number to the word before it.
    cores = [piece.text[slice(*core_of(piece.text) or (0, 0))] for piece in pieces]
    words = [
        n for n, piece in enumerate(pieces) if not piece.locked and any(map(str.isalpha, cores[n]))
    ]
    plain = replace(
        request,
        lock=False,
        prefix="",
        force=(),
        search=replace(request.search, min_length=0),
    )
    longest = max(words, key=lambda n: len(cores[n]), default=None)
    wishes = {
        n: (request.prefix if n == 0 else "", request.force if n == longest else ()) for n in words
    }
    found: dict[int, Translation] = {}
    for prefix, force in dict.fromkeys(wishes.values()):
        alike = [n for n in words if wishes[n] == (prefix, force)]
        parts = hold(
            [cores[n] for n in alike],
            replace(plain, prefix=prefix, force=force),
            [(place, n) for n in alike],
            attempt=attempt,
            spelling=spelling,
        )
        found.update(zip(alike, parts, strict=True))

    def joined(parts: Mapping[int, Translation]) -> Translation:
        texts = [
            piece.text.replace(cores[n], _as_a_part(parts[n].text), 1) if n in parts else piece.text
            for n, piece in enumerate(pieces)
        ]
        if request.prefix and 0 not in parts:
            texts.insert(0, f"{request.prefix} ")
        return join_parts("".join(texts), [parts[n] for n in words], "placeholders-split")

    changes = sorted(
        (found[n].score - other.score, n, rank)
        for n in words
        for rank, other in enumerate(found[n].alternatives)
    )
    others = [joined(found | {n: found[n].alternatives[rank]}) for _, n, rank in changes]
    best, *others = without_repeats([joined(found), *others])
    return replace(best, alternatives=tuple(others[: request.search.n_best - 1]))


def _unchanged(text: str, request: Request) -> Translation:
    """Leave a text as it is, behind what it must begin with and hold."""
    lead = [] if text.startswith(request.prefix) else [request.prefix]
    lead += [phrase for phrase in request.force if not holds_phrase(text, phrase)]
    return join_parts(" ".join([*lead, text]), [], "unchanged")


def _as_a_part(translation: str) -> str:
    """Take away the full stop that a model adds to what is no whole sentence."""
    return translation[:-1].rstrip() if translation.endswith(".") else translation


def _flag(found: Translation, flag: str) -> Translation:
    return replace(found, flags=(*found.flags, flag))


def _holds(found: Translation, demand: Demand, n_best: int) -> bool:
    """Whether a translation and so many alternatives as are shown hold what they must; others were looked at to choose or to judge it."""
    return all(demand.is_met(each.text) for each in (found, *found.alternatives[: n_best - 1]))


def _report(found: Translation, demand: Demand, request: Request) -> Translation:
    """Add to the flags of a translation and of its alternatives what is still not as it was asked for."""
    marks = {
        "term-missed": not holds_all(found.text, demand.terms),
        "placeholders-lost": not keeps_placeholders(demand.placeholders, found.text),
        "banned-word": _holds_any(found.text, request.ban),
    }
    flags = (*found.flags, *(mark for mark, holds in marks.items() if holds))
    return replace(
        found,
        flags=tuple(dict.fromkeys(flags)),
        placeholders=demand.placeholders,
        alternatives=tuple(_report(each, demand, request) for each in found.alternatives),
    )


def flag_banned(found: Translation, request: Request, spelling: Spelling) -> Translation:
    """Flag a translation that was not held to anything else for a banned word that stands in it."""
    is_there = _holds_any(found.text, map(spelling.normalise, request.ban))
    return _flag(found, "banned-word") if is_there else found


def _holds_any(text: str, phrases: Iterable[str]) -> bool:
    """Whether any of ``phrases`` stands in ``text``, whatever its case."""
    folded = text.casefold()
    return any(holds_phrase(folded, phrase.casefold()) for phrase in phrases)


def _size(phrases: Phrases) -> int:
    return sum(len(phrase) for phrase in phrases)


def _beam_for(phrases: Phrases, usual: int) -> int:
    """Return a beam with a slot for every bank of the phrases beyond the usual ones; see ``decoding.forced``."""
    return max(usual, min(usual + _size(phrases) + 1, WIDEST_FORCED))


def _widen(request: Request, beam_size: int, max_repeats: int) -> Request:
    """Search with a wider beam, without samples and groups, for which forced phrases leave no room."""
    usual = request.search
    search = SearchOptions(
        beam_size=beam_size,
        n_best=usual.n_best,
        length_penalty=usual.length_penalty,
        coverage_penalty=usual.coverage_penalty,
        min_length=usual.min_length,
        max_length=usual.max_length,
        no_repeat_ngram=usual.no_repeat_ngram,
        max_repeats=max_repeats,
    )
    return replace(request, search=search)
