"""Verbs and clauses of the demo grammar: tense, person, negation, questions, and pronouns before the verb."""

from dataclasses import dataclass
from typing import Literal

from interlingua.corpus.demo_lexicon import CLITICS, Tense, Verb

__all__ = [
    "PRONOUNS",
    "Mood",
    "SubjectPronoun",
    "english_clause",
    "romanian_verb",
    "says_who",
    "subject_pronoun",
]

Mood = Literal["statement", "negation", "question"]

_PAST = ("am", "ai", "a", "am", "ați", "au")
_FUTURE = ("voi", "vei", "va", "vom", "veți", "vor")


@dataclass(frozen=True, slots=True)
class SubjectPronoun:
    """A subject pronoun; persons are 0 to 5: I, you, he or she, we, you, they."""

    romanian: str
    english: str
    person: int


PRONOUNS: tuple[SubjectPronoun, ...] = (
    SubjectPronoun("eu", "I", 0),
    SubjectPronoun("tu", "you", 1),
    SubjectPronoun("el", "he", 2),
    SubjectPronoun("ea", "she", 2),
    SubjectPronoun("noi", "we", 3),
    SubjectPronoun("voi", "you", 4),
    SubjectPronoun("ei", "they", 5),
    SubjectPronoun("ele", "they", 5),
)


def romanian_verb(
    verb: Verb, tense: Tense, person: int, *, clitic: str = "", negative: bool = False
) -> str:
    """Return the verb with what stands around it: nu îl vede, nu l-a văzut, a văzut-o, îl va vedea."""
    if tense == "past" and clitic == "o":
        words = [_PAST[person], f"{verb.participle}-o"]
    elif tense == "past" and clitic:
        words = [f"{CLITICS[clitic]}-{_PAST[person]}", verb.participle]
    else:
        words = [clitic, *_plain_verb(verb, tense, person)]
    return " ".join(word for word in ["nu" if negative else "", *words] if word)


def says_who(verb: Verb, tense: Tense, person: int) -> bool:
    """Tell whether the verb alone shows its person, so that the subject pronoun can be dropped.

    ``văd`` is both "I see" and "they see", ``am văzut`` both "I saw" and "we saw": there the pronoun stays.
    The third person always keeps its subject, because the verb does not show its gender.
    """
    if person in (2, 5):
        return False
    forms = [_plain_verb(verb, tense, other) for other in range(6)]
    return forms.count(forms[person]) == 1


def subject_pronoun(pronoun: SubjectPronoun, verb: Verb, tense: Tense) -> str:
    """Return the Romanian subject pronoun, or nothing where the verb says who."""
    return "" if says_who(verb, tense, pronoun.person) else pronoun.romanian


def english_clause(
    subject: str, person: int, verb: Verb, tense: Tense, mood: Mood, *, adverb: str, rest: str
) -> str:
    """Return an English clause without its final mark: "does the boy often look for the old dog"."""
    third = person == 2
    finite = {
        "present": verb.third if third else verb.english,
        "past": verb.past,
        "future": f"will {verb.english}",
    }[tense]
    helper = {"present": "does" if third else "do", "past": "did", "future": "will"}[tense]
    words = {
        "statement": [subject, adverb, finite],
        "negation": [subject, helper, "not", adverb, verb.english],
        "question": [helper, subject, adverb, verb.english],
    }[mood]
    return " ".join(word for word in [*words, verb.particle, rest] if word)


def _plain_verb(verb: Verb, tense: Tense, person: int) -> tuple[str, ...]:
    if tense == "present":
        return (verb.present[person],)
    if tense == "past":
        return (_PAST[person], verb.participle)
    return (_FUTURE[person], verb.infinitive)
