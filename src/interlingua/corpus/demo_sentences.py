"""Sentences of the demo grammar, drawn by chance: six shapes, each in both languages.

A sentence is one choice of shape, words, tense and mood; both languages are built from that choice, and the
Romanian one always shows it completely. So every Romanian sentence has exactly one translation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from interlingua.corpus.demo_clauses import (
    PRONOUNS,
    Mood,
    english_clause,
    romanian_verb,
    subject_pronoun,
)
from interlingua.corpus.demo_lexicon import (
    ADJECTIVES,
    DATIVES,
    LIKE,
    NOUNS,
    POSSESSIVES,
    TIMES,
    VERBS,
    Adjective,
    Kind,
    Noun,
    Tense,
    Verb,
)
from interlingua.corpus.demo_phrases import Article, NounPhrase, noun_phrase, possessor
from interlingua.corpus.dice import Dice

__all__ = ["DemoSentence", "Triple", "draw_sentence", "fitting_adjectives"]

Triple = tuple[str, str, str]
Item = TypeVar("Item")

_HUMANS = tuple(noun for noun in NOUNS if noun.kind == "human")
_PLACES = tuple(noun for noun in NOUNS if noun.kind == "place")
_TENSES: tuple[tuple[int, Tense], ...] = ((5, "present"), (3, "past"), (2, "future"))
_MOODS: tuple[tuple[int, Mood], ...] = ((6, "statement"), (2, "negation"), (2, "question"))
_ARTICLES: tuple[tuple[int, Article | None], ...] = (
    (30, "the"), (22, "a"), (10, "this"), (6, "that"), (6, "two"), (26, None),
)  # fmt: skip
_FREQUENCIES = (("mereu", "always"), ("des", "often"), ("rar", "rarely"))
_OBJECT_PRONOUNS = (
    ("mă", "me", 0), ("te", "you", 1), ("îl", "him", 2), ("o", "her", 2),
    ("ne", "us", 3), ("vă", "you", 4), ("îi", "them", 5), ("le", "them", 5),
)  # fmt: skip
_LIKERS = {0: "I", 1: "you", 3: "we", 4: "you"}
_BE = {
    "present": (("este", "is"), ("sunt", "are")),
    "past": (("era", "was"), ("erau", "were")),
    "future": (("va fi", "will"), ("vor fi", "will")),
}


@dataclass(frozen=True, slots=True)
class DemoSentence:
    """A sentence and its translation, with each (noun, adjective, verb) that occurs together in it."""

    romanian: str
    english: str
    triples: tuple[Triple, ...]

    @property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The (noun, adjective) part of each triple."""
        return frozenset((noun, adjective) for noun, adjective, _ in self.triples)


@dataclass(frozen=True, slots=True)
class _Subject:
    """A subject in both languages; ``pair`` is the noun and adjective in it, if any."""

    romanian: str
    english: str
    person: int
    pair: tuple[str, str] | None


def draw_sentence(dice: Dice) -> DemoSentence:
    """Draw one sentence; every sentence of the grammar can come."""
    shapes: tuple[tuple[int, Callable[[Dice], DemoSentence]], ...] = (
        (46, _with_object), (10, _with_object_pronoun), (14, _with_place),
        (14, _liking), (9, _being), (7, _comparing),
    )  # fmt: skip
    return dice.weighted(shapes)(dice)


def fitting_adjectives(noun: Noun) -> tuple[Adjective, ...]:
    """Return the adjectives that go with a noun."""
    return tuple(adjective for adjective in ADJECTIVES if noun.kind in adjective.kinds)


def _with_object(dice: Dice) -> DemoSentence:
    """Fata o așteaptă pe vecina tristă: the girl waits for the sad neighbour."""
    verb = dice.one_of([verb for verb in VERBS if verb.objects])
    tense, mood = dice.weighted(_TENSES), dice.weighted(_MOODS)
    subject = _draw_subject(dice, verb, tense, mood, adjective=0.3)
    kind = dice.one_of(sorted(verb.objects))
    what = _draw_phrase(dice, _of_kinds(frozenset({kind})), adjective=0.75, mood=mood)
    clitic, romanian = "", what.romanian
    if kind == "human" and what.specific:
        feminine = what.noun.gender == "f"
        clitic = ("le" if feminine else "îi") if what.plural else ("o" if feminine else "îl")
        romanian = f"pe {what.after_preposition}"
    return _clause(
        dice, subject, verb, tense, mood, clitic=clitic,
        romanian=romanian, english=what.english, pairs=[subject.pair, what.pair],
    )  # fmt: skip


def _with_object_pronoun(dice: Dice) -> DemoSentence:
    """Bărbatul înalt ne ajută: the tall man helps us."""
    verb = dice.one_of([verb for verb in VERBS if "human" in verb.objects])
    tense, mood = dice.weighted(_TENSES), dice.weighted(_MOODS)
    subject = _draw_subject(dice, verb, tense, mood, adjective=0.75)
    clitic, english = dice.one_of(
        [
            (clitic, english)
            for clitic, english, person in _OBJECT_PRONOUNS
            if person in (2, 5) or person % 3 != subject.person % 3
        ]
    )
    return _clause(
        dice, subject, verb, tense, mood, clitic=clitic,
        romanian="", english=english, pairs=[subject.pair],
    )  # fmt: skip


def _with_place(dice: Dice) -> DemoSentence:
    """În parcul mare aleargă doi câini: two dogs run in the big park."""
    verb = dice.one_of([verb for verb in VERBS if not verb.objects])
    tense, mood = dice.weighted(_TENSES), dice.weighted(_MOODS)
    subject = _draw_subject(dice, verb, tense, mood, adjective=0.55)
    place = _draw_phrase(dice, _PLACES, adjective=0.6, mood=mood, plural=False, count=False)
    into = "într-" if place.after_preposition.startswith(("un ", "o ")) else "în "
    romanian, english = f"{into}{place.after_preposition}", f"in {place.english}"
    pairs = [subject.pair, place.pair]
    if mood == "statement" and subject.person in (2, 5) and dice.chance(0.4):
        romanian = f"{romanian} {romanian_verb(verb, tense, subject.person)} {subject.romanian}"
        english = english_clause(
            subject.english, subject.person, verb, tense, mood, adverb="", rest=english
        )
        return _finish(romanian, english, mood, verb, pairs)
    return _clause(
        dice, subject, verb, tense, mood, clitic="", romanian=romanian, english=english, pairs=pairs
    )


def _liking(dice: Dice) -> DemoSentence:
    """Fetei îi place cartea nouă: the girl likes the new book. In Romanian the book is the subject."""
    tense, mood = dice.weighted(_TENSES), dice.weighted(_MOODS)
    what = _draw_phrase(
        dice, _of_kinds(LIKE.objects), adjective=0.8, mood=mood, count=False, indefinite=False
    )
    if dice.chance(0.5):
        person = dice.one_of([1, 4] if mood == "question" else sorted(DATIVES))
        who, clitic, liker = "", DATIVES[person], _LIKERS[person]
    else:
        human, plural = dice.one_of(_HUMANS), dice.chance(0.35)
        who = human.genitive_plural if plural else human.genitive
        liker = f"the {human.english_plural if plural else human.english}"
        clitic, person = ("le", 5) if plural else ("îi", 2)
    verb = romanian_verb(LIKE, tense, what.person, clitic=clitic, negative=mood == "negation")
    english = english_clause(liker, person, LIKE, tense, mood, adverb="", rest=what.english)
    return _finish(_join(who, verb, what.romanian), english, mood, LIKE, [what.pair])


def _being(dice: Dice) -> DemoSentence:
    """Casele noastre nu erau noi: our houses were not new."""
    tense, mood = dice.weighted(_TENSES), dice.weighted(_MOODS)
    what = _draw_phrase(dice, NOUNS, adjective=0.0, mood=mood, count=False, indefinite=False)
    adjective = dice.one_of(fitting_adjectives(what.noun))
    return _state(what, tense, mood, adjective, what.agreeing(adjective), adjective.english)


def _comparing(dice: Dice) -> DemoSentence:
    """Casa mea este mai veche decât mașina: my house is older than the car."""
    tense, mood = dice.weighted(_TENSES), dice.weighted(_MOODS)
    what = _draw_phrase(dice, NOUNS, adjective=0.0, mood=mood, count=False, indefinite=False)
    others = [noun for noun in _of_kinds(frozenset({what.noun.kind})) if noun != what.noun]
    other = _draw_phrase(dice, others, adjective=0.0, mood=mood, count=False, indefinite=False)
    fitting = [adjective for adjective in fitting_adjectives(what.noun) if adjective.comparative]
    adjective = dice.one_of(fitting)
    return _state(
        what, tense, mood, adjective, f"mai {what.agreeing(adjective)} decât {other.romanian}",
        f"{adjective.comparative} than {other.english}",
    )  # fmt: skip


def _state(
    what: NounPhrase, tense: Tense, mood: Mood, adjective: Adjective, romanian: str, english: str
) -> DemoSentence:
    romanian_be, english_be = _BE[tense][what.plural]
    negation = "nu " if mood == "negation" else ""
    rest = f"be {english}" if tense == "future" else english
    clause = {
        "statement": f"{what.english} {english_be} {rest}",
        "negation": f"{what.english} {english_be} not {rest}",
        "question": f"{english_be} {what.english} {rest}",
    }[mood]
    pair = (what.noun.bare, adjective.masculine)
    return _finish(
        f"{what.romanian} {negation}{romanian_be} {romanian}", clause, mood, None, [pair]
    )


def _clause(
    dice: Dice,
    subject: _Subject,
    verb: Verb,
    tense: Tense,
    mood: Mood,
    *,
    clitic: str,
    romanian: str,
    english: str,
    pairs: list[tuple[str, str] | None],
) -> DemoSentence:
    """Put subject, verb and the rest in order, and perhaps say when or how often."""
    time, when, frequency, often = "", "", "", ""
    if tense == "present" and mood != "negation" and dice.chance(0.25):
        frequency, often = dice.one_of(_FREQUENCIES)
    elif dice.chance(0.2):
        time, when = dice.one_of(TIMES[tense])
    negative = mood == "negation"
    verb_group = romanian_verb(verb, tense, subject.person, clitic=clitic, negative=negative)
    return _finish(
        _join(time, subject.romanian, verb_group, frequency, romanian),
        english_clause(
            subject.english, subject.person, verb, tense, mood,
            adverb=often, rest=_join(english, when),
        ),
        mood, verb, pairs,
    )  # fmt: skip


def _draw_subject(
    dice: Dice, verb: Verb, tense: Tense, mood: Mood, *, adjective: float
) -> _Subject:
    if dice.chance(0.4):
        fitting = [who for who in PRONOUNS if mood != "question" or who.person not in (0, 3)]
        who = dice.one_of(fitting)
        return _Subject(subject_pronoun(who, verb, tense), who.english, who.person, None)
    phrase = _draw_phrase(dice, _of_kinds(verb.subjects), adjective=adjective, mood=mood)
    return _Subject(phrase.romanian, phrase.english, phrase.person, phrase.pair)


def _draw_phrase(
    dice: Dice,
    nouns: tuple[Noun, ...] | list[Noun],
    *,
    adjective: float,
    mood: Mood,
    plural: bool | None = None,
    count: bool = True,
    indefinite: bool = True,
) -> NounPhrase:
    """Draw a noun with article or owner, and with an adjective as often as ``adjective`` says."""
    noun = dice.one_of(nouns)
    article = dice.weighted(_ARTICLES)
    is_plural = dice.chance(0.35) if plural is None else plural
    if article == "two":
        article, is_plural = ("two", True) if count else ("the", is_plural)
    if article == "a" and (not indefinite or (is_plural and mood != "statement")):
        article = "the"
    chosen = dice.one_of(fitting_adjectives(noun)) if dice.chance(adjective) else None
    if article is not None or not noun.owned:
        return noun_phrase(noun, is_plural, article or "the", chosen)
    if noun.kind == "human" or dice.chance(0.5):
        owner = possessor(dice.one_of(POSSESSIVES), False)
    else:
        owner = possessor(dice.one_of(_HUMANS), dice.chance(0.3))
    return noun_phrase(noun, is_plural, "the", chosen, owner)


def _finish(
    romanian: str,
    english: str,
    mood: Mood,
    verb: Verb | None,
    pairs: list[tuple[str, str] | None],
) -> DemoSentence:
    mark = "?" if mood == "question" else "."
    infinitive = verb.infinitive if verb else "fi"
    triples = tuple((*pair, infinitive) for pair in pairs if pair)
    return DemoSentence(_capital(romanian) + mark, _capital(english) + mark, triples)


def _of_kinds(kinds: frozenset[Kind]) -> tuple[Noun, ...]:
    return tuple(noun for noun in NOUNS if noun.kind in kinds)


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _join(*words: str) -> str:
    return " ".join(word for word in words if word)
