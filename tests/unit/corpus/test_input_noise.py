"""Noise of input: the same for the same pair and epoch, and never on the target alone."""

import hashlib
import random
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.corpus.input_noise import SPOILS, UNSEEN, InputNoise, mistype
from interlingua.corpus.placeholders import find_placeholders

SOURCE = "Două fete mănâncă înghețată, lângă Podul Vechi."
TARGET = "Two girls are eating ice cream near the Old Bridge."


def spoilt(way: str, seed: int = 1) -> tuple[str, str]:
    return {**SPOILS, **UNSEEN}[way](SOURCE, TARGET, random.Random(seed))


def test_it_is_a_function_of_seed_epoch_and_pair() -> None:
    noise = InputNoise(0.5, seed=3)
    first = [noise.apply(SOURCE, TARGET, epoch=0, pair=pair) for pair in range(200)]
    assert first == [noise.apply(SOURCE, TARGET, epoch=0, pair=pair) for pair in range(200)]
    assert first != [noise.apply(SOURCE, TARGET, epoch=1, pair=pair) for pair in range(200)]
    assert first != [
        InputNoise(0.5, 4).apply(SOURCE, TARGET, epoch=0, pair=pair) for pair in range(200)
    ]
    assert 70 <= sum(each is not None for each in first) <= 130


BEFORE_MARKS_COUNTED = {
    SOURCE: "2073de3b59a1f712",
    "'I don't know', it's Tom's dog: 3.14 MB <b>now</b> {name}!": "fbd5c7cd532c788d",
    "Тут мой йод и ёлка": "d1823c0c92cb5960",
    "他在打开MENU的时候": "de143adf2ac62d1a",
    "ΑΒΓ άλφα Ωμέγα": "5171c46e018cd523",
    "გუშინ ის სადგურის წინ": "fd6912bd05759c54",
    "Işık İstanbul ırmak": "17bca21d506ba6b5",
    "हिन्दी में लिखा": "73a11d5673143ae4",
    "a_b c-d 12th x": "bb0a05acb0564baa",
}


@pytest.mark.parametrize("text", BEFORE_MARKS_COUNTED)
def test_the_same_seed_makes_the_noise_of_earlier_versions(text: str) -> None:
    found = hashlib.sha256()
    for pair in range(400):
        found.update(repr(InputNoise(1.0, 7).apply(text, "target", epoch=2, pair=pair)).encode())
    assert found.hexdigest()[:16] == BEFORE_MARKS_COUNTED[text]


def test_each_way_does_what_its_name_says() -> None:
    assert spoilt("capitals") == (SOURCE.upper(), TARGET)
    assert spoilt("small letters") == (SOURCE.lower(), TARGET)
    assert spoilt("title")[0] == "Două Fete Mănâncă Înghețată, Lângă Podul Vechi."
    assert spoilt("no punctuation")[0] == "Două fete mănâncă înghețată lângă Podul Vechi"
    assert spoilt("no accents")[0] == "Doua fete mananca inghetata, langa Podul Vechi."


@pytest.mark.parametrize("apostrophe", ["'", "\u2019"])
def test_an_apostrophe_between_letters_is_a_part_of_its_word(apostrophe: str) -> None:
    text = "'I don't know', it's Tom's dog.".replace("'", apostrophe)
    title, bare = (
        SPOILS[way](text, "", random.Random(1))[0] for way in ("title", "no punctuation")
    )
    assert title == "'I Don't Know', It's Tom's Dog.".replace("'", apostrophe)
    assert bare == "I dont know its Toms dog"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("bẹ́lu cafe\u0301s l'e\u0301te\u0301's", "Bẹ́lu Cafe\u0301s L'e\u0301te\u0301's"),
        ("e\u0301te\u0301", "E\u0301te\u0301"),
        ("ßa \u0301ab", "ßa \u0301Ab"),  # no "Ss"; a mark upon nothing is of no word
    ],
)
def test_a_word_goes_on_behind_a_mark_upon_a_letter(text: str, title: str) -> None:
    assert SPOILS["title"](text, "", random.Random(1))[0] == title


@pytest.mark.parametrize("way", ["emoji", "markup", *UNSEEN])
def test_what_must_be_copied_stands_on_both_sides(way: str) -> None:
    for seed in range(100):
        source, target = spoilt(way, seed)
        assert source != SOURCE
        assert source.replace(SOURCE, "") == target.replace(TARGET, "")


def test_what_copying_is_tried_with_is_never_taught() -> None:
    taught, tried = (
        {sign for seed in range(3_000) for sign in spoilt(way, seed)[0].replace(SOURCE, "")}
        for way in ("emoji", "unseen emoji")
    )
    assert taught & tried == {" "}
    assert len(taught) > 900
    assert len(tried) > 200
    assert all(find_placeholders(each) for each in taught | tried if each > "\U0001f300")


LOCKED = "Hello {{user_name}}, see https://ex.org/a?b=1 <b>now</b>: %(count)s files, 3.14 MB, é😀 costs $5 at B2."


@pytest.mark.parametrize("way", SPOILS)
def test_what_must_be_copied_is_never_spoiled(way: str) -> None:
    for seed in range(50):
        source, _ = SPOILS[way](LOCKED, "…", random.Random(seed))
        found = find_placeholders(source)
        left = iter(found)
        assert all(each in left for each in find_placeholders(LOCKED)), (source, found)


@given(st.text(), st.text(), st.sampled_from(sorted(SPOILS)))
def test_what_must_be_copied_survives_in_any_text(before: str, behind: str, way: str) -> None:
    source, _ = SPOILS[way](f"{before} {{{{key_A}}}} {behind}", "", random.Random(1))
    assert "{{key_A}}" in source


def test_marks_that_make_another_letter_are_no_accents() -> None:
    for text in ("мой йод", "がぎぐ", "ไทย"):
        assert SPOILS["no accents"](text, "", random.Random(1))[0] == text
    for text, bare in (("ή ñ ş ą", "η n s a"), ("ẹ̀kọ́", "eko"), ("שָׁלוֹם", "שלום"), ("كَتَبَ", "كتب")):
        assert SPOILS["no accents"](text, "", random.Random(1))[0] == bare


WITHOUT_CAPITALS = {
    "ja": "彼は昨日、駅の前で古い友達に会いました。",
    "zh": "昨天他在车站前面遇到了一位老朋友。",
    "th": "เมื่อวานนี้เขาพบเพื่อนเก่าที่หน้าสถานีรถไฟ",
    "hi": "कल वह स्टेशन के सामने एक पुराने मित्र से मिला।",
    "ar": "التقى أمس بصديق قديم أمام محطة القطار.",
    "ka": "გუშინ ის სადგურის წინ ძველ მეგობარს შეხვდა.",
}


@pytest.mark.parametrize("text", WITHOUT_CAPITALS.values(), ids=WITHOUT_CAPITALS)
def test_text_without_capitals_is_spoiled_as_often_as_asked_for(text: str) -> None:
    noise = InputNoise(1.0, 1)
    spoiled = [noise.apply(text, text, epoch=0, pair=pair) for pair in range(400)]
    changed = [each for each in spoiled if each is not None and each[0] != text]
    assert len(changed) > 340  # all but a few of those that were to get typos
    assert not any(re.search("[Ა-Ჿ]", each) for each, _ in changed)  # capitals of Georgian


@pytest.mark.parametrize("language", ["ja", "zh", "th", "hi"])
def test_a_typo_leaves_marks_on_their_letters_in_words_without_spaces_too(language: str) -> None:
    def letters(of: str) -> list[str]:
        signs: list[str] = []
        for sign in of:
            if unicodedata.category(sign)[0] == "M":
                signs[-1] += sign
            else:
                signs.append(sign)
        return signs

    text = WITHOUT_CAPITALS[language]
    spoiled = [mistype(text, random.Random(seed)) for seed in range(200)]
    assert sum(each != text for each in spoiled) > 80
    assert all(set(letters(each)) <= set(letters(text)) for each in spoiled)


def test_typos_are_the_most_frequent_and_nothing_is_in_capitals() -> None:
    noise = InputNoise(1.0, 1)
    spoiled = [noise.apply(SOURCE, TARGET, epoch=0, pair=pair) for pair in range(1_000)]
    sources = [each[0] for each in spoiled if each is not None]
    assert SOURCE.upper() not in sources
    others = [spoilt(way)[0] for way in ("small letters", "title", "no punctuation", "no accents")]
    of_others = sum(source in others or SOURCE in source for source in sources)
    assert len(sources) == 1_000
    assert (
        500 <= of_others <= 750
    )  # a third of the sentences of seven words that should get typos get none


def test_small_letters_leave_no_dot_behind() -> None:
    assert SPOILS["small letters"]("İstanbul", "", random.Random(1))[0] == "istanbul"


def test_turkish_has_two_small_letters_i() -> None:
    def small(language: str, text: str) -> set[str]:
        noise = InputNoise(1.0, 1, language)
        spoiled = (noise.apply(text, "", epoch=0, pair=pair) for pair in range(200))
        return {each[0] for each in spoiled if each is not None}

    assert {"ışık istanbul ırmak"} <= small("tur", "Işık İstanbul Irmak")
    assert {"işık istanbul irmak"} <= small("", "Işık İstanbul Irmak")
    assert "işık istanbul irmak" not in small("az", "Işık İstanbul Irmak")
    assert small("ro", SOURCE) == small("", SOURCE)


def test_typos_come_in_about_as_many_words_as_asked_for() -> None:
    text = " ".join(["elefant"] * 5_000)
    changed = sum(word != "elefant" for word in mistype(text, random.Random(1)).split())
    assert 600 <= changed <= 760  # of 750 but those where a letter came in place of itself


@given(st.text(), st.text(), st.integers(0, 9))
def test_any_text_can_be_spoiled(source: str, target: str, epoch: int) -> None:
    for pair in range(20):
        spoiled = InputNoise(1.0, 1).apply(source, target, epoch=epoch, pair=pair)
        assert spoiled is not None
        assert target in spoiled[1]


@given(st.text(st.characters(categories=["Lu", "Ll", "Lo", "Zs"])))
def test_typos_keep_the_white_space_between_words(text: str) -> None:
    def spaces(of: str) -> list[str]:
        return re.findall(r"\s+", of)

    spoiled = mistype(text, random.Random(2), rate=1.0)
    assert spaces(spoiled) == spaces(text)
    assert all(unicodedata.category(each)[0] in "LZ" for each in spoiled)
