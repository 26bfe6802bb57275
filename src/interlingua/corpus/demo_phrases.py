"""Noun phrases of the demo grammar, built in both languages at once.

Romanian puts the definite article at the end of the noun (băiat, băiatul), most modifiers after the noun, and
makes them agree with it: cartea nouă a băiatului, "the boy's new book".
"""

from dataclasses import dataclass
from typing import Literal

from interlingua.corpus.demo_lexicon import Adjective, Noun, Possessive

__all__ = ["Article", "NounPhrase", "Owner", "noun_phrase", "possessor"]

Article = Literal["the", "a", "this", "that", "two"]
Forms = tuple[str, str, str, str]

# masculine, feminine, masculine plural, feminine plural
_ROMANIAN: dict[Article, Forms] = {
    "the": ("", "", "", ""),
    "a": ("un", "o", "niște", "niște"),
    "this": ("acest", "această", "acești", "aceste"),
    "that": ("acel", "acea", "acei", "acele"),
    "two": ("", "", "doi", "două"),
}
_ENGLISH: dict[Article, tuple[str, str]] = {
    "the": ("the", "the"),
    "a": ("a", "some"),
    "this": ("this", "these"),
    "that": ("that", "those"),
    "two": ("", "two"),
}
_OF: Forms = ("al", "a", "ai", "ale")


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun phrase in both languages, and what the rest of the sentence must know of it.

    Attributes:
        romanian: as subject or object of a verb.
        after_preposition: as object of a preposition, where an unmodified noun loses its article: în parc.
        english: the translation.
        noun: the head.
        plural: whether it is plural.
        specific: whether it speaks of somebody in particular; such people take ``pe`` as objects.
        pair: head and adjective, or None without an adjective.
    """

    romanian: str
    after_preposition: str
    english: str
    noun: Noun
    plural: bool
    specific: bool
    pair: tuple[str, str] | None

    @property
    def person(self) -> int:
        """Person of the verb that agrees with it: 2 for he, 5 for they."""
        return 5 if self.plural else 2

    def agreeing(self, forms: Adjective | Possessive) -> str:
        """Return the form of an adjective or possessive that agrees with the head."""
        return _four(forms)[_agreement(self.noun, self.plural)]


@dataclass(frozen=True, slots=True)
class Owner:
    """Somebody whom a thing belongs to: băiatului, "the boy's"; or a possessive: meu, "my"."""

    genitive: str
    possessive: Possessive | None
    english: str


def possessor(owner: Noun | Possessive, plural: bool) -> Owner:
    """Return the owner that a noun in the genitive, or a possessive, stands for."""
    if isinstance(owner, Possessive):
        return Owner("", owner, owner.english)
    genitive = owner.genitive_plural if plural else owner.genitive
    english = owner.english_plural if plural else owner.english
    ending = "'" if plural and english.endswith("s") else "'s"
    return Owner(genitive, None, f"the {english}{ending}")


def noun_phrase(
    noun: Noun,
    plural: bool,
    article: Article,
    adjective: Adjective | None = None,
    owner: Owner | None = None,
) -> NounPhrase:
    """Build a noun phrase; with an ``owner`` the article is the definite one."""
    agreement = _agreement(noun, plural)
    adjective_form = _four(adjective)[agreement] if adjective else ""
    indefinite = noun.plural if plural else noun.bare
    definite = noun.definite_plural if plural else noun.definite
    if owner is None:
        head = definite if article == "the" else indefinite
        romanian = _join(_ROMANIAN[article][agreement], head, adjective_form)
        determiner = _ENGLISH[article][plural]
    elif owner.possessive:
        romanian = _join(definite, _four(owner.possessive)[agreement], adjective_form)
        determiner = owner.english
    else:
        of = _OF[agreement] if adjective else ""
        romanian = _join(definite, adjective_form, of, owner.genitive)
        determiner = owner.english
    bare = owner is None and article == "the" and adjective is None
    english_noun = noun.english_plural if plural else noun.english
    english = _join(adjective.english if adjective else "", english_noun)
    return NounPhrase(
        romanian=romanian,
        after_preposition=indefinite if bare else romanian,
        english=f"{_with_an(determiner, english)} {english}",
        noun=noun,
        plural=plural,
        specific=owner is not None or article in ("the", "this", "that"),
        pair=(noun.bare, adjective.masculine) if adjective else None,
    )


def _agreement(noun: Noun, plural: bool) -> int:
    feminine = noun.gender == "f" or (noun.gender == "n" and plural)
    return 2 * plural + feminine


def _four(forms: Adjective | Possessive) -> Forms:
    return forms.masculine, forms.feminine, forms.masculine_plural, forms.feminine_plural


def _with_an(determiner: str, following: str) -> str:
    return "an" if determiner == "a" and following[0] in "aeiou" else determiner


def _join(*words: str) -> str:
    return " ".join(word for word in words if word)
