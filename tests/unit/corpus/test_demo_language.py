"""Forms and word order of the demo grammar, checked against sentences written by hand."""

import pytest

from interlingua.corpus.demo_clauses import PRONOUNS, english_clause, romanian_verb, says_who
from interlingua.corpus.demo_lexicon import ADJECTIVES, LIKE, NOUNS, POSSESSIVES, VERBS, Noun, Verb
from interlingua.corpus.demo_phrases import NounPhrase, noun_phrase, possessor

_NOUNS = {noun.bare: noun for noun in NOUNS}
_ADJECTIVES = {adjective.masculine: adjective for adjective in ADJECTIVES}
_VERBS = {verb.infinitive: verb for verb in VERBS}


def _phrase(
    noun: str, plural: bool, article: str, adjective: str = "", owner: str = ""
) -> NounPhrase:
    of: Noun | None = _NOUNS.get(owner.removesuffix("+"))
    possessive = next((p for p in POSSESSIVES if p.english == owner), None)
    who = of or possessive
    return noun_phrase(
        _NOUNS[noun],
        plural,
        article,  # type: ignore[arg-type]
        _ADJECTIVES.get(adjective),
        possessor(who, owner.endswith("+")) if who else None,
    )


@pytest.mark.parametrize(
    ("choice", "romanian", "english"),
    [
        (("băiat", False, "the"), "băiatul", "the boy"),
        (("băiat", True, "the", "înalt"), "băieții înalți", "the tall boys"),
        (("fată", False, "a", "înalt"), "o fată înaltă", "a tall girl"),
        (("fată", True, "the"), "fetele", "the girls"),
        (("câine", False, "the", "leneș"), "câinele leneș", "the lazy dog"),
        (("oraș", False, "a", "vechi"), "un oraș vechi", "an old city"),
        (("oraș", True, "the", "nou"), "orașele noi", "the new cities"),
        (("scaun", True, "this", "roșu"), "aceste scaune roșii", "these red chairs"),
        (("copil", True, "two", "tânăr"), "doi copii tineri", "two young children"),
        (("femeie", True, "two", "trist"), "două femei triste", "two sad women"),
        (("ziar", True, "two"), "două ziare", "two newspapers"),
        (("măr", False, "a"), "un măr", "an apple"),
        (("actriță", False, "that", "deștept"), "acea actriță deșteaptă", "that clever actress"),
        (("pasăre", True, "a", "negru"), "niște păsări negre", "some black birds"),
        (("carte", False, "the", "", "my"), "cartea mea", "my book"),
        (("carte", True, "the", "scump", "our"), "cărțile noastre scumpe", "our expensive books"),
        (("câine", True, "the", "alb", "my"), "câinii mei albi", "my white dogs"),
        (("tablou", False, "the", "", "her"), "tabloul ei", "her painting"),
        (("carte", False, "the", "", "băiat"), "cartea băiatului", "the boy's book"),
        (("carte", False, "the", "nou", "băiat"), "cartea nouă a băiatului", "the boy's new book"),
        (("câine", False, "the", "mic", "fată"), "câinele mic al fetei", "the girl's small dog"),
        (("cal", True, "the", "mare", "doamnă+"), "caii mari ai doamnelor", "the ladies' big horses"),
        (("ziar", True, "the", "vechi", "copil+"), "ziarele vechi ale copiilor", "the children's old newspapers"),
    ],
)  # fmt: skip
def test_a_noun_phrase_agrees_in_gender_and_number(
    choice: tuple[str, bool, str], romanian: str, english: str
) -> None:
    phrase = _phrase(*choice)
    assert (phrase.romanian, phrase.english) == (romanian, english)


@pytest.mark.parametrize(
    ("choice", "romanian"),
    [
        (("parc", False, "the"), "parc"),
        (("parc", False, "the", "mare"), "parcul mare"),
        (("grădină", False, "the", "", "my"), "grădina mea"),
        (("pădure", False, "this"), "această pădure"),
        (("fată", True, "the"), "fete"),
    ],
)
def test_only_an_unmodified_noun_loses_its_article_after_a_preposition(
    choice: tuple[str, bool, str], romanian: str
) -> None:
    assert _phrase(*choice).after_preposition == romanian


@pytest.mark.parametrize(
    ("infinitive", "tense", "person", "clitic", "negative", "romanian"),
    [
        ("vedea", "present", 2, "o", False, "o vede"),
        ("vedea", "present", 2, "îl", True, "nu îl vede"),
        ("vedea", "past", 2, "", False, "a văzut"),
        ("vedea", "past", 2, "o", True, "nu a văzut-o"),
        ("vedea", "past", 5, "îl", False, "l-au văzut"),
        ("vedea", "past", 0, "le", True, "nu le-am văzut"),
        ("ajuta", "past", 1, "mă", False, "m-ai ajutat"),
        ("ajuta", "past", 4, "ne", False, "ne-ați ajutat"),
        ("căuta", "future", 3, "vă", True, "nu vă vom căuta"),
        ("aștepta", "future", 2, "o", False, "o va aștepta"),
        ("cumpăra", "present", 1, "", False, "cumperi"),
        ("mânca", "present", 4, "", True, "nu mâncați"),
    ],
)
def test_pronouns_and_negation_stand_where_romanian_puts_them(
    infinitive: str, tense: str, person: int, clitic: str, negative: bool, romanian: str
) -> None:
    verb = _VERBS[infinitive]
    assert romanian_verb(verb, tense, person, clitic=clitic, negative=negative) == romanian  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tense", "person", "clitic", "romanian"),
    [
        ("present", 2, "îmi", "îmi place"),
        ("present", 5, "le", "le plac"),
        ("past", 2, "îi", "i-a plăcut"),
        ("past", 5, "îți", "ți-au plăcut"),
        ("future", 5, "vă", "vă vor plăcea"),
    ],
)
def test_what_is_liked_is_the_subject(tense: str, person: int, clitic: str, romanian: str) -> None:
    assert romanian_verb(LIKE, tense, person, clitic=clitic) == romanian  # type: ignore[arg-type]


def test_a_pronoun_is_dropped_only_where_the_verb_says_who() -> None:
    see, wait = _VERBS["vedea"], _VERBS["aștepta"]
    assert not says_who(see, "present", 0)  # văd: I see, they see
    assert says_who(wait, "present", 0)  # aștept: only I
    assert says_who(see, "present", 3)
    assert not says_who(see, "past", 0)  # am văzut: I, we
    assert says_who(see, "past", 4)
    assert all(says_who(see, "future", person) for person in (0, 1, 3, 4))
    assert not any(says_who(see, "future", person) for person in (2, 5))


def test_english_uses_do_only_where_it_must() -> None:
    def say(tense: str, mood: str, adverb: str = "", person: int = 2) -> str:
        return english_clause(
            "the boy" if person == 2 else "they",
            person,
            _VERBS["căuta"],
            tense,  # type: ignore[arg-type]
            mood,  # type: ignore[arg-type]
            adverb=adverb,
            rest="a dog",
        )

    assert say("present", "statement", "often") == "the boy often looks for a dog"
    assert say("present", "statement", person=5) == "they look for a dog"
    assert say("present", "negation") == "the boy does not look for a dog"
    assert say("past", "statement") == "the boy looked for a dog"
    assert say("past", "question") == "did the boy look for a dog"
    assert say("future", "negation") == "the boy will not look for a dog"
    assert say("future", "question", person=5) == "will they look for a dog"


def test_the_endings_of_the_lexicon_follow_the_rules_of_romanian() -> None:
    for noun in NOUNS:
        if noun.gender == "f":
            assert noun.bare.endswith(("ă", "e")), noun.bare
            assert noun.definite == noun.bare.removesuffix("ă").removesuffix("e") + "a" or (
                noun.definite in (f"{noun.bare}a", f"{noun.bare.removesuffix('e')}a")
            )
            assert noun.definite_plural == f"{noun.plural}le"
        else:
            assert noun.definite.endswith(("ul", "le"))
            ending = "le" if noun.gender == "n" else "i"
            assert noun.definite_plural == noun.plural + ending
        if noun.genitive:
            masculine = noun.gender == "m"
            assert noun.genitive == (f"{noun.definite}ui" if masculine else f"{noun.plural}i")
            assert noun.genitive_plural.endswith("lor")


def test_the_forms_of_a_verb_differ_where_romanian_makes_them_differ() -> None:
    def forms(verb: Verb) -> tuple[bool, bool]:
        return verb.present[0] == verb.present[5], verb.present[2] == verb.present[5]

    for verb in VERBS:
        assert sum(forms(verb)) == 1, verb.infinitive
        assert verb.present[3].endswith("m")
        assert verb.present[4].endswith("ți")
        assert (verb.infinitive.endswith("a") and verb.infinitive != "vedea") == forms(verb)[1]


def test_pronouns_cover_every_person_and_gender() -> None:
    assert [pronoun.person for pronoun in PRONOUNS] == [0, 1, 2, 2, 3, 4, 5, 5]
